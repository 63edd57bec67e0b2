"""Which kinds of models there are: what each package of this folder declares.

A kind is a package ``models/<kind>/`` whose ``__init__`` declares ``KINDS``: one `Kind`, or
several. Storage, command line, nodes, benchmarks and the tests of the contract read them here, so
a new kind is a new package and nothing else.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rffpsr_ros.errors import InputError

if TYPE_CHECKING:
    from rffpsr_ros.models.contract import PredictiveModel

FOLDER = "rffpsr_ros.models"


@dataclass(frozen=True)
class Kind:
    """A kind of model; classes stand as ``module:Class`` and are imported when they are needed.

    Attributes
    ----------
    name
        As model files and the command line say it.
    title
        As tables show it.
    model
        The model's class, whose ``kind`` is ``name``; None: the learner makes one of another kind.
    learner
        The learner's class; None: it is made of other models only.
    offered
        Whether the command line offers it; if not, it serves others as a part.
    discrete
        Whether it learns from a few distinct values only.
    """

    name: str
    title: str
    model: str | None = None
    learner: str | None = None
    offered: bool = True
    discrete: bool = False


@cache
def kinds() -> Mapping[str, Kind]:
    """Return all kinds by name."""
    folder = import_module(FOLDER).__path__
    packages = (module.name for module in pkgutil.iter_modules(folder) if module.ispkg)
    declared = [kind for name in packages for kind in import_module(f"{FOLDER}.{name}").KINDS]
    return {kind.name: kind for kind in sorted(declared, key=lambda kind: kind.name)}


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
