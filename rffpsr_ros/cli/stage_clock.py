"""What each stage of a command took, from its reports of progress."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

from rffpsr_ros.progress import Progress


@dataclass(frozen=True)
class Stage:
    """Wall and processor seconds of a stage, and the process's peak memory (MB) at its end."""

    name: str
    seconds: float
    processor_seconds: float
    peak: float


class StageClock:
    """Passes progress on and takes the time of every stage.

    Processor time is this process's own: what a cluster's workers took is not in it.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._stages: list[Stage] = []
        self._name = ""
        self._began = self._processor_began = 0.0

    def __call__(self, stage: str, fraction: float, error: float | None = None) -> None:
        """Take note that ``fraction`` (0 to 1) of ``stage`` is done."""
        if stage != self._name:
            self._end(stage)
        self._progress(stage, fraction, error)

    def _end(self, following: str) -> None:
        wall, processor = time.perf_counter(), time.process_time()
        if self._name:
            spent = wall - self._began, processor - self._processor_began
            self._stages.append(Stage(self._name, *spent, peak_memory()))
        self._name, self._began, self._processor_began = following, wall, processor

    def stages(self) -> list[Stage]:
        """End the last stage and return all, in order."""
        self._end("")
        return list(self._stages)


def peak_memory() -> float:
    """Return the most memory (MB) that this process has held so far."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def stage_table(stages: list[Stage]) -> list[str]:
    """Return the stages as lines of a table, with their sum."""
    lines = [f"{'stage':<30}{'seconds':>9}{'CPU s':>9}{'peak MB':>9}"]
    lines += [
        f"{s.name:<30}{s.seconds:>9.2f}{s.processor_seconds:>9.2f}{s.peak:>9.0f}" for s in stages
    ]
    total, processor = sum(s.seconds for s in stages), sum(s.processor_seconds for s in stages)
    return [*lines, f"{'all':<30}{total:>9.2f}{processor:>9.2f}{stages[-1].peak:>9.0f}"]


def stages_as_json(stages: list[Stage]) -> list[dict[str, Any]]:
    """Return the stages in JSON types."""
    return [asdict(stage) for stage in stages]
