"""Recorded runs: trajectories, and bags read from and written to disk.

Names that need the libraries for bags are imported when they are first used, so that models,
which need trajectories only, load without them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rffpsr_ros.recordings.split import parse_split, split
from rffpsr_ros.recordings.trajectory import Trajectory

if TYPE_CHECKING:
    from rffpsr_ros.recordings.bags.read_report import BagReport, BagWarning, ReadReport
    from rffpsr_ros.recordings.bags.reader import (
        BagSampler,
        bag_topics,
        iterate_trajectories,
        read_bags,
    )
    from rffpsr_ros.recordings.bags.writer import BagWriter
    from rffpsr_ros.recordings.trajectory_builder import TrajectoryBuilder

__all__ = [
    "BagReport",
    "BagSampler",
    "BagWarning",
    "BagWriter",
    "ReadReport",
    "Trajectory",
    "TrajectoryBuilder",
    "bag_topics",
    "iterate_trajectories",
    "parse_split",
    "read_bags",
    "split",
]

_MODULES = {
    "BagSampler": "bags.reader",
    "bag_topics": "bags.reader",
    "iterate_trajectories": "bags.reader",
    "read_bags": "bags.reader",
    "BagWriter": "bags.writer",
    "BagReport": "bags.read_report",
    "BagWarning": "bags.read_report",
    "ReadReport": "bags.read_report",
    "TrajectoryBuilder": "trajectory_builder",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
