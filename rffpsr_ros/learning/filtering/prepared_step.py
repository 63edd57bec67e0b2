"""The predictor and the filter's step, prepared for running live: a tick is a dozen array calls.

What `predictor.py` and `filtering.py` say, with everything that does not change multiplied out
once: the three feature maps are one, the direct term's weights are in it, and one product with
u = q x phi^a reads prediction, next state and covariance. All functions take one state, or N side
by side along a leading axis.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs

from rffpsr_ros.learning.filtering.predictor import Frame, Weights
from rffpsr_ros.learning.filtering.tick_layout import layout_of, tick_maps
from rffpsr_ros.learning.windows.arrays import Array, khatri_rao, unpack, unpack_symmetric

UNPACKED = 12
"""Up to so many observation features covariances are read whole, cheaper than unpacking halves."""

BLOCK = 16
"""Plans' action features are computed so many ticks at a time: how a product of matrices rounds
depends on its size, and a longer forecast is to begin with the very bits of a shorter one."""


class Unusual(NamedTuple):
    """What was wrong with a tick: a truth value each, or (N,)."""

    missing: Array
    limited_observation: Array
    limited_action: Array


class Advance(NamedTuple):
    """What one tick did to a state, or to N."""

    belief: Array  # q' (p,)
    expected: Array  # what was expected to be seen (d_o,)
    unusual: Unusual | None  # None: all was seen, and within the limits


class PreparedStep:
    """One tick of a filter, and forecasts rolled out from it.

    The past is an array (P, d_a + d_o) of standardised ticks, newest last; P is at least `past`.

    Parameters
    ----------
    weights, frame
        The fitted predictor.
    expected
        (p r_a, r_o): E[phi^o | q, a], taken where nothing was seen; None: the features of the
        predicted observation.
    dtype
        What features are computed in. All else is in double precision: conditioning on a nearly
        singular covariance would lose half the digits of a single-precision one.
    """

    def __init__(
        self,
        weights: Weights,
        frame: Frame,
        expected: Array | None,
        dtype: type[np.floating] = np.float64,
    ) -> None:
        self._given = (weights, frame, expected, dtype)
        self.dtype = dtype
        self.layout = layout_of(weights, frame)
        self.past = max(frame.past, 1) + 1
        self._maps = tick_maps(weights, frame, self.layout, dtype)
        observed, size = self.layout.observed, frame.observation.size
        self._at_observation = slice(observed, observed + size)
        self._at_action = slice(observed + size, None)
        self._at_extended = slice(observed, observed + len(weights.initial) * size)
        self._limits = np.full((2, self.layout.columns), np.inf)
        self._limits[0] *= -1
        if (limits := frame.limits) is not None:
            self._limits[0] = np.concatenate([limits.action_low, limits.observation_low])
            self._limits[1] = np.concatenate([limits.action_high, limits.observation_high])
        # Ready in the shape that a tick is looked at with the ones before it.
        self._low, self._high = np.tile(self._limits[:, None], (1, self.layout.reach + 1, 1))
        self._expected = expected
        covariance = weights.covariance
        symmetric = covariance.shape[1] < size * size
        self._packed = symmetric and size > UNPACKED
        if symmetric and not self._packed:
            covariance = unpack(covariance, size).reshape(len(covariance), -1)
        self._read = np.hstack([weights.prediction, weights.extended, covariance])
        self._ridge = frame.conditioning.regularisation * np.eye(size)
        self._cap = frame.conditioning.cap
        self._solve: Any = get_lapack_funcs("posv" if symmetric else "gesv")

    def __reduce__(self) -> tuple[Any, ...]:
        """Let copies and other processes prepare their own."""
        return type(self), self._given

    def in_precision(self, dtype: type[np.floating]) -> PreparedStep:
        """Return the same step computing features in another precision."""
        return type(self)(*self._given[:-1], dtype)

    def advance(self, belief: Array, past: Array) -> Advance:
        """Take the newest tick of the past (P, d); where it is NaN, it is filled in place."""
        limited = np.maximum(past[..., -self.layout.reach - 1 :, :], self._low)
        np.minimum(limited, self._high, out=limited)
        unusual = None
        if limited[..., -1, :].tolist() != past[..., -1, :].tolist():
            unusual = self._unusual(limited[..., -1, :], past[..., -1, :])
        features = self._features(limited)
        joined = _join(belief, features[..., self._at_action])
        read = np.dot(joined, self._read)
        rows = past.reshape(*past.shape[:-2], -1)
        expected = self._expect(read, features, rows[..., : -self.layout.observed])
        seen = features[..., self._at_observation]
        if unusual is not None and unusual.missing.any():
            seen = self._stand_in(past, expected, joined)
        return Advance(self._condition(read, seen), expected, unusual)

    def roll_out(
        self, belief: Array, past: Array, plans: Array, go_on: bool = False
    ) -> tuple[Array, Array, Array]:
        """Return a forecast (H, d_o) given actions (H, d_a), and belief and past after them.

        The belief is that before the last tick, unless the filter is to ``go_on``.
        """
        layout, (*batch, horizon, _) = self.layout, plans.shape
        before = past.shape[-2]
        # One row more than needed: what is read beside the last predicted observation.
        ticks = np.zeros((*batch, before + horizon + 1, layout.columns))
        ticks[..., :before, :] = past
        ticks[..., before:-1, : layout.acted] = plans
        limited = np.clip(ticks[..., before - layout.reach :, :], *self._limits)
        limited = limited.astype(self.dtype, copy=False)
        actions = self._action_features(limited[..., layout.reach : -1, : layout.acted])
        rows, narrow = ticks.reshape(*batch, -1), limited.reshape(*batch, -1)
        span = layout.reach * layout.columns + layout.acted
        low, high = self._limits[:, layout.acted :]
        features = self._maps.predicted(narrow[..., :span])
        for h in range(horizon):
            joined = _join(belief, actions[..., h, :])
            read = np.dot(joined, self._read)
            stop = (before + h) * layout.columns + layout.acted
            expected = self._expect(read, features, rows[..., :stop])
            ticks[..., before + h, layout.acted :] = expected
            if h < horizon - 1 or go_on:
                newest = limited[..., layout.reach + h, layout.acted :]
                np.minimum(np.maximum(expected, low), high, out=newest)
                # phi^o of this tick, and the direct term of the next one.
                start = (h + 1) * layout.columns
                features = self._maps.predicted(narrow[..., start : start + span])
                belief = self._condition(read, features[..., self._at_observation])
        forecast = ticks[..., before:-1, layout.acted :]
        return forecast, belief, ticks[..., horizon:-1, :]

    def _features(self, limited: Array) -> Array:
        """Return [direct term | phi^o | phi^a] of the last of a row of ticks."""
        rows = limited.reshape(*limited.shape[:-2], -1)
        return self._maps.recorded(rows)

    def _expect(self, read: Array, features: Array, rows: Array) -> Array:
        """Return the expected observations (d_o,), from rows that end with a tick's action."""
        observed, base = self.layout.observed, self._maps.base
        expected = read[..., :observed] + features[..., :observed]
        if base is None:
            return expected
        return np.dot(rows[..., -len(base) :], base) + expected  # type: ignore[no-any-return]

    def _condition(self, read: Array, features: Array) -> Array:
        """Return the next belief (p,), from what u read and phi^o; see `filter_step`."""
        size = len(self._ridge)
        columns = read[..., self._at_extended.stop :]
        covariance = unpack_symmetric(columns, size) if self._packed else columns
        covariance = covariance.reshape(*read.shape[:-1], size, size)
        extended = read[..., self._at_extended].reshape(*read.shape[:-1], -1, size)
        if read.ndim == 1:
            squared = np.dot(covariance, covariance)
            squared += self._ridge
            # Its transpose lies in the order of columns, which LAPACK works on in place.
            *_, conditioner, fault = self._solve(
                squared.T, np.dot(features, covariance), overwrite_a=True
            )
            belief = np.dot(extended, conditioner) if not fault else np.full(len(extended), np.nan)
            norm = math.sqrt(np.dot(belief, belief))
            return belief if norm <= self._cap else belief * (self._cap / norm)
        squared = covariance @ covariance + self._ridge
        weighted = features[:, None, :] @ covariance
        conditioners = np.linalg.solve(squared.swapaxes(1, 2), weighted.swapaxes(1, 2))
        belief = (extended @ conditioners)[:, :, 0]
        norms = np.sqrt((belief * belief).sum(1, keepdims=True))
        shrink = np.minimum(1, self._cap / np.maximum(norms, 1e-30))
        return np.asarray(belief * shrink)

    def _stand_in(self, past: Array, expected: Array, joined: Array) -> Array:
        """Fill what is missing in the newest tick by what was expected; return phi^o (r_o,)."""
        newest = past[..., -1, self.layout.acted :]
        missing = np.isnan(newest)
        newest[missing] = expected[missing]
        limited = np.clip(past[..., -self.layout.reach - 1 :, :], *self._limits)
        features = self._features(limited)[..., self._at_observation]
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

    def _action_features(self, actions: Array) -> Array:
        """Return phi^a (H, r_a) of limited actions (H, d_a)."""
        *batch, horizon, columns = actions.shape
        blocks = -(-horizon // BLOCK)
        padded = np.zeros((*batch, blocks * BLOCK, columns), self.dtype)
        padded[..., :horizon, :] = actions
        features = [
            self._maps.action(padded[..., start : start + BLOCK, :].reshape(-1, columns))
            for start in range(0, blocks * BLOCK, BLOCK)
        ]
        return np.concatenate([part.reshape(*batch, BLOCK, -1) for part in features], axis=-2)


def _join(belief: Array, action: Array) -> Array:
    """Return u = q x phi^a (p r_a,)."""
    if belief.ndim == 1:
        return np.multiply.outer(belief, action).ravel()
    return khatri_rao(belief, action)
