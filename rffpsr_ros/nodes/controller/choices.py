"""From the controller's parameters to what the control loop takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rffpsr_ros.control.loop import ControlLoop
from rffpsr_ros.control.monitor import Tolerance
from rffpsr_ros.control.settings import ControlSettings, task_of
from rffpsr_ros.control.supervision import Supervisor
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.follower import Follower

Value = Callable[[str], Any]
"""From the name of a parameter to its value."""
_IN_GROUPS = ("limits", "constraints")
_FOLLOWING = ("horizon", "start", "reset_on_time_jump", "rejection_threshold", "adapt")


def control_settings(value: Value) -> ControlSettings:
    """Return the settings that parameters make: a group's are written with a dot."""

    def parameter(name: str) -> str:
        group, _, rest = name.partition("_")
        return f"{group}.{rest}" if group in _IN_GROUPS else name

    return ControlSettings(**{name: value(parameter(name)) for name in vars(ControlSettings())})


def follow_options(value: Value, compiled: bool) -> FollowOptions:
    """Return how the robot is followed."""
    return FollowOptions(**{name: value(name) for name in _FOLLOWING}, compiled=compiled)


def control_loop(value: Value, follower: Follower) -> ControlLoop:
    """Return a loop that is not enabled.

    Raises
    ------
    InputError
        If parameters do not fit the model.
    """
    return ControlLoop(
        follower,
        task_of(control_settings(value), follower.model),
        value("horizon"),
        Supervisor(value("resume_after"), value("enabling_timeout")),
        Tolerance(**{name: value(name) for name in vars(Tolerance())}),
        value("reference_timeout"),
        value("dry_run"),
    )
