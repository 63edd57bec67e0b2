"""The learner node over real DDS: episodes that hold everything, and training beside the node."""

from __future__ import annotations

import itertools
import signal
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from benchmarks.live_robot import CHANNELS, PERIOD_NS, QUICK, START_NS
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.recordings.bags.opening import open_bag
from rffpsr_ros.recordings.bags.reader import read_bags
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import simulate

ENDLESS = {**QUICK, "iterations": 1_000_000}


def joint_state(stamp_ns: int, name: list[str], **values: Any) -> Any:
    from sensor_msgs.msg import JointState

    message = JointState(name=name, **values)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
    return message


def channels_file(folder: Path, learning: dict[str, Any] = QUICK) -> Path:
    path = folder / "channels.yaml"
    path.write_text(yaml.safe_dump({**CHANNELS, "learning": learning}), encoding="utf-8")
    return path


def start(ros: Any, learning: dict[str, Any] = QUICK, **parameters: Any) -> Any:
    """Start a learner, and publishers that it has found."""
    from sensor_msgs.msg import JointState

    node = ros.start(
        "learner_node",
        channels_file=channels_file(ros.folder, learning),
        minimum_free_disk=1.0,
        **parameters,
    )
    for topic in ("/joint_states", "/command"):
        ros.peer.publisher(topic, JointState)
    ros.peer.matched("/joint_states", "/command")
    return node


def call(ros: Any, service: str) -> Any:
    return ros.peer.call(f"/rffpsr_learner/{service}")


def play(
    ros: Any, seed: int, ticks: int = 100, start_ns: int = START_NS, pause: float = 0.0
) -> None:
    """Publish a run of the synthetic system, faster than time; what is seen shows the command."""
    actions = np.random.default_rng(seed).uniform(-0.5, 0.5, (ticks, 1))
    run = simulate(SyntheticSystem(), actions, seed=seed)
    for tick in range(ticks):
        now = start_ns + tick * PERIOD_NS
        ros.peer.publish("/command", joint_state(now, ["a"], effort=[actions[tick, 0]]))
        position = run.observations[tick, 0] + actions[tick, 0]
        seen = joint_state(now + 10**6, ["o"], position=[position])
        ros.peer.publish("/joint_states", seen)
        ros.peer.wait(pause)


def latched(ros: Any) -> list[dict[str, str]]:
    """Return a list of all states of the learner, as they arrive."""
    from diagnostic_msgs.msg import DiagnosticStatus
    from rclpy.qos import DurabilityPolicy, QoSProfile

    qos = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    states: list[dict[str, str]] = []

    def note(message: Any) -> None:
        values = {pair.key: pair.value for pair in message.values}
        states.append({"": message.message, "level": str(message.level[0]), **values})

    ros.peer.node.create_subscription(DiagnosticStatus, "/rffpsr_learner/status", note, qos)
    return states


def episodes(ros: Any) -> list[Path]:
    folder = ros.folder / "home" / "rffpsr" / "episodes"
    return sorted(p for p in folder.iterdir() if not p.name.startswith("."))


def count(bag: Path) -> int:
    with closing(open_bag(bag)) as source:
        return sum(1 for _ in source.messages(source.topics))


def test_from_episodes_to_a_model_that_the_filter_serves(ros: Any) -> None:
    from std_msgs.msg import Float64MultiArray

    node = start(ros, episode__label="white noise")
    states = latched(ros)
    for seed in range(3):
        assert call(ros, "start_episode").success
        assert not call(ros, "start_episode").success
        play(ros, seed)
        ros.peer.settle()
        assert call(ros, "end_episode").success
    assert not call(ros, "end_episode").success
    assert [count(bag) for bag in episodes(ros)] == [200, 200, 200]
    assert all("white_noise" in bag.name for bag in episodes(ros))
    assert call(ros, "train").success
    assert not call(ros, "train").success  # one at a time
    ros.peer.until(lambda: "model" in states[-1], "a model", patience=180)
    assert any("stage" in state for state in states)
    assert states[-1][""].startswith("model written")
    # `play` stamps an observation just after the command that has moved it already.
    assert states[-1]["level"] == "1"
    assert "actions depend on past observations" in states[-1]["warning 1"]
    node.wait_for("actions depend on past observations")
    model = load_model(states[-1]["model"])
    assert model.signature.observation_names == ("joints.position.o",)
    assert model.signature.channels is not None
    types = ChannelConfiguration.from_mapping(model.signature.channels).topics
    assert set(types.values()) == {"sensor_msgs/msg/JointState"}
    assert not list(Path(states[-1]["model"]).parent.glob(".*"))

    served = ros.start("filter_node")  # without any argument
    forecasts = ros.peer.collect("/rffpsr_filter/prediction", Float64MultiArray)
    served.wait_for("serving")
    ros.peer.heard("/rffpsr_filter/prediction")
    ros.peer.matched("/joint_states", "/command", listeners=2)
    runs = itertools.count()

    def played_on() -> bool:  # the filter may know a publisher later than that one knows it
        start_ns = START_NS + 10**12 + next(runs) * 60 * PERIOD_NS
        play(ros, 5, 60, start_ns, pause=0.005)
        return len(forecasts) >= 20

    ros.peer.until(played_on, "forecasts")
    assert node.end() == 0
    assert served.end() == 0


def test_a_discarded_episode_is_gone_and_one_in_progress_is_kept_at_the_end(ros: Any) -> None:
    node = start(ros)
    states = latched(ros)
    assert call(ros, "start_episode").success
    play(ros, 0, 20)
    ros.peer.settle()
    assert call(ros, "discard_episode").success
    assert not call(ros, "discard_episode").success
    assert episodes(ros) == []
    assert call(ros, "start_episode").success
    play(ros, 0, 20, START_NS + 10**10)
    ros.peer.settle()
    ros.peer.wait(0.3)
    assert node.end(signal.SIGINT, within=2.0) == 0
    (bag,) = episodes(ros)
    ros.peer.until(lambda: not states[-1]["recording"], "the last status")
    assert states[-1]["kept episodes"] == "1"
    assert (bag / "metadata.yaml").exists()
    assert count(bag) == 40


def test_time_going_back_splits_an_episode(ros: Any) -> None:
    start(ros)
    assert call(ros, "start_episode").success
    for _ in range(2):  # a bag in a loop
        play(ros, 0, 30)
        ros.peer.wait(0.3)
    ros.peer.settle()
    assert call(ros, "end_episode").success
    counts = [count(bag) for bag in episodes(ros)]
    assert len(counts) == 2
    assert sum(counts) == 120


def test_longest_duration_and_low_disk_end_an_episode(ros: Any) -> None:
    node = start(ros, episode__max_duration=0.4)
    states = latched(ros)
    assert call(ros, "start_episode").success
    while node.count("kept:") < 1:
        play(ros, 0, 1, time.time_ns())
        ros.peer.wait(0.05)
    assert len(episodes(ros)) == 1
    assert ros.peer.set_parameter("/rffpsr_learner", "episode.max_duration", 0.0)
    assert call(ros, "start_episode").success
    for _ in range(10):
        play(ros, 0, 1, time.time_ns())
        ros.peer.wait(0.05)
    assert ros.peer.set_parameter("/rffpsr_learner", "minimum_free_disk", 1e9)
    ros.peer.until(lambda: states[-1]["level"] == "2", "an error in the status")
    assert "disk space" in states[-1][""]
    assert len(episodes(ros)) == 2
    refused = call(ros, "start_episode")
    assert not refused.success
    assert "disk space" in refused.message


@pytest.mark.parametrize("how", ["cancel", "SIGTERM", "SIGKILL"])
def test_a_training_that_ends_early_leaves_no_process_and_no_file(ros: Any, how: str) -> None:
    node = start(ros, ENDLESS)
    states = latched(ros)
    for seed in range(2):
        assert call(ros, "start_episode").success
        play(ros, seed)
        ros.peer.settle()
        assert call(ros, "end_episode").success
    assert call(ros, "train").success
    ros.peer.until(lambda: "refinement" in states[-1].get("stage", ""), "refinement")
    if how == "cancel":
        error = "error [standard deviations]"
        ros.peer.until(lambda: 0 < float(states[-1].get(error, 0)) < 10, "its error by now")
    (child,) = children(node.process.pid)
    if how == "cancel":
        assert call(ros, "cancel_training").success
        assert not call(ros, "cancel_training").success
        ros.peer.until(lambda: "cancelled" in states[-1][""], "the status")
    elif how == "SIGTERM":
        assert node.end(within=3.0) == 0
        ros.peer.until(lambda: "cancelled" in states[-1][""], "the last status")
    else:
        node.process.kill()
    ros.peer.until(lambda: not Path(f"/proc/{child}").exists(), "the training process to end")
    models = ros.folder / "home" / "rffpsr" / "models"
    assert not models.exists() or list(models.iterdir()) == []


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_in_order_from_its_first_line_on(ros: Any, number: int) -> None:
    node = ros.start("learner_node", channels_file=channels_file(ros.folder))
    ros.peer.until(lambda: node.lines, "a first line")
    assert node.end(number, within=2.0) == 0
    assert node.count("Traceback") == 0


def test_quality_of_service_follows_the_publishers_and_episodes_start_by_themselves(
    ros: Any,
) -> None:
    from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Bool

    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    weak = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
    recording = ros.peer.collect("/rffpsr_learner/recording", Bool, latched)
    ros.peer.publisher("/joint_states", JointState, weak)
    ros.peer.publisher("/command", JointState, latched)
    # Sent before anyone listens: only a latched subscription hears it.
    ros.peer.publish("/command", joint_state(START_NS, ["a"], effort=[0.5]))
    ros.start("learner_node", channels_file=channels_file(ros.folder), episode__auto_start=True)
    ros.peer.matched("/joint_states", "/command")

    def moving() -> bool:
        ros.peer.publish("/joint_states", joint_state(time.time_ns(), ["o"], position=[0.1]))
        ros.peer.wait(0.02)
        return bool(recording and recording[-1].data)

    ros.peer.until(moving, "an episode to start")
    strong = QoSProfile(depth=10)
    ros.peer.forget("/joint_states")
    ros.peer.publisher("/joint_states", JointState, strong)
    call(ros, "end_episode")  # and another begins
    infos = ros.peer.node.get_subscriptions_info_by_topic

    def reliable() -> bool:
        return any(
            info.node_name == "rffpsr_learner"
            and info.qos_profile.reliability == ReliabilityPolicy.RELIABLE
            for info in infos("/joint_states")
        )

    ros.peer.until(reliable, "a reliable subscription to a reliable publisher")


def test_a_wrong_parameter_is_one_sentence(ros: Any) -> None:
    node = ros.start("learner_node", episode__max_duration=5)
    assert node.process.wait(30) == 2
    node.wait_for("write 50.0, not 50")
    assert node.count("Traceback") == 0


def test_without_channels_it_says_what_is_missing(ros: Any) -> None:
    node = ros.start("learner_node")
    node.wait_for("has no channels: start it with params_file:=robot.yaml")
    assert node.end(within=2.0) == 0


def test_a_kill_loses_at_most_the_last_second_and_the_rest_trains(ros: Any) -> None:
    node = start(ros)
    assert call(ros, "start_episode").success
    sent: list[float] = []
    began = time.monotonic()
    number = 0
    while time.monotonic() < began + 3.0:  # the robot's own time
        play(ros, number, 1, START_NS + number * PERIOD_NS)
        sent.append(time.monotonic())
        number += 1
        ros.peer.wait(0.005)
    node.process.kill()
    killed = time.monotonic()
    node.process.wait()
    ros.renew_peer()
    again = start(ros)
    again.wait_for("was recovered")
    (bag,) = episodes(ros)
    old = [moment for moment in sent if moment < killed - 1.0]
    assert count(bag) >= 2 * len(old)
    configuration = ChannelConfiguration.from_mapping(CHANNELS)
    (trajectory,) = read_bags(bag, configuration)
    assert len(trajectory) >= len(old) - 2
    states = latched(ros)
    assert call(ros, "train").success
    ros.peer.until(lambda: "model" in states[-1], "a model", patience=180)


def test_an_episode_holds_every_message_sent_reliably_at_1_khz(ros: Any) -> None:
    from rclpy.qos import HistoryPolicy, QoSProfile
    from sensor_msgs.msg import JointState

    node = ros.start("learner_node", channels_file=channels_file(ros.folder))
    everything = QoSProfile(history=HistoryPolicy.KEEP_ALL, depth=1)
    for topic in ("/joint_states", "/command"):
        ros.peer.publisher(topic, JointState, everything)
    ros.peer.matched("/joint_states", "/command")
    assert call(ros, "start_episode").success
    ros.peer.publish("/command", joint_state(START_NS, ["a"], effort=[0.0]))
    names = [f"joint_{number}" for number in range(6)]
    seconds, rate = 30, 1000
    began = time.monotonic()
    for number in range(seconds * rate):
        message = joint_state(START_NS + number * 10**6, names, position=[float(number)] * 6)
        ros.peer.publish("/joint_states", message)
        ahead = began + number / rate - time.monotonic()
        if ahead > 0:
            time.sleep(ahead)
    ros.peer.settle()
    ros.peer.wait(0.5)
    assert call(ros, "end_episode").success
    (bag,) = episodes(ros)
    with closing(open_bag(bag)) as source:
        stamps = [message.data[4:12] for message in source.messages(["/joint_states"])]
    assert len(stamps) == seconds * rate
    assert len(set(stamps)) == seconds * rate
    assert node.end(within=2.0) == 0
