"""Bags of every format and fault become the same trajectories, or one sentence."""

import copy
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings import (
    BagSampler,
    ReadReport,
    Trajectory,
    bag_topics,
    iterate_trajectories,
    read_bags,
)
from rffpsr_ros.signals import ChannelConfiguration

MS = 1_000_000


def configured(mapping: dict[str, Any], **changes: Any) -> ChannelConfiguration:
    """Return the configuration with values at dotted paths changed; `...` removes a key."""
    mapping = copy.deepcopy(mapping)
    for path, value in changes.items():
        *outer, last = path.split("__")
        inner = mapping
        for key in outer:
            inner = inner[key]
        if value is ...:
            del inner[last]
        else:
            inner[last] = value
    return ChannelConfiguration.from_mapping(mapping)


def is_the_arm(trajectory: Trajectory, ticks: int = 40, first: int = 0) -> None:
    """Check against what was recorded: o_k is sample k + 1, a_k is command k."""
    samples = np.arange(first, first + ticks)
    expected = np.column_stack([samples + 1.0, -samples - 1.0])
    np.testing.assert_array_equal(trajectory.observations, expected)
    np.testing.assert_array_equal(trajectory.actions[:, 0], samples / 10)
    assert trajectory.observation_names == ("arm.position.elbow", "arm.position.wrist")
    assert trajectory.action_names == ("motor.data[0]",)
    assert trajectory.period == 0.05


@pytest.mark.parametrize(
    ("storage", "compression"),
    [
        ("mcap", "none"),
        ("mcap", "file"),
        ("mcap", "message"),
        ("mcap", "storage"),
        ("sqlite3", "none"),
        ("sqlite3", "file"),
        ("sqlite3", "message"),
    ],
)
def test_rosbag2(
    tmp_path: Path, bags: Any, arm: dict[str, Any], storage: str, compression: str
) -> None:
    path = bags.ros2(tmp_path / "bag", bags.recording(), storage, compression)
    (trajectory,) = read_bags(path, configured(arm))
    is_the_arm(trajectory)
    assert trajectory.label == "bag"


@pytest.mark.parametrize("compression", ["none", "bz2", "lz4"])
def test_ros1(tmp_path: Path, bags: Any, arm: dict[str, Any], compression: str) -> None:
    path = bags.ros1(tmp_path / "run.bag", bags.recording(), compression)
    (trajectory,) = read_bags(path, configured(arm))
    is_the_arm(trajectory)
    assert trajectory.label == "run.bag"


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_a_storage_file_without_its_folder(
    tmp_path: Path, bags: Any, arm: dict[str, Any], storage: str
) -> None:
    folder = bags.ros2(tmp_path / "bag", bags.recording(), storage)
    (file,) = (path for path in folder.iterdir() if path.name != "metadata.yaml")
    alone = file.rename(tmp_path / f"alone{file.suffix}")
    (trajectory,) = read_bags(alone, configured(arm))
    is_the_arm(trajectory)


def test_many_bags_keep_their_order(tmp_path: Path, bags: Any, arm: dict[str, Any]) -> None:
    for number, ticks in ((1, 10), (2, 20), (10, 30)):
        bags.ros2(tmp_path / "runs" / f"run_{number}", bags.recording(ticks=ticks), "mcap")
    bags.ros1(tmp_path / "old.bag", bags.recording(ticks=5))
    configuration = configured(arm)
    found = read_bags([tmp_path / "old.bag", tmp_path / "runs"], configuration)
    assert [(len(t), t.label) for t in found] == [
        (5, "old.bag"),
        (10, "run_1"),
        (20, "run_2"),
        (30, "run_10"),
    ]
    matched = read_bags(str(tmp_path / "runs" / "run_1*"), configuration)
    assert [t.label for t in matched] == ["run_1", "run_10"]
    for trajectory in found:
        is_the_arm(trajectory, len(trajectory))


def test_several_segments_in_one_bag(tmp_path: Path, bags: Any, arm: dict[str, Any]) -> None:
    second = 1_000_000_000
    messages = [*bags.recording(1 * second, 10), *bags.recording(5 * second, 20)]
    path = bags.ros2(tmp_path / "bag", messages)
    report = ReadReport()
    found = read_bags(path, configured(arm), report=report)
    assert [t.label for t in found] == ["bag", "bag#2"]
    is_the_arm(found[0], 10)
    is_the_arm(found[1], 20)
    (bag,) = report.bags
    assert [end.cause for end in bag.segment_ends] == ["gap", "end"]
    assert (bag.messages, bag.ticks) == (len(messages), 30)


def test_time_that_goes_back_in_a_bag(tmp_path: Path, bags: Any, arm: dict[str, Any]) -> None:
    """The headers start again; commands have none, so those of the log lie in the far future."""
    second = 1_000_000_000
    messages = bags.recording(10 * second, 10)
    messages += [m._replace(time_ns=m.time_ns + 10 * second) for m in bags.recording(second, 15)]
    path = bags.ros2(tmp_path / "bag", messages)
    report = ReadReport()
    words = r"nothing after the last segment could be used \(15 mes.* try --set stamps=receive"
    with pytest.warns(UserWarning, match=words):
        (trajectory,) = read_bags(path, configured(arm), report=report)
    is_the_arm(trajectory, 10)
    assert [end.cause for end in report.bags[0].segment_ends] == ["time_jump"]
    both = read_bags(path, configured(arm, action__motor__initial=0.5))
    assert [len(t) for t in both] == [10, 15]
    assert both[1].observations[:, 0].tolist() == list(range(1, 16))
    assert set(both[1].actions[:, 0]) == {0.5}


def test_short_segments_are_left_out(tmp_path: Path, bags: Any, arm: dict[str, Any]) -> None:
    second = 1_000_000_000
    messages = [*bags.recording(second, 5), *bags.recording(9 * second, 20)]
    path = bags.ros2(tmp_path / "bag", messages)
    report = ReadReport()
    (trajectory,) = read_bags(path, configured(arm), minimum_ticks=6, report=report)
    is_the_arm(trajectory, 20)
    assert report.bags[0].dropped_ticks == 5
    with pytest.raises(InputError, match="no segment of the bags has 21 ticks"):
        read_bags(path, configured(arm), minimum_ticks=21)


def test_trajectories_are_streamed(tmp_path: Path, bags: Any, arm: dict[str, Any]) -> None:
    """The first segment is given out before a fault further on in the bag is met."""
    second = 1_000_000_000
    messages = [*bags.recording(second, 5), *bags.recording(9 * second, 5)]
    late = 20 * second
    messages += [bags.recorded("/other", "std_msgs/msg/Float64MultiArray", late, bags.command(1.0))]
    bags.ros2(tmp_path / "a", messages)
    (tmp_path / "b.mcap").write_bytes(b"no bag")
    stream = iterate_trajectories([tmp_path / "a", tmp_path / "b.mcap"], configured(arm))
    is_the_arm(next(stream), 5)
    is_the_arm(next(stream), 5)
    with pytest.raises(InputError, match="no readable bag"):
        next(stream)


def test_stamps_of_headers_or_of_receipt(tmp_path: Path, bags: Any, arm: dict[str, Any]) -> None:
    """Joint states are logged 3 ms after their stamp; a command falls in between."""
    messages = bags.recording(ticks=3)
    between = messages[3].time_ns - 1 * MS  # after the stamp of sample 1, before its receipt
    messages.insert(3, bags.recorded("/command", messages[0].type, between, bags.command(7.0)))
    path = bags.ros2(tmp_path / "bag", messages)
    (by_header,) = read_bags(path, configured(arm))
    (by_receipt,) = read_bags(path, configured(arm, stamps="receive"))
    assert by_header.actions[:, 0].tolist() == [0.0, 0.1, 0.2]
    assert by_receipt.actions[:, 0].tolist() == [0.0, 7.0, 0.2]


def test_a_leading_slash_may_be_left_out(tmp_path: Path, bags: Any, arm: dict[str, Any]) -> None:
    path = bags.ros2(tmp_path / "bag", bags.recording())
    (trajectory,) = read_bags(path, configured(arm, observation__arm__topic="joints"))
    is_the_arm(trajectory)


def test_types_may_be_left_open(tmp_path: Path, bags: Any, arm: dict[str, Any]) -> None:
    path = bags.ros2(tmp_path / "bag", bags.recording())
    configuration = configured(arm, observation__arm__type=..., action__motor__type=...)
    (trajectory,) = read_bags(path, configuration)
    is_the_arm(trajectory)
    with BagSampler(path, configuration) as bag:
        assert configuration.with_types(bag.topic_types).topics == {
            "/joints": "sensor_msgs/msg/JointState",
            "/command": "std_msgs/msg/Float64MultiArray",
        }


def test_topics_of_a_bag(tmp_path: Path, bags: Any) -> None:
    topics = bag_topics(bags.ros1(tmp_path / "a.bag", bags.recording(ticks=4)))
    assert {name: (topic.type, topic.count) for name, topic in topics.items()} == {
        "/command": ("std_msgs/msg/Float64MultiArray", 5),
        "/joints": ("sensor_msgs/msg/JointState", 5),
    }


def without_definitions(folder: Path) -> Path:
    """Turn a SQLite3 bag into one as older distributions wrote it."""
    (file,) = folder.glob("*.db3")
    with sqlite3.connect(file) as database:
        database.execute("DELETE FROM message_definitions")
    database.close()
    return folder


def test_bags_without_definitions_need_the_distribution(
    tmp_path: Path, bags: Any, arm: dict[str, Any]
) -> None:
    path = without_definitions(bags.ros2(tmp_path / "bag", bags.recording(), "sqlite3"))
    with pytest.raises(
        InputError, match=r"bag does not define sensor_msgs/msg/JointState .* --ros"
    ):
        read_bags(path, configured(arm))
    (trajectory,) = read_bags(path, configured(arm), ros_distro="humble")
    is_the_arm(trajectory)
    with pytest.raises(InputError, match="distribution 'humbel' is unknown; did you mean 'humble'"):
        read_bags(path, configured(arm), ros_distro="humbel")


def test_custom_types_come_from_the_bag_or_from_a_message_path(
    tmp_path: Path, bags: Any, arm: dict[str, Any]
) -> None:
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    definition = "std_msgs/Header header\nfloat64 angle\n"
    store = get_typestore(Stores.ROS2_JAZZY)
    store.register(get_types_from_msg(definition, "my_arm/msg/Elbow"))

    def elbow(message: Any) -> Any:
        state = message.make(store)
        return store.types["my_arm/msg/Elbow"](header=state.header, angle=state.position[1])

    from rffpsr_ros.recordings import BagWriter

    path = tmp_path / "bag"
    with BagWriter(path, "sqlite3", typestore=store) as writer:
        writer.add_topic("/joints", "my_arm/msg/Elbow")
        writer.add_topic("/command", "std_msgs/msg/Float64MultiArray")
        for message in bags.recording():
            made = elbow(message) if message.topic == "/joints" else message.make(store)
            writer.write(message.topic, message.time_ns, made)
    configuration = configured(
        arm, observation__arm__type="my_arm/Elbow", observation__arm__fields=["angle"]
    )
    (trajectory,) = read_bags(path, configuration)
    np.testing.assert_array_equal(trajectory.observations[:, 0], np.arange(1.0, 41.0))

    without_definitions(path)
    with pytest.raises(InputError, match=r"give the folder with my_arm/msg/\*.msg by --msg-path"):
        read_bags(path, configuration, ros_distro="jazzy")
    folder = tmp_path / "src" / "my_arm" / "msg"
    folder.mkdir(parents=True)
    (folder / "Elbow.msg").write_text(definition)
    (again,) = read_bags(path, configuration, message_paths=[tmp_path / "src"])
    np.testing.assert_array_equal(again.observations, trajectory.observations)


def test_message_paths_must_hold_definitions(tmp_path: Path, arm: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"message path .* holds no \.msg or \.idl file"):
        read_bags(tmp_path, configured(arm), message_paths=[tmp_path])
    (tmp_path / "Bad.msg").write_text("???")
    with pytest.raises(InputError, match=r"message definition .*Bad\.msg cannot be read"):
        read_bags(tmp_path, configured(arm), message_paths=[tmp_path])


def test_damaged_messages_are_missing_and_counted(
    tmp_path: Path, bags: Any, arm: dict[str, Any]
) -> None:
    path = bags.ros2(tmp_path / "bag", bags.recording(ticks=5), "sqlite3")
    (file,) = path.glob("*.db3")
    with sqlite3.connect(file) as database:
        database.execute("UPDATE messages SET data = substr(data, 1, 40) WHERE id = 6")
    database.close()
    report = ReadReport()
    with pytest.warns(UserWarning, match="1 damaged messages were left out"):
        (trajectory,) = read_bags(path, configured(arm), report=report)
    np.testing.assert_array_equal(trajectory.observations[:, 0], [1.0, np.nan, 3.0, 4.0, 5.0])
    assert report.bags[0].undecodable == 1


# One sentence for what cannot be read.


def test_a_missing_topic(tmp_path: Path, bags: Any, arm: dict[str, Any]) -> None:
    path = bags.ros2(tmp_path / "bag", bags.recording())
    with pytest.raises(InputError, match="has no topic /joint; did you mean '/joints'"):
        read_bags(path, configured(arm, observation__arm__topic="/joint"))


def test_another_type(tmp_path: Path, bags: Any, arm: dict[str, Any]) -> None:
    path = bags.ros2(tmp_path / "bag", bags.recording())
    configuration = configured(arm, observation__arm__type="sensor_msgs/msg/Imu")
    with pytest.raises(
        InputError, match=r"type sensor_msgs/msg/JointState in bag .* but sensor_ms"
    ):
        read_bags(path, configuration)


def test_a_missing_field(tmp_path: Path, bags: Any, arm: dict[str, Any]) -> None:
    path = bags.ros2(tmp_path / "bag", bags.recording())
    configuration = configured(arm, observation__arm__fields=["positon.elbow"])
    with pytest.raises(InputError, match="no field 'positon'; did you mean 'position'"):
        read_bags(path, configuration)


def test_a_missing_joint(tmp_path: Path, bags: Any, arm: dict[str, Any]) -> None:
    path = bags.ros2(tmp_path / "bag", bags.recording())
    configuration = configured(arm, observation__arm__fields=["position.elbwo"])
    with pytest.raises(InputError, match=r"'elbwo' .* in no message of /joints .* mean 'elbow'"):
        read_bags(path, configuration)


def test_a_topic_without_messages(tmp_path: Path, bags: Any, arm: dict[str, Any]) -> None:
    first, *rest = bags.recording()
    messages = [first._replace(make=bags.command()), *(m for m in rest if m.topic == "/joints")]
    path = bags.ros2(tmp_path / "bag", messages, "sqlite3")
    with pytest.raises(InputError, match=r"no values for channel 'motor' \(/command\)"):
        read_bags(path, configured(arm, action__motor__fields=["data"]))
    with sqlite3.connect(path / "bag.db3") as database:
        database.execute("DELETE FROM messages WHERE id = 1")
    database.close()
    with pytest.raises(InputError, match="has no message on /command"):
        read_bags(path, configured(arm))
    (trajectory,) = read_bags(path, configured(arm, action__motor__initial=0.0))
    assert not trajectory.actions.any()


def test_no_overlap_in_time(tmp_path: Path, bags: Any, arm: dict[str, Any]) -> None:
    messages = bags.recording()
    second = 1_000_000_000
    later = [
        m._replace(time_ns=m.time_ns + 10 * second) if m.topic == "/command" else m
        for m in messages
    ]
    path = bags.ros2(tmp_path / "bag", sorted(later, key=lambda m: m.time_ns))
    with pytest.raises(InputError, match=r"/joints and /command do not overlap in time .* 7\.99 s"):
        read_bags(path, configured(arm))


def test_clocks_years_apart_get_a_hint(tmp_path: Path, bags: Any, arm: dict[str, Any]) -> None:
    """Simulated time in the headers, wall time in the log."""
    year = 365 * 24 * 3600 * 1_000_000_000
    messages = [m._replace(time_ns=m.time_ns + 50 * year) for m in bags.recording()]
    path = bags.ros2(tmp_path / "bag", messages)
    with pytest.raises(InputError, match="their clocks differ, try 'stamps: receive'"):
        read_bags(path, configured(arm))
    (trajectory,) = read_bags(path, configured(arm, stamps="receive"))
    assert len(trajectory) == 40


def test_a_bag_shorter_than_a_tick(tmp_path: Path, bags: Any, arm: dict[str, Any]) -> None:
    path = bags.ros2(tmp_path / "bag", bags.recording(ticks=0))
    with pytest.raises(InputError, match="too short for a single tick: /joints has 1 message and"):
        read_bags(path, configured(arm))


def test_bags_with_different_columns(tmp_path: Path, bags: Any, arm: dict[str, Any]) -> None:
    bags.ros2(tmp_path / "a", bags.recording(padding=1))
    bags.ros2(tmp_path / "b", bags.recording(padding=2))
    configuration = configured(arm, action__motor__fields=["data"])
    with pytest.raises(InputError, match=r"a and .*b differ in their columns: 'motor\.data\[2\]'"):
        read_bags([tmp_path / "a", tmp_path / "b"], configuration)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("x.bag", b"", "is no readable bag, neither rosbag2"),
        ("x.bag", b"#ROSBAG V1.2\n", "is no readable bag"),
        ("x.mcap", b"\x89MCAP0\r\n", "holds nothing readable"),
        ("x.db3", b"SQLite format 3\0" + bytes(100), "is no readable bag"),
        ("x.db3", b"text", "is no readable bag"),
        ("x.csv", b"time,a\n0,1\n", "rffpsr csv2bag"),
        ("x.mcap.zstd", b"\x28\xb5\x2f\xfd" + bytes(30), "is no readable bag"),
    ],
)
def test_a_file_that_is_no_bag(
    tmp_path: Path, arm: dict[str, Any], name: str, content: bytes, sentence: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=sentence) as caught:
        read_bags(tmp_path / name, configured(arm))
    assert "\n" not in str(caught.value)
