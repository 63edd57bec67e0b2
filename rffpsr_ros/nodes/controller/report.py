"""What the controller tells of itself, in plain words, without ROS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rffpsr_ros.control.loop import ControlLoop
from rffpsr_ros.control.problem import Plan
from rffpsr_ros.nodes.shared.diagnostics import NodeFinding


def control_finding(
    loop: ControlLoop, newest: Plan | None, others: Mapping[str, int], dry_run: bool
) -> NodeFinding:
    """Return the phase, why it is that, and how planning goes.

    ``others`` counts, by action topic, who else publishes there.
    """
    supervisor, against = loop.supervisor, loop.against
    values: dict[str, Any] = {
        "phase": supervisor.phase + (" (dry run)" if dry_run else ""),
        "against control": "; ".join(against) or "nothing",
        "error one tick ahead over the 99 % band": loop.monitor.error_ratio,
    }
    if newest is not None:
        values |= {"cost": newest.cost, "rounds": newest.rounds}
    if loop.planner.seconds:
        median, late = np.percentile(list(loop.planner.seconds), [50, 99]) * 1e3
        values |= {"planning p50 [ms]": float(median), "planning p99 [ms]": float(late)}
    values |= {f"stopped: {reason}": count for reason, count in supervisor.stops.items()}
    strangers = [topic for topic, count in others.items() if count]
    if supervisor.phase == "stopped":
        message = f"control was stopped: {supervisor.reason}; the command is the safe one"
        return NodeFinding("control", "error", message, values)
    if strangers and supervisor.enabled:
        message = f"someone else publishes commands on {', '.join(strangers)}, too"
        return NodeFinding("control", "warn", message, values)
    if supervisor.phase == "waiting":
        return NodeFinding("control", "warn", f"waiting: {supervisor.reason}", values)
    message = supervisor.reason or "controlling"
    return NodeFinding("control", "ok", message, values)
