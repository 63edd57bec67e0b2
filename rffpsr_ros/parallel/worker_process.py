"""A process that computes one task after the other: `Processes` starts it and speaks with it.

Tasks come on standard input and results go to standard output, pickled. A task ends early, the next
time it tells how far it is, once `CANCEL` has come after it. This process ends as soon as nobody
holds the other end of its input any more, also in the middle of a task.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
import warnings
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from rffpsr_ros.errors import InputError

CANCEL = b""
"""In place of a task: the one before it is not wanted any more."""


class Cancelled(BaseException):
    """Ends a task that nobody wants any more."""


def main(niceness: int) -> None:
    """Compute until nobody wants it any more."""
    with suppress(OSError):
        os.nice(niceness)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that learns
    back = Connection(os.dup(sys.stdout.fileno()), readable=False)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # libraries that print do no harm
    parcels: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    cancelled = threading.Event()
    threading.Thread(target=_receive, args=(parcels, cancelled), daemon=True).start()
    from rffpsr_ros.parallel.worker_setup import settle  # numpy and scipy are imported meanwhile

    settle()
    while True:
        _answer(parcels.get(), back, cancelled)


def _receive(parcels: queue.SimpleQueue[bytes], cancelled: threading.Event) -> None:
    """Take tasks, and end the process once there can be no more."""
    source = Connection(os.dup(sys.stdin.fileno()), writable=False)
    try:
        while True:
            parcel = source.recv_bytes()
            if parcel == CANCEL:
                cancelled.set()
            else:  # which comes after the answer to the one before it
                cancelled.clear()
                parcels.put(parcel)
    except (EOFError, OSError):
        os._exit(0)


def _answer(parcel: bytes, back: Connection, cancelled: threading.Event) -> None:
    from rffpsr_ros.parallel.parcels import packed

    def tell(*words: Any) -> None:
        back.send_bytes(packed(words))

    def progress(stage: str, fraction: float, error: float | None = None) -> None:
        if cancelled.is_set():
            raise Cancelled
        tell("progress", stage, fraction, error)

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                answer = ("result", pickle.loads(parcel)(progress))
            except InputError as problem:
                answer = ("input error", str(problem))
            except Cancelled:
                answer = ("result", None)
        tell(*answer, [(w.message, w.category, w.filename, w.lineno) for w in caught])
    except OSError:
        os._exit(0)  # nobody listens any more
    except Exception:
        tell("failed")


if __name__ == "__main__":
    main(int(sys.argv[1]))
