"""Which structures of nonlinear state spaces compete: orders, features, with integrators or not."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

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
    Where they are, twice as many features that saturate are a kind of its own, and these begin with
    the best of many drawn directions, of which few data would tell chance; and if only the
    first actions were ``given``, as others are running means of them, these alone are seen: long
    simulations teach a state to remember, which from shorter ones it learns far worse. None where
    recordings are too short to tell, or no state spaces are wanted.
    """
    options, columns, limits = prepared.options, columns_of(prepared), settings.state_spaces
    if not (options.arx_past and options.narx_features):
        return []
    kinds = list(limits.features.items())
    if long:
        kinds += [(saturating, 2 * count) for saturating, count in kinds if saturating]

    def learner(order: int, kind: tuple[bool, int], integrating: bool) -> NonlinearStateSpace:
        return NonlinearStateSpace(
            order,
            kind[1],
            saturating=kind[0],
            integrating=integrating,
            past=settings.subspace_past,
            seed=options.seed,
            actions=given if long else None,
            drawn=limits.drawn if long and kind[0] else 0,
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
        others = [] if long else [(order, False) for order in limits.orders[kind[0]]]
        tried = dict.fromkeys([*suited, *others])
        learners.append([one for order, i in tried if small(one := learner(order, kind, i))])
    return [rivals for rivals in learners if rivals]


def columns_of(prepared: Preparation) -> tuple[int, int]:
    """Return how many observations and actions there are."""
    like = prepared.recordings[0]
    return len(like.observation_names), len(like.action_names)


def simplest(scores: Sequence[float], sizes: Sequence[int], as_good: float) -> int:
    """Return the place of the least size whose score is at most so many times the least one."""
    enough = as_good * min(scores)
    rivals = [place for place, score in enumerate(scores) if score <= enough]
    return min(rivals, key=lambda place: (sizes[place], scores[place]), default=0)
