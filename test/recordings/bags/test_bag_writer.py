"""Bags that were written can be read, by this package and by others."""

from pathlib import Path

import pytest
from rosbags.highlevel import AnyReader

from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings import BagWriter, bag_topics


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_what_is_written_is_read(tmp_path: Path, storage: str) -> None:
    path = tmp_path / "bag"
    with BagWriter(path, storage, {"label": "first"}) as writer:  # type: ignore[arg-type]
        writer.add_topic("/value", "std_msgs/Float64")
        for i in range(3):
            writer.write("/value", 1000 + i, writer.message("std_msgs/msg/Float64", data=float(i)))
    assert bag_topics(path)["/value"].count == 3
    assert "label: first" in (path / "metadata.yaml").read_text()
    with AnyReader([path]) as reader:
        found = [
            (time, reader.deserialize(raw, connection.msgtype).data)  # type: ignore[attr-defined]
            for connection, time, raw in reader.messages()
        ]
    assert found == [(1000, 0.0), (1001, 1.0), (1002, 2.0)]


def test_an_existing_bag_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="exists already; choose another name"):
        BagWriter(tmp_path)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written: Not a directory"):
        BagWriter(tmp_path / "file" / "bag")


def test_an_unknown_type(tmp_path: Path) -> None:
    with (
        BagWriter(tmp_path / "bag") as writer,
        pytest.raises(InputError, match=r"Float46 is unknown; did you mean 'std_msgs/msg/Float64'"),
    ):
        writer.add_topic("/x", "std_msgs/msg/Float46")
