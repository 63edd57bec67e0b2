"""The filter node as a process, and what is done to it: killed, stopped, reloaded, disks full."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.realtime import CHECKOUT
from benchmarks.soak.faults import KILL

PATIENCE = 60.0
LISTENED = ("prediction", "predicted", "trajectory", "band", "error", "state")
STOP_SECONDS = 0.5
FULL_SECONDS = 1.0
LISTEN_SECONDS = 0.5


def start(module: str, *words: str, **options: Any) -> subprocess.Popen[str]:
    """Start a part of this bench, or a node, as a process."""
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join([str(CHECKOUT), environment.get("PYTHONPATH", "")])
    command = [sys.executable, *(["-m", module] if module else []), *words]
    return subprocess.Popen(command, env=environment, cwd=CHECKOUT, text=True, **options)


def with_parameters(program: Sequence[str], parameters: Mapping[str, Any]) -> list[str]:
    """Return the command of a node."""
    words = [*program, "--ros-args"]
    for name, value in parameters.items():
        words += ["-p", f"{name}:={value}"]
    return words


class NodeProcess:
    """The node, started again whenever it has ended, and the lines that it logs.

    Attributes
    ----------
    lines
        What was logged, by all its lives.
    lives
        How often it was started.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self.lines: list[str] = []
        self.lives = 0
        self.respawn()

    def respawn(self) -> None:
        """Start it, and return once it serves."""
        self._serving = threading.Event()
        self._process = start("", *self._words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.lives += 1
        threading.Thread(
            target=self._read, args=(self._process, self._serving), daemon=True
        ).start()
        deadline = time.monotonic() + PATIENCE
        while not self._serving.wait(0.05):
            assert self.alive, "the filter node ended before it served:\n" + self.last_lines()
            assert time.monotonic() < deadline, "the filter node does not serve"

    def _read(self, process: subprocess.Popen[str], serving: threading.Event) -> None:
        assert process.stderr is not None
        for line in process.stderr:
            self.lines.append(line.rstrip())
            if "serving" in line:
                serving.set()

    @property
    def pid(self) -> int:
        """Of the present life."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def last_lines(self) -> str:
        """Return the end of what it logged."""
        return "\n".join(self.lines[-20:])

    def lines_by_level(self) -> dict[str, int]:
        """Return how many lines of each level were logged, and how many of no level."""
        levels = ("[INFO]", "[WARN]", "[ERROR]", "[FATAL]")
        found = (next((one[1:-1] for one in levels if one in line), "") for line in self.lines)
        return dict(Counter(level or "other" for level in found))

    def usual_lines(self) -> dict[str, int]:
        """Return what was logged most often; numbers do not count, nor where files lie."""
        named = (re.sub(r"/[\w./+-]*/", "", line.split("]: ")[-1]) for line in self.lines)
        said = (re.sub(r"[-\d.e+]*\d[-\d.e+]*", "#", line) for line in named)
        return dict(Counter(line[:120] for line in said).most_common(25))

    def end(self, number: int = signal.SIGTERM) -> None:
        """End it."""
        self._process.send_signal(number)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Machine:
    """Does faults to a filter node; a ROS node of its own for services and subscriptions.

    Parameters
    ----------
    node
        The filter.
    model, log
        The file that it serves, and the folder of its replay logs.
    """

    def __init__(self, node: NodeProcess, model: Path, log: Path) -> None:
        import rclpy
        from rclpy.node import Node
        from std_srvs.srv import Trigger

        rclpy.init()
        self.node, self._model, self._log = node, model, log
        self._ros: Any = Node("machine")
        self._reload: Any = self._ros.create_client(Trigger, "/rffpsr_filter/reload")
        self._acts: Mapping[str, Callable[[], None]] = {
            "reload": self._do_reload,
            "reload of a broken file": self._reload_broken,
            "disk full": self._fill_disk,
            "20 listeners": self._storm,
            "stopped for half a second": self._stop,
            KILL: self._kill,
        }

    def do(self, kind: str) -> None:
        """Do a fault, and return when its cause is over."""
        self._acts[kind]()

    def close(self) -> None:
        """Leave ROS."""
        import rclpy

        self._ros.destroy_node()
        rclpy.shutdown()

    def _do_reload(self) -> None:
        assert self._answer().success, "the same model was not served again"

    def _reload_broken(self) -> None:
        whole = self._model.read_bytes()
        self._replace(whole[: len(whole) // 2])
        refused = not self._answer().success
        self._replace(whole)
        assert refused, "half a model file was served"
        self._do_reload()  # until then the diagnostics say rightly that there is a newer file

    def _replace(self, data: bytes) -> None:
        beside = self._model.with_suffix(".beside")
        beside.write_bytes(data)
        beside.replace(self._model)

    def _answer(self) -> Any:
        import rclpy
        from std_srvs.srv import Trigger

        assert self._reload.wait_for_service(PATIENCE), "no service ~/reload"
        future = self._reload.call_async(Trigger.Request())
        rclpy.spin_until_future_complete(self._ros, future, timeout_sec=PATIENCE)
        answer = future.result()
        assert answer is not None, "~/reload does not answer"
        return answer

    def _fill_disk(self) -> None:
        """Let every write to a file fail for a while: the limit on its size is what can be set."""
        kind = resource.RLIMIT_FSIZE
        before = resource.prlimit(self.node.pid, kind)
        resource.prlimit(self.node.pid, kind, (0, before[1]))
        time.sleep(FULL_SECONDS)
        resource.prlimit(self.node.pid, kind, before)

    def _storm(self) -> None:
        from rffpsr_ros.nodes.shared.message_classes import message_class
        from rffpsr_ros.nodes.shared.topic_inputs import sensor_profile
        from rffpsr_ros.recordings.forecast_messages import (
            FORECAST_TYPES,
            PREDICTED_TYPE,
            PREDICTION_TYPE,
        )

        types = {**FORECAST_TYPES, "error": PREDICTED_TYPE, "state": PREDICTION_TYPE}
        come = [
            self._ros.create_subscription(
                message_class(types[name]), f"/rffpsr_filter/{name}", _ignore, sensor_profile(1)
            )
            for name in _twenty(LISTENED)
        ]
        time.sleep(LISTEN_SECONDS)
        for one in come:
            self._ros.destroy_subscription(one)

    def _stop(self) -> None:
        os.kill(self.node.pid, signal.SIGSTOP)
        time.sleep(STOP_SECONDS)
        os.kill(self.node.pid, signal.SIGCONT)

    def _kill(self) -> None:
        self.node.end(signal.SIGKILL)
        for folder in self._log.iterdir():  # an hour of it would fill a disk in earnest
            shutil.rmtree(folder)
        self.node.respawn()


def _twenty(names: Sequence[str]) -> list[str]:
    return [names[number % len(names)] for number in range(20)]


def _ignore(message: Any) -> None:
    """Take a message without looking at it."""
