"""The predictor and the filter's step, prepared for running live: a tick is a dozen array calls.

What `predictor.py` and `filter_step.py` say, with everything that does not change multiplied out
once: the three feature maps are one, the NARX term's weights are in it, and one product with
u = q x phi^a reads prediction, next state and covariance. All functions take one state, or N side
by side along a leading axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import khatri_rao, unpack, unpack_symmetric
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.runtime.tick_layout import layout_of, tick_maps

POSITIVE_SOLVE: Any = get_lapack_funcs("posv")

UNPACKED = 12
"""Up to so many observation features covariances are read whole, cheaper than unpacking halves."""

BLOCK = 10
"""What a plan's actions do is computed so many ticks at a time: how a product of matrices rounds
depends on its size, and a longer forecast is to begin with the same bits as a shorter one."""


class Unusual(NamedTuple):
    """What was wrong with a tick: a truth value each, or (N,)."""

    missing: Array
    limited_observation: Array
    limited_action: Array


class StepResult(NamedTuple):
    """What one tick did to a state, or to N."""

    belief: Array  # q' (p,)
    error: Array  # the innovation (d_o,): observation minus expectation; NaN: missing
    unusual: Unusual | None  # None: nothing was missing or outside the limits


class PreparedStep:
    """One tick of a filter, and forecasts rolled out from it.

    The past is an array (P, d_a + d_o) of standardised ticks, newest last; P is at least `past`.

    Parameters
    ----------
    parameters, structure
        The fitted predictor.
    expected
        (p r_a, r_o): E[phi^o | q, a], taken where all is missing; None: the features of the
        predicted observation.
    dtype
        What features are computed in. All else is in double precision: conditioning on a nearly
        singular covariance would lose half the digits of a single-precision one.
    """

    def __init__(
        self,
        parameters: TrainableParameters,
        structure: FixedStructure,
        expected: Array | None,
        dtype: type[np.floating] = np.float64,
    ) -> None:
        self._given = (parameters, structure, expected, dtype)
        self.dtype = dtype
        self.layout = layout_of(parameters, structure)
        self.past = max(structure.past, 1) + 1
        self._maps = tick_maps(parameters, structure, self.layout, dtype)
        observed, size = self.layout.observed, structure.observation.size
        extended = observed + len(parameters.initial) * size
        self._at_expected, self._at_seen = np.s_[..., :observed], np.s_[..., -observed:]
        self._at_observation = np.s_[..., observed : observed + size]
        self._at_action = np.s_[..., observed + size :]
        self._at_extended, self._at_covariance = (
            np.s_[..., observed:extended],
            np.s_[..., extended:],
        )
        self._limits = np.full((2, self.layout.columns), np.inf)
        self._limits[0] *= -1
        if (limits := structure.limits) is not None:
            self._limits[0] = np.concatenate([limits.action_low, limits.observation_low])
            self._limits[1] = np.concatenate([limits.action_high, limits.observation_high])
        # Repeated for a row of a tick and the ones before it.
        self._low, self._high = np.tile(self._limits, self.layout.reach + 1)
        self._recent = np.s_[..., -len(self._low) :]
        self._newest = np.s_[..., -self.layout.columns :]
        self._window = np.s_[..., -len(self._maps.arx) - observed : -observed]
        self._bounds = structure.bounds
        self._expected = expected
        covariance = parameters.covariance
        symmetric = covariance.shape[1] < size * size
        self._symmetric, self._packed = symmetric, symmetric and size > UNPACKED
        if symmetric and not self._packed:
            covariance = unpack(covariance, size).reshape(len(covariance), -1)
        self._read = np.hstack([parameters.prediction, parameters.extended, covariance])
        states = len(parameters.initial)
        self._by_action = np.ascontiguousarray(
            self._read.reshape(states, -1, self._read.shape[1]).swapaxes(0, 1)
        ).reshape(-1, states * self._read.shape[1])
        self._ridge = structure.conditioning.regularisation * np.eye(size)
        self._cap = structure.conditioning.cap
        self._told_by_state = bool(parameters.prediction.any())  # else none is needed to forecast

    def __reduce__(self) -> tuple[Any, ...]:
        """Let copies and other processes prepare their own."""
        return type(self), self._given

    def in_precision(self, dtype: type[np.floating]) -> PreparedStep:
        """Return the same step computing features in another precision."""
        return type(self)(*self._given[:-1], dtype)

    def advance(self, belief: Array, past: Array) -> StepResult:
        """Take the newest tick of the past (P, d); where it is NaN, it is filled in place."""
        rows = past.ravel() if past.ndim == 2 else past.reshape(len(past), -1)
        limited = np.minimum(np.maximum(rows[self._recent], self._low), self._high)
        newest, held = rows[self._newest], limited[self._newest]
        unusual = None if held.tolist() == newest.tolist() else self._unusual(held, newest)
        features = self._maps.recorded(limited)
        joined = _join(belief, features[self._at_action])
        read = joined.dot(self._read)
        expected = self._expect(read, features, rows[self._window])
        error = rows[self._at_seen] - expected
        seen = features[self._at_observation]
        if unusual is not None and unusual.missing.any():
            seen = self._stand_in(past, expected, joined)
        return StepResult(self._condition(read, seen), error, unusual)

    def roll_out(
        self, belief: Array, past: Array, plans: Array, go_on: bool = False
    ) -> tuple[Array, Array, Array]:
        """Return a forecast (H, d_o) given actions (H, d_a), and belief and past after them.

        The belief is that before the last tick, unless the filter is to ``go_on``; where the state
        has no say in what is expected, it is not followed for forecasts alone.
        """
        layout, (*batch, horizon, _) = self.layout, plans.shape
        before = past.shape[-2]
        # One row more than needed: what is read beside the last predicted observation.
        ticks = np.zeros((*batch, before + horizon + 1, layout.columns))
        ticks[..., :before, :] = past
        ticks[..., before:-1, : layout.acted] = plans
        limits = self._limits
        limited = np.minimum(
            np.maximum(ticks[..., before - layout.reach :, :], limits[0]), limits[1]
        )
        limited = limited.astype(self.dtype, copy=False)
        followed = self._told_by_state or go_on
        reader = self._reader(limited[..., layout.reach : -1, : layout.acted], followed)
        rows, narrow = ticks.reshape(*batch, -1), limited.reshape(*batch, -1)
        columns, observed = layout.columns, layout.observed
        span = layout.reach * columns + layout.acted
        ahead = span - columns
        low, high, inputs = *self._limits[:, layout.acted :], len(self._maps.arx)
        features = self._maps.predicted(narrow[..., :span])
        for h in range(horizon):
            read = reader(h, belief)
            stop = (before + h) * columns + layout.acted
            expected = self._expect(read, features, rows[..., stop - inputs : stop])
            rows[..., stop : stop + observed] = expected
            if h < horizon - 1 or go_on:
                # phi^o of this tick, and the NARX term of the next one.
                start = (h + 1) * columns
                newest = narrow[..., start + ahead : start + ahead + observed]
                np.minimum(np.maximum(expected, low), high, out=newest)
                features = self._maps.predicted(narrow[..., start : start + span])
                if followed:
                    belief = self._condition(read, features[self._at_observation])
        forecast = ticks[..., before:-1, layout.acted :]
        return forecast, belief, ticks[..., horizon:-1, :]

    def _reader(self, actions: Array, followed: bool) -> Callable[[int, Array], Array]:
        """Return what reads prediction, next state and covariance off beliefs (p,) at a tick.

        Of a state that is not ``followed`` it reads nothing but that it has no say.
        The features of one plan's actions (H, d_a) are multiplied in for all ticks at once, those
        of many (N, H, d_a) tick by tick, which takes less memory.
        """
        if not followed:
            return lambda h, beliefs: np.zeros((*beliefs.shape[:-1], self.layout.observed))
        if actions.ndim == 3:
            return lambda h, beliefs: _join(beliefs, self._maps.action(actions[:, h])).dot(
                self._read
            )
        padded = np.zeros((-(-len(actions) // BLOCK), BLOCK, self.layout.acted), self.dtype)
        padded.reshape(len(padded) * BLOCK, self.layout.acted)[: len(actions)] = actions
        by_tick = [
            self._maps.action(block).dot(self._by_action).reshape(BLOCK, -1, self._read.shape[1])
            for block in padded
        ]
        return lambda h, belief: belief.dot(by_tick[h // BLOCK][h % BLOCK])

    def _expect(self, read: Array, features: Array, window: Array) -> Array:
        """Return the expected observations (d_o,), given the values that the ARX term takes."""
        expected: Array = window.dot(self._maps.arx)
        expected += read[self._at_expected]
        expected += features[self._at_expected]
        return expected if self._bounds is None else self._bounds(expected)

    def _condition(self, read: Array, features: Array) -> Array:
        """Return the next belief (p,), from what u read and phi^o; see `filter_step`."""
        size = len(self._ridge)
        covariance, extended = read[self._at_covariance], read[self._at_extended]
        if self._packed:
            covariance = unpack_symmetric(covariance, size)
        if read.ndim == 1 and self._symmetric:
            covariance = covariance.reshape(size, size)
            squared = covariance.dot(covariance)
            squared += self._ridge
            # Its transpose lies in the order of columns, which LAPACK works on in place.
            _, conditioner, fault = POSITIVE_SOLVE(squared.T, covariance.dot(features), 0, 1)
            belief: Array = extended.reshape(-1, size).dot(conditioner)
            norm = math.sqrt(belief.dot(belief))
            if fault:
                belief[:] = np.nan
            return belief if norm <= self._cap else belief * (self._cap / norm)
        covariance = covariance.reshape(*read.shape[:-1], size, size)
        squared = covariance @ covariance + self._ridge
        weighted = features[..., None, :] @ covariance
        conditioners = np.linalg.solve(squared.swapaxes(-1, -2), weighted.swapaxes(-1, -2))
        belief = (extended.reshape(*read.shape[:-1], -1, size) @ conditioners)[..., 0]
        norms = np.sqrt((belief * belief).sum(-1, keepdims=True))
        shrink = np.minimum(1, self._cap / np.maximum(norms, 1e-30))
        return np.asarray(belief * shrink)

    def _stand_in(self, past: Array, expected: Array, joined: Array) -> Array:
        """Fill what is missing in the newest tick by what was expected; return phi^o (r_o,)."""
        newest = past[..., -1, self.layout.acted :]
        missing = np.isnan(newest)
        newest[missing] = expected[missing]
        limited = np.clip(past[..., -self.layout.reach - 1 :, :], *self._limits)
        features = self._maps.recorded(limited.reshape(*past.shape[:-2], -1))
        features = features[self._at_observation]
        if self._expected is None:
            return features
        return np.where(missing.all(-1, keepdims=True), joined @ self._expected, features)

    def _unusual(self, limited: Array, newest: Array) -> Unusual:
        """Return what is missing or outside the limits; what is missing is set to 0."""
        missing = np.isnan(newest)
        outside = (limited != newest) & ~missing
        limited[missing] = 0
        acted = self.layout.acted
        by_kind = missing, outside[..., acted:], outside[..., :acted]
        return Unusual(*(np.asarray(kind.any(-1)) for kind in by_kind))


def _join(belief: Array, action: Array) -> Array:
    """Return u = q x phi^a (p r_a,)."""
    if belief.ndim == 1:
        return np.asarray(belief[:, None].dot(action[None]).ravel())
    return khatri_rao(belief, action)
