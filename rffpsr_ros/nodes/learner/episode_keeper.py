"""Which messages become which episode: starting, splitting, ending; without ROS."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from time import time_ns

from rosbags.typesys.store import Typestore

from rffpsr_ros.errors import InputError, counted
from rffpsr_ros.nodes.learner.lacking import Ends, lacking
from rffpsr_ros.nodes.learner.quiet_topics import QuietTopics
from rffpsr_ros.recordings.bags.message_types import decoder
from rffpsr_ros.recordings.episode_store import Episode, EpisodeStore
from rffpsr_ros.signals.channels import ChannelConfiguration

LABEL = "label"
CHANNELS = "rffpsr_channels"
"""Keys of the metadata in an episode's bag: its label, and the channel configuration as JSON."""

FEWEST_TICKS = 2
SHORT_SECONDS = 1.0
MOST_SHORT_RUNS = 5
"""When time goes back so often in a row, each time after less than so long, recording ends."""


class EpisodeKeeper:
    """Records episodes into a store.

    Parameters
    ----------
    store, configuration
        Where to, and what for.
    say
        Takes a sentence for everything worth knowing.
    split
        Whether an episode ends, and another begins, when time goes back.
    now
        The date of a new episode's name.
    warn
        Takes a sentence for what somebody must mend; by default ``say``.
    clock
        Gives the time (ns) by the clock that messages are received by.

    Attributes
    ----------
    lacks
        What the episode that ended last lacks of what is to be learned from; empty if nothing.
    quiet
        Which of its topics fell silent, a sentence each.
    """

    def __init__(
        self,
        store: EpisodeStore,
        configuration: ChannelConfiguration,
        say: Callable[[str], object],
        split: bool = True,
        now: Callable[[], datetime] = datetime.now,
        warn: Callable[[str], object] | None = None,
        clock: Callable[[], int] = time_ns,
    ) -> None:
        self.store = store
        self.episode: Episode | None = None
        self.kept: Sequence[Path] = ()
        """The kept episodes, as far as is known without looking again."""
        self._strays: set[str] = set()
        """What was said of folders that are no episodes."""
        self._configuration = configuration
        self.lacks = ""
        self.quiet: list[str] = []
        self._say = say
        self._warn = warn or say
        self._split = split
        self._now, self._clock = now, clock
        self._begun_ns = 0
        self._topics = QuietTopics((), 0.0)
        self._newest: dict[str, int] = {}
        self._oldest = 0
        self._begin: Callable[[], Episode] | None = None
        self._make_ends: Callable[[], Ends] | None = None
        self._ends: Ends | None = None
        self._short_runs = 0
        self._tolerance_ns = int(configuration.exact_period_ns)
        self.look()

    def start(self, types: Mapping[str, str], typestore: Typestore, label: str) -> Episode:
        """Begin an episode of topics (type by topic).

        Raises
        ------
        InputError
            If one is under way, or it cannot be written.
        """
        if self.episode is not None:
            raise InputError(f"episode {self.episode.name} is already being recorded")
        self.ensure_folder()
        self._short_runs = 0
        channels = json.dumps(self._configuration.with_types(types).to_mapping())
        labels = {LABEL: label, CHANNELS: channels}
        self._make_ends = lambda: Ends(lambda topic: decoder(typestore, types[topic], "cdr"))
        self._begin = lambda: self.store.begin(types, typestore, labels, self._now(), label)
        return self._open()

    def ensure_folder(self) -> None:
        """Make the folder of the episodes anew, if someone has removed it.

        Raises
        ------
        InputError
            If it cannot be made.
        """
        if self.store.ensure():
            self._say(f"the folder {self.store.folder} was gone; it is made anew")
            self.look()

    def look(self) -> Sequence[Path]:
        """Return the kept episodes, of which some may have been removed, or put there by hand.

        Raises
        ------
        InputError
            If their folder is gone.
        """
        self.kept, strays = self.store.look()
        for sentence in strays:
            if sentence not in self._strays:
                self._warn(f"{sentence}; it is left out")
        self._strays = set(strays)
        return self.kept

    def take(self, topic: str, receive_ns: int, stamp_ns: int, data: bytes) -> None:
        """Take a message; it may split the episode.

        Raises
        ------
        InputError
            If it cannot be written; the episode is then over, and what there is of it is kept.
        """
        if self.episode is None:
            return
        newest = self._newest.get(topic, stamp_ns)
        back = max(newest - stamp_ns - self._tolerance_ns, self.episode.last_ns - receive_ns)
        if back > 0 and self._split:
            self._jump(topic)
        self._newest[topic] = max(stamp_ns, self._newest.get(topic, stamp_ns))
        self._oldest = min(stamp_ns, self._oldest or stamp_ns)
        try:
            # A bag is read in the order of its times, which must be that of arrival.
            self.episode.write(topic, max(receive_ns, self.episode.last_ns + 1), data)
            assert self._ends is not None
            self._ends.take(topic, data)
            self._topics.take(topic, receive_ns)
        except OSError as problem:
            raise self._interrupted(problem) from None

    @property
    def duration(self) -> float:
        """Seconds that the episode under way has lasted, whether or not anybody sends."""
        if self.episode is None:
            return 0.0
        now = max(self._clock(), self.episode.last_ns)
        return (now - (self.episode.first_ns or self._begun_ns)) / 1e9

    def tell_quiet(self) -> None:
        """Warn of topics that have fallen silent in the episode under way, once each."""
        if self.episode is not None:
            for sentence in self._topics.news(self._clock()):
                self._warn(f"{sentence}; episode {self.episode.name} goes on")

    def flush(self) -> None:
        """Let everything so far survive a kill.

        Raises
        ------
        InputError
            As `take`.
        """
        if self.episode is None:
            return
        if self.episode.lost:
            episode, self.episode = self.episode, None
            episode.discard()
            raise InputError(
                f"episode {episode.name} is lost: someone removed {self.store.folder}, or its disk"
            )
        try:
            self.episode.flush()
        except OSError as problem:
            raise self._interrupted(problem) from None

    def end(self) -> Path | None:
        """End the episode; return its bag, None if it was too short to keep."""
        episode, self.episode = self.episode, None
        self.lacks, self.quiet = "", []
        if episode is None:
            return None
        self.quiet = self._topics.all(self._clock())
        shortest = FEWEST_TICKS * self._configuration.period
        if (max(self._newest.values(), default=0) - self._oldest) / 1e9 < shortest:
            self._say(f"episode {episode.name} is discarded: it is shorter than {shortest:g} s")
            episode.discard()
            return None
        try:
            bag = episode.keep()
        except OSError as problem:
            episode.abandon()
            later = "what was recorded is gone" if episode.lost else "it will be when the learner"
            later += "" if episode.lost else " starts again"
            self._say(
                f"episode {episode.name} could not be completed ({problem.strerror}); {later}"
            )
            return None
        self.look()
        count = counted(episode.count, "message")
        self._say(f"episode {bag.name} kept: {count}, {episode.duration:.1f} s")
        assert self._ends is not None
        self.lacks = lacking(self._configuration.channels, self._ends)
        if self.lacks:
            self._warn(f"episode {bag.name} cannot be learned from as it is: {self.lacks}")
        return bag

    def discard(self) -> str | None:
        """Delete the episode under way; return its name, None if there is none."""
        episode, self.episode = self.episode, None
        if episode is None:
            return None
        episode.discard()
        self._say(f"episode {episode.name} discarded")
        return episode.name

    def _jump(self, topic: str) -> None:
        """End the episode, as time went back, and begin another, unless that happens all the time.

        Raises
        ------
        InputError
            If so: two clocks on one topic would leave hundreds of episodes of a moment each.
        """
        assert self.episode is not None
        name, seconds = self.episode.name, self.episode.duration
        self._short_runs = self._short_runs + 1 if seconds < SHORT_SECONDS else 0
        if self._short_runs >= MOST_SHORT_RUNS:
            self.end()
            raise InputError(
                f"recording ended: time went back {self._short_runs} times in a row after less than"
                f" {SHORT_SECONDS:g} s, the last time on {topic}; look whether two publishers of"
                " one topic have different clocks"
            )
        self._say(f"time went back: episode {name} ends, another begins")
        self.end()
        self._open()

    def _open(self) -> Episode:
        assert self._begin is not None
        assert self._make_ends is not None
        self._newest, self._oldest, self._ends = {}, 0, self._make_ends()
        self._topics = QuietTopics(self._configuration.topics, self._configuration.max_gap)
        self._begun_ns = self._clock()
        self.episode = self._begin()
        self._say(f"recording episode {self.episode.name}")
        return self.episode

    def _interrupted(self, problem: OSError) -> InputError:
        name = "" if self.episode is None else self.episode.name
        self.end()
        return InputError(f"recording of episode {name} ended: {problem.strerror}")
