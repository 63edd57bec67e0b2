"""The compiled step: what `PreparedStep` does for a state when nothing is out of the ordinary."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.learning.features.fourier_features import FeatureMap
from rffpsr_ros.learning.filtering.compiled_kernels import Tensors, Watch, Waves, roll_out, tick
from rffpsr_ros.learning.filtering.predictor import Frame, Weights
from rffpsr_ros.learning.filtering.tick_layout import layout_of, tick_maps
from rffpsr_ros.learning.filtering.wide_map import RowMap, WideMap
from rffpsr_ros.learning.windows.arrays import Array, symmetric_half


class CompiledStep:
    """One usual tick of a filter, and forecasts, each in one call of compiled code.

    Parameters
    ----------
    weights, frame
        The fitted predictor; its features must be random Fourier features, its covariances
        symmetric: see `compilable`.
    mean, deviation
        (d,): how (action, observation) is standardised.
    innovation_weights
        (d_o,): of squared errors in the innovation.
    usual
        The squared norms between which a belief is.

    Raises
    ------
    OSError
        If there is no room to keep what was compiled.
    """

    def __init__(
        self,
        weights: Weights,
        frame: Frame,
        mean: Array,
        deviation: Array,
        innovation_weights: Array,
        usual: tuple[float, float],
    ) -> None:
        self._given = (weights, frame, mean, deviation, innovation_weights, usual)
        self._layout = layout_of(weights, frame)
        maps = tick_maps(weights, frame, self._layout, np.float32)
        observed, columns = self._layout.observed, self._layout.columns
        limits = np.full((2, columns), np.inf)
        limits[0] *= -1
        if frame.limits is not None:
            low, high = frame.limits[::2], frame.limits[1::2]
            limits[:] = np.concatenate(low[::-1]), np.concatenate(high[::-1])
        read = np.hstack([weights.prediction, weights.extended, weights.covariance])
        base = np.zeros((observed, 0)) if maps.base is None else maps.base.T.copy()
        conditioning = frame.conditioning
        self._tensors = Tensors(
            read.astype(np.float32), base, limits, conditioning.regularisation, conditioning.cap
        )
        # Copies: compiled code takes arrays that cannot be written to for another type.
        self._watch = Watch(
            np.array(mean), np.array(deviation), np.array(innovation_weights), *usual
        )
        self._recorded = _waves(maps.recorded)
        self._predicted = _waves(maps.predicted)
        self._action = _waves(maps.action)

        # Compiled now, or read from where it was kept: not when the first message has come.
        start = np.zeros(len(weights.initial))
        past = np.zeros((max(frame.past, 1) + 1, columns))
        self.tick(start, past, past[0, : self._layout.acted], past[0, self._layout.acted :])
        self.roll_out(start, past, np.zeros((1, self._layout.acted)))

    def __reduce__(self) -> tuple[object, ...]:
        """Let copies and other processes prepare their own."""
        return type(self), self._given

    def tick(
        self, belief: Array, past: Array, action: Array, observation: Array
    ) -> tuple[Array, Array, float, int] | None:
        """Return belief and past after a tick, its mean squared innovation, and what was limited.

        Limited were: 0 nothing, 1 an observation, 2 an action, 3 both. None stands for ticks that
        are not for compiled code: with missing values, or a belief of unusual size after them.
        """
        layout = self._layout
        given = np.empty(layout.columns)
        given[: layout.acted] = action
        given[layout.acted :] = observation
        after, following = np.empty_like(belief), np.empty_like(past)
        innovation, limited = tick(
            self._recorded,
            self._tensors,
            self._watch,
            layout.reach,
            belief,
            past,
            given,
            after,
            following,
        )
        return None if limited < 0 else (after, following, innovation, limited)

    def roll_out(self, belief: Array, past: Array, plans: Array) -> Array:
        """Return forecasts (..., H, d_o) given standardised actions (..., H, d_a)."""
        layout = self._layout
        *batch, horizon, acted = plans.shape
        before = past.shape[-2]
        ticks = np.empty((*batch, before + horizon, layout.columns))
        ticks[..., :before, :] = past
        ticks[..., before:, :acted] = plans
        beliefs = np.empty((*batch, belief.shape[-1]))
        beliefs[:] = belief
        for each in np.ndindex(*batch):
            roll_out(
                self._predicted,
                self._action,
                self._tensors,
                layout.reach,
                beliefs[each],
                ticks[each],
                horizon,
            )
        return ticks[..., before:, acted:]


def compilable(weights: Weights, frame: Frame) -> bool:
    """Tell whether there is a compiled step for a predictor."""
    maps = (frame.observation, frame.action, *filter(None, [frame.direct]))
    half = len(symmetric_half(frame.observation.size)[0])
    fourier = all(isinstance(features, FeatureMap) for features in maps)
    return fourier and weights.covariance.shape[1] == half


def _waves(wide: RowMap) -> Waves:
    assert isinstance(wide, WideMap), "told by compilable"
    count = wide.frequencies.shape[1]
    cosines, sines = wide.output[:count].T, wide.output[count:-1].T
    return Waves(
        wide.frequencies,
        _spans(wide.frequencies),
        np.ascontiguousarray(cosines),
        np.ascontiguousarray(sines),
        _spans(np.abs(cosines) + np.abs(sines)),
        wide.output[-1].astype(np.float64),
    )


def _spans(matrix: Array) -> Array:
    """Return (rows, 2): from which column on, and up to which, each row is not zero."""
    spans = np.zeros((len(matrix), 2), np.int64)
    for span, row in zip(spans, matrix, strict=True):
        places = np.flatnonzero(row)
        if len(places):
            span[:] = places[0], places[-1] + 1
    return spans
