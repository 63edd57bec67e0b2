"""How a rolled-out forecast depends on the actions: exact first derivatives.

    o_h = W_1 (q_h x phi^a(a_h)) + ARX and NARX term of the ticks before,   q_{h+1} = filter(...)

Of a forecast that was made, the derivatives of every tick by what enters it are found for all ticks
at once; `derivative_chain` joins them along the horizon. Where features see their input held at a
limit, or a prediction is held at a bound, a derivative is zero, as that of what is computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import khatri_rao, pack_gradient, unpack
from rffpsr_ros.psr.feature_maps import Features
from rffpsr_ros.psr.filter_step import inverse_of_square
from rffpsr_ros.psr.fourier_features import FeatureMap
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.runtime.derivative_chain import TickDerivatives
from rffpsr_ros.psr.runtime.tick_layout import arx_of_rows, layout_of

MOST_SLOPES = 2**17
"""Numbers in a map's derivatives for which they are kept multiplied out."""


class FilterSteps(NamedTuple):
    """What the derivatives of filter steps need of them."""

    covariance: Array  # C (N, G, r_o, r_o)
    inverse: Array  # (C^2 + lambda)^-1
    conditioner: Array  # v (N, G, r_o)
    extended: Array  # (N, G, p, r_o)
    following: Array  # the next q (N, G, p), before the cap


class RolloutDerivatives:
    """Derivatives of the forecasts of one predictor by the actions; all in standard units.

    Parameters
    ----------
    parameters, structure
        The fitted predictor.
    """

    def __init__(self, parameters: TrainableParameters, structure: FixedStructure) -> None:
        self._given = (parameters, structure)
        self._structure = structure
        self._layout = layout = layout_of(parameters, structure)
        self._past = max(layout.arx_past, layout.narx_past)
        self._states, size = len(parameters.initial), structure.observation.size
        self._read = np.hstack([parameters.prediction, parameters.extended, parameters.covariance])
        extended = layout.observed + self._states * size
        self._at_expected = np.s_[..., : layout.observed]
        self._at_extended = np.s_[..., layout.observed : extended]
        self._at_covariance = np.s_[..., extended:]
        self._arx = arx_of_rows(parameters, layout)[0].T
        self._action, self._observation = (
            SlopeMap(structure.action),
            SlopeMap(structure.observation),
        )
        self._narx: SlopeMap | None = None
        if structure.narx is not None and len(parameters.narx):
            self._narx = SlopeMap(structure.narx.weighted(parameters.narx))

    def __reduce__(self) -> tuple[object, ...]:
        """Let copies and other processes prepare their own."""
        return type(self), self._given

    def along(
        self, belief: Array, past: Array, plans: Array, forecasts: Array, go_on: bool = False
    ) -> TickDerivatives:
        """Return the derivatives along forecasts (N, H, d_o) of plans (N, H, d_a).

        Belief (p,) and past (P, d_a + d_o) are those before all plans, or each has its own. The
        filter takes a step after the last tick if it is to ``go_on``.
        """
        (count, _, acted), structure, states = plans.shape, self._structure, self._states
        box = structure.limits or (None,) * 4
        actions, action_slope = self._action(plans, box[2:])
        fed_back = plans.shape[1] if go_on else max(plans.shape[1] - 1, 1)
        seen, slope = self._observation(forecasts[:, :fed_back], box[:2])
        size = actions.shape[-1]
        read = self._read.reshape(states, size, -1)
        # What is read for each number of the belief, then for each feature of the action.
        reads = np.empty((*plans.shape[:2], states + size, read.shape[-1]))
        flat = reads.reshape(-1, *reads.shape[2:])
        np.matmul(actions.reshape(-1, size), read, out=flat[:, :states].swapaxes(0, 1))
        belief = np.broadcast_to(belief, (count, states))
        beliefs, steps = self._follow(belief, reads[:, :, :states], seen)
        beliefs = beliefs[:, : plans.shape[1]]
        by_feature = beliefs.reshape(-1, states) @ read.reshape(states, -1)
        flat[:, states:] = by_feature.reshape(-1, *read.shape[1:])
        by_row = self._by_ticks_before(past, plans, forecasts)
        by_read = reads[self._at_expected].swapaxes(-1, -2)
        inside = np.ones(forecasts.shape)
        if structure.bounds is not None:
            inside[...] = structure.bounds.strictly_inside(forecasts)
        by_read_next, by_seen = self._next(steps, reads[:, :fed_back], seen)
        before = by_row.shape[-1] - acted
        return TickDerivatives(
            by_read[..., :states],
            by_row[..., :before],
            by_row[..., before:] + by_read[..., states:] @ action_slope,
            inside,
            by_read_next[..., :states],
            by_read_next[..., states:] @ action_slope[:, :fed_back],
            by_seen @ slope,
        )

    def _follow(self, belief: Array, reads: Array, seen: Array) -> tuple[Array, FilterSteps]:
        """Return beliefs (N, G + 1, p), the first (N, p), and the steps from one to the next.

        See `filter_step`, which starts from what is read here.
        """
        beliefs, steps = [belief], []
        ridge, cap = self._structure.conditioning
        for h in range(seen.shape[1]):
            read = (belief[:, None] @ reads[:, h])[:, 0]
            covariance = unpack(read[self._at_covariance], seen.shape[-1])
            extended = read[self._at_extended].reshape(*belief.shape, -1)
            inverse = inverse_of_square(covariance, ridge)
            conditioner = ((seen[:, h, None] @ covariance) @ inverse)[:, 0]
            following = (extended @ conditioner[:, :, None])[:, :, 0]
            steps.append((covariance, inverse, conditioner, extended, following))
            norm = np.sqrt((following * following).sum(1, keepdims=True))
            belief = following * np.minimum(1, cap / np.maximum(norm, 1e-30))
            beliefs.append(belief)
        joined = (np.stack(part, axis=1) for part in zip(*steps, strict=True))
        return np.stack(beliefs, axis=1), FilterSteps(*joined)

    def _next(self, steps: FilterSteps, reads: Array, seen: Array) -> tuple[Array, Array]:
        """Return the derivatives of next states by k inputs that read (N, H, k, c), and by phi^o.

        They are (N, H, p, k) and (N, H, p, r_o). One solve carries a derivative to phi^o and to
        both factors C, see `filter_step_gradient`.
        """
        conditioner, columns = steps.conditioner, reads[self._at_covariance]
        residual = seen - (conditioner[..., None, :] @ steps.covariance)[..., 0, :]
        solved = steps.extended @ steps.inverse.swapaxes(-1, -2)
        by_seen = solved @ steps.covariance.swapaxes(-1, -2)
        at_matrix = residual[..., None, :, None] * solved[..., None, :]
        at_matrix -= conditioner[..., None, :, None] * by_seen[..., None, :]
        size = seen.shape[-1]
        packed = pack_gradient(at_matrix.reshape(-1, size, size), columns.shape[-1])
        found = packed.reshape(*solved.shape[:-1], -1) @ columns.swapaxes(-1, -2)
        extended = reads[self._at_extended].reshape(*reads.shape[:2], -1, size)
        by_extended = (extended @ conditioner[..., None]).reshape(*reads.shape[:3], -1)
        found += by_extended.swapaxes(-1, -2)
        # The cap projects onto a sphere: no derivative along the state where it is in force.
        norm = np.maximum(np.sqrt((steps.following**2).sum(-1)), 1e-30)[..., None, None]
        shrink = np.minimum(1, self._structure.conditioning.cap / norm)
        if (shrink < 1).any():
            along = np.where(shrink < 1, steps.following[..., None] / norm, 0.0)
            found = shrink * (found - along * (along.swapaxes(-1, -2) @ found))
            by_seen = shrink * (by_seen - along * (along.swapaxes(-1, -2) @ by_seen))
        return found, by_seen

    def _by_ticks_before(self, past: Array, plans: Array, forecasts: Array) -> Array:
        """Return the derivatives (N, H, d_o, w) of predictions by rows of ticks, of ARX and NARX.

        A row ends with the tick's own action and begins as many whole ticks before as they take.
        """
        (count, horizon, acted), layout = plans.shape, self._layout
        width = self._past * layout.columns + acted
        found = np.zeros((count, horizon, layout.observed, width))
        found[..., width - self._arx.shape[1] :] += self._arx
        if self._narx is None:
            return found
        before = layout.narx_past
        ticks = np.empty((count, before + horizon, layout.columns))
        ticks[:, :before] = past[..., past.shape[-2] - before :, :]
        ticks[:, before:, :acted], ticks[:, before:, acted:] = plans, forecasts
        span = before * layout.columns + acted
        rows = sliding_window_view(ticks.reshape(count, -1), span, axis=1)[:, :: layout.columns]
        places = layout.window(before)
        limits = self._structure.limits
        box: tuple[Array | None, Array | None] = (None, None)
        if limits is not None:
            low, high = (
                np.concatenate([np.tile(seen, before), np.tile(own, before + 1)])
                for seen, own in zip(limits[:2], limits[2:], strict=True)
            )
            box = low, high
        _, slope = self._narx(rows[:, :horizon, places], box)
        found[..., width - span + places] += slope
        return found


class SlopeMap:
    """Features and their derivatives, each by one product where the map is small enough."""

    def __init__(self, features: Features) -> None:
        self._features = features
        self._slopes: Array | None = None
        if isinstance(features, FeatureMap):
            frequencies, projection = features
            count = len(frequencies)
            if projection.size * frequencies.shape[1] <= MOST_SLOPES:
                turned = np.concatenate([projection[count:], -projection[:count]])
                twice = np.concatenate([frequencies, frequencies])
                self._slopes = khatri_rao(turned, twice)

    def __call__(self, points: Array, box: tuple[Array | None, ...]) -> tuple[Array, Array]:
        """Return features (N, H, r) of points (N, H, d) held within a box, and (N, H, r, d)."""
        low, high = box
        held = points if low is None or high is None else np.minimum(np.maximum(points, low), high)
        rows = held.reshape(-1, held.shape[-1])
        if self._slopes is None:
            found, slope = self._features.with_jacobian(rows)
        else:
            found, raw = self._features.with_pullback(rows)
            slope = raw @ self._slopes
        slope = slope.reshape(*points.shape[:-1], -1, points.shape[-1])
        if held is not points:
            slope *= (held == points)[..., None, :]
        return found.reshape(*points.shape[:-1], -1), slope
