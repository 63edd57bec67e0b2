"""Messages of several topics, one after the other, to ticks of one regular grid.

The sampler is a pure function of the sequence it is fed. Learner, bag reader and filter all feed
it, so that a model sees live exactly what it was trained on. Times are integer nanoseconds.

- Tick k covers [t_k, t_{k+1}). Its action is the newest command stamped at or before t_k, its
  observation what is seen at its end. A command with the stamp of the observation that ended the
  tick before, or a smaller one, counts as well: jitter of stamps that come from one message shall
  not decide in which tick that message's command acts.
- The pace channel (the first observation) leads: its first sample starts the grid, and its sample
  stamped at or after t_{k+1} minus half its own interval closes tick k on arrival.
- The other channels give their newest sample stamped before the closing one. A sample with exactly
  the closing stamp counts too, whichever arrives first, if it did so at the tick before: stamps
  that coincide twice come from one publisher, and the tick then waits for its companion.
- Too old an observation is NaN. Ticks in which the pace channel was silent have NaN for it. A run
  of missing rows longer than ``max_gap``, or time going backwards, ends the segment.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.signals.channel import Channel
from rffpsr_ros.signals.channel_tracks import ChannelTracks, Line
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.signals.events import Cause, Event, SegmentEnd, Tick
from rffpsr_ros.signals.pace import Grid, PaceInterval
from rffpsr_ros.signals.tracks import Decode, Sample, all_finite

Vector = NDArray[np.float64]


class Sampler:
    """Turns messages into ticks; feed it every message of the configured topics in arrival order.

    Parameters
    ----------
    configuration
        Channels, rate and gaps.
    decode
        Per topic, how to turn what is fed (such as raw bytes) into a message. It is called only
        for messages whose values a tick needs. Topics without an entry are fed messages.

    Attributes
    ----------
    late, duplicates
        How many messages were ignored because a newer one, or one of the same time on the pace
        topic, had come before.
    jumps
        How often stamps went back by more than a tick, by topic.
    jumps_in_a_row
        How often they did since the last tick.
    """

    def __init__(
        self, configuration: ChannelConfiguration, decode: Mapping[str, Decode] | None = None
    ) -> None:
        self.configuration = configuration
        self.late = 0
        self.duplicates = 0
        self.jumps: dict[str, int] = {}
        self.jumps_in_a_row = 0
        period = configuration.exact_period_ns
        gap = Fraction(repr(configuration.max_gap)) * 10**9
        self._period = period
        self._most_missing = int(gap / period)
        self._tolerance_ns = int(period)
        self._tracks = ChannelTracks(configuration, int(gap + 2 * period), decode or {})
        self._pace = self._tracks.pace
        self._interval = PaceInterval(int(period))
        self._grid: Grid | None = None
        self._tick = 0
        self._missing_run = 0
        self._anchor_ns: int | None = None
        self._pace_had_values = False
        self._pending_ns: int | None = None

    @property
    def observation_names(self) -> tuple[str, ...]:
        """One name per observation column; complete once every channel was heard."""
        return self._tracks.observation_names

    @property
    def action_names(self) -> tuple[str, ...]:
        """One name per action column; complete once the first tick was given."""
        return self._tracks.action_names

    @property
    def observation_units(self) -> tuple[str, ...]:
        """One unit per observation column; empty if any is unknown."""
        return self._tracks.observation_units

    @property
    def action_units(self) -> tuple[str, ...]:
        """One unit per action column; empty if any is unknown."""
        return self._tracks.action_units

    @property
    def running(self) -> bool:
        """Whether a segment is under way."""
        return self._grid is not None

    @property
    def waiting_for(self) -> tuple[Channel, ...]:
        """The channels without which no segment can start: not heard yet, or no command yet."""
        return () if self.running else self._tracks.unheard()

    @property
    def misfits(self) -> dict[str, int]:
        """How many messages were left out, by a sentence that says why.

        Where a model has settled the columns, the first messages of a channel must give these.
        """
        return self._tracks.misfits

    @property
    def names_never_found(self) -> tuple[tuple[Channel, str, tuple[str, ...]], ...]:
        """Channel, name and the names there were, for every (joint) name never found so far."""
        return self._tracks.names_never_found

    @property
    def empty_commands(self) -> tuple[tuple[Channel, tuple[str, ...]], ...]:
        """Channel and columns of every newest command that held no finite number.

        The command before it stays in force, so what acts on the robot is not known.
        """
        return self._tracks.empty_commands

    @property
    def newest_stamps(self) -> dict[str, int]:
        """The newest stamp (ns) of every topic heard since the beginning or the last time jump."""
        lines = self._tracks.lines.items()
        return {topic: line.last_ns for topic, line in lines if line.last_ns is not None}

    @property
    def command_of_next_tick(self) -> Vector | None:
        """The action in force from the end of the last tick, as far as it has arrived.

        None between segments, and where there is no command any more.
        """
        if self._grid is None:
            return None
        action = self._tracks.action_at(self._begins(self._grid))
        return None if isinstance(action, str) else action

    @property
    def tick_under_way(self) -> int:
        """The number of the tick that closes next, in a running segment."""
        return self._tick

    def first_tick_from(self, time_ns: int) -> int:
        """Return the number of the first tick that starts at or after a time.

        It is that in which a command stamped then acts; a segment must be running.
        """
        assert self._grid is not None
        first = self._grid.first_from(time_ns)
        late = first == self._tick + 1 and time_ns <= self._begins(self._grid)
        return self._tick if late else first

    def feed(self, topic: str, stamp_ns: int, message: Any) -> list[Event]:
        """Take one message and return what it completes, in order; mostly nothing.

        Parameters
        ----------
        topic
            As in the configuration; messages of other topics are ignored.
        stamp_ns
            See `rffpsr_ros.signals.stamps`.
        message
            The message, or what the topic's ``decode`` makes one of.

        Raises
        ------
        InputError
            If a field does not exist in the message or is not numeric.
        """
        line = self._tracks.lines.get(topic)
        if line is None:
            return []
        events: list[Event] = []
        if line.last_ns is not None and stamp_ns <= line.last_ns:
            if self._ignores(line, stamp_ns):
                return events
            if stamp_ns < line.last_ns:
                events = self._jump(line, stamp_ns)
        if self._pending_ns is not None and stamp_ns > self._pending_ns:
            events += self._close_pending()
        previous_ns = line.last_ns
        line.receive(Sample(stamp_ns, message, line.decode))
        if line is self._pace:
            events += self._lead(stamp_ns, previous_ns)
        elif stamp_ns == self._anchor_ns:
            line.coincides = True
        elif stamp_ns == self._pending_ns and not self._awaits(stamp_ns):
            events += self._close_pending()
        return events

    def end_segment(self, reason: str = "the sequence ended") -> list[Event]:
        """End the segment under way, if any; a tick that waits for its companions is closed first.

        Samples are kept: the next segment starts with the next pace sample.
        """
        events = self._close_pending() if self._pending_ns is not None else []
        return events + self._end("end", reason)

    def _ignores(self, line: Line, stamp_ns: int) -> bool:
        """Tell whether a sample no newer than the topic's last one is to be ignored, and count it.

        A step back by less than a tick is a message overtaken on its way, not a jump of time.
        """
        assert line.last_ns is not None
        back = line.last_ns - stamp_ns
        if back == 0:
            self.duplicates += line is self._pace
            return line is self._pace
        self.late += back <= self._tolerance_ns
        return back <= self._tolerance_ns

    def _lead(self, stamp_ns: int, previous_ns: int | None) -> list[Event]:
        """Let a pace sample start the grid, or close the ticks it reaches."""
        if previous_ns is not None:
            self._interval.add(stamp_ns - previous_ns)
        if self._grid is None and not self._start():
            self._set_anchor(stamp_ns)
            return []
        assert self._grid is not None
        last = self._grid.closed_by(stamp_ns, self._interval.half_ns)
        if last < self._tick:
            return []
        if self._tracks.companions and self._awaits(stamp_ns):
            self._pending_ns = stamp_ns
            return []
        return self._close(stamp_ns, last)

    def _start(self) -> bool:
        """Start the grid at the last pace sample, if by then every channel had something."""
        start_ns = self._anchor_ns
        if start_ns is None or not self._pace_had_values or not self._tracks.ready_at(start_ns):
            return False
        self._grid = Grid(self._period, start_ns)
        self._tick = 0
        self._missing_run = 0
        return True

    def _awaits(self, stamp_ns: int) -> bool:
        """Tell whether a sample with the stamp of a closing pace sample is still to come."""
        return any(
            line.coincides and (line.last_ns is None or line.last_ns < stamp_ns)
            for line in self._tracks.companions
        )

    def _close_pending(self) -> list[Event]:
        """Close what the pace sample reaches that waited for its companions."""
        assert self._grid is not None
        assert self._pending_ns is not None
        stamp_ns, self._pending_ns = self._pending_ns, None
        return self._close(stamp_ns, self._grid.closed_by(stamp_ns, self._interval.half_ns))

    def _close(self, stamp_ns: int, last: int) -> list[Event]:
        """Close the ticks up to one with a pace sample; all but the last were missed."""
        assert self._grid is not None
        grid = self._grid
        events: list[Event] = []
        if last - self._tick > self._most_missing:
            silence = (stamp_ns - grid.start(self._tick)) / 1e9
            events += self._end("gap", f"{self._pace.topic} was silent for {silence:.3g} s")
        while self._grid is not None and self._tick < last:
            events += self._missed_tick(grid)
        if self._grid is not None:
            row = self._tracks.observation_with(stamp_ns)
            events += self._emit(grid, stamp_ns, row, False)
            grid.follow(last, stamp_ns, self._interval.half_ns)
        self._set_anchor(stamp_ns)
        return events

    def _missed_tick(self, grid: Grid) -> list[Event]:
        """Emit the tick at whose end the pace channel gave nothing."""
        end_ns = grid.start(self._tick + 1)
        row = self._tracks.observation_without_pace(end_ns)
        return self._emit(grid, end_ns, row, True)

    def _emit(self, grid: Grid, stamp_ns: int, observation: Vector, missed: bool) -> list[Event]:
        start_ns = grid.start(self._tick)
        action = self._tracks.action_at(self._begins(grid))
        if isinstance(action, str):
            return self._end("expired", f"no command on {action} for longer than its max_age")
        if not all_finite(observation):
            observation = np.where(np.isfinite(observation), observation, np.nan)
            missed = missed or bool(np.isnan(observation).all())
        self._missing_run = self._missing_run + 1 if missed else 0
        tick = Tick(self._tick, start_ns, stamp_ns, action, observation)
        self._tick += 1
        self.jumps_in_a_row = 0
        if self._missing_run > self._most_missing:
            return [tick, *self._end("missing", "nothing was observed for longer than max_gap")]
        return [tick]

    def _begins(self, grid: Grid) -> int:
        """Return by when a command must have been stamped to act in the tick under way."""
        start_ns, seen_ns = grid.start(self._tick), self._anchor_ns
        if seen_ns is None or abs(seen_ns - start_ns) > self._interval.half_ns:
            return start_ns
        return max(start_ns, seen_ns)

    def _set_anchor(self, stamp_ns: int) -> None:
        """Note the pace sample that closed a tick, or from which the grid may start."""
        self._anchor_ns = stamp_ns
        for line in self._tracks.companions:
            line.coincides = line.last_ns == stamp_ns
        if self._grid is None:
            self._pace_had_values = self._tracks.pace_has_values(stamp_ns)

    def _jump(self, line: Line, stamp_ns: int) -> list[Event]:
        """End the segment and start anew, as if nothing had been fed before."""
        assert line.last_ns is not None
        self.jumps[line.topic] = self.jumps.get(line.topic, 0) + 1
        self.jumps_in_a_row += 1
        back = (line.last_ns - stamp_ns) / 1e9
        events = self._close_pending() if self._pending_ns is not None else []
        events += self._end("time_jump", f"the stamps of {line.topic} went back by {back:.3g} s")
        for known in self._tracks.lines.values():
            known.forget()
        self._interval = PaceInterval(int(self._period))
        self._anchor_ns = None
        return events

    def _end(self, cause: Cause, reason: str) -> list[Event]:
        if self._grid is None:
            return []
        self._grid = None
        self._anchor_ns = None
        return [SegmentEnd(cause, reason)]
