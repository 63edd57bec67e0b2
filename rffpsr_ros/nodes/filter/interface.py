"""What the filter node offers: its parameters, topics and services."""

from __future__ import annotations

from rffpsr_ros.models.input_gate import REJECTION_THRESHOLD
from rffpsr_ros.nodes.shared.interface import FLOATS, OUTPUT, SENSOR, Interface, Service, Topic
from rffpsr_ros.nodes.shared.parameters import (
    AUTOSTART,
    EXECUTOR,
    MODEL_FOLDERS,
    QUEUE_DEPTH,
    RESET_ON_TIME_JUMP,
    Parameter,
)

_DESCRIPTION = """\
Follows a robot with a learned model and publishes what it expects next. The model file holds
everything else: topics, fields, rate. A lifecycle node that starts by itself (`autostart`).

```
ros2 launch rffpsr_ros filter.launch.py model_path:=arm.psr
ros2 run rffpsr_ros filter_node --ros-args -p model_path:=arm.psr -r /joint_states:=/arm/joints
```

**Ticks.** Messages alone move it, through the very sampler that training used: a sample of the
first observation closes a tick, the belief takes it, and a forecast is published. In silence
nothing moves; the diagnostics say so. A gap longer than the channels' `max_gap`, or time going
back, ends the segment: the belief begins anew.

**Starting.** Until every channel has a sample it says what it waits for. In mid-run
(`start: running`) the belief is found from the first ticks seen; at an episode's start
(`start: episode`, and after time went back) it is the learned initial one.

**Errors.** The live error is measured with the actions that were really taken, as in training,
whatever the forecasts assume. Whether the robot is still the one that was learned is judged for
each observation by the newest 30 forecasts that say something of it: made once the state had
settled, ten ticks and a tenth of a second apart, of observations in the range trained on. If their
typical squared error exceeds `drift_warning` times that of training and they leave training's bands
far more often, the diagnostics warn; a change four times as large is told by ten forecasts. The
warning names the observation, how far ahead it is forecast worst, by how much, and what to look at;
it stays as it is, and one line in the log, until errors are well below what began it. The
diagnostics also warn where the robot works mostly outside the range trained on for ten seconds.
Beside it stands a score of novelty: the share of the newest 100 forecasts that met an observation
that surprises (outside of the band of 99 % one tick ahead) or an input outside the trained range. A
robot that changed surprises within the range; one that does something new leaves it.

**Absurd inputs.** An observation farther outside of the range it was trained on than
`rejection_threshold` widths of that range is taken for missing; such a command, or row of a plan,
does not replace the one before it. So one wild sample, of any size, leaves the forecasts as they
would be without it. What is rejected is counted by column in the diagnostics (`outliers`, which
warn for 10 s) and noted once in the log; `evaluate`, `predict` and replays reject the same. No
number that is not finite is ever published: a forecast that would hold one is withheld, and the
diagnostics say ERROR. A state that can no longer be computed with begins anew, in an ensemble that
of the member concerned.

**Commands without a number** (empty, NaN, of another joint) leave the one before them in force: one
WARN line, and `inputs` warn. What acts on the robot is not known then, so until the state has
settled again no error counts for the live error or for drift.

**Adaptation.** With `adapt`, forecasts are corrected for what became of the robot since it was
learned: another payload, a worn gear, a warm motor. By horizon and observation their errors are
regressed, by recursive least squares that forget, on 1, the newest observation, its change in the
last four ticks, the change that is forecast and the actions until then. That is held on a short
leash. A correction is used only as far as corrections that were made before an error was known
would have made it smaller, beyond chance; it is at most three usual errors of the model and leads
nowhere beyond the range trained on; errors that stand out, inputs far outside the trained range and
moments that tell nothing new, such as a robot at rest, teach nothing; and what makes errors larger
is thrown away. It learns from a forecast five times in a horizon, at most ten times a second, and
remembers some 50 of them; beyond 50 ticks the correction of the 50th holds. A silence does not end
it; `~/reset`, `~/reload` and time going back do. The model file stays as it is: to keep what
changed, record and train again. The bands and the live error are those of the corrected forecasts;
the diagnostics tell how large errors are beside those without correction. Learning takes one
forecast more and some tenths of a millisecond; `python -m benchmarks.adaptation` measures what it
gains and costs. `rffpsr predict --adapt` and `evaluate --adapt` do the same along recordings; with
recorded future actions each uninterrupted run by itself, as nobody knows what happened between
them.

**Field reports.** With `log_sequence` set, everything the model is fed is logged to a bag, resets,
plans and options included; `rffpsr predict BAG --model FILE --out OUT` then gives exactly the
forecasts that were published.

**When forecasts stop** the controller must know, whatever the cause: a sensor that is silent, a
node that died or hangs, a network that is gone. `~/prediction` offers a deadline and its
publisher's liveliness; a subscription that asks for them is told, one that does not asks for
nothing:

```python
from rclpy.duration import Duration
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import LivelinessPolicy, QoSProfile

told = SubscriptionEventCallbacks(
    deadline=lambda event: self.fall_back("no forecast in time"),
    liveliness=lambda event: event.alive_count or self.fall_back("the filter is gone"),
)
quality = QoSProfile(
    depth=1,
    deadline=Duration(seconds=0.5),
    liveliness_lease_duration=Duration(seconds=2),
    liveliness=LivelinessPolicy.AUTOMATIC,
)  # no less than the node offers
self.create_subscription(
    Float64MultiArray, "rffpsr_filter/prediction", self.plan, quality, event_callbacks=told
)
```

Falling back means what is safe without forecasts: a controller that needs none, or a stop. The
deadline runs from the first forecast on: until then the controller waits in its fall-back, and
returns to it whenever one of the two is told. A forecast whose first label says `stale` was made in
silence (`stale_after`) and looks ahead from its own time: use it for a brake, not to go on. A
forecast is for the tick after the newest observation; one that is older than a few ticks
(`header.stamp` of `~/trajectory`) is late, and says nothing of now. How old the newest observation
in a forecast is when it is published, the diagnostics tell at the median and the 99th percentile of
the newest 1000: so much less than its rows say does it look ahead of now. The launch files start a
filter or learner that ended again after two seconds (`respawn:=false`: never); the belief is then
found anew from the first ticks seen.

**Cost.** A topic nobody listens to costs nothing; with no listener at all, no forecasts are made
beyond those that measure the live error, one in `horizon` ticks. `publish_every` thins forecasts,
never updates. A node that is a hundred ticks behind leaves out forecasts until it gains on what
arrives; the diagnostics say so.
"""

_PARAMETERS = (
    AUTOSTART,
    Parameter(
        "model_path",
        "",
        "The model file to serve; empty: the newest one of the learner. It can be changed while the"
        " node is unconfigured (cleanup, set, configure), see `model_folders`.",
        fixed=False,
    ),
    MODEL_FOLDERS,
    Parameter(
        "reload_when_newer",
        False,
        "Serve a newer model file as soon as it is there, such as one that the learner wrote when"
        " it trained by itself (`retrain_after`); else it is told of, and `~/reload` serves it.",
        fixed=False,
    ),
    Parameter("horizon", 10, "Ticks that forecasts look ahead.", 1, 10_000, fixed=False),
    Parameter(
        "lead",
        1,
        "Ticks ahead at which `~/predicted` and `~/error` look; at most `horizon`.",
        1,
        10_000,
        fixed=False,
    ),
    Parameter(
        "coverage",
        0.9,
        "The share of coming observations that the bands of `~/band` shall cover.",
        0.5,
        0.99,
        fixed=False,
    ),
    Parameter(
        "future_actions",
        "hold",
        "The actions that forecasts assume: the last command held, zero, or `~/planned_actions`"
        " (held where there is none).",
        choices=("hold", "zero", "topic"),
        fixed=False,
    ),
    Parameter(
        "publish_every",
        1,
        "Forecast after every so many ticks; the belief follows every tick.",
        1,
        1_000_000,
        fixed=False,
    ),
    Parameter(
        "start",
        "running",
        "How the first belief, and that after `~/reset`, is found: `running` (the robot is in"
        " mid-run: from the first ticks seen) or `episode` (an episode starts: the learned"
        " initial belief).",
        choices=("running", "episode"),
        fixed=False,
    ),
    Parameter(
        "adapt",
        False,
        "Correct forecasts by what is learned of their errors while the filter runs, see"
        " Adaptation. A model that does not know the range it was trained on cannot.",
        fixed=False,
    ),
    Parameter(
        "compiled",
        True,
        "Run the model by compiled code, if numba is installed (the extra `fast`). Where none is"
        " kept from before, the filter serves by NumPy until a process of its own has compiled it;"
        " log and diagnostics (`runs by`) tell, and forecasts differ by rounding alone.",
    ),
    Parameter(
        "stale_after",
        0.0,
        "Seconds without a tick after which, and every so many seconds, a forecast marked stale is"
        " published, for up to `horizon` ticks; 0: never.",
        0.0,
        1e9,
    ),
    Parameter(
        "deadline",
        0.0,
        "Seconds within which the next `~/prediction` is promised, offered as the deadline of its"
        " quality of service; 0: ten times the time between forecasts.",
        0.0,
        1e9,
    ),
    RESET_ON_TIME_JUMP,
    Parameter(
        "rejection_threshold",
        [REJECTION_THRESHOLD],
        "How many widths of its trained range a value may lie outside of it. An observation farther"
        " off is taken for missing; in place of such a command, or row of a plan, the one before it"
        " stays in force. One number for all columns, or one for each observation and then for each"
        " action; 0: any finite value passes.",
    ),
    QUEUE_DEPTH,
    Parameter(
        "log_sequence",
        "",
        "A folder in which to log every message that the model was fed, as a bag that `rffpsr"
        " predict` replays exactly; empty: no log.",
    ),
    Parameter(
        "drift_warning",
        4.0,
        "Warn when the typical (median) squared error of an observation exceeds so many times that"
        " of training, and the errors leave training's bands far more often.",
        1.0,
        1e9,
        fixed=False,
    ),
    EXECUTOR,
)

_TOPICS = (
    Topic(
        "the channels' topics",
        "subscribed",
        "as in the model file",
        SENSOR,
        "What the model is fed, under the names it was trained with; remap them as any topic.",
    ),
    Topic(
        "~/planned_actions",
        "subscribed",
        FLOATS,
        OUTPUT,
        "Coming actions, horizon x action, for `future_actions: topic`. Row 0 acts in the tick in"
        " which a command received at the same time acts, so it does not matter which of the two,"
        " or of the plan and the observation that it answers, arrives first. The last row is held"
        " to the horizon; rows that have passed are dropped. A plan ends with its segment.",
    ),
    Topic(
        "~/prediction",
        "published",
        FLOATS,
        OUTPUT + ", deadline `deadline`, liveliness automatic with that lease, at least 1 s",
        "There once a model is served. The forecast, horizon x observation, as `layout.dim` says."
        " The first label also says which future actions are assumed, and of a forecast made in"
        " silence how stale it is.",
    ),
    Topic(
        "~/band",
        "published",
        FLOATS,
        OUTPUT,
        "The band around the forecast, bound x horizon x observation: first the lower bounds, then"
        " the upper. It covers the share `coverage` of observations if the assumed actions are"
        " taken, and learns from its misses. Nothing, if the model file holds no bands.",
    ),
    Topic(
        "~/trajectory",
        "published",
        "trajectory_msgs/msg/JointTrajectory",
        OUTPUT,
        "The forecast with names and `time_from_start`, from the time it was made at. Which future"
        " actions are assumed says the first label of `~/prediction`.",
    ),
    Topic(
        "~/predicted",
        "published",
        "sensor_msgs/msg/JointState",
        OUTPUT,
        "The forecast at `lead` ticks ahead, stamped with the time it is for: a plot lays it over"
        " the measured signal.",
    ),
    Topic(
        "~/error",
        "published",
        "sensor_msgs/msg/JointState",
        OUTPUT,
        "What was observed minus what `~/predicted` had said of it; what was not seen is left out.",
    ),
    Topic("~/state", "published", FLOATS, OUTPUT, "The belief after each tick."),
    Topic(
        "/diagnostics",
        "published",
        "diagnostic_msgs/msg/DiagnosticArray",
        OUTPUT,
        "Inputs (rates, ages, gaps), forecast (step times, age of the newest observation in what is"
        " published, live error beside that of training,"
        " causes of new beliefs), model (file, checksum) and clock (whose time it is), every 0.8 s;"
        " the node's heartbeat, with or without a model.",
    ),
)

_SERVICES = (
    Service("~/reset", "Forget the belief; the next one starts as the parameter `start` says."),
    Service("~/reload", "Load the model file anew; if it cannot be served the old model stays."),
)

FILTER = Interface(
    executable="filter_node",
    name="rffpsr_filter",
    description=_DESCRIPTION,
    parameters=_PARAMETERS,
    topics=_TOPICS,
    services=_SERVICES,
)
