"""When an episode ends, and when the next one begins by itself; without ROS."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.learner.episode_keeper import EpisodeKeeper

PAUSE_SECONDS = 10.0
"""So long after a recording failed none starts by itself."""


class EpisodeWatch:
    """Looks after what a keeper records, every now and then.

    Parameters
    ----------
    keeper
        What records.
    value
        Gives a parameter's value.
    pace
        The topic of the first observation: without it there are no ticks.
    now
        A steady clock.
    """

    def __init__(
        self,
        keeper: EpisodeKeeper,
        value: Callable[[str], Any],
        pace: str,
        now: Callable[[], float] = monotonic,
    ) -> None:
        self._keeper, self._value, self._pace, self._now = keeper, value, pace, now
        self._paused_until = 0.0
        self._is_moving = False
        """Whether the pace topic has sent since there was an episode."""

    def take_between(self, topic: str) -> None:
        """Take note of a message that belongs to no episode."""
        self._is_moving = self._is_moving or topic == self._pace

    def check_disk(self) -> None:
        """Refuse to record on.

        Raises
        ------
        InputError
            If there is less room than there must be.
        """
        store = self._keeper.store
        free, needed = store.free_megabytes(), self._value("minimum_free_disk")
        if free < needed:
            raise InputError(
                f"only {free:.0f} MB of disk space are free in {store.folder}, less than"
                f" minimum_free_disk ({needed:.0f} MB)"
            )

    def look(self) -> bool:
        """Flush the episode and see if it is to end; return whether the next one is to begin.

        Raises
        ------
        InputError
            If the episode ended because it cannot be written on.
        """
        if self._keeper.episode is None:
            moves = self._is_moving and self._now() >= self._paused_until
            return bool(self._value("episode.auto_start")) and moves
        self._is_moving = False
        try:
            self._keeper.flush()
            self.check_disk()
        except InputError:
            self._keeper.end()
            raise
        self._keeper.tell_quiet()
        longest = self._value("episode.max_duration")
        if longest and self._keeper.duration >= longest:
            self._keeper.end()
        return False

    def pause(self) -> None:
        """Begin none by itself for a while."""
        self._paused_until = self._now() + PAUSE_SECONDS
