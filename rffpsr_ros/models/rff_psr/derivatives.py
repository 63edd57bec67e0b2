"""Derivatives of an RFF-PSR's forecasts by the actions: rolled out, and of the window head."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rffpsr_ros.models.derivatives import in_units
from rffpsr_ros.models.rff_psr.parts import RFFPSRParts, WindowHead
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.fourier_features import FeatureMap
from rffpsr_ros.psr.runtime.derivative_chain import TickDerivatives, backwards, forwards
from rffpsr_ros.psr.runtime.packed_parts import compilable
from rffpsr_ros.psr.runtime.prepared_step import PreparedStep
from rffpsr_ros.psr.runtime.rollout_derivatives import RolloutDerivatives
from rffpsr_ros.psr.sigmoid_features import SigmoidMap

if TYPE_CHECKING:
    from rffpsr_ros.psr.runtime.compiled_derivatives import CompiledDerivatives

MOST_SLOPES = 2**21
"""Numbers in the derivatives of a feature map for which there is a compiled form."""

TOGETHER = 32
"""Plans whose derivatives are held at a time: they are a hundred times as large as the plans."""


class ForecastDerivatives:
    """Derivatives of one model's forecasts; beliefs (p,) or (N, p), pasts as `PreparedStep` has.

    Parameters
    ----------
    parts
        The fitted model.
    live
        Whether rolled-out forecasts are differentiated by compiled code, where there is such code
        and numba is installed; it is compiled, or read from what was kept, when it is first needed.
    """

    def __init__(self, parts: RFFPSRParts, live: bool = False) -> None:
        self._parts, self._live = parts, live
        self._rollout = RolloutDerivatives(parts.parameters, parts.structure)

    def __reduce__(self) -> tuple[object, ...]:
        """Let copies and other processes prepare their own."""
        return type(self), (self._parts, self._live)

    @cached_property
    def _compiled(self) -> CompiledDerivatives | None:
        """Return what differentiates by compiled code, if there is such code."""
        parameters, structure = self._parts.parameters, self._parts.structure
        if not self._live or not compilable(parameters, structure) or self._large():
            return None
        try:
            from rffpsr_ros.psr.runtime.compiled_derivatives import CompiledDerivatives
        except ImportError:
            return None
        compiled = CompiledDerivatives(parameters, structure)
        try:
            compiled.warm_up()
        except OSError:  # no room to keep what was compiled
            return None
        return compiled

    def _large(self) -> bool:
        """Tell whether a map's derivatives multiplied out would take too much memory."""
        structure = self._parts.structure
        return any(
            isinstance(one, FeatureMap | SigmoidMap)
            and one.projection.size * one.inputs > MOST_SLOPES
            for one in (structure.observation, structure.action, structure.narx)
        )

    def jacobian(self, belief: Array, past: Array, plans: Array, forecasts: Array) -> Array:
        """Return (N, H, d_o, H, d_a) along rolled-out forecasts (N, H, d_o) of plans (N, H, d_a).

        All are in the units of the data, but belief and past.
        """
        acted = plans.shape[-1]
        if self._compiled is not None:
            jacobian = self._one_by_one(self._compiled, belief, past, plans, forecasts)
        else:
            found = [
                forwards(ticks).rows[:, :, acted:]
                for ticks in self._along(belief, past, plans, forecasts)
            ]
            jacobian = np.concatenate(found).reshape(*forecasts.shape, *plans.shape[1:])
        return in_units(jacobian, self._parts.observation_scaling, self._parts.action_scaling)

    def gradient(
        self, belief: Array, past: Array, plans: Array, forecasts: Array, weights: Array
    ) -> Array:
        """Return the gradient (N, H, d_a) of the sum of forecasts times weights (N, H, d_o)."""
        if self._compiled is not None:
            jacobian = self.jacobian(belief, past, plans, forecasts)
            return np.asarray(np.einsum("nho,nhoka->nka", weights, jacobian))
        scaled = weights * self._parts.observation_scaling.deviation
        along = self._along(belief, past, plans, forecasts)
        found = [
            backwards(ticks, scaled[i * TOGETHER : (i + 1) * TOGETHER])
            for i, ticks in enumerate(along)
        ]
        return np.asarray(np.concatenate(found) / self._parts.action_scaling.deviation)

    def _one_by_one(
        self,
        compiled: CompiledDerivatives,
        belief: Array,
        past: Array,
        plans: Array,
        forecasts: Array,
    ) -> Array:
        """Return what `jacobian` does, in standard units, by a call for each plan."""
        plans = self._parts.action_scaling.apply(plans)
        forecasts = self._parts.observation_scaling.apply(forecasts)
        found = np.empty((*forecasts.shape, *plans.shape[1:]))
        for n, (plan, forecast) in enumerate(zip(plans, forecasts, strict=True)):
            own = belief[n] if belief.ndim == 2 else belief
            before = past[n] if past.ndim == 3 else past
            found[n] = compiled.jacobian(own, before, plan, forecast)
        return found

    def _along(
        self, belief: Array, past: Array, plans: Array, forecasts: Array
    ) -> Iterator[TickDerivatives]:
        plans = self._parts.action_scaling.apply(plans)
        forecasts = self._parts.observation_scaling.apply(forecasts)
        for first in range(0, len(plans), TOGETHER):
            now = slice(first, first + TOGETHER)
            own = belief[now] if belief.ndim == 2 else belief
            before = past[now] if past.ndim == 3 else past
            yield self._rollout.along(own, before, plans[now], forecasts[now])

    def of_windows(self, step: PreparedStep, belief: Array, past: Array, plans: Array) -> Array:
        """Return what `jacobian` does, of forecasts by the window head."""
        head = self._parts.head
        assert head is not None
        plans = self._parts.action_scaling.apply(plans)
        count, horizon, acted = plans.shape
        belief = np.broadcast_to(belief, (count, belief.shape[-1]))
        past = np.broadcast_to(past, (count, *past.shape[-2:]))
        belief_slope = np.zeros((*belief.shape, 0))
        past_slope = np.zeros((*past.shape, 0))
        blocks = []
        for start in range(0, horizon, head.future):
            block = plans[:, start : start + head.future]
            slope = self._of_window(head, belief, belief_slope, block)
            rest = np.zeros((*slope.shape[:-1], horizon * acted - slope.shape[-1]))
            blocks.append(np.concatenate([slope, rest], axis=-1))
            if start + head.future < horizon:
                rolled, following, later = step.roll_out(belief, past, block, True)
                ticks = self._rollout.along(belief, past, block, rolled, True)
                tangents = forwards(ticks, belief_slope, past_slope)
                belief, past, belief_slope = following, later, tangents.belief
                past_slope = tangents.rows[:, -past.shape[1] :]
        jacobian = np.concatenate(blocks, axis=1)
        jacobian = jacobian.reshape(*jacobian.shape[:3], horizon, acted)
        return in_units(jacobian, self._parts.observation_scaling, self._parts.action_scaling)

    def _of_window(
        self, head: WindowHead, belief: Array, belief_slope: Array, block: Array
    ) -> Array:
        """Return (N, h, d_o, K + h d_a) of a block of h actions, after K actions before it."""
        count, steps, acted = block.shape
        held = np.repeat(block[:, -1:], head.future - steps, axis=1)
        whole = np.concatenate([block, held], axis=1)
        limited = whole
        if (limits := self._parts.structure.limits) is not None:
            limited = np.clip(whole, *limits[2:])
        features, slope = head.future_action.with_jacobian(limited.reshape(count, -1))
        slope = slope * (limited == whole).reshape(count, 1, -1)
        slope = slope.reshape(count, -1, head.future, acted)
        slope[:, :, steps - 1] = slope[:, :, steps - 1 :].sum(axis=2)
        own = slope[:, :, :steps].reshape(count, slope.shape[1], -1)
        weights = head.weights.reshape(belief.shape[1], -1, head.weights.shape[1])
        by_feature = np.einsum("np,pfc->ncf", belief, weights)
        by_belief = np.einsum("nf,pfc->ncp", features, weights)
        found = np.concatenate([by_belief @ belief_slope, by_feature @ own], axis=-1)
        return found.reshape(count, head.future, -1, found.shape[-1])[:, :steps]
