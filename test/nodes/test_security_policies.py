"""The policies of SROS 2 let every node do what it does, and nothing that it does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

POLICIES = sorted((Path(__file__).resolve().parents[2] / "config" / "sros2").glob("*.policy.xml"))
PARTS = {
    "topics": ("topic", {"publish", "subscribe"}),
    "services": ("service", {"request", "reply"}),
    "actions": ("action", {"call", "execute"}),
}
"""What a profile holds by sros2's schema, version 0.2.0."""
NOT_IN_EVERY_ROS = {"get_type_description", "get_transition_graph"}
Allowed = dict[str, set[str]]


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.name)
def test_a_policy_is_one_of_sros2(path: Path) -> None:
    root = ElementTree.parse(path).getroot()
    assert (root.tag, root.attrib) == ("policy", {"version": "0.2.0"})
    (enclaves,) = root
    (enclave,) = enclaves
    (profiles,) = enclave
    assert [one.tag for one in (enclaves, enclave, profiles)] == ["enclaves", "enclave", "profiles"]
    (profile,) = profiles
    assert set(profile.attrib) == {"ns", "node"}
    assert enclave.attrib == {"path": f"/{profile.attrib['node']}"}
    for part in profile:
        name, directions = PARTS[part.tag]
        assert set(part.attrib) <= directions
        assert set(part.attrib.values()) == {"ALLOW"}  # what is not allowed is denied
        assert {one.tag for one in part} == {name}
        assert all(one.text and "*" not in one.text for one in part)


def allowed(node: str) -> Allowed:
    """Return the full names that a node may use, by what it may do with them."""
    (path,) = [one for one in POLICIES if f'node="rffpsr_{node}"' in one.read_text()]
    found: Allowed = {}
    for part in ElementTree.parse(path).getroot().iter():
        for direction in part.attrib.keys() & {"publish", "subscribe", "request", "reply"}:
            names = (_full(str(one.text), node) for one in part)
            found.setdefault(direction, set()).update(names)
    return found


def _full(name: str, node: str) -> str:
    if name.startswith("~"):
        return f"/rffpsr_{node}{name[1:]}"
    return name if name.startswith("/") else f"/{name}"


def used(peer: Any, node: str) -> Allowed:
    """Return what a running node uses, as the graph tells."""
    graph: Mapping[str, Callable[..., Any]] = {
        "publish": peer.get_publisher_names_and_types_by_node,
        "subscribe": peer.get_subscriber_names_and_types_by_node,
        "reply": peer.get_service_names_and_types_by_node,
        "request": peer.get_client_names_and_types_by_node,
    }
    return {
        direction: {name for name, _ in ask(f"rffpsr_{node}", "/")}
        for direction, ask in graph.items()
    }


def check(ros: Any, node: str, optional: Allowed) -> None:
    """Wait until all that must be used is, then see that nothing else is.

    ``optional`` is used only under some parameters, or at some time.
    """
    may = allowed(node)

    def missing() -> dict[str, set[str]]:
        now = used(ros.peer.node, node)
        left = {d: names - now[d] - optional.get(d, set()) for d, names in may.items()}
        left["reply"] = {n for n in left["reply"] if n.split("/")[-1] not in NOT_IN_EVERY_ROS}
        return {direction: names for direction, names in left.items() if names}

    def all_used() -> bool:
        return f"rffpsr_{node}" in ros.peer.node.get_node_names() and not missing()

    try:
        ros.peer.until(all_used, "all that the policy allows to be used")
    except AssertionError:
        pytest.fail(f"allowed, but not used: {missing()}")
    for direction, names in used(ros.peer.node, node).items():
        assert names - may.get(direction, set()) == set(), direction


CLOCK = {"subscribe": {"/clock"}}
FAULTS = {"publish": {"/diagnostics"}}
"""Told only when there are some; the filter tells more, all the time."""


def test_the_filter_does_what_its_policy_allows(ros: Any, synthetic_model: Path) -> None:
    remap = "/command:=/forward_velocity_controller/commands"
    node = ros.start("filter_node", remap, model_path=synthetic_model)
    node.wait_for("serving")
    check(ros, "filter", CLOCK)


def test_the_controller_does_what_its_policy_allows(ros: Any, synthetic_model: Path) -> None:
    remap = "/command:=/forward_velocity_controller/commands"
    node = ros.start("controller_node", remap, model_path=synthetic_model, compiled=False)
    node.wait_for("nothing is sent until")
    check(ros, "controller", CLOCK)


def test_the_learner_does_what_its_policy_allows(ros: Any, checkout: Path) -> None:
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    ros.peer.publisher("/joint_states", JointState)
    ros.peer.publisher("/forward_velocity_controller/commands", Float64MultiArray)
    ros.start("learner_node", channels_file=checkout / "config" / "arm6.yaml", use_sim_time=True)
    check(ros, "learner", FAULTS)


def test_robot_excitation_and_collector_do_what_their_policies_allow(
    ros: Any, checkout: Path
) -> None:
    file = checkout / "config" / "swimmer.yaml"
    ros.start("simulator_node", system="swimmer", publish_clock=True, wait_for_commands=True)
    ros.start(
        "excitation_node",
        channels_file=file,
        use_sim_time=True,
        pace="observations",
        announce=5,
        limits__low="[-1.0]",
        limits__high="[1.0]",
    )
    ros.start("learner_node", channels_file=file, use_sim_time=True)
    ros.start("collector_node", episodes=1, duration=1000.0, use_sim_time=True)
    check(ros, "simulator", FAULTS)
    check(ros, "excitation", FAULTS)
    later = {**FAULTS, "request": allowed("collector")["request"]}
    check(ros, "collector", later)
