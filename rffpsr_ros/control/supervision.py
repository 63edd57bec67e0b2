"""Whether control may go on: enabled by someone, and nothing speaks against it.

    disabled --enable--> waiting --nothing speaks against it--> controlling
    controlling --something does--> stopped --enable--> waiting
    stopped --in order long enough (resume_after)--> controlling

In all but controlling the command is the safe one, and while disabled there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Phase = Literal["disabled", "waiting", "controlling", "stopped"]


class Supervisor:
    """Keeps the phase; times are seconds of one clock.

    Parameters
    ----------
    resume_after
        Seconds in order after which control goes on by itself after a stop; 0: never.
    enabling_timeout
        Seconds within which enabling must be confirmed; 0: it lasts.

    Attributes
    ----------
    phase
        See above.
    reason
        Why there is no control; empty while there is.
    stops
        How often control was stopped, by reason.
    """

    def __init__(self, resume_after: float = 0.0, enabling_timeout: float = 0.0) -> None:
        self._resume_after, self._enabling_timeout = resume_after, enabling_timeout
        self.phase: Phase = "disabled"
        self.reason = "nobody has called ~/enable"
        self.stops: dict[str, int] = {}
        self._confirmed = 0.0
        self._in_order_since: float | None = None

    @property
    def enabled(self) -> bool:
        """Whether commands are published at all."""
        return self.phase != "disabled"

    def enable(self, now: float) -> None:
        """Let control begin as soon as nothing speaks against it."""
        self._confirmed = now
        if self.phase != "controlling":
            self.phase, self.reason = "waiting", "just enabled"

    def confirm(self, now: float) -> None:
        """Take note that whoever enabled it still wants it."""
        self._confirmed = now

    def disable(self, reason: str) -> None:
        """Publish no more commands."""
        self.phase, self.reason = "disabled", reason

    def stop(self, reason: str) -> None:
        """End control, until it is enabled again."""
        if self.phase == "controlling":
            self.stops[reason] = self.stops.get(reason, 0) + 1
        if self.enabled:
            self.phase, self.reason = "stopped", reason
            self._in_order_since = None

    def judge(self, against: Sequence[str], now: float) -> Phase:
        """Return the phase, given all that speaks ``against`` control now."""
        if self.enabled and self._lost(now):
            self.disable("enabling was not confirmed in time (enabling_timeout)")
        elif self.phase == "controlling" and against:
            self.stop(against[0])
        elif self.phase == "stopped":
            self._come_back(against, now)
        elif self.phase == "waiting":
            self.reason = against[0] if against else ""
            if not against:
                self.phase = "controlling"
        return self.phase

    def _come_back(self, against: Sequence[str], now: float) -> None:
        """Go on once all was in order for long enough."""
        since = self._in_order_since
        if against or since is None or now < since:
            self._in_order_since = None if against else now
        elif self._resume_after and now - since >= self._resume_after:
            self.phase, self.reason = "controlling", ""

    def _lost(self, now: float) -> bool:
        return bool(self._enabling_timeout) and now - self._confirmed > self._enabling_timeout
