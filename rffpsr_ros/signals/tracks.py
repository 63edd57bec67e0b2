"""What is remembered of each channel between ticks, and the values it contributes to one.

A message is resolved only when a tick needs it, unless its fields carry a state (``unwrap``).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.errors import InputError
from rffpsr_ros.signals.channel import Channel
from rffpsr_ros.signals.fields.resolver import FieldResolver

Vector = NDArray[np.float64]

Decode = Callable[[Any], Any]
"""From what a topic delivers (such as bytes) to a message; None if it cannot be decoded."""

MOST_COMMANDS = 8192
"""Commands remembered while no tick asks for them."""


MOST_SAMPLES = 8192
"""Observations remembered while no tick asks for them."""


class Sample:
    """One message of a topic; decoded at most once, when first needed."""

    __slots__ = ("_decode", "_message", "stamp_ns")

    def __init__(self, stamp_ns: int, message: Any, decode: Decode | None) -> None:
        self.stamp_ns = stamp_ns
        self._message = message
        self._decode = decode

    @property
    def message(self) -> Any:
        """The decoded message; None if it cannot be decoded."""
        if self._decode is not None:
            self._message = self._decode(self._message)
            self._decode = None
        return self._message


class Track:
    """The recent samples of one channel and the resolver of its fields.

    ``settled`` are the names that its columns must have; empty where nobody has settled them, and
    then the first message that shows the widths does.
    """

    def __init__(self, channel: Channel, settled: Sequence[str] = ()) -> None:
        self.channel = channel
        self.misfits: dict[str, int] = {}
        """How many messages were left out because they have other columns, by what they have."""
        self._settled = tuple(settled)
        self.resolver = FieldResolver(channel.fields, f"channel '{channel.name}'")
        self.heard_ns: int | None = None
        """The stamp of the first sample since the beginning or the last time jump."""
        self._max_age_ns = None if channel.max_age is None else round(channel.max_age * 1e9)

    @property
    def column_names(self) -> tuple[str, ...]:
        """One name per column; empty until a message has shown the width."""
        return tuple(f"{self.channel.name}.{name}" for name in self.resolver.column_names)

    @property
    def units(self) -> tuple[str, ...]:
        """One unit per column; empty if unknown."""
        pairs = zip(self.channel.units, self.resolver.columns_per_field, strict=False)
        return tuple(unit for unit, columns in pairs for _ in range(columns))

    @property
    def missing(self) -> Vector:
        """A vector of NaN as wide as the channel."""
        return np.full(self.resolver.width or 0, np.nan)

    def too_old(self, stamp_ns: int, now_ns: int) -> bool:
        """Tell whether a sample no longer counts."""
        return self._max_age_ns is not None and now_ns - stamp_ns > self._max_age_ns

    def heard(self, sample: Sample) -> bool:
        """Tell whether a first sample shows the width, and if so note its stamp."""
        if self.resolver.resolve(sample.message) is None:
            return False
        if self._settled and self.column_names != self._settled:
            self._leave_out()
            return False
        self.resolver.reset()
        self.heard_ns = sample.stamp_ns
        return True

    def _leave_out(self) -> None:
        """Count a message that shows other columns, and wait for the next one."""
        sentence = (
            f"a message on {self.channel.topic} does not give channel '{self.channel.name}' the"
            f" {len(self._settled)} columns that the model was trained on; it is left out"
        )
        self.misfits[sentence] = self.misfits.get(sentence, 0) + 1
        self.resolver.unbind()

    def values_of(self, sample: Sample) -> Vector:
        """Return the values of a sample, NaN where they are missing."""
        values = self.resolver.resolve(sample.message)
        return self.missing if values is None else values


class ObservationTrack(Track):
    """An observation channel: the newest sample counts, as long as it is not too old."""

    def __init__(self, channel: Channel, memory_ns: int, settled: Sequence[str] = ()) -> None:
        super().__init__(channel, settled)
        self._memory_ns = memory_ns
        most = MOST_SAMPLES if memory_ns else 1
        self._samples: deque[tuple[int, Sample | Vector]] = deque(maxlen=most)

    def receive(self, sample: Sample) -> None:
        """Take a sample that is no older than the last one; forget those past the memory."""
        if self.heard_ns is None and not self.heard(sample):
            return
        samples = self._samples
        stamp_ns = sample.stamp_ns
        newest = self.values_of(sample) if self.resolver.stateful else sample
        if samples and samples[-1][0] == stamp_ns:
            samples[-1] = (stamp_ns, newest)  # no tick can see the one before any more
            return
        samples.append((stamp_ns, newest))
        while len(samples) > 1 and samples[1][0] <= stamp_ns - self._memory_ns:
            samples.popleft()

    def newest_by(self, limit_ns: int, now_ns: int) -> Vector:
        """Return the newest values stamped no later than a limit; NaN if none, or too old.

        Limits must not decrease: older samples are forgotten.
        """
        samples = self._samples
        while len(samples) > 1 and samples[1][0] <= limit_ns:
            samples.popleft()
        if not samples or samples[0][0] > limit_ns or self.too_old(samples[0][0], now_ns):
            return self.missing
        stamp_ns, newest = samples[0]
        if isinstance(newest, Sample):
            newest = self.values_of(newest)
            samples[0] = (stamp_ns, newest)
        return newest

    def forget(self) -> None:
        """Forget all samples: time has jumped."""
        self._samples.clear()
        self.resolver.reset()
        self.heard_ns = None


class ActionTrack(Track):
    """An action channel: the newest command is in force until the next, column by column.

    A column that a command leaves out (NaN) keeps its value.

    Attributes
    ----------
    empty
        Whether the newest command that was due held no finite number, so that it changed nothing.
    """

    def __init__(self, channel: Channel, settled: Sequence[str] = ()) -> None:
        super().__init__(channel, settled)
        self.empty = False
        self._pending: deque[tuple[int, Sample | Vector]] = deque(maxlen=MOST_COMMANDS)
        self._held: Vector | None = None
        self._partial: Vector | None = None  # until every column had a value
        self._held_ns = 0

    @property
    def column_names(self) -> tuple[str, ...]:
        """One name per column; before the first command those of the initial values."""
        initial = self.channel.initial
        if self.resolver.width is not None or initial is None:
            return super().column_names
        texts = self.channel.fields
        if len(initial) in (1, len(texts)):
            return tuple(f"{self.channel.name}.{text}" for text in texts)
        return tuple(f"{self.channel.name}[{column}]" for column in range(len(initial)))

    def receive(self, sample: Sample) -> None:
        """Take a command that is no older than the last one."""
        if self.heard_ns is None:
            if not self.heard(sample):
                return
            self.initial_values()
        command = self.values_of(sample) if self.resolver.stateful else sample
        self._pending.append((sample.stamp_ns, command))

    def in_force_at(self, time_ns: int) -> Vector | None:
        """Return the command in force at a time; None if there is none yet, or no longer.

        Times must not decrease: older commands are forgotten.
        """
        pending = self._pending
        if pending and pending[0][0] <= time_ns:
            due = [pending.popleft()]
            while pending and pending[0][0] <= time_ns:
                due.append(pending.popleft())
            self._held = self._latest(due)
            self._held_ns = due[-1][0]
        if self._held is None or self.too_old(self._held_ns, time_ns):
            return self.initial_values()
        return self._held

    def initial_values(self) -> Vector | None:
        """Return the values before the first command; None if none were given."""
        initial = self.channel.initial
        if initial is None:
            return None
        width = self.resolver.width
        if width is None:
            width = max(len(initial), len(self.channel.fields))
        if len(initial) not in (1, width):
            raise InputError(
                f"channel '{self.channel.name}' has {width} columns, but 'initial' has"
                f" {len(initial)} values; give one number or one per column"
            )
        return np.array(initial) if len(initial) == width else np.full(width, initial[0])

    def forget(self) -> None:
        """Forget all commands: time has jumped."""
        self._pending.clear()
        self.resolver.reset()
        self._held = self._partial = None
        self.heard_ns = None
        self.empty = False

    def _latest(self, due: list[tuple[int, Sample | Vector]]) -> Vector | None:
        """Return the newest value of every column; None if one never had any."""
        self.empty = False
        values: Vector | None = None
        for _, command in reversed(due):
            older = self.values_of(command) if isinstance(command, Sample) else command
            values = older if values is None else np.where(np.isfinite(values), values, older)
            if all_finite(values):
                return values
            if values is older:
                self.empty = not np.isfinite(values).any()
        assert values is not None
        before = self.initial_values() if self._held is None else self._held
        before = self._partial if before is None else before
        if before is not None:
            values = np.where(np.isfinite(values), values, before)
        if all_finite(values):
            return values
        self._partial = values
        return None


def all_finite(values: Vector) -> bool:
    """Tell quickly whether all values are finite."""
    scaled = values * 1e-160  # of which no square overflows
    return math.isfinite(scaled.dot(scaled))
