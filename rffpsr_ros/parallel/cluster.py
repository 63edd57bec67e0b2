"""Computing by the workers of a Dask cluster: sums in the fixed order of the data, and tasks.

Nothing here imports Dask: who calls has its client.
"""

from __future__ import annotations

import pickle
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from threading import Event
from typing import Any, Generic
from uuid import uuid4

from rffpsr_ros.parallel.parcels import packed
from rffpsr_ros.parallel.worker_setup import settle
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

AHEAD = 3
"""Items submitted per thread of the cluster: enough that none waits for the next one."""


class Cluster:
    """The workers of a Dask cluster.

    An item goes to the worker that read its recording, while that lives; every item can be computed
    by any worker, and its result does not depend on which. So a lost worker costs the items it was
    working on, and the bags it had read.

    Parameters
    ----------
    client
        A ``distributed.Client``.
    """

    together = True

    def __init__(self, client: Any) -> None:
        self._client = client
        self._pack: Callable[[Any], bytes] = import_module("cloudpickle").dumps

    def map(
        self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
    ) -> Iterator[ResultT]:
        """Yield the function's results in the order of the items."""
        # The function, with the feature maps in it, travels once to every worker.
        work = self._send(function)
        waiting: deque[Any] = deque()
        upcoming = iter(items)
        ahead = max(AHEAD * sum(self._client.nthreads().values()), AHEAD)
        for item in upcoming:
            waiting.append(self._submit(work, item))
            if len(waiting) == ahead:
                break
        while waiting:
            result = self._result(waiting.popleft())
            for item in upcoming:
                waiting.append(self._submit(work, item))
                break
            yield result

    def broadcast(self, value: ValueT) -> Broadcast[ValueT]:
        """Send a value to every worker once, for any number of maps."""
        return _ClusterBroadcast[ValueT](self._client, self._pack, self._send(value))

    def submit(self, task: Task[ResultT], progress: Progress, urgency: int = 0) -> Pending[ResultT]:
        """Have a worker compute a task."""
        return _ClusterTask[ResultT](self._client, packed(task), progress, urgency)

    def _send(self, value: Any) -> Any:
        """Return the future of a value, which as a task's result is made again where it is lost.

        It and the items are pickled here: Dask would give arrays of another alignment, and products
        round differently there.
        """
        with warnings.catch_warnings():
            # Dask warns of data within a graph; there they survive the worker that has them.
            warnings.filterwarnings("ignore", "Sending large graph")
            return self._client.submit(_same, self._pack(value), pure=False)

    def _result(self, future: Any) -> Any:
        result = future.result()
        if hasattr(result, "home"):  # a recording that lies where it was read
            result.home = next(iter(self._client.who_has([future])[future.key]), None)
        return result

    def _submit(self, work: Any, item: Any) -> Any:
        home = _home(item)
        place = {} if home is None else {"workers": [home], "allow_other_workers": True}
        return self._client.submit(_do, work, self._pack(item), pure=False, **place)


class _ClusterBroadcast(Generic[ValueT]):
    """The workers of a cluster with a value; each thread gets one share of the items.

    A map may take no longer than a few of Dask's round trips: it submits one task for all of a
    thread's items, and the function with them.
    """

    def __init__(self, client: Any, pack: Callable[[Any], bytes], value: Any) -> None:
        self._client = client
        self._pack = pack
        self._value = value

    def map(
        self, function: Callable[[ValueT, ItemT], ResultT], items: Sequence[ItemT]
    ) -> Iterator[ResultT]:
        threads = self._client.nthreads().items()
        turns = sorted((turn, worker) for worker, count in threads for turn in range(count))
        places = [worker for _, worker in turns][: len(items)] or [None]
        bounds = [len(items) * i // len(places) for i in range(len(places) + 1)]
        shares = [items[first:last] for first, last in pairwise(bounds)]
        futures = [
            self._client.submit(
                _do_share,
                self._value,
                self._pack((function, share)),
                pure=False,
                workers=place,
                allow_other_workers=place is not None,
            )
            for share, place in zip(shares, places, strict=True)
        ]
        for future in futures:
            yield from future.result()


POLLING_SECONDS = 0.2
"""So often whoever waits for a task looks for what it tells."""


class _ClusterTask(Generic[ResultT]):
    """A task that a worker computes; what it tells comes by an event of Dask's."""

    def __init__(self, client: Any, parcel: bytes, progress: Progress, urgency: int) -> None:
        self._client, self._progress = client, progress
        self._reports: deque[Any] = deque()
        self._topic = f"rffpsr-{uuid4().hex}"
        client.subscribe_topic(self._topic, self._take)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            self._future = client.submit(
                _do_task, parcel, self._topic, pure=False, priority=-urgency
            )

    def result(self) -> ResultT:
        # Not by the future's own timeout: a result that comes just then is lost in Dask's `sync`.
        done = Event()
        self._future.add_done_callback(lambda _: done.set())
        try:
            while not done.wait(POLLING_SECONDS):
                self._report()
            self._report()
        finally:
            self._client.unsubscribe_topic(self._topic)
        result: ResultT = pickle.loads(self._future.result())
        return result

    def hasten(self, urgency: int) -> None:
        """What a scheduler has keeps its priority."""

    def cancel(self) -> None:
        """Have it not begun, or ended the next time that it tells how far it is."""
        self._client.unsubscribe_topic(self._topic)
        self._future.cancel()

    def _take(self, event: Any) -> None:
        self._reports.append(event[1])

    def _report(self) -> None:
        while self._reports:
            self._progress(*self._reports.popleft())


class _Cancelled(Exception):
    """Ends a task that nobody wants any more; Dask brings home nothing but an Exception."""


def _do_task(parcel: bytes, topic: str) -> Any:
    settle()
    distributed = import_module("distributed")
    worker, key = distributed.get_worker(), distributed.worker.thread_state.key

    def progress(stage: str, fraction: float, error: float | None = None) -> None:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            raise _Cancelled
        worker.log_event(topic, (stage, fraction, error))

    return packed(pickle.loads(parcel)(progress))


def workers_of(client: Any) -> Workers:
    """Return the workers of a ``distributed.Client``'s cluster; without one, this process."""
    return THIS_PROCESS if client is None else Cluster(client)


def _same(parcel: bytes) -> bytes:
    return parcel


def _do(work: bytes, item: bytes) -> Any:
    settle()
    return _unpacked(work)(pickle.loads(item))


def _do_share(parcel: bytes, share: bytes) -> list[Any]:
    settle()
    function, items = pickle.loads(share)
    value = _unpacked(parcel)
    return [function(value, item) for item in items]


@lru_cache(maxsize=4)
def _unpacked(parcel: bytes) -> Any:
    return pickle.loads(parcel)


def _home(item: Any) -> str | None:
    """Return the worker that read the item's first recording, where that is known."""
    while isinstance(item, tuple | list) and len(item):
        item = item[0]
    home = getattr(item, "home", None)
    return home if isinstance(home, str) else None
