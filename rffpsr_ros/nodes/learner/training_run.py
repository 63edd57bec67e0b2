"""A training under way in another process: started, listened to, cancelled; without ROS.

Never in a thread or a fork of the node: a thread would hold up its callbacks, and a fork would
take the middleware's threads and locks along.
"""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from rffpsr_ros.nodes.shared.diagnostics import Level, NodeFinding
from rffpsr_ros.parallel.helper import child_environment

PATIENCE = 1.0
"""Seconds that a cancelled training has to end by itself."""
NICENESS = 10
"""By how much training stands back behind what the robot needs."""


class Manner(NamedTuple):
    """How training goes about it.

    Attributes
    ----------
    niceness
        By how much it stands back behind other processes, 0 to 19.
    processes
        How many learn side by side, if the configuration does not say.
    start
        The model file to go on from, where that can be; empty: begin anew.
    automatic
        Whether the new model must be better than that.
    forget
        The share that what was learned before loses of what it counts.
    report
        Whether a page on the model is written beside it.
    """

    niceness: int = NICENESS
    processes: int = 1
    start: str = ""
    automatic: bool = False
    forget: float = 0.0
    report: bool = False


class TrainingRun:
    """Starts training at once.

    Parameters
    ----------
    channels
        The channel configuration as `ChannelConfiguration.to_mapping` gives it.
    bags
        What to train on.
    target
        The model file to write; its folder is made if need be.
    manner
        How.

    Attributes
    ----------
    stage, fraction
        How far it is.
    warnings
        What the recordings lack, and which of them are left out, a sentence each.
    left_out
        The latter alone.
    error
        The best validation error so far, in standard deviations; None in stages that know none.
    """

    def __init__(
        self,
        channels: Mapping[str, Any],
        bags: Sequence[Path],
        target: Path,
        manner: Manner | None = None,
    ) -> None:
        self._staging = target.parent / f".training_{secrets.token_hex(8)}"
        self.stage = "starting"
        self.fraction = 0.0
        self.error: float | None = None
        self.warnings: list[str] = []
        self.left_out: list[str] = []
        self._result: dict[str, Any] = {}
        self._heard: deque[dict[str, Any]] = deque()
        # Kept open while this object lives, read if the process fails.
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rffpsr_ros.nodes.learner.training_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=child_environment(),
            start_new_session=True,  # Ctrl-C in the terminal is for the node to handle.
        )
        request = {
            "channels": channels,
            "bags": [str(b) for b in bags],
            "out": str(target),
            "staging": str(self._staging),
            **(manner or Manner())._asdict(),
        }
        # A pipe takes 64 kB, and the rest only once the process reads, which it may never do.
        ask = threading.Thread(target=self._ask, args=(json.dumps(request) + "\n",), daemon=True)
        ask.start()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def poll(self) -> dict[str, Any] | None:
        """Take note of progress; return the result once there is one.

        It holds ``model`` (and ``trained_on``, ``mse``), or ``error``.
        """
        ended = self._process.poll() is not None
        if ended:
            self._listener.join(PATIENCE)  # a process it has started itself may hold its output
        while self._heard:
            entry = self._heard.popleft()
            if "stage" in entry:
                self.stage, self.fraction = entry["stage"], entry["fraction"]
                self.error = entry["error_by_now"]
            elif "warning" in entry:
                self.warnings.append(entry["warning"])
            elif "left out" in entry:
                self.left_out.append(entry["left out"])
                self.warnings.append(entry["left out"])
            else:
                self._result = entry
        if not ended:
            return None
        shutil.rmtree(self._staging, ignore_errors=True)  # a killed process could not do it
        return self._result or {"error": self._failure()}

    def progress(self) -> dict[str, Any]:
        """Return stage, progress and error by now, as the learner's status tells them."""
        values: dict[str, Any] = {"stage": self.stage, "progress": round(self.fraction, 2)}
        if self.error is not None:
            values["error [standard deviations]"] = float(f"{self.error:.3g}")
        values |= _numbered(self.warnings)
        return values

    def cancel(self) -> None:
        """End the process, and remove what it may have begun to write, and nothing else."""
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._staging, ignore_errors=True)

    def _ask(self, request: str) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended, and `poll` tells why
            self._process.stdin.write(request)
            self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # a library that prints
            if isinstance(entry, dict):
                self._heard.append(entry)

    def _failure(self) -> str:
        """Return why the process ended without saying."""
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        code = self._process.returncode
        how = f"ended with code {code}" if code >= 0 else f"was killed by signal {-code}"
        return f"training {how}" + (f": {lines[-1]}" if lines else "")


_TOLD = {
    "model": "model",
    "trained on": "trained_on",
    "decision": "decision",
    "verdict": "verdict",
    "report": "report",
}
"""What a status tells of a training, by its names in the result."""


def model_stays(result: Mapping[str, Any], warnings: Sequence[str]) -> NodeFinding:
    """Return what is to be said of a training whose model was not better."""
    values = {"model": result["stays"], "decision": result["decision"], **_numbered(warnings)}
    return NodeFinding("learner", "ok", f"the model stays: {result['stays']}", values)


def model_written(result: Mapping[str, Any], warnings: Sequence[str]) -> NodeFinding:
    """Return what is to be said of a training that gave a model."""
    values = {name: result[key] for name, key in _TOLD.items() if key in result}
    values |= {f"error at horizon {h}": v**0.5 for h, v in enumerate(result["mse"], 1)}
    values |= _numbered(warnings)
    level: Level = "warn" if warnings else "ok"
    return NodeFinding("learner", level, f"model written: {result['model']}", values)


def _numbered(sentences: Sequence[str]) -> dict[str, str]:
    """Return warnings by what a status calls them."""
    return {f"warning {number}": sentence for number, sentence in enumerate(sentences, 1)}
