"""How late a message is taken: it may have waited at this node, or before the node got it."""

from __future__ import annotations

WINDOW_NS = 10_000_000_000
"""The shortest delay of so long, and of so long before, is what a message takes on its way."""

NEVER = 2**63


class Lateness:
    """Of the messages of one topic, beside the quickest of the last seconds.

    A node that was stopped as a whole, or whose middleware was, got its messages late: by their
    times of receipt none of them waited. So the time at which each was sent is compared, too; by
    how much two computers' clocks differ is the same for all, and cancels. A clock that is set
    forward makes messages late for up to twice the window.
    """

    def __init__(self) -> None:
        self._shortest = self._before = NEVER
        self._until_ns = 0

    def of(self, now_ns: int, sent_ns: int, received_ns: int) -> int:
        """Return by how much (ns) the newest message is late; times are 0 where DDS tells none."""
        waited = now_ns - received_ns if received_ns else 0
        if not sent_ns:
            return waited
        delay = now_ns - sent_ns
        if now_ns > self._until_ns:
            self._before, self._shortest = self._shortest, delay
            self._until_ns = now_ns + WINDOW_NS
        elif delay < self._shortest:
            self._shortest = delay
        return max(waited, delay - min(self._shortest, self._before))
