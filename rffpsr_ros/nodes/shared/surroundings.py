"""What is around a node that spoils its work, whatever that is: no time, another of its name."""

from __future__ import annotations

from typing import Any

from rffpsr_ros.nodes.shared.diagnostics import Complaints, NodeFinding

WAITING = "waiting for /clock: use_sim_time is set, but nobody has told the time yet"


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
    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._complaints = Complaints(node.get_logger())

    def look(self) -> None:
        """Look around; to be called every now and then."""
        found = clock_finding(self._node)
        if found.level == "ok":
            self._complaints.over("clock", "/clock is there", at_once=True)
        else:
            self._complaints.warn("clock", found.message)
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
