"""Forecasts as messages that people's tools know: one layout for live topics and for bags.

Every function takes ``make``, called as ``make("package/msg/Name", field=value, ...)`` with all
fields of the message, and returns what it makes. Number arrays are handed to it as float64 numpy
arrays. So messages of rclpy and of rosbags are made by the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rffpsr_ros.numerics.arrays import Array

Make = Callable[..., Any]

PREDICTION_TYPE = "std_msgs/msg/Float64MultiArray"
BAND_TYPE = PREDICTION_TYPE
PLAN_TYPE = PREDICTION_TYPE
TRAJECTORY_TYPE = "trajectory_msgs/msg/JointTrajectory"
PREDICTED_TYPE = "sensor_msgs/msg/JointState"

FORECAST_TYPES = {
    "prediction": PREDICTION_TYPE,
    "band": BAND_TYPE,
    "trajectory": TRAJECTORY_TYPE,
    "predicted": PREDICTED_TYPE,
}
"""Message type by the last part of a forecast topic's name."""

_NOTHING = np.empty(0)


def prediction_message(make: Make, forecast: Array, assumes: str = "") -> Any:
    """Return a forecast (H, d_o) as an array laid out horizon x observation.

    ``assumes`` says which future actions it assumes; it becomes part of the first label.
    """
    horizon, columns = forecast.shape
    dimension = "std_msgs/msg/MultiArrayDimension"
    layout = make(
        "std_msgs/msg/MultiArrayLayout",
        dim=[
            make(dimension, label=_horizon(assumes), size=horizon, stride=horizon * columns),
            make(dimension, label="observation", size=columns, stride=columns),
        ],
        data_offset=0,
    )
    return make(PREDICTION_TYPE, layout=layout, data=_floats(forecast.ravel()))


def plan_message(make: Make, plan: Array) -> Any:
    """Return coming actions (n, d_a) as an array laid out ticks ahead x action."""
    rows, columns = plan.shape
    dimension = "std_msgs/msg/MultiArrayDimension"
    layout = make(
        "std_msgs/msg/MultiArrayLayout",
        dim=[
            make(dimension, label="ticks ahead", size=rows, stride=rows * columns),
            make(dimension, label="action", size=columns, stride=columns),
        ],
        data_offset=0,
    )
    return make(PLAN_TYPE, layout=layout, data=_floats(plan.ravel()))


def band_bounds(forecast: Array, half_width: Array) -> Array:
    """Return the bounds (2, h, d_o) of the band around a forecast (H, d_o): lower, upper.

    The first h <= H ticks are those whose half-widths are all known, and not NaN.
    """
    known = np.isfinite(half_width).all(axis=1)
    if not known.all():
        ticks = int(known.argmin())
        forecast, half_width = forecast[:ticks], half_width[:ticks]
    return np.stack([forecast - half_width, forecast + half_width])


def band_message(make: Make, bounds: Array, coverage: float) -> Any:
    """Return a band's bounds (2, H, d_o) as an array, bound x horizon x observation.

    The first label also says which share of the observations the band shall cover.
    """
    labels = (f"bound, {100 * coverage:g} % band", "horizon", "observation")
    dimensions = [
        make(
            "std_msgs/msg/MultiArrayDimension",
            label=label,
            size=bounds.shape[axis],
            stride=int(np.prod(bounds.shape[axis:])),
        )
        for axis, label in enumerate(labels)
    ]
    layout = make("std_msgs/msg/MultiArrayLayout", dim=dimensions, data_offset=0)
    return make(BAND_TYPE, layout=layout, data=_floats(bounds.ravel()))


def trajectory_message(
    make: Make,
    forecast: Array,
    names: Sequence[str],
    stamp_ns: int,
    period: float,
) -> Any:
    """Return a forecast (H, d_o) as a trajectory from the time ``stamp_ns`` it was made at.

    Point h lies ``h * period`` seconds ahead, h from 1.
    """
    points = [
        make(
            "trajectory_msgs/msg/JointTrajectoryPoint",
            positions=_floats(row),
            velocities=_NOTHING,
            accelerations=_NOTHING,
            effort=_NOTHING,
            time_from_start=_time(
                make, "builtin_interfaces/msg/Duration", ahead_ns(step + 1, period)
            ),
        )
        for step, row in enumerate(forecast)
    ]
    header = _header(make, stamp_ns)
    return make(TRAJECTORY_TYPE, header=header, joint_names=list(names), points=points)


def predicted_message(make: Make, values: Array, names: Sequence[str], stamp_ns: int) -> Any:
    """Return what is expected (d_o,) at the time ``stamp_ns``, so that plots lay it over the truth.

    The stamp is the time that the forecast is for, not the time it was made at.
    """
    return make(
        PREDICTED_TYPE,
        header=_header(make, stamp_ns),
        name=list(names),
        position=_floats(values),
        velocity=_NOTHING,
        effort=_NOTHING,
    )


def ahead_ns(steps: int, period: float) -> int:
    """Return how many nanoseconds ahead a forecast's step lies."""
    return round(steps * period * 1e9)


def row_ahead(values: Array, lead: int, made_ns: int, period: float) -> tuple[Array, int] | None:
    """Return what a forecast (H, d_o) says of ``lead`` ticks ahead, H at the most, and of when.

    None where a header cannot hold that time: its seconds are 32 bits wide.
    """
    lead = min(lead, len(values))
    target_ns = made_ns + ahead_ns(lead, period)
    known = -(2**31) <= target_ns // 1_000_000_000 < 2**31
    return (values[lead - 1], target_ns) if known else None


def _horizon(assumes: str) -> str:
    return f"horizon, future actions: {assumes}" if assumes else "horizon"


def _header(make: Make, stamp_ns: int) -> Any:
    """Return a header without a frame: observations have none in common."""
    stamp = _time(make, "builtin_interfaces/msg/Time", stamp_ns)
    return make("std_msgs/msg/Header", stamp=stamp, frame_id="")


def _time(make: Make, type_name: str, nanoseconds: int) -> Any:
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return make(type_name, sec=seconds, nanosec=rest)


def _floats(values: Array) -> Array:
    return np.ascontiguousarray(values, dtype=np.float64)
