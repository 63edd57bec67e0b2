"""docs/nodes.md tells what the nodes offer: all of it, and as it is."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rffpsr_ros.nodes.controller.interface import CONTROLLER
from rffpsr_ros.nodes.filter.interface import FILTER
from rffpsr_ros.nodes.learner.interface import LEARNER
from rffpsr_ros.nodes.shared.interface import Interface

LIFECYCLE = {"change_state", "get_state", "get_available_states", "get_available_transitions"}
OF_ROS = LIFECYCLE | {"get_transition_graph", "transition_event"}


def test_the_page_is_current(checkout: Path) -> None:
    script = checkout / "scripts" / "document_nodes.py"
    result = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_every_parameter_is_on_the_page(checkout: Path) -> None:
    script = runpy.run_path(str(checkout / "scripts" / "document_nodes.py"))
    text = script["page"]()
    for node in script["NODES"]:
        for parameter in node.parameters:
            assert f"| `{parameter.name}`" in text
            assert parameter.description in text


def test_every_node_has_its_section(checkout: Path) -> None:
    script = runpy.run_path(str(checkout / "scripts" / "document_nodes.py"))
    nodes = {path.name for path in (checkout / "executables").glob("*_node")}
    assert {node.executable for node in script["NODES"]} == nodes


@pytest.mark.parametrize("node", [FILTER, LEARNER, CONTROLLER], ids=lambda node: node.name)
def test_every_topic_and_service_of_a_node_is_declared(
    ros: Any, node: Interface, synthetic_model: Path
) -> None:
    name = node.name
    parameters = {} if node is LEARNER else {"model_path": synthetic_model, "compiled": False}
    ros.start(node.executable, **parameters)
    declared = {one.name: one.type for one in node.topics if one.name.startswith("~/")}
    asked = {one.name for one in node.services}
    graph = ros.peer.node

    def offered() -> tuple[dict[str, str], set[str]] | None:
        try:
            found = [
                *graph.get_publisher_names_and_types_by_node(name, "/"),
                *graph.get_subscriber_names_and_types_by_node(name, "/"),
            ]
            served = graph.get_service_names_and_types_by_node(name, "/")
        except Exception:  # the node is not known yet
            return None
        own = {
            topic.replace(f"/{name}/", "~/"): types[0]
            for topic, types in found
            if topic.startswith(f"/{name}/") and topic.split("/")[-1] not in OF_ROS
        }
        triggers = {
            service.replace(f"/{name}/", "~/")
            for service, types in served
            if types == ["std_srvs/srv/Trigger"]
        }
        known = len(own) >= len(declared) and len(triggers) >= len(asked)
        return (own, triggers) if known else None

    own, triggers = ros.peer.until(offered, "the node's topics")
    assert own == declared
    assert triggers == asked
