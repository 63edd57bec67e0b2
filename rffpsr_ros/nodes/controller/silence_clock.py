"""The clock by which it is told that nothing arrives any more."""

from __future__ import annotations

import time
from typing import Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType


class SilenceClock:
    """Simulated time where a node follows it; else a steady clock, which nobody can set back."""

    def __init__(self, node: Any) -> None:
        self._own = node.get_clock()
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)

    @property
    def simulated(self) -> bool:
        """Whether time is that of /clock."""
        return bool(self._own.ros_time_is_active)

    def clock(self) -> Clock:
        """Return the clock for a timer that is made now."""
        clock: Clock = self._own if self.simulated else self._steady
        return clock

    def now_ns(self) -> int:
        """Return the time (ns)."""
        return int(self._own.now().nanoseconds) if self.simulated else time.monotonic_ns()
