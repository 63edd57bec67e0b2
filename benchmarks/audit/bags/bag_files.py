"""Bags that a disk, a killed recorder or somebody's ill will has spoilt, in both storages."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.audit.bags.bag_compression import by_compression
from benchmarks.audit.bags.bag_definitions import by_definition
from benchmarks.audit.bags.bag_messages import by_message
from benchmarks.audit.bags.bag_metadata import by_metadata
from benchmarks.audit.bags.bag_records import by_record
from benchmarks.audit.bags.bag_tables import by_table
from benchmarks.audit.bags.small_bags import CHANNELS, MCAP_MAGIC, Make, whole
from benchmarks.audit.case import Broken, Case
from benchmarks.audit.mutations import damaged
from benchmarks.audit.runner import Group
from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings.bags.message_types import MessageTypes
from rffpsr_ros.recordings.bags.read_report import BagWarning
from rffpsr_ros.recordings.bags.reader import read_bags
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.training.proposal.bag_contents import read_contents
from rffpsr_ros.training.proposal.propose import propose

STORAGES = ("mcap", "sqlite3")


def cases(seed: int) -> Iterator[Case]:
    """Yield the bags made by hand in both storages, then damaged ones without end."""
    for storage in STORAGES:
        makers = {
            **_by_file(storage),
            **by_metadata(storage),
            **by_definition(storage),
            **by_message(storage),
            **by_compression(storage),
            **(by_record() if storage == "mcap" else by_table()),
        }
        for name, make in makers.items():
            yield Case(f"{storage}: {name}", partial(_try, make))
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        wholes = list(_wholes(Path(folder)))
    for number in range(10**9):
        for name, files in wholes:
            yield Case(f"damaged {name} {number}", partial(_try, _damaged(files, rng)))


def _by_file(storage: str) -> dict[str, Make]:
    """Return bags whose storage file is spoilt as a whole."""

    def changed(change: Callable[[bytes], bytes]) -> Make:
        def make(folder: Path) -> Path:
            file = whole(folder / "bag", storage)
            file.write_bytes(change(file.read_bytes()))
            return file.parent

        return make

    def replaced(put: Callable[[Path], object]) -> Make:
        def make(folder: Path) -> Path:
            file = whole(folder / "bag", storage)
            file.unlink()
            put(file)
            return file.parent

        return make

    def alone(make: Make) -> Make:
        """Return a bag of the storage file alone."""

        def made(folder: Path) -> Path:
            bag = make(folder)
            (bag / "metadata.yaml").unlink()
            return next(bag.iterdir(), bag)

        return made

    spoilt: dict[str, Make] = {
        "whole": changed(lambda data: data),
        "empty": changed(lambda data: b""),
        "magic alone": changed(lambda data: data[:16]),
        "half": changed(lambda data: data[: len(data) // 2]),
        "without its last byte": changed(lambda data: data[:-1]),
        "without its first byte": changed(lambda data: data[1:]),
        "zeros": changed(lambda data: bytes(len(data))),
        "twice": changed(lambda data: data + data),
        "a megabyte of zeros at its end": changed(lambda data: data + bytes(2**20)),
        "zeros in its middle": changed(
            lambda data: data[: len(data) // 3] + bytes(len(data) // 3) + data[-len(data) // 3 :]
        ),
        "the other storage's magic": changed(
            lambda data: (MCAP_MAGIC if storage == "sqlite3" else b"SQLite format 3\0") + data[16:]
        ),
        "every byte 0xFF": changed(lambda data: b"\xff" * len(data)),
    }
    found = {**spoilt, **{f"{name}, no metadata": alone(make) for name, make in spoilt.items()}}
    found["a folder in the file's place"] = replaced(Path.mkdir)
    found["a pipe in the file's place"] = replaced(os.mkfifo)
    found["a link to itself"] = replaced(lambda file: file.symlink_to(file))
    found["a link to a device"] = replaced(lambda file: file.symlink_to("/dev/zero"))
    found["gone"] = replaced(lambda file: None)
    return found


def _wholes(folder: Path) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Yield small bags as their files' contents: with and without metadata, compressed or not."""
    for storage in STORAGES:
        kinds = ("none", "message", "file") if storage == "sqlite3" else ("none", "storage", "file")
        for compression in kinds:
            bag = folder / f"{storage}_{compression}"
            whole(bag, storage, compression)
            files = {file.name: file.read_bytes() for file in sorted(bag.iterdir())}
            yield bag.name, files
            if compression != "message":
                bare = {name: data for name, data in files.items() if name != "metadata.yaml"}
                yield f"{bag.name} without metadata", bare


def _damaged(files: dict[str, bytes], rng: np.random.Generator) -> Make:
    chosen = str(rng.choice(list(files)))
    spoilt = {**files, chosen: damaged(files[chosen], rng)}

    def make(folder: Path) -> Path:
        for name, data in spoilt.items():
            (folder / name).write_bytes(data)
        return folder

    return make


def _try(make: Make) -> None:
    """Read a bag as the learner does and as `rffpsr inspect` does."""
    folder = Path(tempfile.mkdtemp())
    try:
        bag = make(folder)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            refusals = [refusal for look in (_read, _inspect) if (refusal := _refusal(look, bag))]
        for one in said:
            if issubclass(one.category, BagWarning) and "\n" in str(one.message):
                raise Broken("no sentence", str(one.message))
            if issubclass(one.category, RuntimeWarning):
                raise Broken("traceback", str(one.message))
        if refusals:
            raise refusals[0]
    finally:
        shutil.rmtree(folder)


def _refusal(look: Callable[[Path], Any], bag: Path) -> InputError | None:
    try:
        look(bag)
    except InputError as refusal:
        return refusal
    return None


def _read(bag: Path) -> None:
    for trajectory in read_bags(bag, ChannelConfiguration.from_mapping(CHANNELS)):
        if not np.isfinite(trajectory.actions).all() or np.isinf(trajectory.observations).any():
            raise Broken("non-finite", f"a trajectory of {bag.name}")


def _inspect(bag: Path) -> None:
    propose(read_contents([bag], MessageTypes(), lambda stage, fraction: None), [], [])


GROUP = Group("bags", cases, size=1200, seconds=20.0)
