"""Bags that claim more than they hold, or become more than fits: one sentence, little memory."""

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.rosbag2 import Reader

from benchmarks.audit.bags.bag_compression import by_compression, zeros_compressed
from benchmarks.audit.bags.bag_definitions import by_definition
from benchmarks.audit.bags.bag_metadata import by_metadata
from benchmarks.audit.bags.bag_records import by_record
from benchmarks.audit.bags.bag_tables import by_table
from benchmarks.audit.bags.small_bags import CHANNELS
from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings import read_bags
from rffpsr_ros.recordings.bags import decompression, library_limits
from rffpsr_ros.recordings.bags.decompression import TooLarge, decompress, decompress_file
from rffpsr_ros.signals import ChannelConfiguration

CONFIGURATION = ChannelConfiguration.from_mapping(CHANNELS)
STORAGES = ["mcap", "sqlite3"]


def told(make: Callable[[Path], Path], folder: Path) -> str:
    """Return what is said of a bag: the refusal, or else the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            read_bags(make(folder), CONFIGURATION)
        except InputError as refusal:
            return str(refusal)
    return " ".join(str(one.message) for one in caught)


@pytest.mark.parametrize("compression", ["zstd"])
def test_what_grows_beyond_the_limit_is_not_held(
    compression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decompression, "MOST_AT_ONCE", 10**6)
    assert decompress(zeros_compressed(10**6), compression, whole=True) == bytes(10**6)
    with pytest.raises(TooLarge, match="become more than 1000000"):
        decompress(zeros_compressed(10**6 + 1), compression)
    with pytest.raises(TooLarge):  # one frame after the other
        decompress(2 * zeros_compressed(600_000), compression)
    with pytest.raises(EOFError, match="cut short"):
        decompress(zeros_compressed(1000)[:-2], compression, whole=True)


def test_a_file_that_grows_beyond_the_limit_is_removed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decompression, "MOST_OF_FILE", 10**6)
    source, target = tmp_path / "a.mcap.zstd", tmp_path / "a.mcap"
    source.write_bytes(zeros_compressed(2 * 10**6))
    with pytest.raises(InputError, match="becomes too large when it is decompressed: it may have"):
        decompress_file(source, target)
    assert not target.exists()
    source.write_bytes(zeros_compressed(10**6))
    assert decompress_file(source, target) is None
    assert target.stat().st_size == 10**6


@pytest.mark.parametrize("storage", STORAGES)
def test_the_library_is_held_to_the_limits(
    storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It decompresses messages, chunks and files by functions of ours."""
    monkeypatch.setattr(decompression, "MOST_AT_ONCE", 10**6)
    monkeypatch.setattr(decompression, "MOST_OF_FILE", 10**6)
    bombs = by_compression(storage)
    sentence = told(bombs["file in a folder of 2 GB undeclared"], tmp_path)
    assert "a file becomes too large when it is decompressed" in sentence
    (tmp_path / "messages").mkdir()
    sentence = told(bombs["messages of 2 GB undeclared"], tmp_path / "messages")
    assert "become more than 1000000" in sentence


@pytest.mark.parametrize(
    "name",
    ["a chunk of 2 GB undeclared", "a chunk that lies of its size", "a chunk of two frames"],
)
def test_chunks_that_grow_are_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decompression, "MOST_AT_ONCE", 10**6)
    monkeypatch.setattr(library_limits, "MOST_AT_ONCE", 10**6)
    assert "no message on /command and /joints" in told(by_record()[name], tmp_path)


def test_chunks_of_the_same_time_are_not_held_together(tmp_path: Path) -> None:
    path = by_record()["overlapping chunks in an index"](tmp_path)
    reader = Reader(path)
    with reader, pytest.raises(TooLarge, match="chunks"):
        library_limits.check_chunks(reader)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("an endless view of messages", "'messages' is no table but computed"),
        ("an endless view of topics", "'topics' is no table but computed"),
        ("an endless view of definitions", "'message_definitions' is no table but computed"),
        ("an endless view of the schema", "'schema' is no table but computed"),
        ("computed data", "column 'data' of its table messages is computed"),
        ("a virtual table", "'messages' is no table but computed"),
        ("topics under one number", "topics under"),
        ("data of integers", "no message"),
        ("data of text", "no message"),
        ("times of text", "no message"),
        ("a name that is no text", "has no topic"),
    ],
)
def test_tables_that_are_not_what_a_recorder_writes(name: str, part: str, tmp_path: Path) -> None:
    assert part in told(by_table()[name], tmp_path)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("metadata of a billion laughs", "more than 100000 values"),
        ("metadata of merges", "more than 100000 values"),
        ("deep metadata", "nested more than 32 deep"),
        ("long metadata", "more than 2097152 characters"),
    ],
)
def test_metadata_without_end_are_not_read(name: str, part: str, tmp_path: Path) -> None:
    """The storage file beside them is."""
    assert part in told(by_metadata("mcap")[name], tmp_path)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("a message within itself", "holds itself"),
        ("messages within each other", "holds itself"),
        ("an array of 4 billion", "more than 16777216 values"),
        ("arrays within arrays", "more than 16777216 values"),
        ("two thousand messages within each other", "more than 32 deep"),
        ("a definition of 4 MB", "more than 1048576 characters"),
        ("IDL that shifts", "more than plain numbers"),
        ("IDL that shifts by a constant", "more than plain numbers"),
        ("IDL that multiplies", "more than plain numbers"),
        ("IDL of brackets", "brackets more than 16 deep"),
        ("IDL with code in a bound", "cannot be understood"),
    ],
)
def test_definitions_without_end_are_refused(
    storage: str, name: str, part: str, tmp_path: Path
) -> None:
    assert part in told(by_definition(storage)[name], tmp_path)


def test_a_first_message_of_another_length_does_not_settle_the_columns(
    tmp_path: Path, bags: Any, arm: dict[str, Any]
) -> None:
    """Where a model has, offline as live."""
    messages = bags.recording()
    arm["action"]["motor"]["fields"] = ["data"]
    odd = messages[0]._replace(make=bags.command(1.0, 2.0))
    path = bags.ros2(tmp_path / "bag", [odd, *messages[1:]])
    plain = ChannelConfiguration.from_mapping(arm)
    model = ("arm.position.elbow", "arm.position.wrist"), ("motor.data[0]",)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (trajectory,) = read_bags(path, replace(plain, columns=model))
    assert trajectory.action_names == ("motor.data[0]",)
    assert np.isfinite(trajectory.observations).all()
    assert len(trajectory) == 39
    (sentence,) = (str(one.message) for one in caught)
    assert "does not give channel 'motor' the 1 columns" in sentence
    assert "(1 in all)" in sentence


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "bag_0.mcap")
    (tmp_path / "metadata.yaml").write_text("rosbag2_bagfile_information: {}")
    with pytest.raises(InputError, match=r"holds no \.mcap or \.db3 file"):
        read_bags(tmp_path, CONFIGURATION)
    with pytest.raises(InputError, match="is neither a file nor a folder"):
        read_bags(tmp_path / "bag_0.mcap", CONFIGURATION)


def test_names_in_bags_cannot_forge_lines(tmp_path: Path, bags: Any) -> None:
    message = bags.recorded("/j\n[ERROR] all is lost", bags.recording()[1].type, 1, None)
    make = bags.joint_state(10**9, elbow=1.0)
    path = bags.ros2(tmp_path / "bag", [message._replace(make=make)])
    with pytest.raises(InputError) as refusal:
        read_bags(path, CONFIGURATION)
    assert "\n" not in str(refusal.value)
