"""What a node offers, in words and tables: from these it declares it, and docs/nodes.md is written.

Each node's stands in its own room, in `interface`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from rffpsr_ros.nodes.shared.parameters import Parameter

Direction = Literal["published", "subscribed", "both"]

SENSOR = "best effort, volatile, depth `queue_depth`; overridable by `qos_overrides`"
OUTPUT = "reliable, volatile, depth 10"
LATCHED = "reliable, transient local, depth 1"
FLOATS = "std_msgs/msg/Float64MultiArray"


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


class Interface(NamedTuple):
    """A node as others see it; ``description`` is Markdown."""

    executable: str
    name: str
    description: str
    parameters: tuple[Parameter, ...]
    topics: tuple[Topic, ...] = ()
    services: tuple[Service, ...] = ()
