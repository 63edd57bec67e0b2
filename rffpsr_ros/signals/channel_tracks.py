"""All channels of a configuration with what is remembered of them, by topic and as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.signals.channel import Channel
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.signals.tracks import ActionTrack, Decode, ObservationTrack, Sample

Vector = NDArray[np.float64]


class Line:
    """One topic and the tracks it feeds."""

    def __init__(self, topic: str, decode: Decode | None) -> None:
        self.topic = topic
        self.decode = decode
        self.tracks: list[ObservationTrack | ActionTrack] = []
        self.observed = False
        self.last_ns: int | None = None
        """The stamp of the newest sample."""
        self.coincides = False
        """Whether a sample had the very stamp of the pace sample that closed the last tick."""

    def receive(self, sample: Sample) -> None:
        """Hand a sample to every channel of the topic."""
        self.last_ns = sample.stamp_ns
        for track in self.tracks:
            track.receive(sample)

    def forget(self) -> None:
        """Forget all samples: time has jumped."""
        self.last_ns = None
        self.coincides = False
        for track in self.tracks:
            track.forget()


class ChannelTracks:
    """The tracks of all channels.

    Attributes
    ----------
    lines
        By topic.
    pace
        The line of the pace channel.
    companions
        The other lines with observations.
    misfits
        How many first messages were left out, by a sentence that says why.
    """

    def __init__(
        self, configuration: ChannelConfiguration, memory_ns: int, decode: Mapping[str, Decode]
    ) -> None:
        pace_topic = configuration.observations[0].topic
        observed, commanded = configuration.columns
        self._observations = [
            ObservationTrack(
                channel,
                0 if channel.topic == pace_topic else memory_ns,
                _columns_of(channel, observed),
            )
            for channel in configuration.observations
        ]
        self._actions = [
            ActionTrack(channel, _columns_of(channel, commanded))
            for channel in configuration.actions
        ]
        self.misfits: dict[str, int] = {}
        self.lines: dict[str, Line] = {}
        for track in self._all():
            track.misfits = self.misfits
            topic = track.channel.topic
            line = self.lines.setdefault(topic, Line(topic, decode.get(topic)))
            line.tracks.append(track)
            line.observed = line.observed or isinstance(track, ObservationTrack)
        self.pace = self.lines[pace_topic]
        self.companions = [
            line for line in self.lines.values() if line.observed and line is not self.pace
        ]
        self._observed = [(track, self.lines[track.channel.topic]) for track in self._observations]

    def _all(self) -> Iterator[ObservationTrack | ActionTrack]:
        yield from self._observations
        yield from self._actions

    def ready_at(self, start_ns: int) -> bool:
        """Tell whether by a time every observation was heard and every action has a command."""
        for observation in self._observations:
            if observation.heard_ns is None or observation.heard_ns > start_ns:
                return False
        return all(action.in_force_at(start_ns) is not None for action in self._actions)

    def unheard(self) -> tuple[Channel, ...]:
        """Return the channels that gave nothing yet and have no initial values."""
        return tuple(
            track.channel
            for track in self._all()
            if track.heard_ns is None and track.channel.initial is None
        )

    def pace_has_values(self, stamp_ns: int) -> bool:
        """Tell whether the newest sample of the pace channel has any value."""
        return bool(np.isfinite(self._observations[0].newest_by(stamp_ns, stamp_ns)).any())

    def observation_with(self, stamp_ns: int) -> Vector:
        """Return the row seen with a pace sample.

        Companions count if they are older than it, or of its very stamp and known to coincide.
        """
        return _joined(
            [
                track.newest_by(
                    stamp_ns if line is self.pace or line.coincides else stamp_ns - 1, stamp_ns
                )
                for track, line in self._observed
            ]
        )

    def observation_without_pace(self, stamp_ns: int) -> Vector:
        """Return the row of a time at which the pace channel was silent."""
        return _joined(
            [
                track.missing if line is self.pace else track.newest_by(stamp_ns - 1, stamp_ns)
                for track, line in self._observed
            ]
        )

    def action_at(self, time_ns: int) -> Vector | str:
        """Return the action in force, or the topic that has none."""
        commands = []
        for track in self._actions:
            command = track.in_force_at(time_ns)
            if command is None:
                return track.channel.topic
            commands.append(command)
        return _joined(commands)

    @property
    def observation_names(self) -> tuple[str, ...]:
        """One name per observation column."""
        return tuple(name for track in self._observations for name in track.column_names)

    @property
    def action_names(self) -> tuple[str, ...]:
        """One name per action column."""
        return tuple(name for track in self._actions for name in track.column_names)

    @property
    def observation_units(self) -> tuple[str, ...]:
        """One unit per observation column; empty if any is unknown."""
        units = tuple(unit for track in self._observations for unit in track.units)
        return units if len(units) == len(self.observation_names) else ()

    @property
    def action_units(self) -> tuple[str, ...]:
        """One unit per action column; empty if any is unknown."""
        units = tuple(unit for track in self._actions for unit in track.units)
        return units if len(units) == len(self.action_names) else ()

    @property
    def empty_commands(self) -> tuple[tuple[Channel, tuple[str, ...]], ...]:
        """Channel and columns of every newest command that held no finite number."""
        return tuple((one.channel, one.column_names) for one in self._actions if one.empty)

    @property
    def names_never_found(self) -> tuple[tuple[Channel, str, tuple[str, ...]], ...]:
        """Channel, name and the names there were, for every (joint) name not found so far."""
        return tuple(
            (track.channel, index.name, tuple(index.seen))
            for track in self._all()
            for index in track.resolver.names_never_found
        )


def _columns_of(channel: Channel, names: Sequence[str]) -> list[str]:
    return [name for name in names if name.startswith(f"{channel.name}.")]


def _joined(values: list[Vector]) -> Vector:
    return values[0] if len(values) == 1 else np.concatenate(values)
