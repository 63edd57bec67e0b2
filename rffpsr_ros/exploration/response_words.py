"""Response times in words and lines: a table, and what a navigation stack takes of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rffpsr_ros.exploration.response_time import ResponseTime

AXES = {"linear.x": "vx", "linear.y": "vy", "angular.z": "wz"}
"""Of a velocity command, and their names in Nav2."""


def response_table(responses: Sequence[ResponseTime]) -> list[list[str]]:
    """Return rows of a table, its heading first; none if nothing responds."""
    if not responses:
        return []
    rows = [["responds", "to", "dead time [s]", "time constant [s]"]]
    for one in responses:
        dead = _with_error(one.dead_time, one.dead_time_error)
        lasting = _with_error(one.time_constant, one.time_constant_error)
        rows.append([one.observation, one.action, dead, lasting])
    return rows


def nav2_lines(responses: Sequence[ResponseTime]) -> list[str]:
    """Return the lines of Nav2's MPPI controller that tell it each axis's delay.

    There are some where a velocity command and the odometry's velocity of the same axis are among
    the columns.
    """
    lines = []
    for one in responses:
        axis = next((axis for axis in AXES if one.action.endswith(axis)), None)
        if axis is None or not one.observation.endswith(f"twist.{axis}"):
            continue
        lasting = (
            f"then a lag of {one.time_constant:.2g} s"
            if math.isfinite(one.time_constant)
            else "it does not settle"
        )
        lines.append(
            f"      model_delay_{AXES[axis]}: {one.dead_time:.3g}"
            f"  # s, ± {one.dead_time_error:.1g}; {lasting}"
        )
    if not lines:
        return []
    return ["controller_server:", "  ros__parameters:", "    FollowPath:", *lines]


def _with_error(value: float, error: float) -> str:
    if not math.isfinite(value):
        return "does not settle"
    return f"{value:.3g} ± {error:.1g}" if math.isfinite(error) else f"about {value:.3g}"
