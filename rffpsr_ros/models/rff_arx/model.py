"""The RFF-ARX model: regressions on random Fourier features of a window, one for each horizon.

The forecast of horizon h is linear in the features of the last ``past`` ticks and the actions of
steps 1 to h; later actions count as average ones. The paper's authors' form (``one_shot``) shows
every horizon all ``future`` actions: it looks better on recordings of a controlled robot, where
the next command reveals what the robot just did, and cannot be used live.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.models.derivatives import by_plan, in_units, unit_plans
from rffpsr_ros.models.tick_window import TickWindow, TickWindowModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds, sizes
from rffpsr_ros.psr.fourier_features import waves_of_phases


class WindowMap(NamedTuple):
    """Random Fourier features of a window for each of H horizons.

    ``history`` and ``future`` are the parts of the frequencies, ``bandwidths`` divide the phase.
    ``one_shot``: every horizon sees all actions.
    """

    history: Annotated[Array, holds("D", "past*(d_o+d_a)")]
    future: Annotated[Array, holds("D", "H", "d_a")]
    bandwidths: Annotated[Array, holds("H", positive=True)]
    one_shot: bool

    def phases(self, history: Array, plan: Array) -> Iterator[Array]:
        """Yield the phases (N, D) of each horizon of plans (N, steps, d_a)."""
        here = history @ self.history.T
        steps = plan.shape[1]
        if self.one_shot:
            here = here + np.einsum("nha,dha->nd", plan, self.future[:, :steps])
        for h in range(steps):
            if not self.one_shot:
                here = here + plan[:, h] @ self.future[:, h].T
            yield here / self.bandwidths[h]

    def plan_slopes(self, steps: int) -> Array:
        """Return the derivatives (steps, D, steps d_a) of each horizon's phases by a plan."""
        acted = self.future.shape[2]
        slopes = np.zeros((steps, len(self.future), steps, acted))
        for h in range(steps):
            seen = steps if self.one_shot else h + 1
            slopes[h, :, :seen] = self.future[:, :seen]
            if self.one_shot:  # a plan that ends before the last horizon is held to its end
                slopes[h, :, -1] += self.future[:, steps:].sum(axis=1)
        by_horizon = slopes.reshape(steps, len(self.future), -1)
        return np.asarray(by_horizon / self.bandwidths[:steps, None, None])


def features_of(phase: Array) -> Array:
    """Return [cos, sin] / sqrt(D), (N, 2 D), of phases (N, D)."""
    features = waves_of_phases(phase)
    features /= np.sqrt(phase.shape[1])
    return features


class RFFARXParts(NamedTuple):
    """Regressions of H horizons on D random frequencies, in standard units.

    o_{t+h} = W_h z_h([last n o, last n a, a_t ... a_{t+h}])
    """

    features: WindowMap
    """z_h (2 D,), random Fourier features of each horizon's window."""
    weights: Annotated[Array, holds("H", "2*D", "d_o")]
    """W"""
    start: Annotated[Array, holds("d_o+d_a")]
    """The tick that stands for the past before anything was seen."""
    observation_scaling: Annotated[Scaling, sizes(d="d_o")]
    """What makes o (d_o,) standard."""
    action_scaling: Annotated[Scaling, sizes(d="d_a")]
    """What makes a (d_a,) standard."""


class RFFARXModel(TickWindowModel):
    """Direct multi-step forecasts from random features; beyond H steps they are fed back."""

    kind: ClassVar[str] = "rff_arx"
    parts_class = RFFARXParts
    parts: RFFARXParts

    def _prepare(self) -> None:
        self.future = len(self.parts.weights)
        self.past = self.parts.features.history.shape[1] // len(self.parts.start)

    def forecast(self, state: TickWindow, actions: Array) -> Array:
        """Return the forecast (H, d_o) or (B, H, d_o)."""
        planned = self.parts.action_scaling.apply(actions)
        blocks = []
        for first in range(0, actions.shape[-2], self.future):
            plan = planned[..., first : first + self.future, :]
            blocks.append(self._forecast(state, plan))
            state = state.after(blocks[-1], plan)
        return self.parts.observation_scaling.invert(np.concatenate(blocks, axis=-2))

    def _forecast(self, state: TickWindow, plan: Array) -> Array:
        """Return the forecast (..., steps, d_o) of at most H steps, all in standard units."""
        batch = np.broadcast_shapes(state.observations.shape[:-2], plan.shape[:-2])
        flat = [
            np.broadcast_to(part, (*batch, rows, columns)).reshape(*batch, rows * columns)
            for part in (state.observations, state.actions)
            for rows, columns in [part.shape[-2:]]
        ]
        history = np.concatenate(flat, axis=-1)
        steps = plan.shape[-2]
        if self.parts.features.one_shot and steps < self.future:
            last = np.repeat(plan[..., -1:, :], self.future - steps, axis=-2)
            plan = np.concatenate([plan, last], axis=-2)
        phases = self.parts.features.phases(
            history.reshape(-1, history.shape[-1]),
            np.broadcast_to(plan, (*batch, *plan.shape[-2:])).reshape(
                math.prod(batch), *plan.shape[-2:]
            ),
        )
        forecasts = [
            features_of(phase) @ weights
            for phase, weights in zip(phases, self.parts.weights[:steps], strict=False)
        ]
        return np.stack(forecasts, axis=1).reshape(*batch, steps, -1)

    def jacobian(self, state: TickWindow, actions: Array) -> Array:
        """Return the derivatives (H, d_o, H, d_a), or (B, H, d_o, H, d_a), of the forecast.

        With ``one_shot`` features a forecast depends on later actions too.
        """
        horizon, acted = actions.shape[-2:]
        batch = np.broadcast_shapes(state.seen.shape, actions.shape[:-2])
        plans = np.broadcast_to(actions, (*batch, horizon, acted)).reshape(-1, horizon, acted)
        planned = self.parts.action_scaling.apply(plans)
        count, directions = len(plans), horizon * acted
        state = TickWindow(
            *(np.broadcast_to(part, (*batch, *part.shape[state.seen.ndim :])) for part in state)
        )
        state = TickWindow(*(part.reshape(count, *part.shape[len(batch) :]) for part in state))
        # What the window before each block depends on, one direction of the plan after the other.
        window = TickWindow(
            np.zeros((count, directions, *state.observations.shape[1:])),
            np.zeros((count, directions, *state.actions.shape[1:])),
            np.repeat(state.seen[:, None], directions, axis=1),
            np.repeat(state.silent[:, None], directions, axis=1),
        )
        moves = np.broadcast_to(unit_plans(horizon, acted), (count, directions, horizon, acted))
        blocks = []
        for first in range(0, horizon, self.future):
            block = slice(first, first + self.future)
            forecast, change = self._moved(state, planned[:, block], window, moves[:, :, block])
            blocks.append(change)
            state = state.after(forecast, planned[:, block])
            window = window.after(change, moves[:, :, block])
        jacobian = by_plan(np.concatenate(blocks, axis=-2), horizon, acted)
        jacobian = jacobian.reshape(*batch, *jacobian.shape[1:])
        return in_units(jacobian, self.parts.observation_scaling, self.parts.action_scaling)

    def _moved(
        self, state: TickWindow, plan: Array, window: TickWindow, moves: Array
    ) -> tuple[Array, Array]:
        """Return a block's forecast (N, h, d_o), and its derivatives (N, K, h, d_o).

        These are along K directions, given those of the window and of the plan (N, K, h, d_a).
        """
        parts, (count, steps, _) = self.parts, plan.shape
        columns = parts.weights.shape[2]
        forecast = self._forecast(state, plan)
        flat = [part.reshape(count, -1) for part in state[:2]]
        history = np.concatenate(flat, axis=-1)
        held = np.repeat(plan[:, -1:], max(self.future - steps, 0), axis=1)
        seen = np.concatenate([plan, held], axis=1) if parts.features.one_shot else plan
        directions = moves.shape[1]
        by_window = (
            np.concatenate([part.reshape(count, directions, -1) for part in window[:2]], axis=-1)
            @ parts.features.history.T
        )
        by_moves = moves.reshape(count, directions, -1)
        slopes = parts.features.plan_slopes(steps)
        change = np.empty((count, directions, steps, columns))
        phases = zip(parts.features.phases(history, seen), parts.weights, slopes, strict=False)
        for h, (phase, weights, slope) in enumerate(phases):
            if h == steps:
                break
            waves, size = features_of(phase), phase.shape[1]
            turned = np.concatenate([-waves[:, size:], waves[:, :size]], axis=1)
            along = by_window / parts.features.bandwidths[h] + by_moves @ slope.T
            change[:, :, h] = (np.tile(along, 2) * turned[:, None]) @ weights
        return forecast, change
