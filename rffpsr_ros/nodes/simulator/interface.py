"""What the simulator node offers: its parameters, topics and services."""

from __future__ import annotations

from rffpsr_ros.nodes.shared.interface import FLOATS, OUTPUT, Interface, Service, Topic
from rffpsr_ros.nodes.shared.parameters import EXECUTOR, Parameter

_DESCRIPTION = """\
A simulated robot on topics, in real time or faster: what the demonstration runs, and a world of
Gazebo for those who have no Gazebo (see [Simulation with Gazebo](gazebo.md)).

```
ros2 launch rffpsr_ros simulation.launch.py system:=swimmer
ros2 launch rffpsr_ros simulation.launch.py world:=arm speed:=4.0
```

**Time.** By itself it keeps pace with the clock, and makes up for ticks that were late. With
`publish_clock` it makes the time: a busy machine then only slows it down. What is recorded of it is
what happened: a command acts from the first tick that starts after it has arrived. Commands of
another type, or of a wrong number of values, are an ERROR line.

**A learned robot.** With `model_path` a model plays the robot that it was learned from, so that a
controller can be tried before the robot is touched: each forecast one tick ahead is taken for what
is observed. Errors add up; the log says for how many ticks such a free run says more than the mean
of the recordings, by the errors on what training held out. What it does beyond that, and beyond the
commands and places that were recorded, is an invention. If its forecasts leave all numbers, as
after an absurd command, that is an ERROR line, and it is back at its start with no command in
force. Fields must be such as can be written into a message: numbers, elements, named joints.
"""

_PARAMETERS = (
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
        "model_path",
        "",
        "A model file: the learned robot is simulated instead, on the topics it was trained on, see"
        " below.",
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
        "With `publish_clock`: go on no sooner than half a period after a command has arrived, so"
        " that none is late however busy the machine is. For an excitation paced by"
        " `observations`.",
    ),
    Parameter("noise", [0.0], "Standard deviation of measurement noise: one for all, or one each."),
    Parameter("seed", 0, "Of initial states and measurement noise.", 0, 2**31 - 1),
    EXECUTOR,
)

_TOPICS = (
    Topic(
        "joint_states",
        "published",
        "sensor_msgs/msg/JointState",
        OUTPUT,
        "The joints, at the end of every tick.",
    ),
    Topic(
        "goal",
        "published",
        "geometry_msgs/msg/PointStamped",
        OUTPUT,
        "`swimmer`: its goal, seen from its nose.",
    ),
    Topic(
        "joint_commands",
        "subscribed",
        FLOATS,
        OUTPUT,
        "`synthetic`, `swimmer`: all commands; the newest that has arrived by a tick's start acts"
        " throughout it.",
    ),
    Topic(
        "the bridge's topics",
        "both",
        "as in `gazebo_bridge_*.yaml`",
        OUTPUT,
        "`world`: what ros_gz_bridge would offer.",
    ),
    Topic(
        "the channels' topics",
        "both",
        "as in the model file",
        OUTPUT,
        "`model_path`: observations are published, commands taken.",
    ),
    Topic(
        "/clock",
        "published",
        "rosgraph_msgs/msg/Clock",
        OUTPUT,
        "With `publish_clock`: the time, from 0 on.",
    ),
)

_SERVICES = (Service("~/reset", "Put the robot back to its start; time and commands go on."),)

SIMULATOR = Interface(
    executable="simulator_node",
    name="rffpsr_simulator",
    description=_DESCRIPTION,
    parameters=_PARAMETERS,
    topics=_TOPICS,
    services=_SERVICES,
)
