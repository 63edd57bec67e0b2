"""What a node does that cannot keep up: forecasts are left out until it can, updates never are."""

from __future__ import annotations

LATE_TICKS = 100
"""A forecast that would be so many ticks late is left out."""
CAUGHT_UP_TICKS = 90
"""Until the node is only so many ticks behind: then it catches up while it forecasts."""


class Backlog:
    """Knows how long messages lie in the queue, and which forecasts were left out for it.

    Forecasts are the larger part of a tick's work. Without them a node that fell behind catches up
    before its queue overflows: a lost message is a missing observation, which costs the belief its
    certainty, and more time than one that is seen.

    Attributes
    ----------
    behind
        Whether there is no time for forecasts now.
    left_out
        Forecasts left out so far.
    newly_left_out
        Those that nobody has been told of yet, see `note_told`.
    """

    def __init__(self) -> None:
        self.behind = False
        self.left_out = self.newly_left_out = 0
        self._tick_ns = 0.0

    def expect(self, period: float) -> None:
        """Take note of how many seconds a tick takes."""
        self._tick_ns = period * 1e9

    def note(self, waited_ns: int) -> None:
        """Take note of how long the newest message lay in the queue."""
        limit = CAUGHT_UP_TICKS if self.behind else LATE_TICKS
        self.behind = waited_ns > limit * self._tick_ns

    def note_left_out(self) -> None:
        """Take note that a forecast was left out."""
        self.left_out += 1
        self.newly_left_out += 1

    def note_told(self) -> None:
        """Take note that what was left out so far has been told."""
        self.newly_left_out = 0
