"""What nodes say of a clock that is missing, and of others of their name: once each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest


class Standing:
    """A node at a time, among others; its logger keeps what it is told."""

    def __init__(self, now_ns: int, simulated: bool = True, others: int = 0) -> None:
        self.now_ns = now_ns
        self.names = [("filter", "/")] * (1 + others) + [("filter", "/other"), ("peer", "/")]
        self.said: list[str] = []
        self.guard = SimpleNamespace(finding=lambda: SimpleNamespace(level="ok"))
        self._simulated = simulated

    def get_clock(self) -> Any:
        now = SimpleNamespace(nanoseconds=self.now_ns, to_msg=lambda: None)
        return SimpleNamespace(now=lambda: now, ros_time_is_active=self._simulated)

    def get_logger(self) -> Any:
        return SimpleNamespace(warning=self.said.append, info=self.said.append)

    def get_name(self) -> str:
        return "filter"

    def get_namespace(self) -> str:
        return "/"

    def get_fully_qualified_name(self) -> str:
        return "/filter"

    def get_node_names_and_namespaces(self) -> list[tuple[str, str]]:
        return self.names


def test_what_is_wrong_around_a_node_is_said_once() -> None:
    pytest.importorskip("rclpy", reason="needs ROS 2: rclpy is not installed")
    from rffpsr_ros.nodes.shared.surroundings import Surroundings

    node = Standing(0, others=1)
    surroundings = Surroundings(node)
    for _ in range(3):
        surroundings.look()
    clock, name = node.said
    assert clock.startswith("waiting for /clock: use_sim_time is set")
    assert name.startswith("another node is named /filter, too")
    node.now_ns = 10**9
    for _ in range(3):
        surroundings.look()
    assert node.said[2:] == ["/clock is there"]


@pytest.mark.parametrize("simulated", [True, False])
def test_a_clock_that_stops_is_told_once_and_that_it_goes_on(simulated: bool) -> None:
    pytest.importorskip("rclpy", reason="needs ROS 2: rclpy is not installed")
    from rffpsr_ros.nodes.shared.surroundings import Surroundings

    steady = [0.0]
    node = Standing(7, simulated)
    surroundings = Surroundings(node, lambda: steady[0])
    for second in range(12):
        steady[0] = float(second)
        node.now_ns = max(7, 7 + 10**9 * (second - 9))
        surroundings.look()
        if second == 4:
            assert not node.said
    if simulated:
        stands, goes_on = node.said
        assert stands.startswith("/clock stands still: the simulation is paused, or nobody")
        assert goes_on == "/clock goes on"
    else:
        assert not node.said


@pytest.mark.parametrize(
    ("now_ns", "simulated", "level", "said"),
    [
        (0, True, "warn", "waiting for /clock"),
        (5, True, "ok", "time is that of /clock"),
        (5, False, "ok", "time is that of this computer"),
    ],
)
def test_diagnostics_tell_whose_time_it_is(
    now_ns: int, simulated: bool, level: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rclpy", reason="needs ROS 2: rclpy is not installed")
    from rffpsr_ros.nodes.filter import model_node

    told: list[Any] = []
    monkeypatch.setattr(model_node, "diagnostic_array", lambda *given: given[-1])
    node: Any = Standing(now_ns, simulated)
    node._rounds, node._serving = model_node.DIAGNOSTICS_EVERY - 1, False
    node._value = lambda _: False
    node._diagnostics = SimpleNamespace(publish=told.extend)
    model_node.ModelNode._make_a_round(node)
    (clock,) = [one for one in told if getattr(one, "aspect", "") == "clock"]
    assert clock.level == level
    assert clock.message.startswith(said)


def test_nodes_wait_for_a_clock_and_go_on_beside_others_of_their_name(ros: Any) -> None:
    from rosgraph_msgs.msg import Clock

    nodes = [ros.start("simulator_node", use_sim_time=True) for _ in range(2)]
    for node in nodes:
        node.wait_for("waiting for /clock: use_sim_time is set")
        node.wait_for("another node is named /rffpsr_simulator, too")
    ros.peer.publisher("/clock", Clock)
    ros.peer.matched("/clock", listeners=2)

    def arrived() -> bool:
        message = Clock()
        message.clock.sec = 5
        ros.peer.publish("/clock", message)
        return all(node.count("/clock is there") for node in nodes)

    ros.peer.until(arrived, "time")
    for node in nodes:
        assert node.count("waiting for /clock") == node.count("another node is named") == 1
        assert node.end() == 0


def test_no_episode_begins_before_there_is_a_time(tmp_path: Any) -> None:
    pytest.importorskip("rclpy", reason="needs ROS 2: rclpy is not installed")
    from rffpsr_ros.errors import InputError
    from rffpsr_ros.nodes.learner.learner_node import LearnerNode

    node: Any = Standing(0)
    node._ready = lambda: None
    with pytest.raises(InputError, match="waiting for /clock"):
        LearnerNode._start_episode(node)


def test_a_learners_status_tells_that_there_is_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rclpy", reason="needs ROS 2: rclpy is not installed")
    from rffpsr_ros.nodes.learner import status_output
    from rffpsr_ros.nodes.shared.diagnostics import NodeFinding

    told: list[NodeFinding] = []
    monkeypatch.setattr(status_output, "status", lambda name, finding: finding)
    output = SimpleNamespace(publish=told.append)
    node: Any = Standing(0)
    node.create_publisher = lambda kind, topic, _: (
        output if topic == "~/status" else SimpleNamespace(publish=lambda _: None)
    )
    sender = status_output.StatusOutput(node)
    ready = NodeFinding("learner", "ok", "ready", {})
    for now_ns in (0, 0, 1):
        node.now_ns = now_ns
        sender.tell(ready, None, None)
    assert [one.level for one in told] == ["warn", "ok"]
    assert told[0].message.startswith("waiting for /clock")
    sender.tell(ready._replace(level="error", message="full disk"), None, None)
    assert told[-1].message == "full disk"
