"""Rolled-out predictions of units and readout.

    o_t = R^T [z(V x), w, u],   x and w: windows in coordinates of their own,   u = q x phi^a(a_t)

What is predicted is fed back to both windows and to the filter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.tick_windows import newest_ticks
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import khatri_rao
from rffpsr_ros.psr.filter_step import StepCache, filter_step
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.refinement.learned_units import Units


class Learnable(NamedTuple):
    """What is learned: D units V, and the readout R of K of their values and other inputs."""

    units: Array  # (D, d_x); where there are offsets, x ends with a one
    readout: Array  # (K + d_w + p r_a, d_o)

    def flat(self) -> Array:
        """Return all parameters (P,): units, then one output's weights after another."""
        return np.concatenate([self.units.ravel(), self.readout.T.ravel()])

    def at(self, point: Array) -> Learnable:
        """Return parameters of the same shapes from a point (P,)."""
        size = self.units.size
        readout = point[size:].reshape(self.readout.shape[::-1]).T
        return Learnable(point[:size].reshape(self.units.shape), readout)


class Rollouts(NamedTuple):
    """B stretches of H ticks that are predicted, and what precedes them."""

    observations: Array  # (B, past + H, d_o)
    actions: Array  # (B, past + H, d_a)
    target: Array  # (B, H, d_o); NaN where nothing was seen
    action_features: Array  # phi^a (B, H, r_a)
    state: Array  # q at the origins (B, p); p = 0 where no state takes part

    def pick(self, chosen: slice) -> Rollouts:
        """Return some of the rollouts."""
        return Rollouts(*(part[chosen] for part in self))


class FeedbackModel(NamedTuple):
    """What stays the same while units and readout are learned.

    They are learned of windows in coordinates, and roll out of windows as they are: `of_windows`
    says what they are there, once for all ticks.
    """

    structure: FixedStructure  # windows, limits, bounds, phi^o
    tensors: TrainableParameters  # of the filter
    units: Units
    window_map: Array  # (d, d): what x is of the NARX term's window, before a one
    arx_map: Array  # (d_w, d_w): what w is of the ARX term's window and a one
    precision: type[np.floating] = np.float64
    """Of the units' values, and of how predictions depend on what was fed back."""

    def own(self, learnable: Learnable) -> int:
        """Return how many of the readout's inputs are values of the units, K."""
        return self.units.each * len(learnable.units)

    def of_windows(self, learnable: Learnable) -> Learnable:
        """Return units and readout of windows as they are."""
        return self._mapped(learnable, self.window_map, self.arx_map.T)

    def pulled_back(self, gradient: Learnable) -> Learnable:
        """Return the gradient at units and readout, given that at those of windows as they are."""
        return self._mapped(gradient, self.window_map.T, self.arx_map)

    def windows(self, seen: Array) -> Array:
        """Return x (..., d_x) of windows as they are, with a one where there are offsets."""
        size, mapped = len(self.window_map), seen.copy()
        mapped[..., :size] = seen[..., :size] @ self.window_map.T
        return mapped

    def inputs(self, learnable: Learnable, seen: Array) -> Array:
        """Return [z, w, u] (..., inputs) of such with the ARX term's window as it is."""
        own = self.own(learnable)
        linear, mapped = slice(own, own + len(self.arx_map)), seen.copy()
        mapped[..., linear] = seen[..., linear] @ self.arx_map.T
        return mapped

    def _mapped(self, learnable: Learnable, window_map: Array, arx_map: Array) -> Learnable:
        units, readout = learnable.units.copy(), learnable.readout.copy()
        size, own = len(window_map), self.own(learnable)
        linear = slice(own, own + len(arx_map))
        units[:, :size] = learnable.units[:, :size] @ window_map
        readout[linear] = arx_map @ learnable.readout[linear]
        return Learnable(units, readout)


class PredictedTick(NamedTuple):
    """What one tick's predictions (B, d_o) were computed from."""

    value: Array
    window: Array  # the NARX term's, within limits, and a one where there are offsets (B, d_x)
    inputs: Array  # [z, w, u], w the ARX term's window as it is (B, inputs)
    inside: Array  # which predictions are not held at a bound (B, d_o)
    free: Array  # which observations of the NARX term's window are not held at a limit (B, m, d_o)


def predictions(predictor: FeedbackModel, learnable: Learnable, rollouts: Rollouts) -> Array:
    """Return rolled-out predictions (B, H, d_o)."""
    plain = predictor.of_windows(learnable)
    return np.stack([tick.value for tick, _, _ in roll(predictor, plain, rollouts)], axis=1)


def roll(
    predictor: FeedbackModel, plain: Learnable, rollouts: Rollouts
) -> Iterator[tuple[PredictedTick, Array, StepCache | None]]:
    """Yield each tick's prediction, phi^a (B, r_a) and the filter step that follows it.

    Takes units and readout of windows as they are.
    """
    structure, past = predictor.structure, predictor.structure.past
    horizon = rollouts.target.shape[1]
    observations, state = rollouts.observations.copy(), rollouts.state
    limits = structure.limits
    of_observations, of_actions = (None, None) if limits is None else (limits[:2], limits[2:])
    held, acted = observations.copy(), _within(of_actions, rollouts.actions)
    held[:, :past] = _within(of_observations, observations[:, :past])
    free = held == observations
    for h in range(horizon):
        action = rollouts.action_features[:, h]
        joined = khatri_rao(state, action)
        seen, near = slice(h, h + past), slice(h, h + past + 1)
        tick = _predict(
            predictor,
            plain,
            joined,
            (observations[:, seen], rollouts.actions[:, near]),
            (held[:, seen], acted[:, near]),
            free[:, h + past - structure.narx_past : h + past],
        )
        observations[:, past + h] = tick.value
        held[:, past + h] = _within(of_observations, tick.value)
        free[:, past + h] = held[:, past + h] == tick.value
        cache = None
        if state.shape[1] and h < horizon - 1:
            features = structure.observation(tick.value)
            state, cache = filter_step(predictor.tensors, structure.conditioning, joined, features)
        yield tick, action, cache


def _within(limits: tuple[Array, ...] | None, values: Array) -> Array:
    """Return values (..., d) held within limits, two of (d,), if there are any."""
    return values if limits is None else np.minimum(np.maximum(values, limits[0]), limits[1])


def _predict(
    predictor: FeedbackModel,
    plain: Learnable,
    joined: Array,
    recent: tuple[Array, Array],
    held: tuple[Array, Array],
    free: Array,
) -> PredictedTick:
    """Return a tick's prediction, given past observations and actions as they are, and as held."""
    structure, units = predictor.structure, predictor.units
    ones = np.ones((len(joined), 1))
    near = newest_ticks(structure.narx_past, *held)
    window = np.concatenate([*near, ones[:, : int(units.offset)]], axis=1)
    values = units.values((window @ plain.units.T).astype(predictor.precision, copy=False))
    linear = newest_ticks(structure.arx_past, *recent)
    inputs = np.concatenate([values, *linear, ones, joined], axis=1)
    value = inputs @ plain.readout
    inside = np.ones(value.shape, bool)
    if structure.bounds is not None:
        value = structure.bounds(value)
        inside = structure.bounds.strictly_inside(value)
    return PredictedTick(value, window, inputs, inside, free)
