"""The filter's outputs: forecasts and the belief on topics, each made only if someone listens."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rffpsr_ros.forecasting.follower import Follower, Forecast, Step
from rffpsr_ros.models.contract import Signature
from rffpsr_ros.models.state_batches import CompactState
from rffpsr_ros.models.usable import usable_state
from rffpsr_ros.nodes.filter.prepared_message import PreparedMessage
from rffpsr_ros.nodes.filter.promise import DEPTH, deadline_seconds, promising
from rffpsr_ros.nodes.shared.executors import works_on_bytes
from rffpsr_ros.nodes.shared.message_classes import make, message_class
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.forecast_messages import (
    FORECAST_TYPES,
    PREDICTED_TYPE,
    PREDICTION_TYPE,
    band_bounds,
    band_message,
    predicted_message,
    prediction_message,
    row_ahead,
    trajectory_message,
)

PROMISED = "prediction"
"""Offered once its deadline is known: whoever asks for one must never see a weaker offer."""
LOOK_NS = 50_000_000
"""Every so often it is looked who listens."""


class ForecastPublisher:
    """Publishes what `Follower.feed` returns.

    Parameters
    ----------
    node
        Whose topics these are.
    told
        Called with the origin (ns) of every forecast as soon as it is published.
    """

    def __init__(self, node: Any, told: Callable[[int], None]) -> None:
        self._node, self._told = node, told
        self._deadline: float | None = None
        types = {**FORECAST_TYPES, "error": PREDICTED_TYPE, "state": PREDICTION_TYPE}
        self._publishers = {
            name: node.create_publisher(message_class(type_name), f"~/{name}", DEPTH)
            for name, type_name in types.items()
            if name != PROMISED
        }
        self._works_on_bytes = works_on_bytes(node)
        self._listened: set[str] = set()
        self._looked_ns = 0
        self._prepared: dict[str, tuple[Any, PreparedMessage]] = {}
        self._awaited: deque[tuple[int, Array]] = deque()

    def promise(self, period: float, value: Callable[[str], Any]) -> None:
        """Offer ``~/prediction`` as ticks of so many seconds and a node's parameters say."""
        deadline = deadline_seconds(value("deadline"), period, value("publish_every"))
        if deadline == self._deadline:
            return
        if self._deadline is not None:
            self._node.destroy_publisher(self._publishers.pop(PROMISED))
        self._deadline = deadline
        kind = message_class(PREDICTION_TYPE)
        self._publishers[PROMISED] = self._node.create_publisher(
            kind, f"~/{PROMISED}", promising(deadline)
        )

    @property
    def wanted(self) -> bool:
        """Whether anyone listened to a topic that takes forecasts, at the last `look`."""
        return not self._listened <= {"state"}

    def look(self) -> None:
        """See which outputs someone listens to, unless that was seen just now."""
        now_ns = time.monotonic_ns()
        if now_ns - self._looked_ns > LOOK_NS:
            self._looked_ns = now_ns
            publishers = self._publishers.items()
            self._listened = {name for name, one in publishers if one.get_subscription_count()}

    def forget(self) -> None:
        """Await no targets of earlier forecasts any more: the segment has ended."""
        self._awaited.clear()

    def publish(self, step: Step, follower: Follower, lead: int) -> None:
        """Publish a step's forecast, and the error of the forecast that was for its tick."""
        listened, signature = self._listened, follower.model.signature
        self._publish_error(step, signature)
        if step.forecast is not None:
            self._publish_forecast(step.forecast, signature, lead)
            if "error" in listened:
                row = min(lead, len(step.forecast.values))
                self._awaited.append((step.tick.number + row, step.forecast.values[row - 1]))
            if "band" in listened and step.forecast.half_width is not None:
                self._publish_band(step.forecast, follower.options.coverage)
            self._told(step.forecast.origin_ns)
        if "state" in listened and usable_state(follower.state):
            self._publishers["state"].publish(_state_message(follower.state))

    def publish_stale(self, forecast: Forecast, signature: Signature, lead: int) -> None:
        """Publish a forecast made in silence; no error is told of it."""
        self._publish_forecast(forecast, signature, lead)

    def _publish_forecast(self, forecast: Forecast, signature: Signature, lead: int) -> None:
        origin_ns, values, assumes = forecast.origin_ns, forecast.values, forecast.assumes
        names, period = signature.observation_names, signature.period
        if "prediction" in self._listened:
            self._send(
                "prediction",
                values,
                assumes,
                lambda marks: prediction_message(make, marks, assumes),
            )
        if "trajectory" in self._listened:
            self._publishers["trajectory"].publish(
                trajectory_message(make, values, names, origin_ns, period)
            )
        if "predicted" in self._listened:
            ahead = row_ahead(values, lead, origin_ns, period)
            if ahead is not None:
                row, target_ns = ahead
                self._send_observation("predicted", row, names, target_ns)

    def _publish_band(self, forecast: Forecast, coverage: float) -> None:
        assert forecast.half_width is not None
        bounds = band_bounds(forecast.values, forecast.half_width)
        if not bounds.size:
            return
        self._send("band", bounds, coverage, lambda marks: band_message(make, marks, coverage))

    def _publish_error(self, step: Step, signature: Signature) -> None:
        """Publish what was observed minus what was predicted for now, if something was."""
        awaited, tick = self._awaited, step.tick
        while awaited and awaited[0][0] <= tick.number:
            number, predicted = awaited.popleft()
            if number == tick.number:
                error, names = tick.observation - predicted, signature.observation_names
                seen = np.isfinite(error)
                if not seen.all():
                    error, names = error[seen], tuple(itertools.compress(names, seen))
                if names:
                    self._send_observation("error", error, names, tick.stamp_ns)

    def _send_observation(
        self, name: str, values: Array, names: Sequence[str], stamp_ns: int
    ) -> None:
        def draft(marks: Array) -> Any:
            return predicted_message(make, marks, names, stamp_ns)

        self._send(name, values, names, draft, stamp_ns)

    def _send(
        self,
        name: str,
        numbers: Array,
        words: Any,
        draft: Callable[[Array], Any],
        stamp_ns: int | None = None,
    ) -> None:
        """Publish numbers; the bytes of a message are drafted anew only if its ``words`` change."""
        if not self._works_on_bytes:
            self._publishers[name].publish(draft(numbers))
            return
        likeness = numbers.shape, words
        known = self._prepared.get(name)
        if known is None or known[0] != likeness:
            known = self._prepared[name] = likeness, PreparedMessage(draft, numbers.shape)
        self._publishers[name].publish(known[1].filled(numbers, stamp_ns))


def _state_message(state: Any) -> Any:
    """Return the first array of a state, which is what models believe of the robot."""
    if isinstance(state, CompactState):
        state = state.plain
    while isinstance(state[0], tuple):  # of an ensemble, its first member's
        state = state[0]
    belief = np.ravel(np.asarray(state[0], dtype=np.float64))
    label = type(state)._fields[0]
    dimension = make(
        "std_msgs/msg/MultiArrayDimension", label=label, size=len(belief), stride=len(belief)
    )
    layout = make("std_msgs/msg/MultiArrayLayout", dim=[dimension], data_offset=0)
    return make(PREDICTION_TYPE, layout=layout, data=belief)
