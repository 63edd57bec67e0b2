"""Episodes on disk: kept, discarded, and what is left of them after a kill."""

import shutil
import subprocess
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore

from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings.bags.opening import open_bag
from rffpsr_ros.recordings.episode_store import Episode, EpisodeStore

STORE = get_typestore(Stores.LATEST)
TOPICS = {"/joint_states": "sensor_msgs/msg/JointState", "/command": "std_msgs/msg/Float64"}
NOW = datetime(2026, 1, 2, 3, 4, 5)
LABELS = {"label": "fast arm", "rffpsr_channels": '{"rate": 20}'}


def begin(store: EpisodeStore, word: str = "") -> Episode:
    return store.begin(TOPICS, STORE, LABELS, NOW, word)


def command(value: float) -> bytes:
    message: Any = STORE.types["std_msgs/msg/Float64"](data=value)
    return bytes(STORE.serialize_cdr(message, "std_msgs/msg/Float64"))


def write(episode: Episode, first: int, last: int) -> None:
    for number in range(first, last):
        episode.write("/command", 10**18 + number, command(float(number)))


def values(bag: Path) -> list[float]:
    with closing(open_bag(bag)) as source:
        return [
            STORE.deserialize_cdr(message.data, "std_msgs/msg/Float64").data  # type: ignore[attr-defined]
            for message in source.messages(["/command"])
        ]


def test_a_kept_episode_is_a_normal_bag_with_its_labels(tmp_path: Path) -> None:
    store = EpisodeStore(tmp_path / "episodes")
    episode = begin(store, "fast arm")
    write(episode, 0, 50)
    bag = episode.keep()
    assert bag == tmp_path / "episodes" / "2026-01-02_03-04-05_fast_arm"
    assert store.kept() == [bag]
    with Reader(bag) as reader:
        assert reader.message_count == 50
        assert {c.topic: c.msgtype for c in reader.connections} == TOPICS
    assert "fast arm" in (bag / "metadata.yaml").read_text(encoding="utf-8")
    assert values(bag) == [float(number) for number in range(50)]


def test_names_stay_unique_within_a_second(tmp_path: Path) -> None:
    store = EpisodeStore(tmp_path)
    names = []
    for _ in range(3):
        episode = begin(store)
        write(episode, 0, 2)
        names.append(episode.keep().name)
    assert len(set(names)) == 3
    assert [bag.name for bag in store.kept()] == names


def test_a_discarded_episode_leaves_nothing(tmp_path: Path) -> None:
    store = EpisodeStore(tmp_path)
    episode = begin(store)
    write(episode, 0, 50)
    episode.discard()
    assert store.kept() == []
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


RECORD_AND_WAIT = """
import signal, sys
from datetime import datetime
from pathlib import Path
from rosbags.typesys import Stores, get_typestore
from rffpsr_ros.recordings.episode_store import EpisodeStore

store = get_typestore(Stores.LATEST)
topics = {"/command": "std_msgs/msg/Float64"}
labels = {"label": "fast arm"}
episode = EpisodeStore(Path(sys.argv[1])).begin(topics, store, labels, datetime(2026, 1, 2))
for number in range(1100):
    message = store.types["std_msgs/msg/Float64"](data=float(number))
    episode.write("/command", 10**18 + number, store.serialize_cdr(message, "std_msgs/msg/Float64"))
    if number == 999:
        episode.flush()
print("ready", flush=True)
signal.pause()
"""


@pytest.mark.parametrize("torn", [False, True])
def test_what_was_flushed_survives_a_kill(tmp_path: Path, checkout: Path, torn: bool) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", RECORD_AND_WAIT, str(tmp_path)],
        stdout=subprocess.PIPE,
        cwd=checkout,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    store = EpisodeStore(tmp_path)
    assert store.recover() == ([], [])  # it is under way, by a process that lives
    process.kill()
    process.communicate()
    if torn:
        (part,) = (tmp_path / ".recording").glob("*/*.mcap")
        with part.open("ab") as file:
            file.write(b"\x06" + (10**6).to_bytes(8, "little") + b"torn")
    saved, lost = store.recover()
    assert lost == []
    assert store.kept() == saved
    assert values(saved[0])[:1000] == [float(number) for number in range(1000)]
    with Reader(saved[0]) as reader:
        assert reader.message_count >= 1000
    assert "fast arm" in (saved[0] / "metadata.yaml").read_text(encoding="utf-8")
    assert store.recover() == ([], [])


def test_an_episode_killed_before_its_first_flush_is_cleared_away(tmp_path: Path) -> None:
    store = EpisodeStore(tmp_path)
    begin(store).abandon()
    assert store.recover() == ([], [])
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"episodes cannot be stored in .*file"):
        EpisodeStore(tmp_path / "file" / "episodes")


def test_a_long_label_is_cut_in_the_name_and_kept_whole_in_the_bag(tmp_path: Path) -> None:
    label = "straße " * 60
    store = EpisodeStore(tmp_path)
    episode = store.begin(TOPICS, STORE, {"label": label}, NOW, label)
    write(episode, 0, 3)
    bag = episode.keep()
    assert "stra" in bag.name
    assert len(bag.name.encode()) < 200
    assert yaml.safe_load((bag / "metadata.yaml").read_text(encoding="utf-8"))[
        "rosbag2_bagfile_information"
    ]["custom_data"] == {"label": label}


@pytest.mark.parametrize("name", ["..", ".", "", ".hidden"])
def test_what_no_recorder_left_is_never_touched(tmp_path: Path, name: str) -> None:
    """``...json`` would make the whole folder of the episodes the remains of episode ``..``."""
    store = EpisodeStore(tmp_path / "episodes")
    kept = begin(store)
    write(kept, 0, 3)
    bag = kept.keep()
    stranger = store.folder / ".recording" / f"{name}.json"
    stranger.touch()
    saved, lost = store.recover()
    assert saved == []
    assert len(lost) == 1
    assert bag.is_dir()
    assert stranger.is_file()


def test_a_folder_that_is_gone_is_one_sentence_and_is_made_anew_when_asked(tmp_path: Path) -> None:
    store = EpisodeStore(tmp_path / "episodes")
    episode = begin(store)
    write(episode, 0, 3)
    shutil.rmtree(store.folder)
    for ask in (store.kept, store.free_megabytes):
        with pytest.raises(InputError, match="No such file"):
            ask()
    assert episode.lost
    episode.discard()
    assert store.ensure()
    assert not store.ensure()
    again = begin(store)
    write(again, 0, 3)
    bag = again.keep()
    assert store.kept() == [bag]
