"""What the excitation node offers: its parameters, topics and services."""

from __future__ import annotations

from rffpsr_ros.nodes.shared.interface import FLOATS, OUTPUT, SENSOR, Interface, Service, Topic
from rffpsr_ros.nodes.shared.parameters import EXECUTOR, QUEUE_DEPTH, Parameter
from rffpsr_ros.simulation.excitation import EXCITATIONS

_DESCRIPTION = """\
Sends commands to learn from, on the action topics of a channel configuration, within limits.

```
ros2 run rffpsr_ros excitation_node --ros-args --params-file arm.yaml
```

**The end is zero.** Whatever ends it (`~/stop`, `duration`, SIGINT, SIGTERM), the last command is
zero, and it waits for listeners to confirm it; one that never sent a command sends none at its end.
After `kill -9` nobody sends zero: a robot needs a watchdog of its own.

**Limits** must be given: with the default, zero, there is nothing to excite.

**What does not fit** (limits, frequencies, `announce` with `feedback`, gains of another number than
the observations) ends it at the start in one sentence, as far as types and fields tell how many
observations there are. Where it acts on observations that do not arrive, it says once which.
"""

_PARAMETERS = (
    Parameter("autostart", True, "Excite from the start, without waiting for a call of `~/start`."),
    Parameter(
        "channels_file",
        "",
        "A file with the channel configuration; empty: it is among this node's parameters. Its"
        " action topics are published, one action at every tick of its `rate`.",
    ),
    Parameter(
        "signal",
        "uniform",
        "`uniform` (random values), `prbs` (between the limits at random), `multisine` (a sum of"
        " sines) or `sine` (one frequency).",
        choices=tuple(EXCITATIONS),
    ),
    Parameter("limits.low", [0.0], "The lowest action: one number for all columns, or one each."),
    Parameter("limits.high", [0.0], "The highest action: one number for all columns, or one each."),
    Parameter(
        "hold",
        0.0,
        "Seconds that `uniform` and `prbs` hold a value; at least a tick.",
        0.0,
        1e6,
    ),
    Parameter("frequency", 0.5, "Hertz, of `sine`.", 1e-6, 1e6),
    Parameter("lowest_frequency", 0.1, "Hertz, of `multisine`.", 1e-6, 1e6),
    Parameter("highest_frequency", 2.0, "Hertz, of `multisine`.", 1e-6, 1e6),
    Parameter("count", 20, "How many sines `multisine` adds.", 1, 100_000),
    Parameter(
        "feedback",
        "none",
        "A policy that looks at the observations: `linear` (`feedback_gains` times observations"
        " minus `feedback_target`) or `swimmer` (swims to its goal).",
        choices=("none", "linear", "swimmer"),
    ),
    Parameter(
        "feedback_gains", [0.0], "Of `linear`: for each action one gain per observation, in a row."
    ),
    Parameter(
        "feedback_target", [0.0], "Of `linear`: one number for all observations, or one each."
    ),
    Parameter(
        "blind_probability",
        0.5,
        "With `feedback`: how likely, at each tick, the signal acts instead.",
        0.0,
        1.0,
    ),
    Parameter(
        "pace",
        "clock",
        "When to act: by the `clock`, or at the end of each tick that the `observations` show"
        " (always with `feedback`).",
        choices=("clock", "observations"),
    ),
    Parameter(
        "ahead",
        0.0,
        "With `pace: observations`: by which share of a tick to act before the tick's end, so that"
        " the command is in force when the next tick begins, for robots that wait for none. Not"
        " with `feedback`, which waits for the tick's observation.",
        0.0,
        0.9,
    ),
    Parameter(
        "announce",
        0,
        "How many ticks ahead to publish on `~/planned_actions`, for a filter whose"
        " `future_actions` is `topic`; 0: nothing. Not with `feedback`: that knows no future.",
        0,
        10_000,
    ),
    Parameter("duration", 0.0, "Seconds after which the excitation stops; 0: never.", 0.0, 1e9),
    Parameter("seed", 0, "Of all random choices; each start goes on from the last.", 0, 2**31 - 1),
    QUEUE_DEPTH,
    EXECUTOR,
)

_TOPICS = (
    Topic(
        "the action channels' topics",
        "published",
        "as configured",
        OUTPUT,
        "The commands. Fields that the configuration does not name stay zero; a header gets the"
        " time of sending.",
    ),
    Topic(
        "the observation channels' topics",
        "subscribed",
        "as configured",
        SENSOR,
        "With `feedback` or `pace: observations`.",
    ),
    Topic(
        "~/planned_actions",
        "published",
        FLOATS,
        OUTPUT,
        "With `announce`: the next actions, ticks x action, of which the first is sent right"
        " after. Remap the filter's `~/planned_actions` to it.",
    ),
)

_SERVICES = (
    Service("~/start", "Begin the signal anew, with new random numbers."),
    Service("~/stop", "Send zero, and nothing more until `~/start`."),
)

EXCITATION = Interface(
    executable="excitation_node",
    name="rffpsr_excitation",
    description=_DESCRIPTION,
    parameters=_PARAMETERS,
    topics=_TOPICS,
    services=_SERVICES,
)
