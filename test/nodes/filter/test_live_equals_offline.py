"""What a filter node publishes is what `rffpsr predict` computes from the same sequence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from rffpsr_ros.cli.main import main as rffpsr
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.bags.opening import open_bag
from rffpsr_ros.recordings.bags.reader import read_bags
from rffpsr_ros.recordings.bags.writer import BagWriter
from rffpsr_ros.recordings.forecast_messages import FORECAST_TYPES
from rffpsr_ros.signals.channel_file import load_channels
from rffpsr_ros.simulation.swimmer import Swimmer
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import System, simulate

Forecasts = dict[int, tuple[str, np.ndarray[Any, Any]]]
"""What is assumed and what is expected (H, d_o), by the stamp of the tick it was made after."""

STORE = get_typestore(Stores.LATEST)
JOINT_STATE = "sensor_msgs/msg/JointState"
START_NS = 1_700_000_000 * 10**9
HORIZON = 6
TICKS = 120


def joint_state(stamp_ns: int, names: tuple[str, ...], **values: Any) -> bytes:
    make = STORE.types
    empty = np.empty(0)
    stamp: Any = make["builtin_interfaces/msg/Time"](*divmod(stamp_ns, 10**9))
    header = make["std_msgs/msg/Header"](stamp=stamp, frame_id="")
    filled = {key: values.get(key, empty) for key in ("position", "velocity", "effort")}
    message = make[JOINT_STATE](header=header, name=list(names), **filled)
    return bytes(STORE.serialize_cdr(message, JOINT_STATE))


def messages_of(system: System, ticks: int) -> Iterator[tuple[str, int, bytes]]:
    """Yield topic, time and bytes of what a simulated robot sends; with jitter and dropouts."""
    draw = np.random.default_rng(7)
    low, high = system.action_limits
    run = simulate(system, draw.uniform(low, high, (ticks, len(low))), seed=3)
    period_ns = round(system.period * 1e9)
    for tick in range(ticks):
        now = START_NS + tick * period_ns
        if draw.random() > 0.1:
            command = joint_state(now, system.action_names, effort=run.actions[tick])
            yield "/command", now, command
        if draw.random() > 0.05 and not 60 <= tick < 60 + round(1.0 / system.period):
            seen = now + period_ns - int(draw.integers(0, period_ns // 5))
            yield (
                "/joint_states",
                seen,
                joint_state(seen, system.observation_names, position=run.observations[tick]),
            )


def write_bag(path: Path, messages: Iterator[tuple[str, int, bytes]]) -> Path:
    with BagWriter(path) as bag:
        for topic in ("/joint_states", "/command"):
            bag.add_topic(topic, JOINT_STATE)
        for topic, time_ns, data in messages:
            bag.write_raw(topic, time_ns, data)
    return path


def jackal_bag(shared: Path, path: Path, seconds: float) -> Path:
    """Write the beginning of the recorded Jackal as a ROS 2 bag."""
    types = {
        "/imu/data": "sensor_msgs/msg/Imu",
        "/jackal_velocity_controller/odom": "nav_msgs/msg/Odometry",
    }
    with (
        AnyReader([shared / "data" / "jackal" / "jackal.bag"]) as reader,
        BagWriter(path) as bag,
    ):
        for topic, type_name in types.items():
            bag.add_topic(topic, type_name)
        chosen = [c for c in reader.connections if c.topic in types]
        for connection, time_ns, data in reader.messages(chosen):
            if time_ns > reader.start_time + seconds * 1e9:
                break
            raw = STORE.ros1_to_cdr(data, types[connection.topic])
            bag.write_raw(connection.topic, time_ns, bytes(raw))
    return path


def jackal_model(bag: Path, checkout: Path, path: Path) -> Path:
    """Learn a model of the Jackal, fast rather than well."""
    from dataclasses import replace

    configuration = load_channels(checkout / "config" / "jackal.yaml")
    model = RFFPSR(iterations=2, features=40, past=8, future=5, arx_past=8, narx_affine="off").fit(
        read_bags(bag, configuration)
    )
    types = {
        "/imu/data": "sensor_msgs/msg/Imu",
        "/jackal_velocity_controller/odom": "nav_msgs/msg/Odometry",
    }
    channels = configuration.with_types(types).to_mapping()
    model.replaced(signature=replace(model.signature, channels=channels)).save(path)
    return path


def predicted_offline(bag: Path, model: Path, folder: Path, *options: str) -> Forecasts:
    """Return the forecasts that the command line writes into a bag."""
    out, types = folder / "forecasts", ("prediction", "trajectory")
    assert (
        rffpsr(["predict", str(bag), "--model", str(model), "--out", str(out), "--quiet", *options])
        == 0
    )
    with closing(open_bag(out)) as source:
        said, told = (
            [
                STORE.deserialize_cdr(message.data, FORECAST_TYPES[name])
                for message in source.messages([f"/rffpsr_filter/{name}"])
            ]
            for name in types
        )
    return forecasts_in(said, told)


def forecasts_in(predictions: Sequence[Any], trajectories: Sequence[Any]) -> Forecasts:
    """Return forecasts; predictions say in words what each assumes, trajectories when it was."""
    words = {np.array(one.data).tobytes(): one.layout.dim[0].label for one in predictions}
    found = {}
    for one in trajectories:
        assert one.header.frame_id == ""
        values = np.array([point.positions for point in one.points])
        stamp = one.header.stamp
        found[stamp.sec * 10**9 + stamp.nanosec] = words[values.tobytes()], values
    return found


class Player:
    """Publishes the raw messages of a bag to a filter node, and keeps what it answers."""

    def __init__(self, ros: Any, types: dict[str, str], **parameters: Any) -> None:
        from rffpsr_ros.nodes.shared.message_classes import message_class

        self.ros = ros
        self.node = ros.start("filter_node", horizon=HORIZON, compiled=True, **parameters)
        answers = [f"/rffpsr_filter/{name}" for name in ("prediction", "trajectory")]
        self._said, self._told = (
            ros.peer.collect(topic, message_class(FORECAST_TYPES[topic.split("/")[-1]]))
            for topic in answers
        )
        self._publishers = {
            topic: ros.peer.publisher(topic, message_class(name)) for topic, name in types.items()
        }
        self.node.wait_for("serving")
        ros.peer.matched(*types)
        for topic in answers:
            ros.peer.heard(topic)
        self.step()

    def play(self, messages: Iterator[tuple[str, int, bytes]], pause: float) -> None:
        """Publish messages one after the other."""
        for topic, _, data in messages:
            self._publishers[topic].publish(data)
            self.ros.peer.wait(pause)

    def play_in_lockstep(self, bag: Path) -> None:
        """Publish each message of a bag after the node has taken the one before."""
        with closing(open_bag(bag)) as source:
            for message in source.messages(self._publishers.keys()):
                self._publishers[message.topic].publish(message.data)
                self.step()

    def step(self) -> None:
        """Wait until the node has taken all that was sent before."""
        self.ros.peer.taken_by("/rffpsr_filter")

    def forecasts(self) -> Forecasts:
        """Return what was published."""
        self.step()
        self.ros.peer.wait(0.5)
        return forecasts_in(self._said, self._told)


def assert_equal(live: Forecasts, offline: Forecasts) -> None:
    """Only before the node knew of its listener may forecasts not have been made."""
    assert len(live) > 0.8 * len(offline)
    assert sorted(live) == sorted(offline)[-len(live) :]
    for stamp, (assumed, values) in live.items():
        assert assumed == offline[stamp][0]
        np.testing.assert_allclose(values, offline[stamp][1], rtol=1e-9, atol=1e-9)


SYSTEMS: dict[str, System] = {"synthetic": SyntheticSystem(), "swimmer": Swimmer()}
JOINTS = {"/joint_states": JOINT_STATE, "/command": JOINT_STATE}


@pytest.mark.parametrize(
    ("name", "executor"),
    [("synthetic", "direct"), ("synthetic", "single_threaded"), ("swimmer", "direct")],
)
def test_a_bag_played_in_lockstep_gives_what_predict_gives(
    ros: Any, tmp_path: Path, name: str, executor: str, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(f"{name}_model")
    system = SYSTEMS[name]
    bag = write_bag(tmp_path / "bag", messages_of(system, TICKS))
    options = ("--horizon", str(HORIZON), "--future-actions", "hold")
    offline = predicted_offline(bag, model, tmp_path, *options)
    assert len(offline) > TICKS / 2
    player = Player(ros, JOINTS, model_path=model, start="episode", executor=executor)
    player.play_in_lockstep(bag)
    assert_equal(player.forecasts(), offline)


def test_the_jackal_played_in_lockstep_gives_what_predict_gives(
    ros: Any, tmp_path: Path, shared: Path, checkout: Path
) -> None:
    bag = jackal_bag(shared, tmp_path / "bag", 8.0)
    model = jackal_model(bag, checkout, tmp_path / "jackal.psr")
    options = ("--horizon", str(HORIZON), "--future-actions", "zero")
    offline = predicted_offline(bag, model, tmp_path, *options)
    assert len(offline) > 100
    with closing(open_bag(bag)) as source:
        types = {topic.name: topic.type for topic in source.topics.values()}
    player = Player(ros, types, model_path=model, start="episode", future_actions="zero")
    player.play_in_lockstep(bag)
    assert_equal(player.forecasts(), offline)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_log_of_a_node_gives_what_the_node_published(
    ros: Any, tmp_path: Path, name: str, request: pytest.FixtureRequest
) -> None:
    """One message after the other, with plans, resets and options changed on the way."""
    from std_msgs.msg import Float64MultiArray

    model = request.getfixturevalue(f"{name}_model")
    system = SYSTEMS[name]
    columns = len(system.action_names)
    player = Player(
        ros,
        JOINTS,
        model_path=model,
        log_sequence=tmp_path / "sequences",
        future_actions="topic",
        publish_every=2,
    )
    peer = ros.peer
    peer.publisher("/rffpsr_filter/planned_actions", Float64MultiArray)
    peer.matched("/rffpsr_filter/planned_actions")
    messages = list(messages_of(system, TICKS))
    parts: list[Callable[[], Any]] = [
        lambda: peer.publish(
            "/rffpsr_filter/planned_actions", Float64MultiArray(data=[0.01] * (3 * columns))
        ),
        lambda: peer.call("/rffpsr_filter/reset"),
        lambda: peer.set_parameter("/rffpsr_filter", "publish_every", 1),
    ]
    size = len(messages) // (len(parts) + 1)
    for number, act in enumerate([*parts, player.step]):
        player.play(iter(messages[number * size : (number + 1) * size]), 0.004)
        player.step()
        act()
    live = player.forecasts()
    assert player.node.end() == 0
    (log,) = (tmp_path / "sequences").iterdir()
    offline = predicted_offline(log, model, tmp_path)
    assert {assumed for assumed, _ in live.values()} == {
        "horizon, future actions: plan",
        "horizon, future actions: hold (no plan yet)",
        "horizon, future actions: hold (plan is over)",
    }
    assert_equal(live, offline)


def test_a_log_tells_when_compiled_code_took_over(
    ros: Any, tmp_path: Path, synthetic_model: Path
) -> None:
    """The filter forecasts at once where no compiled code is kept, and later by that."""
    pytest.importorskip("numba")
    ros.environment["NUMBA_CACHE_DIR"] = str(tmp_path / "nothing yet")
    player = Player(ros, JOINTS, model_path=synthetic_model, log_sequence=tmp_path / "sequences")
    messages = list(messages_of(SYSTEMS["synthetic"], TICKS))
    half = len(messages) // 2
    player.play(iter(messages[:half]), 0.004)
    assert len(player.forecasts()) > TICKS / 4
    assert not player.node.count("compiled code is ready:")
    for _ in range(5):
        with suppress(AssertionError):  # it may take longer than anything else is waited for
            player.node.wait_for("compiled code is ready:")
            break
    player.play(iter(messages[half:]), 0.004)
    live = player.forecasts()
    assert player.node.count("compiled code is ready:") == 1
    assert player.node.end() == 0
    (log,) = (tmp_path / "sequences").iterdir()
    with closing(open_bag(log)) as source:
        entries: list[Any] = [
            STORE.deserialize_cdr(message.data, "std_msgs/msg/String")
            for message in source.messages(["/rffpsr/control"])
        ]
    compiled = [json.loads(entry.data)["options"]["compiled"] for entry in entries]
    assert compiled == [False, True]
    assert_equal(live, predicted_offline(log, synthetic_model, tmp_path))


class WeakMotor(SyntheticSystem):
    """The synthetic system, whose motor gives a third of what is asked."""

    def step(self, state: Array, action: Array) -> Array:
        return super().step(state, 0.3 * action)


def test_the_log_of_a_node_that_adapts_gives_what_it_published(
    ros: Any, tmp_path: Path, synthetic_model: Path
) -> None:
    """Switched off and on again it learns anew, in its log as it did."""
    from diagnostic_msgs.msg import DiagnosticArray

    player = Player(
        ros, JOINTS, model_path=synthetic_model, log_sequence=tmp_path / "sequences", adapt=True
    )
    told = ros.peer.collect("/diagnostics", DiagnosticArray)
    messages = list(messages_of(WeakMotor(), 500))
    player.play(iter(messages[:800]), 0.002)
    player.step()

    def adaptation() -> list[str]:
        statuses = [status for array in told[-1:] for status in array.status]
        values = [value for status in statuses for value in status.values]
        return [value.value for value in values if value.key == "adaptation"]

    ros.peer.until(lambda: adaptation() == ["in use"], "that the adaptation is in use")
    assert ros.peer.set_parameter("/rffpsr_filter", "adapt", False)
    assert ros.peer.set_parameter("/rffpsr_filter", "adapt", True)
    player.play(iter(messages[800:]), 0.002)
    live = player.forecasts()
    assert player.node.end() == 0
    (log,) = (tmp_path / "sequences").iterdir()
    offline = predicted_offline(log, synthetic_model, tmp_path)
    assert_equal(live, offline)


def test_the_log_of_a_node_gives_its_predicted_topic_whatever_the_lead_was(
    ros: Any, tmp_path: Path, synthetic_model: Path
) -> None:
    from sensor_msgs.msg import JointState

    player = Player(
        ros, JOINTS, model_path=synthetic_model, log_sequence=tmp_path / "sequences", lead=2
    )
    answers = ros.peer.collect("/rffpsr_filter/predicted", JointState)
    ros.peer.heard("/rffpsr_filter/predicted")
    messages = list(messages_of(SYSTEMS["synthetic"], 60))
    for lead in (2, 5, 1):
        assert ros.peer.set_parameter("/rffpsr_filter", "lead", lead)
        part, messages = messages[:30], messages[30:]
        player.play(iter(part), 0.004)
        player.step()
    ros.peer.wait(0.5)
    assert player.node.end() == 0
    (log,) = (tmp_path / "sequences").iterdir()
    predicted_offline(log, synthetic_model, tmp_path)
    offline = []
    with closing(open_bag(tmp_path / "forecasts")) as source:
        for message in source.messages(["/rffpsr_filter/predicted"]):
            one: Any = STORE.deserialize_cdr(message.data, JOINT_STATE)
            offline.append((one.header.stamp.sec, one.header.stamp.nanosec, one.position[0]))
    live = [(m.header.stamp.sec, m.header.stamp.nanosec, m.position[0]) for m in answers]
    assert len(live) > 30
    # Before the node knew of its listener it may not have made some.
    assert len(live) > 0.8 * len(offline)
    assert set(live) <= set(offline)


def test_the_log_says_which_model_was_followed(
    ros: Any, tmp_path: Path, synthetic_model: Path
) -> None:
    player = Player(ros, JOINTS, model_path=synthetic_model, log_sequence=tmp_path / "sequences")
    player.play(messages_of(SyntheticSystem(), 10), 0.002)
    player.step()
    ros.peer.wait(0.5)  # the log is flushed now and then
    player.node.process.kill()
    player.node.process.wait()
    (log,) = (tmp_path / "sequences").iterdir()
    with closing(open_bag(log)) as source:
        entries = [
            json.loads(STORE.deserialize_cdr(m.data, "std_msgs/msg/String").data)  # type: ignore[attr-defined]
            for m in source.messages(["/rffpsr/control"])
        ]
        assert sum(1 for _ in source.messages(["/joint_states", "/command"])) > 10
    from rffpsr_ros.models.storage import read_model_file

    assert entries[0]["model"] == read_model_file(synthetic_model).header["checksum"]
    assert load_model(synthetic_model).signature.channels is not None
