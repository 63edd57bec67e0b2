"""What a node does that cannot keep up: forecasts are left out until it can, updates never are."""

from __future__ import annotations


class Backlog:
    """Notes how long messages lie in the queue; half of it waiting is too much.

    Then forecasts, the larger part of a tick's work, are left out until nothing waits any more.
    Were messages lost instead, the belief would go astray, and a missing observation costs more
    time than one that is seen.

    Attributes
    ----------
    left_out
        Forecasts left out so far.
    """

    def __init__(self) -> None:
        self.left_out = 0
        self._reported = 0
        self._patience_ns = self._period_ns = 0
        self._pressed = False

    def expect(self, queue_depth: int, period: float) -> None:
        """Take note of how many messages the queue holds, and every how many seconds one comes."""
        self._period_ns = round(period * 1e9)
        self._patience_ns = queue_depth * self._period_ns // 2

    def note(self, waited_ns: int) -> None:
        """Take note of how long the newest message lay in the queue."""
        enough = self._period_ns if self._pressed else self._patience_ns
        self._pressed = waited_ns > enough

    def allows_forecast(self) -> bool:
        """Tell whether there is time for a forecast now."""
        self.left_out += self._pressed
        return not self._pressed

    def newly_left_out(self) -> int:
        """Return how many forecasts were left out since this was asked last."""
        new, self._reported = self.left_out - self._reported, self.left_out
        return new
