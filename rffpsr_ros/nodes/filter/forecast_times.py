"""How long the filter's steps took lately, and how old forecasts were when they were published."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

REMEMBERED = 1000
"""Steps, and forecasts, of which median and 99th percentile are told."""


class ForecastTimes:
    """Times (s) of the newest steps and forecasts.

    Parameters
    ----------
    now
        Returns the node's time (ns), by the clock that stamps are compared with.

    Attributes
    ----------
    steps
        How many steps there were.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._took: deque[float] = deque(maxlen=REMEMBERED)
        self._ages: deque[int] = deque(maxlen=REMEMBERED)
        self.steps = 0

    def took(self, seconds: float) -> None:
        """Take note of how long a step took."""
        self.steps += 1
        self._took.append(seconds)

    def published(self, origin_ns: int) -> None:
        """Take note that a forecast was published just now: ``origin_ns`` is what it starts from.

        Its first row is for a tick after the observation of that time, not after now.
        """
        self._ages.append(self._now() - origin_ns)

    def values(self) -> dict[str, Any]:
        """Return median and 99th percentile of both, in milliseconds."""
        values: dict[str, Any] = {}
        for what, times, unit in (
            ("step time", self._took, 1e3),
            ("age of the newest observation in a forecast", self._ages, 1e-6),
        ):
            if times:
                median, late = np.percentile(list(times), [50, 99]) * unit
                values[f"{what} p50 [ms]"] = float(median)
                values[f"{what} p99 [ms]"] = float(late)
        return values
