"""The recordings that a model is learned from or judged by: bags read, parts split off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from typing import NamedTuple, TypeAlias

from rffpsr_ros.errors import InputError, counted, plain
from rffpsr_ros.models.contract import Signature
from rffpsr_ros.parallel.workers import THIS_PROCESS, Workers
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recordings.bags.files import find_bags
from rffpsr_ros.recordings.bags.read_report import ReadReport
from rffpsr_ros.recordings.bags.reader import BAG_ENDED, iterate_trajectories
from rffpsr_ros.recordings.split import parse_split, split
from rffpsr_ros.recordings.stored_trajectory import store_bags
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.training.known_policy import apply_policy

BagPaths: TypeAlias = "str | Path | Sequence[str | Path]"
"""Bags, folders of bags, or patterns such as ``runs/*.mcap``; one or several."""

Fractions: TypeAlias = "str | Sequence[float]"
"""Shares of training, validation and test part: (0.7, 0.1, 0.2) or "0.7,0.1,0.2"."""


@dataclass(frozen=True)
class ReadingOptions:
    """What bags do not say themselves.

    Attributes
    ----------
    ros_distro
        The distribution that recorded bags without type definitions, such as humble.
    message_paths
        .msg files, or folders of them, for types that the bags do not define.
    """

    ros_distro: str | None = None
    message_paths: tuple[str | Path, ...] = ()


class BagRecordings(NamedTuple):
    """Trajectories, and the report of their reading."""

    trajectories: list[Trajectory]
    report: ReadReport

    @property
    def ticks(self) -> int:
        """Return the number of ticks."""
        return sum(map(len, self.trajectories))

    @property
    def action_units(self) -> tuple[str, ...]:
        """Return one unit per column of the actions; empty if one is unknown."""
        return self.report.bags[0].action_units

    def describe(self) -> str:
        """Return in words what was read."""
        count, ticks = len(self.trajectories), self.ticks
        period = self.trajectories[0].period
        return (
            f"{counted(len(self.report.bags), 'bag')}: {counted(ticks, 'tick')} of {period:g} s"
            f" ({ticks * period:.1f} s) in {counted(count, 'segment')}"
        )


class Split(NamedTuple):
    """What to learn from, to choose by, and to judge by."""

    train: list[Trajectory]
    validation: list[Trajectory]
    test: list[Trajectory]

    def ticks(self) -> dict[str, int]:
        """Return the number of ticks of each part, by its name."""
        return {name: sum(map(len, part)) for name, part in self._asdict().items()}


def read_recordings(
    paths: BagPaths,
    configuration: ChannelConfiguration,
    reading: ReadingOptions | None = None,
    progress: Progress = silent,
    stage: str = "reading bags",
) -> BagRecordings:
    """Read bags into trajectories.

    Raises
    ------
    InputError
        If a bag cannot be read or does not have what the configuration asks for.
    """
    bags, report, reading = _found(paths), ReadReport(), reading or ReadingOptions()
    found = iterate_trajectories(
        bags,
        configuration,
        ros_distro=reading.ros_distro,
        message_paths=reading.message_paths,
        report=report,
    )
    trajectories = _gathered(([one] for one in found), bags, report, progress, stage)
    return _all_read(trajectories, report, configuration)


def store_recordings(
    paths: BagPaths,
    configuration: ChannelConfiguration,
    reading: ReadingOptions | None = None,
    progress: Progress = silent,
    workers: Workers = THIS_PROCESS,
    stage: str = "reading bags",
) -> BagRecordings:
    """Read bags into trajectories that stay on disk, where the workers are.

    Raises
    ------
    InputError
        If a bag cannot be read or does not have what the configuration asks for.
    """
    bags, report, reading = _found(paths), ReadReport(), reading or ReadingOptions()
    stored = store_bags(
        bags,
        configuration,
        ros_distro=reading.ros_distro,
        message_paths=reading.message_paths,
        report=report,
        map_in_order=workers.map,
    )
    trajectories = _gathered((bag.trajectories() for bag in stored), bags, report, progress, stage)
    if configuration.dataset.get("policy") is not None:  # likelihood ratios are kept in memory
        trajectories = list(workers.map(methodcaller("loaded"), trajectories))
    return _all_read(trajectories, report, configuration)


def check_apart(bags: BagPaths, validation: BagPaths) -> None:
    """Refuse a bag that is trained on and to validate by, before anything is read.

    Raises
    ------
    InputError
        If there is one, or a path names no bag.
    """
    if not validation:
        return
    trained = {path.resolve() for path in _found(bags)}
    for path in _found(validation):
        if path.resolve() in trained:
            raise InputError(
                f"bag {path} is trained on and named for validation; validate by other bags, or by"
                " a part of all, as --split 0.8,0.2,0 does"
            )


def _found(paths: BagPaths) -> list[Path]:
    return find_bags([paths] if isinstance(paths, (str, Path)) else paths)


def _gathered(
    parts: Iterable[Sequence[Trajectory]],
    bags: Sequence[Path],
    report: ReadReport,
    progress: Progress,
    stage: str,
) -> list[Trajectory]:
    """Return the trajectories of all parts, telling how many bags were read by then."""
    progress(stage, 0.0)
    trajectories: list[Trajectory] = []
    for part in parts:
        trajectories += part
        progress(stage, len(report.bags) / len(bags))
    progress(stage, 1.0)
    return trajectories


def _all_read(
    trajectories: list[Trajectory], report: ReadReport, configuration: ChannelConfiguration
) -> BagRecordings:
    """Return what was read, with the likelihood ratios of a known policy."""
    if not trajectories:
        raise InputError(_why_no_segment(report, configuration))
    trajectories, column = apply_policy(trajectories, configuration)
    if column is not None:
        for bag in report.bags:
            units = bag.action_units
            bag.action_units = units[:column] + units[column + 1 :]
    return BagRecordings(trajectories, report)


def _why_no_segment(report: ReadReport, configuration: ChannelConfiguration) -> str:
    """Return why bags that have ticks have no two in a row."""
    ends = [(bag.path, end.reason) for bag in report.bags for end in bag.segment_ends]
    path, reason = next((end for end in ends if end[1] != BAG_ENDED), ends[0])
    which = "the only segment" if len(ends) == 1 else f"one of {len(ends)} segments"
    return (
        f"{counted(len(report.bags), 'bag')} gave no segment of 2 ticks or more, which take"
        f" {2 * configuration.period:g} s: {which} ended because {reason} ({path}); check the unit"
        " of time, and rate"
    )


def three_fractions(fractions: Fractions) -> tuple[float, ...]:
    """Return the shares of training, validation and test part, checked before anything is read.

    Raises
    ------
    InputError
        If there are not three numbers, they make no sense, or nothing is to be trained on.
    """
    text = _as_text(fractions)
    shares = parse_split(text)
    if len(shares) != 3:
        raise InputError(
            f"the split {plain(text)} has {counted(len(shares), 'part')}; it must have three"
            " (training, validation, test), as in 0.7,0.1,0.2"
        )
    if shares[0] == 0:
        raise InputError(f"the split {plain(text)} leaves nothing to train on")
    return shares


def split_recordings(trajectories: Sequence[Trajectory], fractions: Fractions) -> Split:
    """Return the parts of recordings that are laid end to end.

    Raises
    ------
    InputError
        As `three_fractions`, or if of so few ticks nothing is left to train on.
    """
    parts = Split(*split(trajectories, three_fractions(fractions)))
    if not parts.train:
        raise InputError(f"the split {_as_text(fractions)} leaves nothing to train on")
    return parts


def check_columns(trajectories: Sequence[Trajectory], signature: Signature, path: str) -> None:
    """Refuse recordings whose columns are not those of a model.

    Raises
    ------
    InputError
        If they differ.
    """
    found = Signature.of(trajectories[0])
    for what in ("observation", "action"):
        expected = getattr(signature, f"{what}_names")
        have = getattr(found, f"{what}_names")
        if expected != have:
            raise InputError(
                f"the bags have {what}s {', '.join(have)}, but model '{path}' was trained on"
                f" {', '.join(expected)}"
            )


def _as_text(fractions: Fractions) -> str:
    if not isinstance(fractions, (list, tuple)):
        return str(fractions)
    return ",".join(f"{one:g}" if isinstance(one, float) else str(one) for one in fractions)
