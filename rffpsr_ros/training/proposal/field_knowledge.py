"""What the usual message types say of their fields: which ones to take, and their units."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rffpsr_ros.signals.fields.grammar import Function, parse_field, unparse
from rffpsr_ros.training.proposal.field_ranges import FieldRange

MOST_FIELDS = 12
"""Fields proposed of one topic at most."""
_MOSTLY_THERE = 0.5

_WANTED = {
    "sensor_msgs/msg/Imu": r"angular_velocity|linear_acceleration",
    "nav_msgs/msg/Odometry": r"twist\.",
    "sensor_msgs/msg/JointState": r"position|velocity",
    "geometry_msgs/msg/PoseWithCovarianceStamped": r"pose\.|yaw\(",
}
"""Pattern of the fields to take by type; of other types all that vary."""

_UNITS = (
    (r"sensor_msgs/msg/FluidPressure", r"fluid_pressure", "Pa"),
    (r"sensor_msgs/msg/Temperature", r"temperature", "degC"),
    (r"sensor_msgs/msg/MagneticField", r"magnetic_field", "T"),
    (r"sensor_msgs/msg/(LaserScan|Range)", r"range", "m"),
    (r"Ackermann", r"steering_angle_velocity", "rad/s"),
    (r"Ackermann", r"steering_angle", "rad"),
    (r"Ackermann", r"speed", "m/s"),
    (r"", r"(.*\.)?angular_velocity\.", "rad/s"),
    (r"", r"(.*\.)?linear_acceleration\.", "m/s^2"),
    (r"(Twist|Odometry)", r"(.*\.)?linear\.", "m/s"),
    (r"(Twist|Odometry)", r"(.*\.)?angular\.", "rad/s"),
    (r"Accel", r"(.*\.)?linear\.", "m/s^2"),
    (r"Accel", r"(.*\.)?angular\.", "rad/s^2"),
    (r"Wrench", r"(.*\.)?force\.", "N"),
    (r"Wrench", r"(.*\.)?torque\.", "N m"),
    (r"(Pose|Odometry|Point)", r"(.*\.)?(position|point)\.", "m"),
)
"""(type, path, unit), the first that fits; units of REP 103.

JointState is not among them: joints turn or slide, and tables become JointStates too.
"""


def default_fields(type_name: str, ranges: Sequence[FieldRange]) -> tuple[str, ...]:
    """Return the fields of a topic worth learning from: those that vary, angles unwrapped.

    Arrays that are listed as a range and images are left for the user to ask for.
    """
    wanted = re.compile(_WANTED.get(type_name, ""))
    usable = [
        field.path
        for field in ranges
        if not field.constant
        and field.missing < _MOSTLY_THERE
        and ":" not in field.path
        and not field.path.startswith("image(")
    ]
    matching = [path for path in usable if wanted.match(path)] or usable
    chosen = matching[:MOST_FIELDS]
    return tuple(f"unwrap({path})" if path.startswith("yaw(") else path for path in chosen)


def unit_of(type_name: str, path: str) -> str:
    """Return the unit that a field has by convention; empty if there is none to know."""
    expression = parse_field(path)
    while isinstance(expression, Function) and expression.argument is not None:
        if expression.entry.unit is not None:
            return expression.entry.unit
        expression = expression.argument
    inner = unparse(expression)
    for types, paths, unit in _UNITS:
        if re.search(types, type_name) and re.match(paths, inner):
            return unit
    return ""
