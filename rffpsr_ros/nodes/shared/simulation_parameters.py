"""Every parameter of the nodes that simulate and excite; see `nodes.shared.parameters`."""

from __future__ import annotations

from rffpsr_ros.nodes.shared.parameters import EXECUTOR, QUEUE_DEPTH, Parameter
from rffpsr_ros.simulation.excitation import EXCITATIONS

SIMULATOR: tuple[Parameter, ...] = (
    Parameter(
        "system",
        "synthetic",
        "What to simulate: `synthetic` (the paper's driven oscillator, 20 Hz) or `swimmer` (three"
        " links in a viscous fluid, two torques, 33 Hz).",
        choices=("synthetic", "swimmer"),
    ),
    Parameter(
        "world",
        "",
        "A world to simulate instead of `system`: an SDF file with its `gazebo_bridge_*.yaml`, or"
        " `pendulum`, `arm` or `arm_camera`. Needs Drake (extra `sdf`).",
    ),
    Parameter(
        "rate",
        0.0,
        "How often per second a `world` is shown and takes commands; 0: at every step of physics,"
        " 250 Hz, as in Gazebo. Its ticks must be whole milliseconds.",
        0.0,
        1000.0,
    ),
    Parameter(
        "speed",
        1.0,
        "How many times faster than time to simulate; other than 1.0 only with `publish_clock`.",
        0.01,
        1000.0,
    ),
    Parameter(
        "publish_clock",
        False,
        "Publish `/clock`, so that all nodes with `use_sim_time` follow the simulation's time.",
    ),
    Parameter(
        "wait_for_commands",
        False,
        "With `publish_clock`: go on no sooner than half a period after a command has come, so that"
        " none is late however busy the machine is. For an excitation paced by `observations`.",
    ),
    Parameter("noise", [0.0], "Standard deviation of measurement noise: one for all, or one each."),
    Parameter("seed", 0, "Of initial states and measurement noise.", 0, 2**31 - 1),
    EXECUTOR,
)

EXCITATION: tuple[Parameter, ...] = (
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

COLLECTOR: tuple[Parameter, ...] = (
    Parameter("episodes", 10, "How many episodes to record.", 1, 1_000_000),
    Parameter("duration", 10.0, "Seconds of an episode.", 0.1, 1e6),
    Parameter("settle", 1.0, "Seconds between the reset and the episode.", 0.0, 1e6),
    Parameter(
        "reset",
        "simulator",
        "How to put the robot back before each episode: by the `simulator` of this package, by"
        " `gazebo`, or not at all (`none`: leave it time to `settle`).",
        choices=("simulator", "gazebo", "none"),
    ),
    Parameter("world", "", "With `reset: gazebo`: the name of the world."),
    EXECUTOR,
)

TABLES: dict[str, tuple[Parameter, ...]] = {
    "simulator_node": SIMULATOR,
    "excitation_node": EXCITATION,
    "collector_node": COLLECTOR,
}
"""The table of each node, by the name of its executable."""
