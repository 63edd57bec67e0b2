"""Takes every forecast and looks at each number; what it saw is written down at the end.

A process of its own: ``python -m benchmarks.soak.listener OUT RATE``, until its standard input
ends. OUT/heard.npz holds the stamps of the ticks that were answered, and when; OUT/heard.json what
was wrong with forecasts, and what the diagnostics said.
"""

from __future__ import annotations

import json
import select
import sys
import time
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from rffpsr_ros.nodes.shared.message_classes import decoder
from rffpsr_ros.nodes.shared.message_wait import DirectExecutor
from rffpsr_ros.nodes.shared.rclpy_internals import leave_executor
from rffpsr_ros.nodes.shared.topic_inputs import sensor_profile
from rffpsr_ros.recordings.forecast_messages import PREDICTED_TYPE, PREDICTION_TYPE
from rffpsr_ros.signals.stamps import stamp_of_cdr

QUEUE = 5000
LOOK_SECONDS = 0.1


class Listener:
    """Listens to what a filter node publishes."""

    def __init__(self, rate: float) -> None:
        self._node = Node("listener")
        self._period_ns = round(1e9 / rate)
        self._predicted = decoder(PREDICTED_TYPE, direct=True)
        self._prediction = decoder(PREDICTION_TYPE, direct=True)
        profile = sensor_profile(QUEUE)
        listen: Any = self._node.create_subscription
        name = "/rffpsr_filter/"
        listen(JointState, name + "predicted", self._take_predicted, profile, raw=True)
        listen(Float64MultiArray, name + "prediction", self._take_prediction, profile, raw=True)
        listen(DiagnosticArray, "/diagnostics", self._take_diagnostics, profile)
        clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._node.create_timer(LOOK_SECONDS, self._look, clock=clock)
        self.stamps, self.moments = array("q"), array("q")
        self.forecasts = 0
        self.not_finite: list[int] = []
        self.diagnostics: list[tuple[int, str, int, str, int]] = []
        self.asked_to_end = False

    def listen(self) -> None:
        """Listen until standard input ends."""
        executor = DirectExecutor()
        executor.add_node(self._node)
        while not self.asked_to_end:
            executor.spin_once()
        leave_executor(self._node)

    def _look(self) -> None:
        self.asked_to_end = bool(select.select([sys.stdin], [], [], 0)[0])

    def _take_predicted(self, data: bytes) -> None:
        now = time.monotonic_ns()
        self.stamps.append(stamp_of_cdr(data, 0) - self._period_ns)
        self.moments.append(now)
        self._check(self._predicted(data).position, 6, now)

    def _take_prediction(self, data: bytes) -> None:
        self.forecasts += 1
        self._check(self._prediction(data).data, 60, time.monotonic_ns())

    def _check(self, values: Any, count: int, now: int) -> None:
        if len(values) != count or not np.isfinite(values).all():
            self.not_finite.append(now)

    def _take_diagnostics(self, message: Any) -> None:
        now = time.monotonic_ns()
        for status in message.status:
            values = {one.key: one.value for one in status.values}
            left_out = int(values.get("forecasts left out", 0))
            level = status.level[0]
            self.diagnostics.append((now, status.name, level, status.message, left_out))

    def write(self, out: Path) -> None:
        """Write down what was heard."""
        seen = {
            "forecasts": self.forecasts,
            "not_finite": self.not_finite,
            "diagnostics": self.diagnostics,
        }
        (out / "heard.json").write_text(json.dumps(seen), encoding="utf-8")
        np.savez(out / "heard.npz", stamps=self.stamps, moments=self.moments)


def main() -> None:
    """Listen."""
    rclpy.init()
    listener = Listener(float(sys.argv[2]))
    print("listening", flush=True)
    listener.listen()
    listener.write(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
