"""What is around a node that spoils its work, whatever that is: no time, another of its name."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rffpsr_ros.nodes.shared.diagnostics import Complaints, NodeFinding

WAITING = "waiting for /clock: use_sim_time is set, but nobody has told the time yet"

STILL_SECONDS = 5.0
"""After so long a clock that says the same is taken to stand still."""
STILL = (
    "/clock stands still: the simulation is paused, or nobody tells the time any more; whatever"
    " goes by time waits"
)


def clock_finding(node: Any) -> NodeFinding:
    """Return whose time a node goes by, or that there is none yet."""
    clock = node.get_clock()
    if clock.now().nanoseconds == 0:
        return NodeFinding("clock", "warn", WAITING, {})
    followed = "/clock" if clock.ros_time_is_active else "this computer"
    return NodeFinding("clock", "ok", f"time is that of {followed}", {})


def others_of_its_name(node: Any) -> int:
    """Return how many other nodes of the graph have a node's name and namespace."""
    own = node.get_name(), node.get_namespace()
    return max(0, list(node.get_node_names_and_namespaces()).count(own) - 1)


class Surroundings:
    """Says, once each, what is wrong around a node, and when it is in order again.

    Parameters
    ----------
    node
        The node; its log is told.
    now
        A steady clock.
    """

    def __init__(self, node: Any, now: Callable[[], float] = time.monotonic) -> None:
        self._node, self._now = node, now
        self._complaints = Complaints(node.get_logger())
        self._time, self._since = 0, now()

    def look(self) -> None:
        """Look around; to be called every now and then."""
        found = clock_finding(self._node)
        if found.level == "ok":
            self._complaints.over("clock", "/clock is there", at_once=True)
        else:
            self._complaints.warn("clock", found.message)
        self._look_at_the_time()
        name = self._node.get_fully_qualified_name()
        if others_of_its_name(self._node):
            self._complaints.warn(
                "name",
                f"another node is named {name}, too, and whoever calls or hears one may mean the"
                " other: end one, or name it otherwise (-r __node:=NAME); one that was killed is"
                " known for some seconds more",
            )
        else:
            self._complaints.over("name", f"no other node is named {name} any more")

    def _look_at_the_time(self) -> None:
        clock, now = self._node.get_clock(), self._now()
        told = clock.now().nanoseconds
        if told != self._time:
            self._time, self._since = told, now
            self._complaints.over("time", "/clock goes on", at_once=True)
        elif told and clock.ros_time_is_active and now - self._since >= STILL_SECONDS:
            self._complaints.warn("time", STILL)
