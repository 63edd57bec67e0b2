"""Tasks side by side in several processes of this machine, each on one thread of BLAS.

They are started with the first task; they are new interpreters, not forks, which would take threads
and locks along, and import this package alone, not the program that learns. They end with the
``with`` block, and on their own when this process is gone, however that came about. This process
decides what is computed next; of that it computes what nobody has begun when it waits for it, and
nothing else, so that it goes on as soon as a result is there.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from types import TracebackType
from typing import Any, Generic, cast

from rffpsr_ros.errors import InputError, shown
from rffpsr_ros.parallel.cluster import workers_of
from rffpsr_ros.parallel.freed_memory import keep_freed_memory
from rffpsr_ros.parallel.helper import Helper
from rffpsr_ros.parallel.workers import (
    THIS_PROCESS,
    Broadcast,
    ItemT,
    Pending,
    ResultT,
    Task,
    ValueT,
    Workers,
)
from rffpsr_ros.progress import Progress

PROCESSES = "processes"
"""The option that says how many."""

MOST_PROCESSES = 1024


def checked_processes(number: Any) -> int | None:
    """Return a number of processes; None: one for each core.

    Raises
    ------
    InputError
        If it is none.
    """
    if number is None or (type(number) is int and 1 <= number <= MOST_PROCESSES):
        return number
    raise InputError(
        f"{PROCESSES} is {shown(number)}; it must be an integer from 1 to {MOST_PROCESSES}"
    )


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def workers_for(client: Any, processes: int | None) -> Iterator[Workers]:
    """Give the workers of a Dask ``client``'s cluster, or so many processes; None: one a core.

    This process computes as well, and keeps its freed memory from here on.
    """
    keep_freed_memory()
    number = usable_cores() if processes is None else processes
    if client is not None or number == 1:
        yield workers_of(client)
    else:
        with Processes(number) as together:
            yield together


class Processes:
    """So many processes that compute tasks side by side, this one among them.

    As many compute, at a lower priority, what is not wanted yet; none, if the number is one. A
    process that dies costs the task it had, which this one computes anew. Sums over the data stay
    in this process.
    """

    together = True

    def __init__(self, number: int) -> None:
        self._number = number
        self._changed = threading.Condition()
        self._waiting: list[tuple[int, int, Submitted[Any]]] = []
        self._order = count()
        self._reports: deque[tuple[Submitted[Any], Sequence[Any]]] = deque()
        self._telling: Submitted[Any] | None = None
        self._helpers: dict[bool, list[Helper]] = {False: [], True: []}  # whether they are patient
        self._closed = False

    def __enter__(self) -> Processes:
        """Start nothing yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the other processes, whatever they are at."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for helper in self._all_helpers():
            helper.end()

    def map(
        self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
    ) -> Iterator[ResultT]:
        """Yield the function's results in the order of the items, computed in this process."""
        return THIS_PROCESS.map(function, items)

    def broadcast(self, value: ValueT) -> Broadcast[ValueT]:
        """Return the value for maps, which stay in this process."""
        return THIS_PROCESS.broadcast(value)

    def submit(self, task: Task[ResultT], progress: Progress, urgency: int = 0) -> Pending[ResultT]:
        """Have a task computed, by another process or by this one when it waits for it."""
        submitted = Submitted(task, progress, self)
        self.put_back(submitted, urgency)
        patient = urgency > 0
        if not self._helpers[patient] and self._number > 1:
            count = self._number if patient else self._number - 1
            self._helpers[patient] = [Helper(self, patient) for _ in range(count)]
        return submitted

    def hasten(self, submitted: Submitted[Any], urgency: int) -> None:
        """Have a task that waits begun as one of this urgency, if that is sooner."""
        with self._changed:
            for place, (now, order, one) in enumerate(self._waiting):
                if one is submitted and urgency < now:
                    self._waiting[place] = urgency, order, one
            self._changed.notify_all()

    def cancel(self, submitted: Submitted[Any]) -> None:
        """Have a task not begun, or ended."""
        with self._changed:
            if self._taken(lambda one, _: one is submitted):
                return
        for helper in self._all_helpers():
            helper.cancel(submitted)

    # For the threads that speak with the other processes

    def put_back(self, submitted: Submitted[Any], urgency: int = -1) -> None:
        """Let anyone take a task."""
        with self._changed:
            self._waiting.append((urgency, next(self._order), submitted))
            self._changed.notify_all()

    def take(self, patient: bool) -> Submitted[Any] | None:
        """Return a task that may be computed elsewhere, waiting for one; None: there are no more.

        ``patient``: one that is not wanted yet. None is also the answer to a process that ends.
        """

        def fits(one: Submitted[Any], urgency: int) -> bool:
            return not one.only_here and (urgency > 0) is patient

        with self._changed:
            while not self._closed:
                submitted = self._taken(fits)
                if submitted is not None:
                    return submitted
                self._changed.wait()
        return None

    def closed(self) -> bool:
        """Return whether nobody wants results any more."""
        return self._closed

    def look_again(self) -> None:
        """Let whoever waits for a result look again."""
        with self._changed:
            self._changed.notify_all()

    def tell(self, submitted: Submitted[Any], words: Sequence[Any]) -> None:
        """Have the progress of a task told."""
        with self._changed:
            self._reports.append((submitted, words))
            self._changed.notify_all()

    # For the thread that learns

    def wait_for(self, wanted: Submitted[Any]) -> None:
        """Return once a task is done; compute it, if nobody has begun to."""
        while True:
            self.make_reports()
            with self._changed:
                if wanted.done:
                    return
                here = self._taken(lambda one, _: one is wanted)
                if here is None and not self._reports:
                    self._changed.wait()
            if here is not None:
                here.compute()

    def make_reports(self) -> None:
        """Tell what the tasks of others have to tell."""
        while self._reports:
            self.report(*self._reports.popleft())

    def report(self, submitted: Submitted[Any], words: Sequence[Any]) -> None:
        """Tell the progress of a task, unless another one that is under way is being told of.

        Who listens hears of one task after the other.
        """
        if self._telling is None or self._telling.done:
            self._telling = submitted
        if self._telling is submitted:
            submitted.progress(*words)

    def _all_helpers(self) -> list[Helper]:
        return [helper for some in self._helpers.values() for helper in some]

    def _taken(self, fits: Callable[[Submitted[Any], int], bool]) -> Submitted[Any] | None:
        """Take the most urgent of the tasks that wait and fit; None if there is none."""
        fit = [one for one in self._waiting if fits(one[2], one[0])]
        if not fit:
            return None
        chosen = min(fit)
        self._waiting.remove(chosen)
        return chosen[2]


class Submitted(Generic[ResultT]):
    """A task of `Processes`, computed once, here or elsewhere.

    Attributes
    ----------
    only_here
        Whether it cannot travel, or has failed elsewhere.
    """

    def __init__(self, task: Task[ResultT], progress: Progress, processes: Processes) -> None:
        self.task: Task[ResultT] | None = task
        self.progress = progress
        self.done = False
        self.only_here = False
        self._processes = processes
        self._result: ResultT | None = None
        self._problem: Exception | None = None
        self._warnings: Sequence[Any] = ()

    def result(self) -> ResultT:
        """Return the result, as `Pending` says."""
        self._processes.wait_for(self)
        said, self._warnings = self._warnings, ()
        for one in said:
            warnings.warn_explicit(*one)
        if self._problem is not None:
            raise self._problem
        return cast(ResultT, self._result)

    def hasten(self, urgency: int) -> None:
        """Have it begun sooner, as `Pending` says."""
        self._processes.hasten(self, urgency)

    def cancel(self) -> None:
        """Have it not begun, or ended, as `Pending` says."""
        self._processes.cancel(self)

    def compute(self) -> None:
        """Compute in this process; what is raised is raised where the result is asked for."""
        assert self.task is not None
        try:
            self._result = self.task(self._told_here)
        except Exception as problem:
            self._problem = problem
        self.task, self.done = None, True

    def computed(self, result: ResultT | None, problem: Exception | None, said: Any) -> None:
        """Take what another process found."""
        self._result, self._problem, self._warnings = result, problem, said
        self.task, self.done = None, True

    def _told_here(self, stage: str, fraction: float, error: float | None = None) -> None:
        self._processes.make_reports()
        self._processes.report(self, (stage, fraction, error))
