"""A thread with a process of its own, which computes one task after the other."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from rffpsr_ros.errors import InputError
from rffpsr_ros.parallel.parcels import packed
from rffpsr_ros.parallel.worker_process import CANCEL

_WORKER = "rffpsr_ros.parallel.worker_process"


class Work(Protocol):
    """A task that is handed over."""

    task: Any
    only_here: bool

    def computed(self, result: Any, problem: Exception | None, said: Sequence[Any]) -> None:
        """Take what was found: a result or a problem, and warnings."""
        ...


class Employer(Protocol):
    """Who has tasks, and hears of them; see `Processes`."""

    def take(self, patient: bool) -> Any:
        """Return a task, waiting for one; None: there are no more.

        ``patient``: one that is not wanted yet.
        """
        ...

    def put_back(self, submitted: Any) -> None:
        """Let anyone take a task."""
        ...

    def closed(self) -> bool:
        """Return whether nobody wants results any more."""
        ...

    def tell(self, submitted: Any, words: Sequence[Any]) -> None:
        """Have the progress of a task told."""
        ...

    def look_again(self) -> None:
        """Let whoever waits for a result look again."""
        ...


PATIENT_NICENESS = 5
"""Of a process whose work is not wanted yet. Where all cores are at work it has a third of the time
that one has whose work is waited for; no less, for some day its own is."""


class Helper:
    """Takes tasks and has them computed until there are no more, or its process is gone.

    A ``patient`` one takes those that are not wanted yet, and leaves the processor to the others.
    """

    def __init__(self, employer: Employer, patient: bool = False) -> None:
        self._employer = employer
        self._patient = patient
        self._process: subprocess.Popen[bytes] | None = None
        self._at_work: tuple[Work, Connection] | None = None
        self._handing = threading.Lock()
        self._starting = threading.Lock()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """End the process, and return when it has ended."""
        with self._starting:
            if self._process is not None:
                self._process.kill()
        self._thread.join()

    def cancel(self, submitted: Work) -> None:
        """End a task, if this one is at it."""
        with self._handing:
            if self._at_work is not None and self._at_work[0] is submitted:
                with suppress(OSError):  # the process is gone
                    self._at_work[1].send_bytes(CANCEL)

    def _work(self) -> None:
        submitted: Work | None = None
        try:
            with self._starting:
                if self._employer.closed():
                    return
                self._process = _start(PATIENT_NICENESS if self._patient else 0)
            with _connections(self._process) as (to, back):
                while (submitted := self._employer.take(self._patient)) is not None:
                    self._hand_over(submitted, to, back)
                    submitted = None
        except Exception:  # the process is gone, say, or could not be started
            if submitted is not None:
                self._return(submitted)
        finally:
            if self._process is not None:
                self._process.kill()
                self._process.wait()

    def _hand_over(self, submitted: Work, to: Connection, back: Connection) -> None:
        """Have a task computed, and tell who waits for it."""
        try:
            parcel = packed(submitted.task)
        except Exception:  # such as an object of a class that is none of a module's
            self._return(submitted)
            return
        with self._handing:
            to.send_bytes(parcel)
            self._at_work = submitted, to
        try:
            self._listen(submitted, back)
        finally:
            with self._handing:
                self._at_work = None

    def _listen(self, submitted: Work, back: Connection) -> None:
        """Pass on what a task tells, and its result."""
        while True:
            word, *what = pickle.loads(back.recv_bytes())
            if word == "progress":
                self._employer.tell(submitted, what)
                continue
            if word == "result":
                submitted.computed(what[0], None, what[1])
            elif word == "input error":
                submitted.computed(None, InputError(what[0]), what[1])
            else:  # an error that nobody foresaw has its own traceback here
                self._return(submitted)
                return
            self._employer.look_again()
            return

    def _return(self, submitted: Work) -> None:
        submitted.only_here = True
        self._employer.put_back(submitted)


@contextmanager
def _connections(process: subprocess.Popen[bytes]) -> Iterator[tuple[Connection, Connection]]:
    """Give the connection to a process's standard input, and that from its output."""
    assert process.stdin is not None
    assert process.stdout is not None
    to = Connection(os.dup(process.stdin.fileno()), readable=False)
    back = Connection(os.dup(process.stdout.fileno()), writable=False)
    process.stdin.close()
    process.stdout.close()
    try:
        yield to, back
    finally:
        with suppress(OSError):
            to.close()
        with suppress(OSError):
            back.close()


def _start(niceness: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", _WORKER, str(niceness)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=child_environment(),
    )


def child_environment() -> dict[str, str]:
    """Return an environment in which a process finds this very package, on one thread of BLAS."""
    package = str(Path(__file__).resolve().parents[2])
    path = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path), **dict.fromkeys(threads, "1")}
