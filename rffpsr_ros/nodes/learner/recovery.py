"""Completing the episodes that a kill left behind, beside the node's work; without ROS."""

from __future__ import annotations

import threading
from pathlib import Path

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

    def result(self) -> tuple[list[Path], list[str]] | None:
        """Return what `EpisodeStore.recover` returned; None as long as it is at work."""
        return self._result

    def _work(self) -> None:
        try:
            self._result = self._store.recover()
        except Exception as problem:  # A thread's exception would only be printed.
            self._result = ([], [f"recovering episodes failed: {problem}"])
