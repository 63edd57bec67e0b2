"""Whatever is readable of a recording that was cut short or damaged is used, and the loss said."""

import copy
import shutil
import sqlite3
import struct
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings import BagWarning, Trajectory, read_bags
from rffpsr_ros.signals import ChannelConfiguration

TICKS = 200
PADDING = 3000  # values in every command: one part of a file holds about 40 of them


@pytest.fixture
def configuration(arm: dict[str, Any]) -> ChannelConfiguration:
    return ChannelConfiguration.from_mapping(copy.deepcopy(arm))


def read(path: Path, configuration: ChannelConfiguration) -> tuple[list[Trajectory], list[str]]:
    """Return the trajectories and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = read_bags(path, configuration)
    assert all(warning.category is BagWarning for warning in caught)
    return found, [str(warning.message) for warning in caught]


def is_a_beginning(found: list[Trajectory]) -> int:
    """Check that the ticks are the first ones of the recording; return how many there are."""
    (trajectory,) = found
    samples = np.arange(len(trajectory))
    np.testing.assert_array_equal(trajectory.observations[:, 0], samples + 1.0)
    np.testing.assert_allclose(trajectory.actions[:, 0], samples / 10)
    return len(trajectory)


def storage_file(folder: Path) -> Path:
    (file,) = (path for path in folder.iterdir() if path.name != "metadata.yaml")
    return file


def cut(file: Path, share: float) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])


@pytest.mark.parametrize("compression", ["none", "storage"])
@pytest.mark.parametrize("share", [0.3, 0.8, 0.999])
@pytest.mark.parametrize("with_metadata", [False, True])
def test_mcap_cut_short(
    tmp_path: Path,
    bags: Any,
    configuration: ChannelConfiguration,
    compression: str,
    share: float,
    with_metadata: bool,
) -> None:
    messages = bags.recording(ticks=TICKS, padding=PADDING)
    folder = bags.ros2(tmp_path / "bag", messages, "mcap", compression)
    cut(storage_file(folder), share)
    if not with_metadata:
        (folder / "metadata.yaml").unlink()
    found, said = read(folder, configuration)
    ticks = is_a_beginning(found)
    assert abs(ticks - min(share / 0.99, 1.0) * TICKS) < 0.06 * TICKS
    assert any("bag was not closed properly" in sentence for sentence in said)
    assert any("ends in the middle of a record" in sentence for sentence in said)


def test_mcap_with_a_damaged_chunk(
    tmp_path: Path, bags: Any, configuration: ChannelConfiguration
) -> None:
    """What stands before and after the damage is used, as two segments."""
    messages = bags.recording(ticks=TICKS, padding=PADDING)
    folder = bags.ros2(tmp_path / "bag", messages, "mcap", "storage")
    file = storage_file(folder)
    content = bytearray(file.read_bytes())
    middle = content.index(b"\x28\xb5\x2f\xfd", len(content) // 2)  # where a chunk's data begin
    content[middle : middle + 2000] = bytes(2000)
    file.write_bytes(content)
    found, said = read(folder, configuration)
    assert len(found) == 2
    is_a_beginning(found[:1])
    assert found[1].observations[-1, 0] == TICKS
    assert sum(map(len, found)) > 0.6 * TICKS
    assert any("is damaged" in sentence for sentence in said)


def test_mcap_of_the_kind_without_chunks(
    tmp_path: Path, bags: Any, configuration: ChannelConfiguration
) -> None:
    """Written record by record, as with the preset 'fastwrite', and never closed."""
    folder = bags.ros2(tmp_path / "bag", bags.recording(ticks=20), "mcap")
    content = storage_file(folder).read_bytes()
    (header_length,) = struct.unpack_from("<Q", content, 9)
    chunk = 8 + 9 + header_length
    assert content[chunk] == 0x06
    (size,) = struct.unpack_from("<Q", content, chunk + 9 + 16)
    records = content[chunk + 9 + 40 :][:size]
    flat = tmp_path / "flat.mcap"
    flat.write_bytes(content[:chunk] + records)
    found, said = read(flat, configuration)
    assert is_a_beginning(found) == 20
    assert len(said) == 1
    flat.write_bytes(content[:chunk] + records[:-5])
    found, _ = read(flat, configuration)
    assert is_a_beginning(found) == 19


def crashed_sqlite(folder: Path, target: Path, checkpointed: bool) -> Path:
    """Rewrite a SQLite3 bag as a recorder leaves it that is killed: with a log, no metadata."""
    target.mkdir()
    file = target / f"{target.name}_0.db3"
    writer = sqlite3.connect(target / "live.db3")
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("PRAGMA wal_autocheckpoint=0")
    with sqlite3.connect(storage_file(folder)) as source:
        script = "\n".join(source.iterdump())
    source.close()
    statements = script.replace("BEGIN TRANSACTION;", "").replace("COMMIT;", "")
    half = len(statements) // 2
    half = statements.index("\n", half) + 1
    writer.executescript("BEGIN;" + statements[:half] + "COMMIT;")
    if checkpointed:
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    writer.executescript("BEGIN;" + statements[half:] + "COMMIT;")
    shutil.copyfile(target / "live.db3", file)
    shutil.copyfile(target / "live.db3-wal", file.with_name(f"{file.name}-wal"))
    writer.close()
    for left in target.glob("live.db3*"):
        left.unlink()
    return target


@pytest.mark.parametrize("checkpointed", [False, True])
def test_sqlite_with_its_log(
    tmp_path: Path, bags: Any, configuration: ChannelConfiguration, checkpointed: bool
) -> None:
    folder = bags.ros2(tmp_path / "bag", bags.recording(ticks=TICKS), "sqlite3")
    crashed = crashed_sqlite(folder, tmp_path / "crashed", checkpointed)
    found, said = read(crashed, configuration)
    assert is_a_beginning(found) == TICKS
    assert said == [f"{crashed}: crashed was not closed properly (metadata.yaml is missing)"]
    found, said = read(next(crashed.glob("*.db3")), configuration)
    assert is_a_beginning(found) == TICKS
    assert said == []


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_sqlite_cut_short(
    tmp_path: Path, bags: Any, configuration: ChannelConfiguration, share: float
) -> None:
    messages = bags.recording(ticks=TICKS, padding=PADDING)
    folder = bags.ros2(tmp_path / "bag", messages, "sqlite3")
    cut(storage_file(folder), share)
    found, said = read(folder, configuration)
    assert abs(is_a_beginning(found) - share * TICKS) < 0.1 * TICKS
    assert any("damaged" in sentence for sentence in said)


@pytest.mark.parametrize("damage", ["no metadata", "empty metadata", "strange metadata"])
@pytest.mark.parametrize(
    ("storage", "compression"),
    [("mcap", "none"), ("sqlite3", "none"), ("mcap", "file"), ("sqlite3", "message")],
)
def test_without_metadata(
    tmp_path: Path,
    bags: Any,
    configuration: ChannelConfiguration,
    storage: str,
    compression: str,
    damage: str,
) -> None:
    folder = bags.ros2(tmp_path / "bag", bags.recording(ticks=20), storage, compression)
    metadata = folder / "metadata.yaml"
    if damage == "no metadata":
        metadata.unlink()
    else:
        metadata.write_text("" if damage == "empty metadata" else "rosbag2_bagfile_information: 3")
    found, said = read(folder, configuration)
    assert is_a_beginning(found) == 20
    (sentence,) = said
    assert "bag was not closed properly" in sentence


def test_damaged_messages_in_a_bag_that_lost_its_metadata(
    tmp_path: Path, bags: Any, configuration: ChannelConfiguration
) -> None:
    """Compressed message by message, one of them damaged."""
    folder = bags.ros2(tmp_path / "bag", bags.recording(ticks=20), "sqlite3", "message")
    (folder / "metadata.yaml").unlink()
    with sqlite3.connect(storage_file(folder)) as database:
        database.execute("UPDATE messages SET data = substr(data, 1, 9) WHERE id = 8")
    database.close()
    ((trajectory,), said) = read(folder, configuration)
    expected = np.arange(1.0, 21.0)
    expected[2] = np.nan
    np.testing.assert_array_equal(trajectory.observations[:, 0], expected)
    assert any("1 damaged messages were left out" in sentence for sentence in said)


def test_a_part_of_a_split_recording_is_lost(
    tmp_path: Path, bags: Any, configuration: ChannelConfiguration
) -> None:
    second = 1_000_000_000
    folder = tmp_path / "run"
    folder.mkdir()
    for number in (0, 2, 10):
        messages = bags.recording((1 + number) * second, ticks=15)
        part = bags.ros2(tmp_path / f"part_{number}", messages)
        storage_file(part).rename(folder / f"run_{number}.mcap")
    (folder / "run_2.mcap").write_bytes(b"damaged")
    found, said = read(folder, configuration)
    assert [len(trajectory) for trajectory in found] == [15, 15]
    assert [trajectory.label for trajectory in found] == ["run", "run#2"]
    assert len(said) == 2
    assert "run_2.mcap is no readable bag" in said[1]


def unindexed(content: bytes) -> bytes:
    """Return a ROS 1 bag as it stands while it is recorded: no index, nothing counted."""
    (length,) = struct.unpack_from("<I", content, 13)
    header = content[17 : 17 + length]
    position = header.index(b"index_pos=") + len(b"index_pos=")
    (index,) = struct.unpack_from("<Q", header, position)
    header = header[:position] + bytes(8) + header[position + 8 :]
    return content[:17] + header + content[17 + length : index]


def refused(path: Path, configuration: ChannelConfiguration) -> str:
    with pytest.raises(InputError) as caught:
        read_bags(path, configuration)
    return str(caught.value)


def test_ros1_without_index(tmp_path: Path, bags: Any, configuration: ChannelConfiguration) -> None:
    """As a recorder leaves it that was killed."""
    path = bags.ros1(tmp_path / "whole.bag", bags.recording(ticks=TICKS, padding=PADDING))
    active = tmp_path / "run.bag.active"
    active.write_bytes(unindexed(path.read_bytes()))
    sentence = refused(active, configuration)
    assert f"ROS 1 bag {active} has no index or a damaged one" in sentence
    assert "'rosbag reindex run.bag.active' writes a new one" in sentence
    assert "python3-rosbag" in sentence


@pytest.mark.parametrize("compression", ["none", "bz2", "lz4"])
def test_ros1_cut_short(
    tmp_path: Path, bags: Any, configuration: ChannelConfiguration, compression: str
) -> None:
    messages = bags.recording(ticks=TICKS, padding=PADDING)
    path = bags.ros1(tmp_path / "run.bag", messages, compression)
    cut(path, 0.7)
    assert "'rosbag reindex run.bag' writes a new one" in refused(path, configuration)


def test_ros1_with_a_damaged_chunk(
    tmp_path: Path, bags: Any, configuration: ChannelConfiguration
) -> None:
    """What stands before the damage is used."""
    messages = bags.recording(ticks=TICKS, padding=PADDING)
    path = bags.ros1(tmp_path / "run.bag", messages, "bz2")
    content = bytearray(path.read_bytes())
    middle = content.index(b"BZh", len(content) // 2)  # where a chunk's data begin
    content[middle : middle + 2000] = bytes(2000)
    path.write_bytes(content)
    found, said = read(path, configuration)
    assert 0.4 * TICKS < is_a_beginning(found) < 0.8 * TICKS
    assert any("run.bag is damaged" in sentence for sentence in said)


Damage = Callable[[bytes], bytes]


@pytest.mark.parametrize("kind", ["ros1", "mcap", "sqlite3"])
def test_no_damage_gives_a_traceback(
    tmp_path: Path, bags: Any, configuration: ChannelConfiguration, kind: str
) -> None:
    """Bytes overwritten, left out and doubled at 60 places."""
    messages = bags.recording(ticks=30)
    if kind == "ros1":
        whole = bags.ros1(tmp_path / "whole.bag", messages).read_bytes()
    else:
        whole = storage_file(bags.ros2(tmp_path / "whole", messages, kind)).read_bytes()
    suffix = {"ros1": ".bag", "mcap": ".mcap", "sqlite3": ".db3"}[kind]
    random = np.random.default_rng(1)
    read_well = 0
    for number in range(60):
        start, length = int(random.integers(len(whole))), int(random.integers(1, 40))
        middle = [random.bytes(length), b"", whole[start : start + length] * 2][number % 3]
        path = tmp_path / f"damaged_{number}{suffix}"
        path.write_bytes(whole[:start] + middle + whole[start + length :])
        try:
            found, _ = read(path, configuration)
        except InputError as problem:
            message = str(problem)
            assert "\n" not in message, message
        else:
            read_well += len(found) > 0
    assert read_well > 5
