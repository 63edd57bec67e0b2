"""The filter's outputs: forecasts and the belief on topics, each made only if someone listens."""

from __future__ import annotations

import array
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from rffpsr_ros.episodes.forecast_messages import (
    FORECAST_TYPES,
    PREDICTED_TYPE,
    PREDICTION_TYPE,
    ahead_ns,
    band_message,
    predicted_message,
    prediction_message,
    trajectory_message,
)
from rffpsr_ros.episodes.trajectory import Array
from rffpsr_ros.forecasting.follower import Follower, Forecast, Step
from rffpsr_ros.models.predictive_model import Signature
from rffpsr_ros.nodes.message_classes import make, message_class

DEPTH = 10


class ForecastPublisher:
    """Publishes what `Follower.feed` returns."""

    def __init__(self, node: Any) -> None:
        self._node = node
        types = {**FORECAST_TYPES, "error": PREDICTED_TYPE}
        self._publishers = {
            name: node.create_publisher(message_class(type_name), f"~/{name}", DEPTH)
            for name, type_name in types.items()
        }
        self._state = node.create_publisher(message_class(PREDICTION_TYPE), "~/state", DEPTH)
        self._prediction: tuple[tuple[int, ...], str, Any] | None = None
        self._predicted: tuple[Sequence[str], str, Any] | None = None
        self._awaited: deque[tuple[int, Array, str]] = deque()

    @property
    def wanted(self) -> bool:
        """Whether anyone listens to a topic that takes forecasts."""
        return any(p.get_subscription_count() for p in self._publishers.values())

    def forget(self) -> None:
        """Await no targets of earlier forecasts any more: the segment has ended."""
        self._awaited.clear()

    def publish(self, step: Step, follower: Follower, lead: int) -> None:
        """Publish a step's forecast, and the error of the forecast that was for its tick."""
        signature, state = follower.model.signature, follower.state
        self._publish_error(step, signature)
        if step.forecast is not None:
            self._publish_forecast(step.forecast, signature, lead)
            if self._listened("error"):
                row = min(lead, len(step.forecast.values))
                expected = step.forecast.values[row - 1], step.forecast.assumes
                self._awaited.append((step.tick.number + row, *expected))
            self._publish_band(step.forecast, follower.options.coverage)
        if self._state.get_subscription_count():
            self._state.publish(_state_message(state))

    def publish_stale(self, forecast: Forecast, signature: Signature, lead: int) -> None:
        """Publish a forecast made in silence; no error is told of it."""
        self._publish_forecast(forecast, signature, lead)

    def _publish_forecast(self, forecast: Forecast, signature: Signature, lead: int) -> None:
        names, period = signature.observation_names, signature.period
        lead = min(lead, len(forecast.values))
        ahead = forecast.values[lead - 1]
        if self._listened("prediction"):
            self._publishers["prediction"].publish(self._prediction_of(forecast))
        if self._listened("trajectory"):
            self._publishers["trajectory"].publish(
                trajectory_message(
                    make, forecast.values, names, forecast.origin_ns, period, forecast.assumes
                )
            )
        if self._listened("predicted"):
            target_ns = forecast.origin_ns + ahead_ns(lead, period)
            self._publishers["predicted"].publish(
                self._predicted_of(ahead, names, target_ns, forecast.assumes)
            )

    def _publish_band(self, forecast: Forecast, coverage: float) -> None:
        """Publish the band around a forecast, if the model has any."""
        if forecast.half_width is not None and self._listened("band"):
            self._publishers["band"].publish(
                band_message(make, forecast.values, forecast.half_width, coverage)
            )

    def _publish_error(self, step: Step, signature: Signature) -> None:
        """Publish what came minus what was predicted for now, if something was."""
        awaited, tick = self._awaited, step.tick
        while awaited and awaited[0][0] <= tick.number:
            number, predicted, assumes = awaited.popleft()
            if number == tick.number:
                error = tick.observation - predicted
                names = signature.observation_names
                self._publishers["error"].publish(
                    predicted_message(make, error, names, tick.stamp_ns, assumes)
                )

    def _prediction_of(self, forecast: Forecast) -> Any:
        """Return the message of a forecast; its layout is made once, as it hardly ever changes."""
        shape, assumes, values = forecast.values.shape, forecast.assumes, forecast.values
        if self._prediction is None or self._prediction[:2] != (shape, assumes):
            self._prediction = (shape, assumes, prediction_message(make, values, assumes))
        message = self._prediction[2]
        message.data = _as_array(values)
        return message

    def _predicted_of(
        self, values: Array, names: Sequence[str], stamp_ns: int, assumes: str
    ) -> Any:
        """Return the message of what is expected at a time; names and words are filled in once."""
        if self._predicted is None or self._predicted[:2] != (names, assumes):
            message = predicted_message(make, values, names, stamp_ns, assumes)
            self._predicted = (names, assumes, message)
        message = self._predicted[2]
        stamp = message.header.stamp
        stamp.sec, stamp.nanosec = divmod(stamp_ns, 10**9)
        message.position = _as_array(values)
        return message

    def _listened(self, name: str) -> bool:
        return bool(self._publishers[name].get_subscription_count())


def _as_array(values: Array) -> array.array[float]:
    return array.array("d", np.ascontiguousarray(values).tobytes())


def _state_message(state: Any) -> Any:
    """Return the first array of a state, which is what models believe of the robot."""
    while isinstance(state[0], tuple):  # of a mixture, its first member's
        state = state[0]
    belief = np.ravel(np.asarray(state[0], dtype=np.float64))
    label = type(state)._fields[0]
    dimension = make(
        "std_msgs/msg/MultiArrayDimension", label=label, size=len(belief), stride=len(belief)
    )
    layout = make("std_msgs/msg/MultiArrayLayout", dim=[dimension], data_offset=0)
    return make(PREDICTION_TYPE, layout=layout, data=belief)
