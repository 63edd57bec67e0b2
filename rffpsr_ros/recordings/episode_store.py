"""A folder of recorded episodes, each a rosbag2 bag, written so that a kill loses a moment at most.

An episode under way lies in the hidden folder ``.recording`` of the store. Its bag is flushed now
and then, which leaves it readable up to there. Kept, it is completed and moved to its place; after
a kill, the next one to open the store completes what was left.
"""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Mapping
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import IO

from rosbags.typesys.store import Typestore

from rffpsr_ros.errors import InputError, shown
from rffpsr_ros.recordings.bags.files import find_bags
from rffpsr_ros.recordings.bags.message_types import MessageTypes
from rffpsr_ros.recordings.bags.opening import natural_order, open_bag
from rffpsr_ros.recordings.bags.writer import BagWriter

_UNDER_WAY = ".recording"
_RECOVERED = ".recovered"
_LABELS = ".json"

LONGEST_WORD = 100
"""Bytes of a label that become part of an episode's name; file systems allow 255 in all."""


class EpisodeStore:
    """The folder of the episodes; it is made if need be.

    Raises
    ------
    InputError
        If the folder cannot be made or written to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._under_way = folder / _UNDER_WAY
        self._holding: set[Path] = set()
        """Folders that were seen to hold a bag."""
        self.ensure()

    def ensure(self) -> bool:
        """Make the folder if it is not there, or not any more; return whether it was made.

        Raises
        ------
        InputError
            If it cannot be made or written to.
        """
        made = not self._under_way.is_dir()
        try:
            self._under_way.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise InputError(
                f"episodes cannot be stored in {self.folder}: {problem.strerror}"
            ) from None
        return made

    def kept(self) -> list[Path]:
        """Return the bags of all kept episodes in the order of their names.

        Raises
        ------
        InputError
            If the folder is gone.
        """
        return self.look()[0]

    def look(self) -> tuple[list[Path], list[str]]:
        """Return what `kept` does, and a sentence for each folder that is no episode.

        Raises
        ------
        InputError
            As `kept`.
        """
        try:
            entries = [entry for entry in self.folder.iterdir() if not entry.name.startswith(".")]
        except OSError as problem:
            raise self._gone(problem) from None
        bags, strays = [], []
        for folder in sorted((entry for entry in entries if entry.is_dir()), key=natural_order):
            try:
                if folder not in self._holding:
                    find_bags([folder])
                    self._holding.add(folder)
                bags.append(folder)
            except InputError as problem:
                strays.append(str(problem))
        return bags, strays

    def free_megabytes(self) -> float:
        """Return the free space of the disk.

        Raises
        ------
        InputError
            If the folder is gone.
        """
        try:
            return shutil.disk_usage(self.folder).free / 1e6
        except OSError as problem:
            raise self._gone(problem) from None

    def _gone(self, problem: OSError) -> InputError:
        return InputError(f"the folder of the episodes, {self.folder}: {problem.strerror}")

    def begin(
        self,
        topics: Mapping[str, str],
        typestore: Typestore,
        labels: Mapping[str, str],
        now: datetime,
        word: str = "",
    ) -> Episode:
        """Begin an episode with these topics (type by topic).

        ``labels`` are kept in the bag's metadata; ``word`` becomes part of its name.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        try:
            name = self._free_name(now, word)
            lock = _locked(self._under_way / f"{name}{_LABELS}")
            if lock is None:
                raise InputError(f"another node records {name} in {self.folder}")
            json.dump(dict(labels), lock)
            lock.flush()
        except OSError as problem:
            raise InputError(f"an episode cannot be begun: {problem.strerror}") from None
        try:
            bag = BagWriter(self._under_way / name, "mcap", labels, typestore)
            for topic, type_name in topics.items():
                bag.add_topic(topic, type_name)
        except BaseException:
            lock.close()
            raise
        return Episode(bag, lock, self.folder / name)

    def recover(self) -> tuple[list[Path], list[str]]:
        """Complete what was under way when its recorder was killed.

        Returns the bags, and a sentence for everything that could not be saved.
        """
        saved, lost = [], []
        for sidecar in sorted(self._under_way.glob(f"*{_LABELS}")):
            name = sidecar.name.removesuffix(_LABELS)
            if not _is_plain(name) or sidecar.is_symlink() or not sidecar.is_file():
                lost.append(f"{shown(sidecar)} is of no episode; it is left as it is")
                continue
            try:
                lock = _locked(sidecar)
            except OSError as problem:
                lost.append(f"episode {shown(name)} cannot be recovered: {problem.strerror}")
                continue
            if lock is None:
                continue  # it is being recorded right now
            with lock:
                try:
                    if self._complete(name, sidecar):
                        saved.append(self.folder / name)
                except Exception as problem:  # Whatever lies there, the others are recovered.
                    lost.append(f"episode {shown(name)} cannot be recovered: {problem}")
                    continue
                shutil.rmtree(self._under_way / name, ignore_errors=True)
                sidecar.unlink(missing_ok=True)
        return saved, lost

    def _complete(self, name: str, sidecar: Path) -> bool:
        """Copy what is readable of a bag into a whole one; return whether there was anything."""
        remains = self._under_way / name
        copy = self._under_way / _RECOVERED / name
        shutil.rmtree(copy, ignore_errors=True)
        files = list(remains.glob("*.mcap"))
        if not files or not files[0].stat().st_size:
            return False
        text = sidecar.read_text(encoding="utf-8")
        with closing(open_bag(remains)) as source:
            count = 0
            topics = list(source.topics.values())
            if not topics:
                return False
            store = MessageTypes().store_for(topics, name, source.ros_distro)
            copy.parent.mkdir(exist_ok=True)
            with BagWriter(copy, "mcap", json.loads(text or "{}"), store) as bag:
                for topic in topics:
                    bag.add_topic(topic.name, topic.type)
                for message in source.messages(source.topics):
                    bag.write_raw(message.topic, message.receive_ns, message.data)
                    count += 1
        if count:
            copy.rename(self.folder / name)
        else:
            shutil.rmtree(copy)
        return bool(count)

    def _free_name(self, now: datetime, word: str) -> str:
        kept = "".join(c if c.isalnum() or c in "-_" else "_" for c in word)
        kept = kept.encode()[:LONGEST_WORD].decode(errors="ignore")
        stem = f"{now:%Y-%m-%d_%H-%M-%S}" + (f"_{kept}" if kept else "")
        number, name = 1, stem
        while any((folder / name).exists() for folder in (self.folder, self._under_way)):
            number += 1
            name = f"{stem}_{number}"
        return name


class Episode:
    """An episode under way.

    Attributes
    ----------
    count
        Messages so far.
    first_ns, last_ns
        Times of receipt of the first and of the last of them; 0 before the first.
    """

    def __init__(self, bag: BagWriter, lock: IO[str], place: Path) -> None:
        self._bag = bag
        self._under_way = bag.path
        self._lock = lock
        self._place = place
        self.count = 0
        self.first_ns = 0
        self.last_ns = 0

    @property
    def name(self) -> str:
        """Its name, once kept that of its folder."""
        return self._place.name

    @property
    def duration(self) -> float:
        """Seconds from the first message to the last."""
        return (self.last_ns - self.first_ns) / 1e9

    def write(self, topic: str, receive_ns: int, data: bytes) -> None:
        """Write a message; times must increase."""
        if not self.count:
            self.first_ns = receive_ns
        self.last_ns = receive_ns
        self.count += 1
        self._bag.write_raw(topic, receive_ns, data)

    def flush(self) -> None:
        """Let everything so far survive a kill."""
        self._bag.flush()

    def keep(self) -> Path:
        """Complete the bag, move it to its place and return that."""
        self._bag.close()
        self._under_way.rename(self._place)
        self._let_go()
        return self._place

    def discard(self) -> None:
        """Delete the episode."""
        with suppress(OSError):  # the disk is full or gone; then there is nothing to complete
            self._bag.close()
        shutil.rmtree(self._under_way, ignore_errors=True)
        self._let_go()

    @property
    def lost(self) -> bool:
        """Whether someone has removed what was recorded so far, or its disk."""
        return not self._under_way.is_dir()

    def abandon(self) -> None:
        """Leave it as it is, to be completed by `EpisodeStore.recover`: the disk is full."""
        self._lock.close()

    def _let_go(self) -> None:
        with suppress(OSError):
            Path(self._lock.name).unlink(missing_ok=True)
        self._lock.close()


def _is_plain(name: str) -> bool:
    """Tell whether a name is that of an entry of a folder: neither hidden nor a way elsewhere."""
    return bool(name) and not name.startswith(".") and Path(name).name == name


def _locked(path: Path) -> IO[str] | None:
    """Return a file that is open and locked; None if another process holds it.

    The lock goes with the process, however it ends.
    """
    file = path.open("a+", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file
