"""Which kinds of models there are: what each package of this folder declares.

A kind is a package ``models/<kind>/`` whose ``__init__`` declares ``KINDS``: one `Kind`, or
several. Storage, command line, nodes, benchmarks and the tests of the contract read them here, so
a new kind is a new package and nothing else.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rffpsr_ros.errors import InputError, check_known

if TYPE_CHECKING:
    from rffpsr_ros.models.contract import Learner, PredictiveModel

FOLDER = "rffpsr_ros.models"

DEFAULT = "rff_psr"
"""The kind that is learned where none is named."""

COMPONENTS = "observation_components"
"""Learn so many principal components of the observations instead of these; for every kind."""

_COMPRESSED = "compressed"


@dataclass(frozen=True)
class Kind:
    """A kind of model; classes stand as ``module:Class`` and are imported when they are needed.

    Attributes
    ----------
    name
        As model files and the command line say it.
    title
        As tables of benchmarks show it.
    model
        The model's class, whose ``kind`` is ``name``; None: the learner makes one of another kind.
    learner
        The learner's class; None: it is made of other models only.
    offered
        Whether the command line offers it; if not, it serves others as a part.
    uses_actions
        Whether forecasts depend on actions.
    discrete
        Whether it learns from a few distinct values only.
    """

    name: str
    title: str
    model: str | None = None
    learner: str | None = None
    offered: bool = True
    uses_actions: bool = True
    discrete: bool = False


@cache
def kinds() -> Mapping[str, Kind]:
    """Return all kinds by name: the default, then what uses actions, each by its title."""
    folder = import_module(FOLDER).__path__
    packages = [module.name for module in pkgutil.iter_modules(folder) if module.ispkg]
    declared = [kind for name in packages for kind in import_module(f"{FOLDER}.{name}").KINDS]
    ordered = sorted(declared, key=lambda k: (k.name != DEFAULT, not k.uses_actions, k.title))
    return {kind.name: kind for kind in ordered}


def offered_kinds() -> tuple[Kind, ...]:
    """Return the kinds that a user can have learned, the default first."""
    return tuple(kind for kind in kinds().values() if kind.offered and kind.learner is not None)


def model_kinds() -> tuple[str, ...]:
    """Return the kinds that a model file can hold."""
    return tuple(kind.name for kind in kinds().values() if kind.model is not None)


def model_class(kind: str) -> type[PredictiveModel[Any]]:
    """Return the class of the models of a kind, imported now.

    Raises
    ------
    LookupError
        If there are no models of this kind.
    """
    place = kinds()[kind].model
    if place is None:
        raise LookupError(f"models of kind '{kind}' are of another kind")
    found: type[PredictiveModel[Any]] = _imported(place)
    return found


def learner_class(kind: str) -> Any:
    """Return the class of the learner of a kind, imported now.

    Raises
    ------
    LookupError
        If there is none of this kind.
    """
    place = kinds()[kind].learner
    if place is None:
        raise LookupError(f"no learner makes models of kind '{kind}'")
    return _imported(place)


def learner_of(kind: str, learning: Mapping[str, Any], explicit: Sequence[str] = ()) -> Learner:
    """Return the learner of a kind from a configuration's ``learning`` section, options checked.

    One configuration serves all kinds: a key of another kind is left out here, unless it is
    among the ``explicit`` ones, which the user just wrote for this kind.

    Raises
    ------
    InputError
        If a key is unknown to every kind, an explicit one to this kind, or a value is wrong.
    """
    options = {one.name: learner_class(one.name).configurable for one in offered_kinds()}
    known = {name for names in options.values() for name in names} | {COMPONENTS}
    own = learner_class(kind).configurable
    check_known(learning, sorted(known), group="learning.", else_listed=own)
    for name in explicit:
        if name not in own and name != COMPONENTS:
            taken = ", ".join(own) or "none"
            others = ", ".join(one for one, names in options.items() if name in names)
            raise InputError(
                f"a {kind} model has no option '{name}'; its options: {taken}; models that have it:"
                f" {others}"
            )
    learner: Learner = learner_class(kind)(**{n: v for n, v in learning.items() if n in own})
    if learning.get(COMPONENTS) is None:
        return learner
    compressed: Learner = learner_class(_COMPRESSED)(
        learner, learning[COMPONENTS], int(learning.get("seed", 0))
    )
    return compressed


def check_savable(kind: str) -> None:
    """Refuse a kind of models that could not be loaded again.

    Raises
    ------
    InputError
        If it is none of `model_kinds`.
    """
    if kind not in model_kinds():
        raise InputError(
            f"models of kind '{kind}' cannot be saved; known: {', '.join(model_kinds())}"
        )


def _imported(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
