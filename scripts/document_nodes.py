#!/usr/bin/env python3
"""Write docs/nodes.md from the tables in which the nodes declare what they offer.

scripts/document_nodes.py           write it
scripts/document_nodes.py --check   only tell whether it is current
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from rffpsr_ros.nodes.collector.interface import COLLECTOR  # noqa: E402
from rffpsr_ros.nodes.controller.interface import CONTROLLER  # noqa: E402
from rffpsr_ros.nodes.excitation.interface import EXCITATION  # noqa: E402
from rffpsr_ros.nodes.filter.interface import FILTER  # noqa: E402
from rffpsr_ros.nodes.learner.interface import LEARNER  # noqa: E402
from rffpsr_ros.nodes.shared.interface import Interface, Service, Topic  # noqa: E402
from rffpsr_ros.nodes.shared.parameters import Parameter  # noqa: E402
from rffpsr_ros.nodes.simulator.interface import SIMULATOR  # noqa: E402

NODES = FILTER, LEARNER, CONTROLLER, SIMULATOR, EXCITATION, COLLECTOR
"""In the order of the page."""

PAGE = CHECKOUT / "docs" / "nodes.md"
RECORD = CHECKOUT / "benchmarks" / "results" / "live_parts.json"

INTRODUCTION = """\
# The nodes

<!-- Written by scripts/document_nodes.py from the tables in rffpsr_ros/nodes: change those. -->

All names are relative or private and can be remapped. `~` stands for the node's own name. Values
are in the units of the topics, SI as a rule. Headers' stamps are the time of a message; topics
without a header have the time of receipt. Numbers with a point are written with it: `50.0`.

A node that cannot do its work says why in one ERROR line and waits for what is missing. It ends
within two seconds of SIGINT or SIGTERM, with nothing half-written. (Where a process beside it was
killed, the shared memory of Fast DDS 3.2 now and then makes one that leaves end by SIGSEGV instead;
by then all is written.) With `use_sim_time`, but without `/clock`, every node says so once, in one
WARN line; so it does where another node has its name.

Whatever fails while a node handles a message, a call, a timer or a parameter is left out: one ERROR
line for each place it comes from (the traceback at level debug), an ERROR under `callbacks` in
`/diagnostics`, and the node goes on. After 20 faults within 10 s it gives up its work and says so:
filter and learner deactivate themselves until they are activated again, the excitation sends zero,
the simulation stands still, the collector ends at the first. Damaged bytes are dropped likewise.
"""


EXECUTORS = """\
**Executors.** With `executor: direct`, the default, a node waits for messages, reads and makes them
past rclpy. What it takes of rclpy beyond its documentation stands in one module
(`nodes/shared/rclpy_internals.py`) and is tested; where a running rclpy lacks it, one WARN line
says so and the node runs as with `single_threaded`, which is rclpy's own way throughout. `events`
is `direct`, but waits by rclpy's events executor: that is experimental, and does not know how long
messages waited, so that a filter that falls behind leaves out no forecasts. Processor time of a
message (`python -m benchmarks.live_parts`; more in [Long recordings](scaling.md)):
"""


def page() -> str:
    """Return the page."""
    return "\n".join([INTRODUCTION, EXECUTORS, executors(), *map(section, NODES)])


def executors() -> str:
    """Return a table of what the direct way takes beside rclpy's own, as it was measured."""
    parts = json.loads(RECORD.read_text(encoding="utf-8"))["parts"]
    rows = [
        (part, f"{own['microseconds']:.0f} us", f"{direct['microseconds']:.0f} us")
        for part, ways in parts.items()
        for own, direct in [(next(iter(ways.values())), ways[next(reversed(ways))])]
    ]
    return _table(("", "`single_threaded`", "`direct`"), rows)


def section(node: Interface) -> str:
    """Return a node's section: words, then its tables."""
    title = f"## {node.executable.removesuffix('_node').capitalize()}: `{node.executable}`"
    tables = [topics(node.topics)] if node.topics else []
    tables += [services(node.services)] if node.services else []
    tables.append(parameter_table(node.parameters))
    return "\n".join([f"{title}, named `{node.name}`\n", node.description, *tables])


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


def topics(rows: Iterable[Topic]) -> str:
    """Return a table of topics."""
    shown = [
        (_code(one.name), one.direction, one.type, one.quality, one.description) for one in rows
    ]
    return _table(("topic", "", "type", "quality of service", "meaning"), shown)


def services(rows: Iterable[Service]) -> str:
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
