"""What the collector node offers: its parameters."""

from __future__ import annotations

from rffpsr_ros.nodes.shared.interface import Interface
from rffpsr_ros.nodes.shared.parameters import EXECUTOR, Parameter

_DESCRIPTION = """\
Records episodes one after the other and ends: robot reset, episode started, excitation started,
excitation stopped, episode ended. It calls the services of the other nodes, in its own namespace.
A first episode that the learner refuses, as it has no time or topics yet, is asked for again, up to
15 s.
Whatever ends it in the middle of an episode, a signal or a service that refuses, it first stops the
excitation, so that the robot stands still, then ends the episode, and says so. It waits 1.6 s at
most for both; what does not answer by then is an ERROR line: look whether the robot stands still.
After `kill -9` nobody calls them.

```
ros2 launch rffpsr_ros collect.launch.py episodes:=25 duration:=10.0
```
"""

_PARAMETERS = (
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

COLLECTOR = Interface(
    executable="collector_node",
    name="rffpsr_collector",
    description=_DESCRIPTION,
    parameters=_PARAMETERS,
)
