"""Nodes as processes of the demonstration: started, watched, and ended together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import rffpsr_ros
from rffpsr_ros.errors import InputError

PATIENCE = 5.0
"""Seconds that a node has to end when asked to."""


class NodeProcesses:
    """The nodes that run; a context that ends them all, the last one first.

    Parameters
    ----------
    logs
        A folder for what they print.
    environment
        Theirs, beside what they inherit.
    """

    def __init__(self, logs: Path, environment: Mapping[str, str]) -> None:
        self._logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        checkout = str(Path(rffpsr_ros.__file__).resolve().parents[1])
        path = [checkout, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), **environment}

    def start(self, name: str, parameters: Mapping[str, Any], remaps: Sequence[str] = ()) -> None:
        """Start a node of this package, such as ``filter_node``."""
        words = ["--ros-args"]
        for remap in remaps:
            words += ["-r", remap]
        for key, value in parameters.items():
            words += ["-p", f"{key}:={str(value).lower() if isinstance(value, bool) else value}"]
        run = f"import sys; from rffpsr_ros.nodes.{name} import main; sys.exit(main())"
        with (self._logs / f"{name}.log").open("wb") as log:
            self._running[name] = subprocess.Popen(
                [sys.executable, "-c", run, *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,  # Ctrl-C in the terminal is for the demonstration.
            )

    def check(self) -> None:
        """Raise if a node has ended by itself.

        Raises
        ------
        InputError
            With the last line that it printed.
        """
        for name, process in self._running.items():
            if process.poll() is not None:
                lines = (self._logs / f"{name}.log").read_text(errors="replace").splitlines()
                last = lines[-1] if lines else "it printed nothing"
                raise InputError(f"{name} ended with code {process.returncode}: {last}")

    def __enter__(self) -> NodeProcesses:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in reversed(self._running.values()):
            process.send_signal(signal.SIGINT)
        for process in self._running.values():
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
