"""Which messages become which episode."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rosbags.typesys import Stores, get_typestore

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.learner.episode_keeper import EpisodeKeeper
from rffpsr_ros.recordings.episode_store import EpisodeStore
from rffpsr_ros.signals.channels import ChannelConfiguration

S = 1_000_000_000
TYPES = {"/seen": "std_msgs/msg/Float64", "/told": "std_msgs/msg/Float64"}
STORE = get_typestore(Stores.LATEST)
CHANNELS = ChannelConfiguration.from_mapping(
    {
        "rate": 10.0,
        "observation": {"inputs": ["seen"], "seen": {"topic": "/seen", "fields": ["data"]}},
        "action": {"inputs": ["told"], "told": {"topic": "/told", "fields": ["data"]}},
    }
)


class Keeper:
    """An `EpisodeKeeper` with what it said."""

    def __init__(self, folder: Path, split: bool = True) -> None:
        self.said: list[str] = []
        self.time = 0.0
        store = EpisodeStore(folder)
        clock = lambda: round(self.time * S)  # noqa: E731
        self.keeper = EpisodeKeeper(store, CHANNELS, self.said.append, split, clock=clock)

    def take(self, *stamps: float, topic: str = "/seen", receive: float | None = None) -> None:
        for stamp in stamps:
            at = stamp if receive is None else receive
            self.keeper.take(topic, round(at * S), round(stamp * S), b"\x00\x01\x00\x00" + bytes(8))


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Keeper]:
    keeper = Keeper(tmp_path)
    keeper.keeper.start(TYPES, STORE, "label")
    yield keeper
    keeper.keeper.end()


def kept(recording: Keeper) -> int:
    return len(recording.keeper.store.kept())


def test_an_episode_is_kept_with_its_configuration(recording: Keeper) -> None:
    recording.take(*(0.1 * n + 1 for n in range(10)))
    recording.take(1.5, topic="/told", receive=2.0)
    bag = recording.keeper.end()
    assert bag is not None
    text = (bag / "metadata.yaml").read_text(encoding="utf-8")
    assert "label: label" in text
    assert "std_msgs/msg/Float64" in text.split("rffpsr_channels", 1)[1]
    assert recording.keeper.kept == recording.keeper.store.kept() == [bag]
    assert recording.keeper.end() is None


def test_a_short_episode_is_not_kept(recording: Keeper) -> None:
    recording.take(1.0, 1.1)
    assert recording.keeper.end() is None
    assert kept(recording) == 0
    assert "shorter than 0.2 s" in recording.said[-1]


def test_what_an_episode_lacks_is_said_when_it_ends(recording: Keeper) -> None:
    recording.take(1.0, 1.5, 2.0)
    assert recording.keeper.end() is not None
    assert kept(recording) == 1
    assert recording.keeper.lacks == "no message on /told"
    assert recording.said[-1].endswith("cannot be learned from as it is: no message on /told")
    recording.keeper.start(TYPES, STORE, "label")
    recording.take(3.0, 3.5, 4.0)
    recording.take(3.5, topic="/told", receive=4.1)
    assert recording.keeper.end() is not None
    assert recording.keeper.lacks == ""
    assert " kept: " in recording.said[-1]


def test_only_a_real_step_back_in_time_splits(recording: Keeper) -> None:
    recording.take(1.0, 1.5, 2.0)
    recording.take(1.95, receive=2.1)  # overtaken on its way
    recording.take(1.0, topic="/told", receive=2.2)  # each topic has its own time
    assert recording.keeper.episode is not None
    assert recording.keeper.episode.count == 5
    recording.take(1.0, receive=2.3)
    assert kept(recording) == 1
    assert recording.keeper.episode.count == 1


def test_splitting_can_be_switched_off(tmp_path: Path) -> None:
    recording = Keeper(tmp_path, split=False)
    recording.keeper.start(TYPES, STORE, "")
    recording.take(1.0, 2.0, 1.0, 2.0)
    bag = recording.keeper.end()
    assert bag is not None
    assert kept(recording) == 1


class FullDisk:
    """Stands in for a bag on a full disk."""

    def __getattr__(self, name: str) -> Any:
        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        return fail


def test_a_full_disk_ends_the_episode_and_the_next_start_completes_it(tmp_path: Path) -> None:
    recording = Keeper(tmp_path)
    episode = recording.keeper.start(TYPES, STORE, "label")
    recording.take(*(0.1 * n + 1 for n in range(10)))
    recording.keeper.flush()
    whole = episode._bag
    episode._bag = FullDisk()  # type: ignore[assignment]
    with pytest.raises(InputError, match="No space left on device"):
        recording.take(3.0)
    assert recording.keeper.episode is None
    assert "will be when the learner starts again" in recording.said[-1]
    del whole
    saved, lost = EpisodeStore(tmp_path).recover()
    assert len(saved) == 1
    assert lost == []


def test_time_that_goes_back_all_the_time_ends_the_recording(recording: Keeper) -> None:
    """Two clocks on one topic must not leave a bag for every two messages."""
    receive = 1.0

    def storm() -> None:
        nonlocal receive
        for _ in range(200):
            for stamp in (5.0, 5.1, 5.2, 5.3, 1.0):
                receive += 0.001
                recording.take(stamp, receive=receive)

    with pytest.raises(InputError, match="two publishers"):
        storm()
    assert recording.keeper.episode is None
    assert kept(recording) <= 6
    again = recording.keeper.start(TYPES, STORE, "label")
    recording.take(*(receive + 0.1 * n + 100 for n in range(10)))
    assert again.count == 10


def test_a_bag_played_in_a_loop_is_split_as_often_as_it_begins_anew(recording: Keeper) -> None:
    for loop in range(12):
        for n in range(15):
            recording.take(1 + 0.1 * n, receive=1 + 2 * loop + 0.1 * n)
    assert recording.keeper.episode is not None
    assert kept(recording) == 11


def test_a_folder_removed_while_recording_is_one_sentence(tmp_path: Path) -> None:
    recording = Keeper(tmp_path / "episodes")
    for end in (recording.keeper.end, recording.keeper.discard, recording.keeper.flush):
        recording.keeper.start(TYPES, STORE, "label")
        recording.take(1.0, 1.5, 2.0)
        shutil.rmtree(tmp_path / "episodes")
        if end == recording.keeper.flush:
            with pytest.raises(InputError, match="is lost"):
                end()
        else:
            end()
        assert recording.keeper.episode is None
    assert any("what was recorded is gone" in sentence for sentence in recording.said)
    recording.keeper.start(TYPES, STORE, "label")
    recording.take(1.0, 1.5, 2.0)
    assert "is made anew" in recording.said[-2]
    assert recording.keeper.end() is not None


def test_a_folder_without_a_bag_is_no_episode_and_is_named_once(recording: Keeper) -> None:
    store = recording.keeper.store
    (store.folder / "notes").mkdir()
    (store.folder / "notes" / "plan.txt").touch()
    recording.take(1.0, 1.5, 2.0)
    bag = recording.keeper.end()
    assert recording.keeper.look() == store.kept() == [bag]
    named = [said for said in recording.said if "notes holds no bag" in said]
    assert len(named) == 1
    assert named[0].endswith("; it is left out")
    (store.folder / "notes" / "plan.mcap").touch()
    assert recording.keeper.look() == [bag, store.folder / "notes"]


def test_a_topic_that_stops_is_told_at_once_and_at_the_end(recording: Keeper) -> None:
    recording.take(*(0.1 * n + 1 for n in range(10)))
    recording.take(1.0, topic="/told", receive=2.0)
    recording.time = 2.5
    recording.keeper.tell_quiet()
    assert not any("no message" in said for said in recording.said)
    recording.time = 4.0
    for _ in range(2):
        recording.keeper.tell_quiet()
    assert sum("no message on /seen for 2.1 s; episode" in said for said in recording.said) == 1
    recording.time = 9.9
    assert recording.keeper.end() is not None
    assert recording.keeper.quiet == ["no message on /seen for 8.0 s"]
    assert recording.keeper.lacks == ""
    recording.keeper.start(TYPES, STORE, "label")
    recording.keeper.end()
    assert recording.keeper.quiet == []


def test_an_episode_lasts_by_the_clock_from_its_first_message(recording: Keeper) -> None:
    recording.time = 3.0
    assert recording.keeper.duration == 3.0, "nobody has sent yet"
    recording.take(4.0)
    recording.time = 6.0
    assert recording.keeper.duration == 2.0
    recording.time = 0.0
    recording.take(5.0)
    assert recording.keeper.duration == 1.0, "the clock has gone back, messages have not"
    recording.keeper.end()
    assert recording.keeper.duration == 0.0
