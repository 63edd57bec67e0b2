"""The compiled step: what `PreparedStep` does for one state in usual ticks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import symmetric_half
from rffpsr_ros.psr.feature_maps import Features
from rffpsr_ros.psr.fourier_features import FeatureMap
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.runtime.compiled_kernels import roll_out, tick
from rffpsr_ros.psr.runtime.tick_layout import Layout, arx_of_rows, layout_of


class CompiledStep:
    """One usual tick of a filter, and forecasts, each in one call of compiled code.

    Parameters
    ----------
    parameters, structure
        The fitted predictor; its features must be random Fourier features, its covariances
        symmetric: see `compilable`.
    mean, deviation
        (d,): how (action, observation) is standardised.
    innovation_weights
        (d_o,): of squared errors in the innovation.
    usual
        The squared norms between which a belief is.
    expected
        As `PreparedStep` takes it.

    Raises
    ------
    OSError
        If there is no room to keep what was compiled.

    Notes
    -----
    The packed array ends its matrices with a scratch buffer: the action looked at last, and what
    its features make of the state's tensors (`Predictor.command` and `commanded`). Commands are
    often held, and this is most of what a tick and a forecast compute. It is a function of the
    action alone and computed anew for any other action, so it changes no result, whichever states
    are asked about in between; all else stays as it was packed.
    """

    def __init__(
        self,
        parameters: TrainableParameters,
        structure: FixedStructure,
        mean: Array,
        deviation: Array,
        innovation_weights: Array,
        usual: tuple[float, float],
        expected: Array | None,
    ) -> None:
        self._given = (parameters, structure, mean, deviation, innovation_weights, usual, expected)
        layout = layout_of(parameters, structure)
        self._packed = packed(*self._given)
        self._observed = layout.observed
        states = len(parameters.initial)
        self._belief, self._past = slice(states), slice(states, None)
        self._action = slice(-layout.columns, -layout.observed)
        self._observation = slice(-layout.observed, None)

        # Compiled now, or read from the cache: not when the first message has arrived.
        start, past = np.zeros(states), np.zeros((max(structure.past, 1) + 1, layout.columns))
        self.tick(start, past, past[0, : layout.acted], past[0, layout.acted :])
        self.roll_out(start, past, np.zeros((1, layout.acted)))

    def __reduce__(self) -> tuple[object, ...]:
        """Let copies and other processes prepare their own."""
        return type(self), self._given

    def tick(
        self, belief: Array, past: Array, action: Array, observation: Array
    ) -> tuple[Array, Array, float, int] | None:
        """Return belief and past after a tick, its mean squared innovation, and what was unusual.

        Unusual were, added up: 1 a limited observation, 2 a limited action, 4 a missing
        observation. The innovation is NaN if all was missing. None is returned for ticks that
        compiled code leaves to `PreparedStep`: with infinite values, or a belief of unusual size.
        """
        after = np.empty(belief.size + past.size)
        after[self._action] = action
        after[self._observation] = observation
        innovation, unusual = tick(self._packed, belief, past, after)
        if unusual < 0:
            return None
        return after[self._belief], after[self._past].reshape(past.shape), innovation, unusual

    def roll_out(self, belief: Array, past: Array, plans: Array) -> Array:
        """Return the forecast (H, d_o), or (N, H, d_o), given actions, all in their own units."""
        if plans.ndim > 2:
            return self._roll_out(belief.reshape(-1, belief.shape[-1]), past, plans)
        forecast: Array = self._roll_out(belief[None], past[None], plans[None])[0]
        return forecast

    def _roll_out(self, beliefs: Array, pasts: Array, plans: Array) -> Array:
        forecasts = np.empty((*plans.shape[:2], self._observed))
        # Compiled code takes arrays of another order, or not to be written to, for another type.
        plans = np.array(plans, np.float64, order="C")
        roll_out(self._packed, beliefs, pasts.reshape(-1, *pasts.shape[-2:]), plans, forecasts)
        return forecasts


def compilable(parameters: TrainableParameters, structure: FixedStructure) -> bool:
    """Tell whether there is a compiled step for a predictor."""
    maps = (structure.observation, structure.action, *filter(None, [structure.narx]))
    half = len(symmetric_half(structure.observation.size)[0])
    fourier = all(isinstance(features, FeatureMap) for features in maps)
    acted = len(structure.start.action) > 0  # a command that never changes is never looked at
    return acted and fourier and parameters.covariance.shape[1] == half


def packed(
    parameters: TrainableParameters,
    structure: FixedStructure,
    mean: Array,
    deviation: Array,
    innovation_weights: Array,
    usual: tuple[float, float],
    expected: Array | None,
) -> Array:
    """Return a predictor in one array, as `compiled_kernels.unpacked` takes it apart again.

    First come start and shape of every part, in the order of `Predictor`, then the parts: those in
    double precision, and those in single precision, whose places count such numbers.
    """
    layout = layout_of(parameters, structure)
    maps = (
        _narx(parameters, structure, layout),
        _waves(structure.observation),
        _waves(structure.action),
    )
    arx, constant = arx_of_rows(parameters, layout)
    limits = np.full((2, layout.columns), np.inf)
    limits[0] *= -1
    if structure.limits is not None:
        low, high = structure.limits[::2], structure.limits[1::2]
        limits[:] = np.concatenate(low[::-1]), np.concatenate(high[::-1])
    read = np.hstack([parameters.prediction, parameters.extended, parameters.covariance])
    if expected is not None:
        read = np.hstack([read, expected])
    states, width = len(parameters.initial), read.shape[1]
    by_action = read.reshape(states, -1, width).swapaxes(0, 1).reshape(-1, width)
    bounds = structure.conditioning.regularisation, structure.conditioning.cap, *usual
    held = structure.bounds or (np.full(layout.observed, -np.inf), np.full(layout.observed, np.inf))
    no_command = np.full(layout.acted, np.nan)
    rows = constant, innovation_weights, np.array(bounds), no_command
    return _in_one_array(
        [*itertools.chain(*maps), by_action, np.zeros((states, width))],
        [arx.T, np.stack([mean, deviation]), limits, np.stack(held), *(row[None] for row in rows)],
    )


def _in_one_array(singles: Sequence[Array], doubles: Sequence[Array]) -> Array:
    """Return matrices behind a header of their starts and shapes, which are integers."""
    header, start = [], 3 * (len(singles) + len(doubles))
    for part in doubles:
        header += [start, *part.shape]
        start += part.size
    start *= 2
    for place, part in enumerate(singles):
        header[3 * place : 3 * place] = [start, *part.shape]
        start += part.size
    small = np.concatenate([np.ravel(part) for part in singles], dtype=np.float32)
    small = np.append(small, np.zeros(len(small) % 2, np.float32))
    places = np.array(header, np.int64).view(np.float64)
    return np.concatenate([places, *map(np.ravel, doubles), small.view(np.float64)])


def _narx(
    parameters: TrainableParameters, structure: FixedStructure, layout: Layout
) -> tuple[Array, Array]:
    """Return the NARX term as a map of rows of ticks to expected observations."""
    if structure.narx is None:
        return np.empty((0, 0)), np.empty((layout.observed, 0))
    frequencies, output = _waves(structure.narx)
    ordered = np.empty_like(frequencies)
    ordered[layout.window(layout.narx_past)] = frequencies
    return ordered, parameters.narx.T @ output


def _waves(features: Features) -> tuple[Array, Array]:
    """Return frequencies (i, D) in quarter turns, and what becomes of the waves (r, 2 D)."""
    assert isinstance(features, FeatureMap), "see compilable"
    count = max(len(features.frequencies), 1)
    return features.frequencies.T / (np.pi / 2), features.projection.T / np.sqrt(count)
