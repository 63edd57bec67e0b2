"""The output-error model: a recurrence on a short window, learned to run freely."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.models.contract import Signature, TrainingRecord
from rffpsr_ros.models.output_error.recurrence import Recurrence, run_freely
from rffpsr_ros.models.tick_window import TickWindow, TickWindowModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.fourier_features import FeatureMap


class OutputErrorModel(TickWindowModel):
    """Forecasts by feeding predictions back, from the first tick on; see `OutputError`.

    Attributes
    ----------
    recurrence
        Features, and the bounds within which predictions are held.
    weights
        (P, d_o), in standard units.
    """

    kind: ClassVar[str] = "output_error"

    def __init__(
        self,
        signature: Signature,
        record: TrainingRecord,
        recurrence: Recurrence,
        weights: Array,
        start: Array,
        observation_scaling: Scaling,
        action_scaling: Scaling,
    ) -> None:
        """Take recurrence, weights and start in standard units."""
        self.signature = signature
        self.record = record
        self.recurrence = recurrence
        self.weights = weights
        self.start = start
        self.observation_scaling = observation_scaling
        self.action_scaling = action_scaling
        observed, acted = weights.shape[1], len(action_scaling.mean)
        self.past = (len(recurrence.low) - acted) // (observed + acted)

    def predict(self, state: TickWindow, actions: Array) -> Array:
        """Return the forecast (H, d_o) or (B, H, d_o)."""
        forecast = self._forecast(state, self.action_scaling.apply(actions))
        return self.observation_scaling.invert(forecast)

    def _forecast(self, state: TickWindow, plan: Array) -> Array:
        """Return the forecast (..., H, d_o) of plans (..., H, d_a), all in standard units."""
        batch = np.broadcast_shapes(state.observations.shape[:-2], plan.shape[:-2])

        def rows(part: Array) -> Array:
            return np.broadcast_to(part, (*batch, *part.shape[-2:])).reshape(-1, *part.shape[-2:])

        actions = np.concatenate([rows(state.actions), rows(plan)], axis=1)
        runs = run_freely(self.recurrence, self.weights, rows(state.observations), actions)
        return runs.reshape(*batch, *runs.shape[1:])

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return recurrence, weights and scalings."""
        recurrence = self.recurrence
        return {}, {
            "frequencies": recurrence.features.frequencies,
            "projection": recurrence.features.projection,
            "window_limits": np.stack([recurrence.low, recurrence.high]),
            "bounds": np.stack(recurrence.bounds),
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
    ) -> OutputErrorModel:
        """Rebuild a model from what `to_arrays` returned."""
        features = FeatureMap(arrays["frequencies"], arrays["projection"])
        low, high = arrays["window_limits"]
        return cls(
            signature,
            record,
            Recurrence(features, low, high, Bounds(*arrays["bounds"])),
            arrays["weights"],
            arrays["start"],
            Scaling(*arrays["observation_scaling"]),
            Scaling(*arrays["action_scaling"]),
        )
