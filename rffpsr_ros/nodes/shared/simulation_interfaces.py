"""Every topic and service of the nodes that simulate and excite, for their documentation."""

from __future__ import annotations

from rffpsr_ros.nodes.shared.interfaces import Service, Topic

_DEPTH = "reliable, volatile, depth 10"
_FLOATS = "std_msgs/msg/Float64MultiArray"
_JOINTS = "sensor_msgs/msg/JointState"

SIMULATOR_TOPICS = (
    Topic("joint_states", "published", _JOINTS, _DEPTH, "The joints, at the end of every tick."),
    Topic(
        "goal",
        "published",
        "geometry_msgs/msg/PointStamped",
        _DEPTH,
        "`swimmer`: its goal, seen from its nose.",
    ),
    Topic(
        "joint_commands",
        "subscribed",
        _FLOATS,
        _DEPTH,
        "`synthetic`, `swimmer`: all commands; the newest that has come by a tick's start acts"
        " throughout it.",
    ),
    Topic(
        "the bridge's topics",
        "both",
        "as in `gazebo_bridge_*.yaml`",
        _DEPTH,
        "`world`: what ros_gz_bridge would offer.",
    ),
    Topic(
        "/clock",
        "published",
        "rosgraph_msgs/msg/Clock",
        _DEPTH,
        "With `publish_clock`: the time, from 0 on.",
    ),
)

SIMULATOR_SERVICES = (
    Service("~/reset", "Put the robot back to its start; time and commands go on."),
)

EXCITATION_TOPICS = (
    Topic(
        "the action channels' topics",
        "published",
        "as configured",
        _DEPTH,
        "The commands. Fields that the configuration does not name stay zero; a header gets the"
        " time of sending.",
    ),
    Topic(
        "the observation channels' topics",
        "subscribed",
        "as configured",
        "best effort, volatile, depth `queue_depth`; overridable by `qos_overrides`",
        "With `feedback` or `pace: observations`.",
    ),
    Topic(
        "~/planned_actions",
        "published",
        _FLOATS,
        _DEPTH,
        "With `announce`: the next actions, ticks x action, of which the first is sent right"
        " after. Remap the filter's `~/planned_actions` to it.",
    ),
)

EXCITATION_SERVICES = (
    Service("~/start", "Begin the signal anew, with new random numbers."),
    Service("~/stop", "Send zero, and nothing more until `~/start`."),
)
