"""The collector: episodes one after the other, each from the robot's start."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings.bags.reader import read_bags
from rffpsr_ros.signals.channel_file import load_channels

if TYPE_CHECKING:
    from test.nodes.conftest import NodeProcess, Ros

CONFIG = Path(__file__).resolve().parents[3] / "config"
EPISODES = 3


def start_robot(ros: Ros, name: str, limits: str, **simulator: Any) -> NodeProcess:
    """Start simulator, excitation and learner; return the simulator."""
    file = CONFIG / f"{name}.yaml"
    node = ros.start("simulator_node", publish_clock=True, **simulator)
    ros.start(
        "excitation_node",
        channels_file=file,
        limits__low=limits.replace("[", "[-").replace(", ", ", -"),
        limits__high=limits,
        hold=0.2,
        autostart=False,
        use_sim_time=True,
    )
    ros.start(
        "learner_node",
        channels_file=file,
        dataset_directory=ros.folder / "episodes",
        use_sim_time=True,
    )
    return node


def everybody_listens(ros: Ros, topic: str) -> None:
    """Wait until robot and learner listen to a topic that the excitation publishes."""
    count = ros.peer.node.count_subscribers
    ros.peer.until(lambda: count(topic) >= 2, f"robot and learner at {topic}")
    ros.peer.until(lambda: ros.peer.node.count_publishers(topic), f"a publisher of {topic}")
    ros.peer.wait(1.0)  # discovery goes both ways; this side knows only its own


def test_episodes_begin_at_the_start_and_the_node_ends(ros: Ros) -> None:
    start_robot(ros, "swimmer", "[2.0, 2.0]", system="swimmer", speed=3.0)
    everybody_listens(ros, "/joint_commands")
    collector = ros.start(
        "collector_node", episodes=EPISODES, duration=2.0, settle=0.1, use_sim_time=True
    )
    for number in range(1, EPISODES + 1):
        collector.wait_for(f"episode {number} of {EPISODES} is recorded")
    assert collector.process.wait(10) == 0
    channels = load_channels(CONFIG / "swimmer.yaml")
    runs = read_bags(sorted((ros.folder / "episodes").glob("20*")), channels)
    assert len(runs) == EPISODES
    starts = np.stack([run.observations[0] for run in runs])
    # The stretched swimmer at rest, nose 8.5 from its goal, and a few ticks of the excitation.
    np.testing.assert_allclose(starts, np.tile([0, 0, -8.5, 0], (EPISODES, 1)), atol=0.3)
    for run in runs:
        # 67 ticks, and what passes, three times as fast as time, while busy nodes answer.
        assert 40 < len(run) < 400
        assert len(np.unique(run.actions[:, 0])) > 5
    assert len({run.actions.tobytes() for run in runs}) == EPISODES


def test_a_service_that_refuses_is_named(ros: Ros) -> None:
    start_robot(ros, "synthetic", "[0.5]", speed=5.0)
    start = "/rffpsr_learner/start_episode"
    ros.peer.until(lambda: ros.peer.call(start).success, "an episode")  # one is enough
    collector = ros.start("collector_node", episodes=1, settle=0.0, use_sim_time=True)
    collector.wait_for("rffpsr_learner/start_episode is not ready: episode")
    collector.wait_for("rffpsr_learner/start_episode failed: ")  # it asks for a while
    assert collector.process.wait(10) == 2


def test_a_learner_that_is_not_ready_yet_is_asked_again(ros: Ros) -> None:
    settings = {"channels_file": CONFIG / "synthetic.yaml", "use_sim_time": True}
    ros.start("learner_node", dataset_directory=ros.folder / "episodes", **settings)
    collector = ros.start("collector_node", episodes=1, duration=0.5, settle=0.0, reset="none")
    ros.start(
        "excitation_node", limits__low="[-0.5]", limits__high="[0.5]", autostart=False, **settings
    )
    collector.wait_for("rffpsr_learner/start_episode is not ready: waiting for /clock")
    ros.start("simulator_node", publish_clock=True)
    collector.wait_for("episode 1 of 1 is recorded")
    assert collector.process.wait(10) == 0


@pytest.mark.parametrize("how", ["asked to", "a step fails"])
def test_whatever_ends_it_the_robot_stands_still(ros: Ros, how: str) -> None:
    from std_msgs.msg import Float64MultiArray

    start_robot(ros, "synthetic", "[0.5]")
    commands = ros.peer.collect("/joint_commands", Float64MultiArray)
    everybody_listens(ros, "/joint_commands")
    collector = ros.start("collector_node", episodes=2, duration=5.0, settle=0.0, use_sim_time=True)
    ros.peer.until(lambda: sum(one.data[0] != 0 for one in commands) > 10, "the excitation")
    if how == "asked to":
        assert collector.end(within=5) == 0
        collector.wait_for("the recording of episode 1 of 2 is ended")
    else:
        assert ros.peer.call("/rffpsr_learner/end_episode").success
        collector.wait_for("rffpsr_learner/end_episode failed: ")
        assert collector.process.wait(10) == 2
    collector.wait_for("the excitation is ended")
    ros.peer.until(lambda: commands[-1].data[0] == 0, "a last command of zero")
    assert not ros.peer.call("/rffpsr_learner/end_episode").success  # nothing is recorded


def test_the_robot_stands_still_before_the_learner_is_waited_for() -> None:
    """A learner that has died in the middle of an episode would let it be driven on meanwhile."""
    pytest.importorskip("rclpy", reason="needs ROS 2: rclpy is not installed")
    from rffpsr_ros.nodes.collector.collector_node import END_EPISODE, STOP, CollectorNode

    called: list[str] = []

    class Client(SimpleNamespace):
        def call_async(self, request: Any) -> Any:
            called.append(self.service)
            return SimpleNamespace(done=lambda: False)  # nobody answers

    node: Any = SimpleNamespace(
        create_client=lambda kind, service: Client(
            service=service, service_is_ready=lambda: service == STOP
        ),
        _in_time=lambda condition, what: condition,
    )
    conditions = CollectorNode._call_together(node, STOP, END_EPISODE)
    assert next(conditions)()
    assert called == []
    assert not next(conditions)(), "the learner is gone"
    assert called == [STOP]


def test_a_world_without_gazebo_has_the_topics_of_the_bridge(ros: Ros) -> None:
    pytest.importorskip("pydrake", reason="needs Drake: pip install drake")
    from sensor_msgs.msg import Image, JointState

    start_robot(ros, "arm", "[4.0, 1.5]", world="arm_camera", speed=2.0)
    pictures = ros.peer.collect("/camera/image", Image)
    states = ros.peer.collect("/joint_states", JointState)
    everybody_listens(ros, "/shoulder/torque")
    everybody_listens(ros, "/elbow/torque")
    collector = ros.start("collector_node", episodes=1, duration=3.0, settle=0.5, use_sim_time=True)
    ros.peer.until(lambda: len(pictures) > 10, "pictures")
    gaps = np.diff([_ns(picture.header.stamp) for picture in pictures])
    assert np.median(gaps) == pytest.approx(50e6, abs=4e6)  # a whole number of steps of 4 ms
    assert np.median(np.diff([_ns(state.header.stamp) for state in states])) == 4e6
    assert (pictures[0].encoding, pictures[0].width, pictures[0].height) == ("rgb8", 64, 64)
    assert states[0].name == ["shoulder", "elbow"]
    collector.wait_for("episode 1 of 1 is recorded")
    channels = load_channels(CONFIG / "arm.yaml")
    (run,) = read_bags(sorted((ros.folder / "episodes").glob("20*")), channels)
    assert np.abs(run.actions).max(axis=0) == pytest.approx([4.0, 1.5], rel=0.5)


class Clockwork:
    """A clock that goes on while a node spins, and services of which some answer."""

    def __init__(self, *answering: str) -> None:
        self.seconds = 0.0
        self.called: list[str] = []
        self._answering = answering

    def spin(self, seconds: float) -> None:
        self.seconds += seconds

    def create_client(self, kind: Any, service: str) -> Any:
        def call(request: Any) -> Any:
            self.called.append(service)
            return SimpleNamespace(
                done=lambda: service in self._answering, result=lambda: f"{service} is done"
            )

        there = not service.startswith("gone")
        return SimpleNamespace(service_is_ready=lambda: there, call_async=call)


@pytest.mark.parametrize("services", [("slow", "also slow"), ("gone", "gone too"), ("gone", "ok")])
def test_last_calls_end_in_time_whoever_answers(services: tuple[str, ...]) -> None:
    pytest.importorskip("std_srvs", reason="needs ROS 2: its messages are not installed")
    from rffpsr_ros.nodes.collector.last_calls import last_answers

    clockwork = Clockwork("ok")
    answers = last_answers(clockwork, services, clockwork.spin, lambda: clockwork.seconds)
    assert answers == {one: "ok is done" if one == "ok" else None for one in services}
    assert clockwork.called == [one for one in services if not one.startswith("gone")]
    # A node ends within two seconds, but sees a signal a tenth later and must let go of ROS.
    assert clockwork.seconds < 1.7


@pytest.mark.parametrize(
    ("answer", "level", "said"),
    [
        (SimpleNamespace(success=True, message=""), "warning", "the robot is ended"),
        (SimpleNamespace(success=False, message="no"), "error", "the robot may go on: s says: no"),
        (None, "error", "the robot may go on: s does not answer"),
    ],
)
def test_what_the_last_calls_did_is_said(
    monkeypatch: pytest.MonkeyPatch, answer: Any, level: str, said: str
) -> None:
    pytest.importorskip("rclpy", reason="needs ROS 2: rclpy is not installed")
    from rffpsr_ros.nodes.collector import collector_node

    lines: list[tuple[str, str]] = []
    logger = SimpleNamespace(
        warning=lambda line: lines.append(("warning", line)),
        error=lambda line: lines.append(("error", line)),
    )
    monkeypatch.setattr(collector_node, "last_answers", lambda *_: {"s": answer})
    node: Any = SimpleNamespace(
        _timer=None, _begun={"s": "the robot"}, _spin=None, get_logger=lambda: logger
    )
    collector_node.CollectorNode.close(node)
    assert lines == [(level, said)]


def _ns(stamp: Any) -> int:
    return int(stamp.sec) * 10**9 + int(stamp.nanosec)


def test_settling_counts_anew_when_time_goes_back() -> None:
    """Gazebo resets some milliseconds after it has said so; an episode must not begin before."""
    from rffpsr_ros.nodes.collector.collector_node import CollectorNode

    times = iter([5.0, 5.1, 0.0, 0.9, 1.0])
    now = lambda: SimpleNamespace(nanoseconds=round(next(times) * 1e9))  # noqa: E731
    node: Any = SimpleNamespace(get_clock=lambda: SimpleNamespace(now=now))
    (over,) = CollectorNode._settle(node, 1.0)
    assert [over() for _ in range(4)] == [False, False, False, True]


def test_gazebo_is_asked_to_reset_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("std_srvs", reason="needs ROS 2: its messages are not installed")
    from rffpsr_ros.nodes.collector.episode_reset import reset_of

    class Request:
        """What ControlWorld.Request has, as far as it is used."""

        def __init__(self) -> None:
            self.world_control = SimpleNamespace(reset=SimpleNamespace(all=False))

    control = SimpleNamespace(Request=Request)
    monkeypatch.setitem(sys.modules, "ros_gz_interfaces.srv", SimpleNamespace(ControlWorld=control))
    reset = reset_of("gazebo", "arm")
    assert reset is not None
    assert reset.service == "/world/arm/control"
    assert reset.request().world_control.reset.all
    assert reset.succeeded(SimpleNamespace(success=True))
    with pytest.raises(InputError, match="must name the world"):
        reset_of("gazebo", "")
    assert reset_of("none", "") is None


def test_without_gazebos_interfaces_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("std_srvs", reason="needs ROS 2: its messages are not installed")
    from rffpsr_ros.nodes.collector.episode_reset import reset_of

    monkeypatch.setitem(sys.modules, "ros_gz_interfaces.srv", None)
    with pytest.raises(InputError, match="set the parameter reset to none"):
        reset_of("gazebo", "arm")
