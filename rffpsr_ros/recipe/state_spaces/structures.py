"""Which structures of nonlinear state spaces compete: orders, features, with integrators or not."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.state_space.learner import NonlinearStateSpace
from rffpsr_ros.recipe.prepare import Preparation
from rffpsr_ros.recipe.settings import RecipeSettings


def competing(
    prepared: Preparation, settings: RecipeSettings, long: bool, given: int | None = None
) -> list[list[NonlinearStateSpace]]:
    """Return for each kind of features what competes: orders, with and without integrators.

    What suits a linear system on all recordings is among them. What a robot does beyond that may
    need more states, or fewer, and other orders are tried too where recordings are not ``long``.
    If only the first actions were ``given``, as others are running means of them, long recordings
    show these alone: long simulations teach a state to remember, which from shorter ones it learns
    far worse. None where recordings are too short to tell, or no state spaces are wanted.
    """
    options, columns, limits = prepared.options, columns_of(prepared), settings.state_spaces
    if not (options.arx_past and options.narx_features):
        return []
    kinds = _kinds(limits.features, long)

    def learner(order: int, kind: _Features, integrating: bool) -> NonlinearStateSpace:
        return NonlinearStateSpace(
            order,
            kind.number,
            saturating=kind.saturating,
            affine=kind.affine,
            integrating=integrating,
            past=settings.subspace_past,
            seed=options.seed,
            actions=given if long else None,
            drawn=limits.drawn if long and kind.saturating else 0,
        )

    def small(one: NonlinearStateSpace) -> bool:
        return one.weights(*columns) <= limits.most_weights

    suited = []
    for integrating in (False, True):
        least = [one for kind in kinds if small(one := learner(1, kind, integrating))]
        with contextlib.suppress(InputError):  # recordings are too short to tell
            suited += [(one.best_order(prepared.recordings), integrating) for one in least[:1]]
    if not suited:
        return []
    learners = []
    for kind in kinds:
        others = [] if long else [(order, False) for order in limits.orders[kind.saturating]]
        tried = dict.fromkeys([*suited, *others])
        learners.append([one for order, i in tried if small(one := learner(order, kind, i))])
    return [rivals for rivals in learners if rivals]


class _Features(NamedTuple):
    """A kind of features."""

    saturating: bool
    number: int
    affine: bool = False


def _kinds(counts: Mapping[bool, int], long: bool) -> list[_Features]:
    """Return the kinds that compete, of so many features that saturate or that do not.

    Of long recordings, which take long, those that see state and action are twice as many, and
    eight see the state alone: a force is often all that an action is.
    """
    saturating, powers = counts[True], _Features(False, counts[False])
    if long:
        return [_Features(True, saturating, affine=True), powers, _Features(True, 2 * saturating)]
    return [_Features(True, saturating), powers]


def columns_of(prepared: Preparation) -> tuple[int, int]:
    """Return how many observations and actions there are."""
    like = prepared.recordings[0]
    return len(like.observation_names), len(like.action_names)


def simplest(scores: Sequence[float], sizes: Sequence[int], as_good: float) -> int:
    """Return the place of the least size whose score is at most so many times the least one."""
    enough = as_good * min(scores)
    rivals = [place for place, score in enumerate(scores) if score <= enough]
    return min(rivals, key=lambda place: (sizes[place], scores[place]), default=0)
