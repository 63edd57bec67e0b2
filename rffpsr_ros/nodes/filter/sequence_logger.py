"""The filter's log of what its model was fed: opened when needed, anew when time goes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.nodes.shared.diagnostics import Complaints
from rffpsr_ros.nodes.shared.message_classes import typestore_of
from rffpsr_ros.numerics.arrays import Array

if TYPE_CHECKING:
    from rffpsr_ros.forecasting.sequence_log import SequenceLog


class SequenceLogger:
    """Keeps `SequenceLog` bags in a folder; does nothing if the folder's name is empty.

    A log that cannot be written is complained of, and forecasts go on without.
    """

    def __init__(self, folder: str, complaints: Complaints) -> None:
        self._folder = folder
        self._complaints = complaints
        self._log: SequenceLog | None = None
        self._early_plan: tuple[Array, int] | None = None
        self._broken = not folder

    def begin(self, types: Mapping[str, str], options: FollowOptions, checksum: str) -> None:
        """Begin a new bag for topics (type by topic); those of unknown type are left out."""
        self.close()
        self._types = {topic: name for topic, name in types.items() if name}
        self._options, self._checksum = options, checksum
        self._early_plan = None

    def message(self, topic: str, receive_ns: int, data: bytes) -> None:
        """Log a message that is about to be fed."""
        if self._broken or topic not in self._types:
            return
        try:
            if self._log is None:
                self._log = self._open(receive_ns)
            elif receive_ns < self._log.last_ns - 1_000_000:
                self.close()
                self._log = self._open(receive_ns)
                self._log.reset("time went back", "episode")
            self._log.message(topic, receive_ns, data)
        except (OSError, InputError) as problem:
            self._give_up(problem)

    def options(self, options: FollowOptions) -> None:
        """Log that options were changed."""
        self._options = options
        self._attempt(lambda log: log.options(options, self._checksum))

    def reset(self, reason: str, start: str) -> None:
        """Log that the follower was reset."""
        self._early_plan = None
        self._attempt(lambda log: log.reset(reason, start))

    def plan(self, plan: Array, receive_ns: int) -> None:
        """Log a plan that is about to be taken; one before all messages waits for the first."""
        if self._log is None:
            self._early_plan = plan, receive_ns
        self._attempt(lambda log: log.plan(plan, receive_ns))

    def flush(self) -> None:
        """Let everything so far survive a kill."""
        self._attempt(lambda log: log.flush())

    def _attempt(self, write: Callable[[SequenceLog], None]) -> None:
        """Write to the bag, if one is open."""
        if self._log is None:
            return
        try:
            write(self._log)
        except (OSError, InputError) as problem:
            self._give_up(problem)

    def close(self) -> None:
        """Complete the bag, if one is open."""
        log, self._log = self._log, None
        if log is None:
            return
        try:
            log.close()
        except OSError as problem:
            self._complaints.error("log", f"the log {log.path} is incomplete: {problem}")

    def _open(self, start_ns: int) -> SequenceLog:
        try:
            from rffpsr_ros.forecasting.sequence_log import CONTROL_TYPE, PLAN_TYPE, SequenceLog
        except ModuleNotFoundError:
            raise InputError(
                "a log needs rosbags, which is not installed: pip install rosbags"
            ) from None
        store = typestore_of([*self._types.values(), CONTROL_TYPE, PLAN_TYPE])
        folder = _new_folder(Path(self._folder).expanduser())
        early, self._early_plan = self._early_plan, None
        log = SequenceLog(
            folder, store, self._types, min(early[1], start_ns) if early else start_ns
        )
        log.options(self._options, self._checksum)
        if early is not None:
            log.plan(*early)
        return log

    def _give_up(self, problem: Exception) -> None:
        self._broken = True
        log, self._log = self._log, None
        if log is not None:
            with suppress(OSError):
                log.close()
        self._complaints.error("log", f"the sequence is no longer logged: {problem}")


def _new_folder(parent: Path) -> Path:
    """Return a folder that does not exist yet, named by date, in one that does."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"log folder {parent} cannot be made: {problem.strerror}") from None
    stem = f"sequence_{datetime.now():%Y-%m-%d_%H-%M-%S}"
    number = 0
    while (path := parent / (f"{stem}_{number}" if number else stem)).exists():
        number += 1
    return path
