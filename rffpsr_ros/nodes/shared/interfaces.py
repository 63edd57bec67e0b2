"""Every topic and service of the filter and the learner, for their documentation and its test."""

from __future__ import annotations

from typing import Literal, NamedTuple

Direction = Literal["published", "subscribed", "both"]

_SENSOR = "best effort, volatile, depth `queue_depth`; overridable by `qos_overrides`"
_OUTPUT = "reliable, volatile, depth 10"
_LATCHED = "reliable, transient local, depth 1"
_FLOATS = "std_msgs/msg/Float64MultiArray"


class Topic(NamedTuple):
    """A topic that a node publishes or subscribes to."""

    name: str
    direction: Direction
    type: str
    quality: str
    description: str


class Service(NamedTuple):
    """A service of type std_srvs/srv/Trigger; it answers at once."""

    name: str
    description: str


FILTER_TOPICS = (
    Topic(
        "the channels' topics",
        "subscribed",
        "as in the model file",
        _SENSOR,
        "What the model is fed, under the names it was trained with; remap them as any topic.",
    ),
    Topic(
        "~/planned_actions",
        "subscribed",
        _FLOATS,
        _OUTPUT,
        "Coming actions, horizon x action, for `future_actions: topic`. Row 0 acts in the tick in"
        " which a command sent now acts: the first tick of the next forecast. A plan shorter than"
        " the horizon is held; rows that have passed are dropped.",
    ),
    Topic(
        "~/prediction",
        "published",
        _FLOATS,
        _OUTPUT,
        "The forecast, horizon x observation, as `layout.dim` says. The first label also says"
        " which future actions are assumed, and of a forecast made in silence how stale it is.",
    ),
    Topic(
        "~/band",
        "published",
        _FLOATS,
        _OUTPUT,
        "The band around the forecast, bound x horizon x observation: first the lower bounds, then"
        " the upper. It covers the share `coverage` of what comes if the assumed actions come, and"
        " learns from its misses. Nothing, if the model file holds no bands.",
    ),
    Topic(
        "~/trajectory",
        "published",
        "trajectory_msgs/msg/JointTrajectory",
        _OUTPUT,
        "The forecast with names and `time_from_start`, from the time it was made at."
        " `header.frame_id` says which future actions are assumed.",
    ),
    Topic(
        "~/predicted",
        "published",
        "sensor_msgs/msg/JointState",
        _OUTPUT,
        "The forecast at `lead` ticks ahead, stamped with the time it is for: a plot lays it over"
        " the measured signal.",
    ),
    Topic(
        "~/error",
        "published",
        "sensor_msgs/msg/JointState",
        _OUTPUT,
        "What came minus what `~/predicted` had said of it; NaN where nothing came.",
    ),
    Topic("~/state", "published", _FLOATS, _OUTPUT, "The belief after each tick."),
    Topic(
        "/diagnostics",
        "published",
        "diagnostic_msgs/msg/DiagnosticArray",
        _OUTPUT,
        "Inputs (rates, ages, gaps), forecast (step times, live error beside that of training,"
        " causes of new beliefs) and model (file, checksum), every 0.8 s.",
    ),
)

FILTER_SERVICES = (
    Service("~/reset", "Forget the belief; the next one starts as the parameter `start` says."),
    Service("~/reload", "Load the model file anew; if it cannot be served the old model stays."),
)

LEARNER_TOPICS = (
    Topic(
        "the channels' topics",
        "subscribed",
        "as configured, else as published",
        "as strong as every publisher offers, depth `queue_depth`",
        "What is recorded, as it comes.",
    ),
    Topic(
        "~/status",
        "published",
        "diagnostic_msgs/msg/DiagnosticStatus",
        _LATCHED,
        "What the learner is doing: stage and progress of a training and its error on held-out data"
        " by now (in standard deviations of the observations), then the model file, what it was"
        " trained on and its error by horizon on held-out data; warnings of what the recordings"
        " lack; or why something failed.",
    ),
    Topic("~/recording", "published", "std_msgs/msg/Bool", _LATCHED, "Whether an episode is on."),
)

LEARNER_SERVICES = (
    Service("~/start_episode", "Begin to record an episode."),
    Service("~/end_episode", "End the episode and keep it, as a bag in `dataset_directory`."),
    Service("~/discard_episode", "End the episode and delete it."),
    Service("~/train", "Train on all kept episodes, in a process of its own; see `~/status`."),
    Service("~/cancel_training", "End the training; it leaves no process and no file."),
)
