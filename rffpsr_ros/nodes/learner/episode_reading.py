"""Reading episodes before anything is learned: what cannot be read is left out; without ROS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rffpsr_ros.errors import InputError
from rffpsr_ros.progress import Progress
from rffpsr_ros.recordings.stored_trajectory import store_bags
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channels import ChannelConfiguration

LeaveOut = Callable[[str], None]
"""Takes a sentence on an episode that is left out."""


def read_episodes(
    bags: Sequence[Path], channels: ChannelConfiguration, progress: Progress, leave_out: LeaveOut
) -> dict[Path, Sequence[Trajectory]]:
    """Return the segments of the episodes that can be read, by their bags.

    What is read here is not read again when it is learned from by the same channels. Where none can
    be read, none is left out: then something is wrong with all, such as the channels.
    """
    episodes: dict[Path, Sequence[Trajectory]] = {}
    problems = []
    for number, bag in enumerate(bags, 1):
        try:
            (stored,) = store_bags([bag], channels)
            episodes[bag] = stored.trajectories()
        except InputError as problem:
            problems.append(f"episode {bag.name} is left out: {problem}")
        progress("reading bags", number / len(bags))
    if episodes:
        for sentence in problems:
            leave_out(sentence)
    return episodes
