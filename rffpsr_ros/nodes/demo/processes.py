"""Nodes as processes of the demonstration: started, watched, and ended together."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import rffpsr_ros
from rffpsr_ros.errors import InputError

PATIENCE = 5.0
"""Seconds that a node has to end when asked to."""
DOMAINS = range(215, 233)
"""ROS domains that Linux can use, and hardly anybody does."""
FIRST_PORT, PORTS_PER_DOMAIN = 7410, 250
"""UDP ports at which the first participant of a domain is found (DDSI-RTPS, 9.6.2.3)."""
LOOK_SECONDS = 0.2
ASKED_TO_END_WITH_US = ("setpriv", "--pdeathsig", "INT", "--")
"""Runs a command that gets SIGINT when the process that started it ends, however it does."""

_locks: list[ExitStack] = []


def enter_a_ros_of_its_own(folder: Path) -> None:
    """Keep what is published here from every robot: this machine only, and a domain of its own.

    For this process and those that it starts; what ROS writes goes into the folder.
    """
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["ROS_DOMAIN_ID"] = str(_take_domain())
    os.environ["ROS_LOG_DIR"] = str(folder / "log")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"


def _take_domain() -> int:
    """Return a domain that nobody on this machine is in; among demonstrations it is ours."""
    for domain in DOMAINS:
        with ExitStack() as stack, suppress(OSError):
            path = Path(tempfile.gettempdir()) / f"rffpsr_domain_{domain}.lock"
            lock = stack.enter_context(path.open("a"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_empty(domain):
                _locks.append(stack.pop_all())
                return domain
    raise InputError(f"all of ROS's domains from {DOMAINS[0]} to {DOMAINS[-1]} are in use here")


def is_empty(domain: int) -> bool:
    """Tell whether nobody is in a ROS domain, such as somebody in a container on this network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
        try:
            port.bind(("", FIRST_PORT + PORTS_PER_DOMAIN * domain))
        except OSError:
            return False
    return True


class NodeProcesses:
    """The nodes that run; a context that ends them all, the last one first.

    If this process is killed they end, too, and do not go on in a ROS domain that is taken anew.

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

    def start(
        self,
        name: str,
        parameters: Mapping[str, Any],
        remaps: Sequence[str] = (),
        params_file: Path | None = None,
    ) -> None:
        """Start a node of this package, such as ``filter_node``; parameters win over the file."""
        words = ["--ros-args", *(["--params-file", str(params_file)] if params_file else [])]
        for remap in remaps:
            words += ["-r", remap]
        for key, value in parameters.items():
            words += ["-p", f"{key}:={str(value).lower() if isinstance(value, bool) else value}"]
        module = f"rffpsr_ros.nodes.{name.removesuffix('_node')}.{name}"
        run = f"import sys; from {module} import main; sys.exit(main())"
        self.start_command(name, [sys.executable, "-c", run, *words])

    def start_command(self, name: str, words: Sequence[str]) -> None:
        """Start any command, such as ``ros2 launch``, under a name.

        Raises
        ------
        InputError
            If there is no such command.
        """
        if shutil.which(words[0]) is None:
            raise InputError(f"the command {words[0]} is not installed")
        ending = ASKED_TO_END_WITH_US if shutil.which(ASKED_TO_END_WITH_US[0]) else ()
        with (self._logs / f"{name}.log").open("wb") as log:
            self._running[name] = subprocess.Popen(
                [*ending, *words],
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
                self._fail(name, process.returncode)

    def wait_for_end(self, name: str, meanwhile: Callable[[], None]) -> None:
        """Wait for a node that ends by itself, doing something now and then.

        Raises
        ------
        InputError
            If it ends with an error, or another node ends.
        """
        process = self._running.pop(name)
        try:
            while process.poll() is None:
                self.check()
                meanwhile()
                time.sleep(LOOK_SECONDS)
        except BaseException:
            self._running[name] = process
            raise
        if process.returncode:
            self._fail(name, process.returncode)

    def _fail(self, name: str, code: int) -> NoReturn:
        lines = (self._logs / f"{name}.log").read_text(errors="replace").splitlines()
        last = lines[-1] if lines else "it printed nothing"
        raise InputError(f"{name} ended with code {code}: {last}")

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
