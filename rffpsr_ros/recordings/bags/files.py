"""Which bags are meant by some paths: files, bag folders, folders of bags, patterns."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings.bags.opening import STORAGE_SUFFIXES, natural_order

_ROS1_SUFFIXES = (".bag", ".bag.active")


def find_bags(paths: Sequence[str | Path]) -> list[Path]:
    """Return the bags that paths mean, each once, in the order given (folders in natural order).

    A path is a bag (a rosbag2 folder, a storage file, a ROS 1 bag), a folder in which bags are
    looked for at any depth but not in what is hidden, or a pattern such as ``runs/*.mcap``. A
    bag that is named in two ways, as by a link, is one.

    Raises
    ------
    InputError
        If a path does not exist, a pattern matches nothing, or a folder holds no bag.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        for bag in _meant_by(Path(path)):
            found.setdefault(bag.resolve(), bag)
    if not found:
        raise InputError("no bag was given")
    return list(found.values())


def _meant_by(path: Path) -> list[Path]:
    if not path.exists():
        if path.is_symlink():
            raise InputError(f"there is no bag {path}; it is a link that leads nowhere")
        matches = sorted((Path(match) for match in glob.glob(str(path))), key=natural_order)
        if not matches:
            raise InputError(f"there is no bag {path}{_nearest(path)}")
        return [bag for match in matches for bag in _meant_by(match)]
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InputError(f"bag {path} is neither a file nor a folder")
    bags = _inside(path)
    if not bags:
        raise InputError(f"folder {path} holds no bag (no metadata.yaml, .mcap, .db3 or .bag file)")
    return bags


def _inside(folder: Path) -> list[Path]:
    try:
        entries = sorted(folder.iterdir(), key=natural_order)
    except OSError as problem:
        raise InputError(f"folder {folder} cannot be read: {problem.strerror}") from None
    storage = [entry for entry in entries if entry.name.endswith(STORAGE_SUFFIXES)]
    if (folder / "metadata.yaml").exists() or (storage and _is_one_recording(folder, storage)):
        return [folder]
    bags = []
    for entry in entries:
        if entry.name.startswith("."):
            continue  # such as an episode that is being recorded
        if entry.is_dir():
            bags += _inside(entry)
        elif entry in storage or entry.name.endswith(_ROS1_SUFFIXES):
            bags.append(entry)
    return bags


def _is_one_recording(folder: Path, storage: list[Path]) -> bool:
    """Tell whether files are the parts of one rosbag2 recording that lost its metadata."""
    stems = [file.name.split(".")[0] for file in storage]
    return all(stem.startswith(f"{folder.name}_") for stem in stems) or stems == [folder.name]


def _nearest(path: Path) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"; the folder {path.parent} does not exist"
    close = get_close_matches(path.name, names, n=1)
    return f"; did you mean {path.parent / close[0]}?" if close else ""
