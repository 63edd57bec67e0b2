"""The RFF-ARX model: regressions on random Fourier features of a window, one for each horizon.

The forecast of horizon h is linear in the features of the last ``past`` ticks and the actions of
steps 1 to h; later actions count as average ones. The paper's authors' form (``one_shot``) shows
every horizon all ``future`` actions: it looks better on recordings of a controlled robot, where
the next command tells what the robot just did, and cannot be used live.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.models.contract import Signature, TrainingRecord
from rffpsr_ros.models.tick_window import TickWindow, TickWindowModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.fourier_features import waves_of_phases


class WindowMap(NamedTuple):
    """Random Fourier features of a window for each of H horizons.

    ``history`` (D, past (d_o + d_a)) and ``future`` (D, H, d_a) are the parts of the frequencies,
    ``bandwidths`` (H,) what divides the phase. ``one_shot``: every horizon sees all actions.
    """

    history: Array
    future: Array
    bandwidths: Array
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


class RFFARXModel(TickWindowModel):
    """Direct multi-step forecasts from random features; beyond H steps they are fed back.

    Attributes
    ----------
    features
        The features of each horizon.
    weights
        (H, 2 D, d_o), in standard units.
    """

    kind: ClassVar[str] = "rff_arx"

    def __init__(
        self,
        signature: Signature,
        record: TrainingRecord,
        features: WindowMap,
        weights: Array,
        start: Array,
        observation_scaling: Scaling,
        action_scaling: Scaling,
    ) -> None:
        """Take features and weights in standard units; see the class for their shapes."""
        self.signature = signature
        self.record = record
        self.features = features
        self.weights = weights
        self.start = start
        self.observation_scaling = observation_scaling
        self.action_scaling = action_scaling
        self.future = len(weights)
        self.past = features.history.shape[1] // len(start)

    def predict(self, state: TickWindow, actions: Array) -> Array:
        """Return the forecast (H, d_o) or (B, H, d_o)."""
        planned = self.action_scaling.apply(actions)
        blocks = []
        for first in range(0, actions.shape[-2], self.future):
            plan = planned[..., first : first + self.future, :]
            blocks.append(self._forecast(state, plan))
            state = state.after(blocks[-1], plan)
        return self.observation_scaling.invert(np.concatenate(blocks, axis=-2))

    def _forecast(self, state: TickWindow, plan: Array) -> Array:
        """Return the forecast (..., steps, d_o) of at most H steps, all in standard units."""
        batch = np.broadcast_shapes(state.observations.shape[:-2], plan.shape[:-2])
        parts = (state.observations, state.actions)
        flat = [
            np.broadcast_to(part, (*batch, *part.shape[-2:])).reshape(*batch, -1) for part in parts
        ]
        history = np.concatenate(flat, axis=-1)
        steps = plan.shape[-2]
        if self.features.one_shot and steps < self.future:
            held = np.repeat(plan[..., -1:, :], self.future - steps, axis=-2)
            plan = np.concatenate([plan, held], axis=-2)
        phases = self.features.phases(
            history.reshape(-1, history.shape[-1]),
            np.broadcast_to(plan, (*batch, *plan.shape[-2:])).reshape(-1, *plan.shape[-2:]),
        )
        forecasts = [
            features_of(phase) @ weights
            for phase, weights in zip(phases, self.weights[:steps], strict=False)
        ]
        return np.stack(forecasts, axis=1).reshape(*batch, steps, -1)

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return features, weights and scalings."""
        return {"one_shot": self.features.one_shot}, {
            "history": self.features.history,
            "future": self.features.future,
            "bandwidths": self.features.bandwidths,
            "weights": self.weights,
            "start": self.start,
            "observation_scaling": np.stack(self.observation_scaling),
            "action_scaling": np.stack(self.action_scaling),
        }

    @classmethod
    def from_arrays(
        cls,
        signature: Signature,
        record: TrainingRecord,
        header: dict[str, Any],
        arrays: dict[str, Array],
    ) -> RFFARXModel:
        """Rebuild a model from what `to_arrays` returned."""
        return cls(
            signature,
            record,
            WindowMap(
                arrays["history"], arrays["future"], arrays["bandwidths"], header["one_shot"]
            ),
            arrays["weights"],
            arrays["start"],
            Scaling(*arrays["observation_scaling"]),
            Scaling(*arrays["action_scaling"]),
        )
