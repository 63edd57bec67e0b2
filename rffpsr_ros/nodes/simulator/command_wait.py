"""When a simulation that makes the time may go on: not before its commands have arrived."""

from __future__ import annotations

PATIENCE_SECONDS = 0.5
"""A tick waits no longer than this for its command; after that none waits until one arrives."""


class CommandWait:
    """Lets a tick pass no sooner than half a period after the command that answers what was seen.

    So a command has half a period to reach everyone before time moves on, however busy the machine
    is. All times are seconds of one steady clock.
    """

    def __init__(self, period: float) -> None:
        self._period = period
        self._shown = 0.0
        self._answered: float | None = None
        self._expects = False

    def shown(self, now: float) -> None:
        """Take note that a tick has ended, and of what everybody sees since."""
        self._shown = now
        # A tick that ended without its command has waited in vain, or had none to wait for.
        self._expects = self._answered is not None
        self._answered = None

    def answered(self, now: float) -> None:
        """Take note of a command; the first after a tick counts."""
        if self._answered is None:
            self._answered = now

    def may_go_on(self, now: float) -> bool:
        """Tell whether the next tick may end now."""
        # Timers are not exact: a quarter of a period may be missing.
        if now - self._shown < 0.75 * self._period:
            return False
        if self._answered is not None:
            return now - self._answered >= 0.5 * self._period
        return not self._expects or now - self._shown > PATIENCE_SECONDS
