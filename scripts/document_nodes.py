#!/usr/bin/env python3
"""Write docs/nodes.md from the tables in which the nodes declare what they offer.

scripts/document_nodes.py           write it
scripts/document_nodes.py --check   only tell whether it is current
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from rffpsr_ros.nodes.shared import interfaces as offered  # noqa: E402
from rffpsr_ros.nodes.shared import simulation_interfaces as simulated  # noqa: E402
from rffpsr_ros.nodes.shared.parameters import FILTER, LEARNER, Parameter  # noqa: E402
from rffpsr_ros.nodes.shared.simulation_parameters import (  # noqa: E402
    COLLECTOR,
    EXCITATION,
    SIMULATOR,
)

PAGE = CHECKOUT / "docs" / "nodes.md"

INTRODUCTION = """\
# The nodes

<!-- Written by scripts/document_nodes.py from the tables in rffpsr_ros/nodes: change those. -->

All names are relative or private and can be remapped. `~` stands for the node's own name. Values
are in the units of the topics, SI as a rule. Headers' stamps are the time of a message; topics
without a header have the time of receipt. Numbers with a point are written with it: `50.0`.

A node that cannot do its work says why in one ERROR line and waits for what is missing. It ends
within two seconds of SIGINT or SIGTERM, with nothing half-written.
"""

FILTER_WORDS = """\
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
(`start: running`) the belief comes from the first ticks seen; at an episode's start
(`start: episode`, and after time went back) it is the learned initial one.

**Errors.** The live error is measured with the actions that really came, as in training, whatever
the forecasts assume. If it exceeds `drift_warning` times that of training, the diagnostics warn.

**Field reports.** With `log_sequence` set, everything the model is fed is logged to a bag, resets,
plans and options included; `rffpsr predict BAG --model FILE --out OUT` then gives exactly the
forecasts that were published.

**Cost.** A topic nobody listens to costs nothing; with no listener at all, no forecasts are made
beyond those that measure the live error, one in `horizon` ticks. `publish_every` thins forecasts,
never updates. A node that is a hundred ticks behind leaves out forecasts until it has caught up;
the diagnostics say so.
"""

LEARNER_WORDS = """\
Records episodes of a running robot and trains a model on them. What to record is the channel
configuration: in a file (`channels_file`), or among the node's parameters (`--params-file`).

```
ros2 launch rffpsr_ros learner.launch.py params_file:=arm.yaml
ros2 service call /rffpsr_learner/start_episode std_srvs/srv/Trigger
ros2 service call /rffpsr_learner/end_episode std_srvs/srv/Trigger
ros2 service call /rffpsr_learner/train std_srvs/srv/Trigger
```

**Episodes** are rosbag2 bags (MCAP) named by date and label. The label and the channel
configuration stand in the metadata (`custom_data`: `label`, `rffpsr_channels`). While one is
recorded it lies in the hidden folder `.recording`, written out every quarter of a second: after a
kill the next learner completes what was left. When time goes back one episode ends and the next
begins. With less than `minimum_free_disk` an episode ends, and is kept.

**Training** runs in a process of its own, at low priority and on one thread, and ends with the
node. First it looks whether the recordings can teach a model (docs/exploration.md); what they lack
is logged and stands in `~/status`. The model file appears complete or not at all. Bags of
`ros2 bag record` train just as well: put them into the folder, or use `rffpsr train`.
"""

SIMULATOR_WORDS = """\
A simulated robot on topics, in real time or faster: what the demonstration runs, and a world of
Gazebo for those who have no Gazebo (see [Simulation with Gazebo](gazebo.md)).

```
ros2 launch rffpsr_ros simulation.launch.py system:=swimmer
ros2 launch rffpsr_ros simulation.launch.py world:=arm speed:=4.0
```

**Time.** By itself it keeps pace with the clock, and makes up for ticks that came late. With
`publish_clock` it makes the time: a busy machine then only slows it down. What is recorded of it is
what happened: a command acts from the first tick that starts after it has come.
"""

EXCITATION_WORDS = """\
Sends commands to learn from, on the action topics of a channel configuration, within limits.

```
ros2 run rffpsr_ros excitation_node --ros-args --params-file arm.yaml
```

**The end is zero.** Whatever ends it (`~/stop`, `duration`, SIGINT, SIGTERM), the last command is
zero, and it waits for listeners to confirm it. After `kill -9` nobody sends zero: a robot needs a
watchdog of its own.

**Limits** must be given: with the default, zero, there is nothing to excite.
"""

COLLECTOR_WORDS = """\
Records episodes one after the other and ends: excitation stopped, robot reset, episode started,
excitation started, episode ended. It calls the services of the other nodes, in its own namespace.

```
ros2 launch rffpsr_ros collect.launch.py episodes:=25 duration:=10.0
```
"""


def page() -> str:
    """Return the page."""
    sections = [
        INTRODUCTION,
        section(
            "Filter: `filter_node`, named `rffpsr_filter`",
            FILTER_WORDS,
            FILTER,
            topics(offered.FILTER_TOPICS),
            services(offered.FILTER_SERVICES),
        ),
        section(
            "Learner: `learner_node`, named `rffpsr_learner`",
            LEARNER_WORDS,
            LEARNER,
            topics(offered.LEARNER_TOPICS),
            services(offered.LEARNER_SERVICES),
        ),
        section(
            "Simulator: `simulator_node`, named `rffpsr_simulator`",
            SIMULATOR_WORDS,
            SIMULATOR,
            topics(simulated.SIMULATOR_TOPICS),
            services(simulated.SIMULATOR_SERVICES),
        ),
        section(
            "Excitation: `excitation_node`, named `rffpsr_excitation`",
            EXCITATION_WORDS,
            EXCITATION,
            topics(simulated.EXCITATION_TOPICS),
            services(simulated.EXCITATION_SERVICES),
        ),
        section(
            "Collector: `collector_node`, named `rffpsr_collector`", COLLECTOR_WORDS, COLLECTOR
        ),
    ]
    return "\n".join(sections)


def section(title: str, words: str, parameters: Iterable[Parameter], *tables: str) -> str:
    """Return a node's section: words, then its tables."""
    return "\n".join([f"## {title}\n", words, *tables, parameter_table(parameters)])


def parameter_table(parameters: Iterable[Parameter]) -> str:
    """Return a table of parameters; those that may change while the node runs are marked."""
    rows = [
        (
            f"`{one.name}`" + ("" if one.fixed else " \\*"),
            f"`{_value(one.default)}`",
            one.range,
            one.description,
        )
        for one in parameters
    ]
    table = _table(("parameter", "default", "allowed", "meaning"), rows)
    changeable = any("\\*" in row[0] for row in rows)
    return table + ("\n\\* may be changed while the node runs.\n" if changeable else "")


def topics(rows: Iterable[offered.Topic]) -> str:
    """Return a table of topics."""
    shown = [
        (_code(one.name), one.direction, one.type, one.quality, one.description) for one in rows
    ]
    return _table(("topic", "", "type", "quality of service", "meaning"), shown)


def services(rows: Iterable[offered.Service]) -> str:
    """Return a table of services."""
    shown = [(f"`{one.name}`", one.description) for one in rows]
    return _table(("service (std_srvs/srv/Trigger)", "meaning"), shown)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "''" if value == "" else str(value)


def _code(name: str) -> str:
    return f"`{name}`" if "/" in name else name


def main() -> int:
    """Write the page, or check it."""
    text = page()
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == text:
        return 0
    print("docs/nodes.md is not current: run scripts/document_nodes.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
