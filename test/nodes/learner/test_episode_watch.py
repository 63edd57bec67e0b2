"""When an episode ends, and when the next one begins by itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.learner.episode_watch import PAUSE_SECONDS, EpisodeWatch


class Recording:
    """Stands in for an `EpisodeKeeper`, with time and room as they are set."""

    def __init__(self) -> None:
        self.episode: str | None = "one"
        self.duration, self.megabytes = 0.0, 500.0
        self.ended = self.told = 0
        self.store = SimpleNamespace(free_megabytes=lambda: self.megabytes, folder="here")

    def flush(self) -> None:
        """Let everything survive."""

    def tell_quiet(self) -> None:
        self.told += 1

    def end(self) -> None:
        self.episode = None
        self.ended += 1


class Watched:
    """A watch, what it watches, and its parameters."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.recording = Recording()
        keeper: Any = self.recording
        self.value = {
            "episode.max_duration": 2.0,
            "episode.auto_start": True,
            "minimum_free_disk": 200.0,
        }
        self.watch = EpisodeWatch(keeper, self.value.__getitem__, "/seen", lambda: self.seconds)


def test_an_episode_ends_after_its_time_whether_or_not_anybody_sends() -> None:
    one = Watched()
    one.recording.duration = 1.9
    assert not one.watch.look()
    assert (one.recording.ended, one.recording.told) == (0, 1)
    one.recording.duration = 2.0
    assert not one.watch.look()
    assert one.recording.ended == 1


def test_the_next_one_begins_only_where_somebody_sends() -> None:
    one = Watched()
    one.watch.take_between("/seen")
    one.watch.look()
    one.recording.end()
    assert not one.watch.look(), "nobody has sent since"
    one.watch.take_between("/told")
    assert not one.watch.look(), "without an observation there are no ticks"
    one.watch.take_between("/seen")
    assert one.watch.look()
    one.value["episode.auto_start"] = False
    assert not one.watch.look()


def test_a_full_disk_ends_it_and_none_begins_for_a_while() -> None:
    one = Watched()
    one.recording.megabytes = 100.0
    with pytest.raises(InputError, match="only 100 MB of disk space are free in here"):
        one.watch.look()
    assert one.recording.ended == 1
    one.watch.pause()
    one.watch.take_between("/seen")
    assert not one.watch.look()
    one.seconds = PAUSE_SECONDS
    assert one.watch.look()


@pytest.mark.parametrize(
    ("lacks", "quiet", "said"),
    [
        ("", [], "kept as bag"),
        ("", ["no message on /a for 3 s"], "kept as bag, but no message on /a for 3 s"),
        ("a", ["b", "c"], "kept as bag, but it lacks: a; b; c"),
    ],
)
def test_who_ends_an_episode_is_told_what_is_wrong_with_it(
    lacks: str, quiet: list[str], said: str
) -> None:
    pytest.importorskip("rclpy", reason="needs ROS 2: rclpy is not installed")
    from rffpsr_ros.nodes.learner.learner_node import LearnerNode

    keeper = SimpleNamespace(episode="one", end=lambda: "bag", lacks=lacks, quiet=quiet)
    node: Any = SimpleNamespace(_ready=lambda: keeper, _tell=lambda: None)
    assert LearnerNode._end_episode(node) == said
