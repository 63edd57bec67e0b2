"""What the filter promises of ``~/prediction``: how soon the next one comes, and that it lives.

Both are offered as qualities of service, so that whoever asks for them is told by the middleware
when forecasts stop, whatever the cause; who asks for neither notices nothing.
"""

from __future__ import annotations

from rclpy.duration import Duration
from rclpy.qos import LivelinessPolicy, QoSProfile

DEPTH = 10
MARGIN = 10
"""So many times the time between forecasts is their deadline, where nobody says otherwise."""
LEAST_LEASE_SECONDS = 1.0
"""A process that did not show itself for so long counts as dead."""


def deadline_seconds(given: float, period: float, publish_every: int) -> float:
    """Return within how many seconds the next forecast is promised; ``given`` 0: by the others."""
    return given or MARGIN * period * publish_every


def promising(deadline: float) -> QoSProfile:
    """Return the profile that offers a deadline (s), and liveliness."""
    lease = max(LEAST_LEASE_SECONDS, deadline)
    return QoSProfile(
        depth=DEPTH,
        deadline=Duration(nanoseconds=round(deadline * 1e9)),
        liveliness=LivelinessPolicy.AUTOMATIC,
        liveliness_lease_duration=Duration(nanoseconds=round(lease * 1e9)),
    )
