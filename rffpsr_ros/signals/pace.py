"""The grid of ticks, led by the stamps of the pace channel; integer nanoseconds throughout."""

from __future__ import annotations

from collections import deque
from fractions import Fraction

DRIFT_GAIN = 16
"""A closing sample moves the grid by one part in this many of its distance from the grid."""

INTERVALS_REMEMBERED = 16


class PaceInterval:
    """The pace channel's own sampling interval, estimated from its recent stamps.

    A mean over recent intervals. A dropout does not spoil it: an interval counts as two ticks at
    most, and not at all if it is far longer than all others. Jitter of 20 % leaves it within 14 %
    from the third interval on; before that, a sensor that might run at the tick rate is taken to
    do so.

    Attributes
    ----------
    half_ns
        Half the interval, at most half a tick.
    """

    def __init__(self, period_ns: int) -> None:
        self._longest_ns = 2 * period_ns
        self._half_period_ns = period_ns // 2
        self._recent: deque[int] = deque(maxlen=INTERVALS_REMEMBERED)
        self._sum = 0
        self._since_outlier = INTERVALS_REMEMBERED
        self.half_ns = self._half_period_ns

    def add(self, interval_ns: int) -> None:
        """Take note of the time between two samples."""
        recent = self._recent
        if interval_ns > self._longest_ns:
            interval_ns = self._longest_ns
        if len(recent) == INTERVALS_REMEMBERED:
            self._sum -= recent[0]
        recent.append(interval_ns)
        self._sum = total = self._sum + interval_ns
        count = len(recent)
        # An interval that is not even longer than twice the mean is no outlier.
        if interval_ns * count > 2 * total or count < INTERVALS_REMEMBERED:
            self._since_outlier = 0
        if self._since_outlier < INTERVALS_REMEMBERED:
            self._since_outlier += 1
            total, count = self._without_outlier(total, count)
        half_ns = total // (2 * count)
        if half_ns > self._half_period_ns or (count < 3 and 2 * half_ns >= self._half_period_ns):
            half_ns = self._half_period_ns
        self.half_ns = half_ns

    def _without_outlier(self, total: int, count: int) -> tuple[int, int]:
        if count > 3:
            longest = max(self._recent)
            if 2 * longest * (count - 1) > 5 * (total - longest):
                return total - longest, count - 1
        return total, count


class Grid:
    """Tick k covers [start(k), start(k + 1)).

    The grid is regular but for drift: each sample that closes a tick pulls the grid towards it by
    1/16 of its distance. The grid thus stays inside the spread of the pace channel's jitter, and
    a sensor that is 0.1 % slow or fast keeps giving exactly one sample per tick.
    """

    def __init__(self, period_ns: Fraction, origin_ns: int) -> None:
        self._numerator = period_ns.numerator
        self._denominator = period_ns.denominator
        self._origin_ns = origin_ns

    def start(self, tick: int) -> int:
        """Return when a tick starts (ns)."""
        return self._origin_ns + tick * self._numerator // self._denominator

    def first_from(self, time_ns: int) -> int:
        """Return the first tick that starts at or after a time."""
        return -((self._origin_ns - time_ns) * self._denominator // self._numerator)

    def closed_by(self, stamp_ns: int, half_ns: int) -> int:
        """Return the last tick that a pace sample closes: whose end is at most half_ns after it."""
        reach = (stamp_ns + half_ns - self._origin_ns + 1) * self._denominator - 1
        return reach // self._numerator - 1

    def follow(self, tick: int, stamp_ns: int, half_ns: int) -> None:
        """Move towards the sample that closed a tick, unless it is too far away."""
        offset = stamp_ns - self.start(tick + 1)
        if abs(offset) <= half_ns:
            step = abs(offset) // DRIFT_GAIN
            self._origin_ns += step if offset > 0 else -step
