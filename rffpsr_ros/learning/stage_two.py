"""Stage two: the linear map P_t = W Q_t between what stage one returns.

Nothing here knows what features are or how a state is filtered: that is an instance's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

import numpy as np

from rffpsr_ros.learning.arrays import Array
from rffpsr_ros.learning.moments import Moment, Regression
from rffpsr_ros.learning.projection import principal_directions
from rffpsr_ros.learning.stage_one import ConditionalOperators, StageWindows

WindowsT = TypeVar("WindowsT", bound=StageWindows)
Chunks = Callable[[], Iterable[WindowsT]]
"""A source of chunks of windows' features that can be passed over several times."""

Beside = Callable[[Array, WindowsT], tuple[Array, Array]]
"""Inputs and targets of a further regression on the states (N, p) of a chunk."""


class StageOneMaps(NamedTuple):
    """The fitted stage-one maps from history h."""

    state: ConditionalOperators  # Q_t
    extended: tuple[ConditionalOperators, ...]  # the parts of P_t


class StageTwo(NamedTuple):
    """What the two stages learn, with p state features q = U^q vec Q.

    Operators are flattened with the action's index fastest.
    """

    projection: Array  # U^q (outputs * actions, p)
    weights: tuple[Array, ...]  # W: vec P = W q for each part of P_t, (outputs * actions, p)
    mean: Array  # (p,), the average state
    second: Array  # (p, p), the states' second moment
    beside: Array  # (targets, inputs) of the regression beside; empty without one


def project_states(
    maps: StageOneMaps,
    chunks: Chunks[WindowsT],
    rank: int,
    tolerance: float,
    generator: np.random.Generator,
) -> Array:
    """Return U^q: the principal directions of vec Q_t over the training windows."""

    def states() -> Iterable[Array]:
        return (_flat(maps.state(chunk.history)) for chunk in chunks())

    size = next(iter(states())).shape[1]
    return principal_directions(states, size, rank, tolerance, generator)


def stage_two(
    maps: StageOneMaps,
    chunks: Chunks[WindowsT],
    projection: Array,
    ridge: float,
    beside: Beside[WindowsT] | None = None,
) -> StageTwo:
    """Return the ridge solution of P_t = W Q_t over the training windows (Algorithm 1)."""
    system: Regression | None = None
    further: Regression | None = None
    sizes: list[int] = []
    mean = Moment.zeros(projection.shape[1], 1)
    for chunk in chunks():
        states = _flat(maps.state(chunk.history)) @ projection
        parts = [_flat(part(chunk.history)) for part in maps.extended]
        if system is None:
            sizes = [part.shape[1] for part in parts]
            system = Regression.zeros(sum(sizes), states.shape[1])
        system.add(states, np.hstack(parts))
        mean.add(states, np.ones((len(states), 1)))
        if beside is not None:
            inputs, targets = beside(states, chunk)
            further = further or Regression.zeros(targets.shape[1], inputs.shape[1])
            further.add(inputs, targets)
    assert system is not None, "training data hold at least one window"
    return StageTwo(
        projection,
        tuple(np.split(system.solve(ridge), np.cumsum(sizes)[:-1])),
        mean.mean[:, 0],
        system.input_input.mean,
        np.empty((0, 0)) if further is None else further.solve(ridge),
    )


def _flat(operators: Array) -> Array:
    """Return operators (N, outputs, actions) as rows."""
    return operators.reshape(len(operators), -1)
