"""What happened while bags were read, for the user to see."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path

from rffpsr_ros.signals.events import SegmentEnd


class BagWarning(UserWarning):
    """Something in a bag could not be used."""


@dataclass
class BagReport:
    """What one bag gave.

    Attributes
    ----------
    messages
        Messages of the configured topics.
    undecodable
        Messages whose bytes were damaged.
    late, duplicates
        Messages ignored by the sampler.
    ticks, dropped_ticks
        Ticks in all segments; those in segments that were too short to use.
    segment_ends
        Why each segment ended.
    losses
        What of the file could not be read.
    topic_types
        Message type by topic, as the bag has them.
    observation_units, action_units
        One unit per column; empty if any is unknown.
    """

    path: Path
    messages: int = 0
    undecodable: int = 0
    late: int = 0
    duplicates: int = 0
    ticks: int = 0
    dropped_ticks: int = 0
    segment_ends: list[SegmentEnd] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    topic_types: dict[str, str] = field(default_factory=dict)
    observation_units: tuple[str, ...] = ()
    action_units: tuple[str, ...] = ()

    def warnings(self) -> list[str]:
        """Return one sentence for everything that was lost."""
        sentences = [f"{self.path}: {loss}" for loss in self.losses]
        if self.undecodable:
            sentences.append(f"{self.path}: {self.undecodable} damaged messages were left out")
        return sentences


@dataclass
class ReadReport:
    """What all bags gave."""

    bags: list[BagReport] = field(default_factory=list)

    def warnings(self) -> list[str]:
        """Return one sentence for everything that was lost."""
        return [sentence for bag in self.bags for sentence in bag.warnings()]

    def finish(self, bag: BagReport) -> None:
        """Add a bag and issue its warnings as `BagWarning`."""
        self.bags.append(bag)
        for sentence in bag.warnings():
            warnings.warn(sentence, BagWarning, stacklevel=2)
