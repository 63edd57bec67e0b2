"""The RFF-ARX model: regressions on random Fourier features of a window, one for each horizon.

The forecast of horizon h is linear in the features of the last ``past`` ticks and the actions of
steps 1 to h; later actions count as average ones. The paper's authors' form (``one_shot``) shows
every horizon all ``future`` actions: it looks better on recordings of a controlled robot, where
the next command reveals what the robot just did, and cannot be used live.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.data.scaling import Scaling
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

    def predict(self, state: TickWindow, actions: Array) -> Array:
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
        parts = (state.observations, state.actions)
        flat = [
            np.broadcast_to(part, (*batch, *part.shape[-2:])).reshape(*batch, -1) for part in parts
        ]
        history = np.concatenate(flat, axis=-1)
        steps = plan.shape[-2]
        if self.parts.features.one_shot and steps < self.future:
            last = np.repeat(plan[..., -1:, :], self.future - steps, axis=-2)
            plan = np.concatenate([plan, last], axis=-2)
        phases = self.parts.features.phases(
            history.reshape(-1, history.shape[-1]),
            np.broadcast_to(plan, (*batch, *plan.shape[-2:])).reshape(-1, *plan.shape[-2:]),
        )
        forecasts = [
            features_of(phase) @ weights
            for phase, weights in zip(phases, self.parts.weights[:steps], strict=False)
        ]
        return np.stack(forecasts, axis=1).reshape(*batch, steps, -1)
