"""The parts of the nodes that need no running ROS."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rosbags.typesys import Stores, get_typestore

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.filter.backlog import Backlog
from rffpsr_ros.nodes.learner.episode_keeper import EpisodeKeeper
from rffpsr_ros.nodes.shared.default_places import new_model_path, served_model_path
from rffpsr_ros.nodes.shared.diagnostics import Complaints, worst
from rffpsr_ros.nodes.shared.parameters import FILTER, LEARNER, Parameter, misspelt, refusal
from rffpsr_ros.nodes.shared.receive_times import ReceiveTimes
from rffpsr_ros.recordings.episode_store import EpisodeStore
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.signals.events import Tick
from rffpsr_ros.signals.sampler import Sampler

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


def times(*clock: int) -> list[int | None]:
    readings = iter(clock)
    receive = ReceiveTimes(lambda: next(readings))
    return [receive.next() for _ in clock]


def test_no_two_messages_share_a_time_of_receipt() -> None:
    assert times(5 * S, 5 * S, 5 * S, 6 * S) == [5 * S + 1, 5 * S + 2, 5 * S + 3, 6 * S + 1]
    assert times(5 * S, 5 * S - 1000) == [5 * S + 1, 5 * S + 2]  # a coarse clock


def test_a_clock_that_has_not_started_or_jumps_back_is_passed_on() -> None:
    assert times(0, 0, 3 * S) == [None, None, 3 * S + 1]
    assert times(50 * S, 2 * S, 2 * S) == [50 * S + 1, 2 * S + 1, 2 * S + 2]


@pytest.mark.parametrize("first", ["/seen", "/told"])
def test_an_answer_acts_after_what_it_answers_whichever_is_taken_first(first: str) -> None:
    """Seen at each 0.1 s with a stamp, answered while the clock still shows that time."""
    sampler = Sampler(CHANNELS)
    clock = [0]
    receive = ReceiveTimes(lambda: clock[0])
    ticks = []
    for number in range(1, 6):
        clock[0] = number * S // 10
        for topic in sorted(("/seen", "/told"), key=first.__ne__):
            received = receive.next()
            assert received is not None
            stamp = clock[0] if topic == "/seen" else received
            ticks += sampler.feed(topic, stamp, SimpleNamespace(data=float(number)))
    acted = [tick.action[0] for tick in ticks if isinstance(tick, Tick)]
    seen = [tick.observation[0] for tick in ticks if isinstance(tick, Tick)]
    assert seen[-2:] == [4.0, 5.0]
    assert acted[-2:] == [2.0, 3.0]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROS_HOME", str(tmp_path))
    return tmp_path / "rffpsr"


def test_the_newest_model_is_served_unless_one_is_named(home: Path) -> None:
    with pytest.raises(InputError, match=r"there is no model in .* yet"):
        served_model_path("")
    for age, name in enumerate(("new", "old", "older")):
        path = home / "models" / f"{name}.psr"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (10_000 - age, 10_000 - age))
    assert served_model_path("") == home / "models" / "new.psr"
    assert served_model_path("/some/arm.psr") == Path("/some/arm.psr")
    assert served_model_path("~/arm.psr") == Path.home() / "arm.psr"


def test_a_new_model_is_named_by_date(home: Path) -> None:
    path = new_model_path("", datetime(2026, 1, 2, 3, 4, 5))
    assert path == home / "models" / "model_2026-01-02_03-04-05.psr"
    assert new_model_path("arm.psr", datetime(2026, 1, 2)) == Path("arm.psr")


def test_a_complaint_is_said_once_and_again_only_after_it_was_over() -> None:
    lines: list[str] = []
    logger = SimpleNamespace(error=lines.append, warning=lines.append, info=lines.append)
    complaints = Complaints(logger)
    complaints.over("x", "better")
    for _ in range(3):
        complaints.error("x", "bad")
    complaints.warn("x", "worse")
    complaints.over("x", "better")
    complaints.error("x", "bad")
    assert lines == ["bad", "worse", "better", "bad"]


def test_the_worst_level_wins() -> None:
    assert worst([]) == "ok"
    assert worst(["ok", "stale", "warn"]) == "stale"
    assert worst(["error", "stale"]) == "error"


def test_choices_are_enforced_and_misspelt_names_are_told() -> None:
    change = SimpleNamespace(name="future_actions", value="hodl")
    assert "one of hold, zero, topic" in refusal(FILTER, [change])
    assert refusal(FILTER, [SimpleNamespace(name="future_actions", value="zero")]) == ""
    names = [one.name for one in FILTER]
    assert misspelt(["horizn", "horizon", "someone_elses"], names) == [
        "parameter 'horizn' is unknown; did you mean 'horizon'?"
    ]


@pytest.mark.parametrize("table", [FILTER, LEARNER])
def test_every_parameter_has_a_description_and_a_default_in_its_range(
    table: tuple[Parameter, ...],
) -> None:
    assert len({one.name for one in table}) == len(table)
    for one in table:
        assert one.description.endswith((".", ")"))
        assert not one.choices or one.default in one.choices
        if isinstance(one.default, int | float) and not isinstance(one.default, bool):
            assert one.lowest is not None
            assert one.highest is not None
            assert one.lowest <= one.default <= one.highest


class Keeper:
    """An `EpisodeKeeper` with what it said."""

    def __init__(self, folder: Path, split: bool = True) -> None:
        self.said: list[str] = []
        store = EpisodeStore(folder)
        self.keeper = EpisodeKeeper(store, CHANNELS, self.said.append, split)

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
    bag = recording.keeper.end()
    assert bag is not None
    text = (bag / "metadata.yaml").read_text(encoding="utf-8")
    assert "label: label" in text
    assert "std_msgs/msg/Float64" in text.split("rffpsr_channels", 1)[1]
    assert recording.keeper.kept == kept(recording) == 1
    assert recording.keeper.end() is None


def test_a_short_episode_is_not_kept(recording: Keeper) -> None:
    recording.take(1.0, 1.1)
    assert recording.keeper.end() is None
    assert kept(recording) == 0
    assert "shorter than 0.2 s" in recording.said[-1]


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


def test_forecasts_are_left_out_from_far_behind_until_nearly_caught_up() -> None:
    backlog = Backlog()
    backlog.expect(period=0.01)
    made = []
    for waited in (0.0, 0.9, 1.1, 0.5, 0.2, 0.09, 0.9):
        backlog.note(round(waited * S))
        made.append(backlog.allows_forecast())
    assert made == [True, True, False, False, False, True, True]
    assert (backlog.newly_left_out(), backlog.newly_left_out(), backlog.left_out) == (3, 0, 3)
