"""Completing the episodes that a kill left behind, beside the node's work; without ROS."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from rffpsr_ros.nodes.shared.diagnostics import on_one_line
from rffpsr_ros.recordings.episode_store import EpisodeStore


class Recovery:
    """Starts at once, in a thread: copying a long episode takes seconds.

    If the process ends before it is done, the next one starts over.
    """

    def __init__(self, store: EpisodeStore) -> None:
        self._store = store
        self._result: tuple[list[Path], list[str]] | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def is_over(self, logger: Any) -> bool:
        """Return whether it is over; to be asked until it is, when it says what came of it."""
        if self._result is None:
            return False
        saved, lost = self._result
        for bag in saved:
            said = f"episode {bag.name}, cut short by a kill, was recovered"
            logger.warning(on_one_line(said))
        for sentence in lost:
            logger.error(on_one_line(sentence))
        return True

    def _work(self) -> None:
        try:
            self._result = self._store.recover()
        except Exception as problem:  # A thread's exception would only be printed.
            self._result = ([], [f"recovering episodes failed: {problem}"])
