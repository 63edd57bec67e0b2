"""The recordings that a command works on: bags read, columns checked, parts split off."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from operator import methodcaller
from pathlib import Path
from typing import NamedTuple

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import Signature
from rffpsr_ros.parallel.workers import THIS_PROCESS, Workers
from rffpsr_ros.recordings.bags.files import find_bags
from rffpsr_ros.recordings.bags.read_report import ReadReport
from rffpsr_ros.recordings.bags.reader import iterate_trajectories
from rffpsr_ros.recordings.split import parse_split, split
from rffpsr_ros.recordings.stored_trajectory import store_bags
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.training.known_policy import apply_policy

Progress = Callable[[str, float], None]


class Recordings(NamedTuple):
    """Trajectories and what reading them told."""

    trajectories: list[Trajectory]
    report: ReadReport

    @property
    def ticks(self) -> int:
        """Return the number of ticks."""
        return sum(map(len, self.trajectories))

    def describe(self) -> str:
        """Return in words what was read."""
        count, ticks = len(self.trajectories), self.ticks
        period = self.trajectories[0].period
        return (
            f"{_counted(len(self.report.bags), 'bag')}: {_counted(ticks, 'tick')} of {period:g} s"
            f" ({ticks * period:.1f} s) in {_counted(count, 'segment')}"
        )


class Parts(NamedTuple):
    """What to learn from, to choose by, and to judge by."""

    train: list[Trajectory]
    validation: list[Trajectory]
    test: list[Trajectory]


def read_recordings(
    paths: Sequence[str],
    configuration: ChannelConfiguration,
    arguments: argparse.Namespace,
    progress: Progress,
    stage: str = "reading bags",
) -> Recordings:
    """Read bags into trajectories.

    Raises
    ------
    InputError
        If a bag cannot be read or does not have what the configuration asks for.
    """
    bags = find_bags(paths)
    report = ReadReport()
    found = iterate_trajectories(
        bags,
        configuration,
        ros_distro=arguments.ros_distro,
        message_paths=arguments.msg_path,
        report=report,
    )
    trajectories = _gather(([one] for one in found), bags, report, progress, stage)
    return _all_read(bags, trajectories, report, configuration)


def store_recordings(
    paths: Sequence[str],
    configuration: ChannelConfiguration,
    arguments: argparse.Namespace,
    progress: Progress,
    workers: Workers = THIS_PROCESS,
    stage: str = "reading bags",
) -> Recordings:
    """Read bags into trajectories that stay on disk, where the workers are.

    Raises
    ------
    InputError
        If a bag cannot be read or does not have what the configuration asks for.
    """
    bags = find_bags(paths)
    report = ReadReport()
    stored = store_bags(
        bags,
        configuration,
        ros_distro=arguments.ros_distro,
        message_paths=arguments.msg_path,
        report=report,
        map_in_order=workers.map,
    )
    trajectories = _gather((bag.trajectories() for bag in stored), bags, report, progress, stage)
    if configuration.dataset.get("policy") is not None:  # likelihood ratios are kept in memory
        trajectories = list(workers.map(methodcaller("loaded"), trajectories))
    return _all_read(bags, trajectories, report, configuration)


def _gather(
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
    bags: Sequence[Path],
    trajectories: list[Trajectory],
    report: ReadReport,
    configuration: ChannelConfiguration,
) -> Recordings:
    if not trajectories:
        raise InputError(f"{_counted(len(bags), 'bag')} gave no segment of 2 ticks or more")
    trajectories, column = apply_policy(trajectories, configuration)
    if column is not None:
        for bag in report.bags:
            units = bag.action_units
            bag.action_units = units[:column] + units[column + 1 :]
    return Recordings(trajectories, report)


def split_recordings(trajectories: Sequence[Trajectory], text: str) -> Parts:
    """Return the parts of recordings that ``--split`` names, such as 0.7,0.1,0.2.

    Raises
    ------
    InputError
        If there are not three fractions, they make no sense, or nothing is left to train on.
    """
    fractions = parse_split(text)
    if len(fractions) != 3:
        raise InputError(
            f"the split {text} has {_counted(len(fractions), 'part')}; it must have three"
            " (training, validation, test), as in 0.7,0.1,0.2"
        )
    parts = Parts(*split(trajectories, fractions))
    if not parts.train:
        raise InputError(f"the split {text} leaves nothing to train on")
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


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
