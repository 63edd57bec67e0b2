"""What the controller node offers: its parameters, topics and services."""

from __future__ import annotations

from rffpsr_ros.control.settings import SOLVERS
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
Makes a robot follow a reference by model predictive control with a learned model: at every tick it
plans the commands whose forecast is best, sends the first of them, and plans anew. It follows the
robot as the filter does, by the same model file and the same sampler.
[From a model to a closed loop](control.md) goes through it step by step. A lifecycle node that
starts by itself (`autostart`), and does nothing until `~/enable` is called.

```
ros2 launch rffpsr_ros control.launch.py model_path:=arm.psr dry_run:=true
ros2 service call /rffpsr_controller/enable std_srvs/srv/Trigger
```

**Reference.** `~/reference` says what observations shall become: horizon x observation, in the
model's units and order (`rffpsr info`), NaN where anything will do. One row is a constant. Of more,
row 0 is for the tick after the one under way, and each tick takes the next; the last one holds.
After `reference_timeout` beyond its end there is no control.

**Cost.** Squared distance from the reference (`tracking_weight`), commands (`effort_weight`, from
`safe_command`), their changes (`change_weight`), and observations beyond `constraints`; each in
half ranges of the recordings, or of the limits, so that weights have no units.

**Solver.** `gauss_newton` needs the forecast's derivatives: each round solves a quadratic programme
within the limits and goes as far towards its solution as the true cost falls. `mppi` draws
`samples` plans a round and averages the better ones; it serves any model. Both start from what is
left of the plan before, and the best plan found within `budget` is sent.

**Safety.** Whatever a solver says, a command lies within `limits.low` and `limits.high`, and no
farther from the one before than `limits.rate` allows. `safe_command` is sent, at once and whatever
the rate, and control is over until `~/enable` is called again (or for `resume_after`), when

- no tick has come for `stale_ticks`, or an observation is missing for so long: silence, NaN;
- an observation is outside of the trained range by more than `range_margin`;
- an observation is off its forecast one tick ahead by more than `error_limit`, or all of them stay
  the very same while they should clearly change: jumps, frozen sensors, another robot;
- a segment ends (a gap, time going back), or the reference has ended;
- the solver finds no plan with finite numbers, or fails;
- the model is loaded anew, the node is deactivated, or faults repeat; at `~/disable`, and when
  `enabling_timeout` is set and `~/enabling` is silent or false.

After `~/disable`, and whenever the node ends on SIGINT or SIGTERM, the safe command is the last
one. After `kill -9` or a power cut nobody sends it: a robot needs a watchdog of its own that stops
it when commands stop. Nobody else may publish on the action topics; the diagnostics warn of others.

**Before enabling** look at the diagnostics: they tell what speaks against control, and how large
the error one tick ahead is beside what is tolerated. With `dry_run` all is done but sending.

**Plans.** `~/planned_actions` has the filter's format: with that topic remapped to its own, a
filter with `future_actions: topic` publishes what follows from the plan, with its band.
"""

_PARAMETERS = (
    AUTOSTART,
    Parameter(
        "model_path",
        "",
        "The model file; empty: the newest one of the learner. It can be changed while the node is"
        " unconfigured (cleanup, set, configure), see `model_folders`.",
        fixed=False,
    ),
    MODEL_FOLDERS,
    Parameter("dry_run", False, "Plan and publish plans, but never a command."),
    Parameter("horizon", 20, "Ticks to plan for.", 2, 1000),
    Parameter(
        "solver",
        "auto",
        "`auto`: `gauss_newton` where the model's forecasts have derivatives, else `mppi`.",
        choices=SOLVERS,
    ),
    Parameter(
        "budget",
        0.0,
        "Milliseconds that planning may take at a tick, where one round does not take longer; 0:"
        " half a tick.",
        0.0,
        1e9,
    ),
    Parameter("samples", 256, "Plans that `mppi` draws in a round.", 2, 100_000),
    Parameter("seed", 0, "Of what `mppi` draws.", 0, 2**31 - 1),
    Parameter(
        "limits.low",
        [0.0],
        "The lowest command: one number for all actions, or one for each. With `limits.high` all"
        " zero, too: the range of commands that the model was trained on.",
    ),
    Parameter("limits.high", [0.0], "The highest command."),
    Parameter("limits.rate", [0.0], "The largest change of a command per second; 0: any."),
    Parameter("safe_command", [0.0], "What is sent where there is no control; within the limits."),
    Parameter(
        "tracking_weight",
        [1.0],
        "Weight of the distance from the reference: one for all observations, or one for each.",
        fixed=False,
    ),
    Parameter("effort_weight", [1e-4], "Weight of commands, see Cost.", fixed=False),
    Parameter(
        "change_weight",
        [1e-2],
        "Weight of changes of commands; too little of it lets plans jitter as no recording did.",
        fixed=False,
    ),
    Parameter(
        "constraints.low",
        [0.0],
        "What observations shall not fall below, softly: one for all, or one for each; `-.inf`:"
        " anything. Where it equals `constraints.high` there is no constraint.",
        fixed=False,
    ),
    Parameter("constraints.high", [0.0], "What observations shall not exceed.", fixed=False),
    Parameter(
        "constraints.weight", 100.0, "Weight of exceeding a constraint.", 0.0, 1e9, fixed=False
    ),
    Parameter(
        "constraints.coverage",
        0.0,
        "Draw constraints in by the band that covers this share of observations, so that the robot"
        " keeps them as often; 0: by nothing.",
        0.0,
        0.99,
        fixed=False,
    ),
    Parameter("stale_ticks", 2.0, "Ticks without an observation before control ends.", 1.0, 1e6),
    Parameter(
        "range_margin",
        0.2,
        "How many widths of its trained range an observation may lie outside of it; 0: any.",
        0.0,
        1e9,
    ),
    Parameter(
        "error_limit",
        10.0,
        "How many half-widths of training's 99 % band an observation may be off its forecast one"
        " tick ahead; 0: any.",
        0.0,
        1e9,
    ),
    Parameter("settle_ticks", 20, "Ticks to follow before control may begin.", 1, 1_000_000),
    Parameter(
        "reference_timeout",
        1.0,
        "Seconds for which the last row of a reference holds, that of a constant from its arrival"
        " on; 0: for ever.",
        0.0,
        1e9,
    ),
    Parameter(
        "enabling_timeout",
        0.0,
        "Seconds within which `~/enabling` must say true again, as a dead man's switch; 0: the call"
        " of `~/enable` lasts.",
        0.0,
        1e9,
    ),
    Parameter(
        "resume_after",
        0.0,
        "Seconds in order after which control goes on by itself once it was stopped; 0: never.",
        0.0,
        1e9,
    ),
    Parameter(
        "start",
        "running",
        "How the belief is found, as of the filter: `running` or `episode`.",
        choices=("running", "episode"),
    ),
    Parameter(
        "adapt",
        False,
        "Correct forecasts by what is learned of their errors, as of the filter (Adaptation): it"
        " takes away the offset that a model's error leaves.",
    ),
    Parameter(
        "compiled",
        True,
        "Run the model by compiled code, if numba is installed, as of the filter; until it is"
        " ready, also under control, by NumPy.",
    ),
    RESET_ON_TIME_JUMP,
    Parameter(
        "rejection_threshold",
        [REJECTION_THRESHOLD],
        "As of the filter: observations so many widths outside of the trained range count as"
        " missing, and such a reference is refused.",
    ),
    QUEUE_DEPTH,
    EXECUTOR,
)

_TOPICS = (
    Topic(
        "the channels' topics",
        "both",
        "as in the model file",
        SENSOR + "; commands: " + OUTPUT,
        "Observations and actions are heard as by the filter; once enabled, commands are published"
        " on the action topics, in the fields and types of the model's channels.",
    ),
    Topic(
        "~/reference", "subscribed", FLOATS, OUTPUT, "What observations shall become, see above."
    ),
    Topic(
        "~/enabling",
        "subscribed",
        "std_msgs/msg/Bool",
        OUTPUT,
        "True: control is still wanted, see `enabling_timeout`. False disables, always.",
    ),
    Topic(
        "~/planned_actions",
        "published",
        FLOATS,
        OUTPUT,
        "The plan, ticks ahead x action; row 0 is the command that is sent with it.",
    ),
    Topic(
        "~/trajectory",
        "published",
        "trajectory_msgs/msg/JointTrajectory",
        OUTPUT,
        "What the plan leads to, with names and `time_from_start`, from the newest observation on.",
    ),
    Topic("~/cost", "published", "std_msgs/msg/Float64", OUTPUT, "What the plan costs."),
    Topic(
        "/diagnostics",
        "published",
        "diagnostic_msgs/msg/DiagnosticArray",
        OUTPUT,
        "Control (phase, what speaks against it, errors, times), inputs, model and clock, every"
        " 0.8 s.",
    ),
)

_SERVICES = (
    Service(
        "~/enable", "Begin to send commands: the safe one until nothing speaks against control."
    ),
    Service("~/disable", "Send the safe command, and nothing more."),
    Service("~/reset", "Forget the belief; control ends."),
    Service("~/reload", "Load the model file anew; control ends. The old one stays if it fails."),
)

CONTROLLER = Interface(
    executable="controller_node",
    name="rffpsr_controller",
    description=_DESCRIPTION,
    parameters=_PARAMETERS,
    topics=_TOPICS,
    services=_SERVICES,
)
