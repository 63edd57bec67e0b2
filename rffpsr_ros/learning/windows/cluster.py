"""Work done by the workers of a Dask cluster, in the fixed order of the data.

Nothing here imports Dask: whoever has its client brings it along.
"""

from __future__ import annotations

import pickle
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Generic

from rffpsr_ros.learning.windows.blas_threads import keep_one_blas_thread
from rffpsr_ros.learning.windows.workers import (
    THIS_PROCESS,
    HeldT,
    Holders,
    ItemT,
    ResultT,
    Workers,
)

AHEAD = 3
"""Items handed out per thread of the cluster: enough that none waits for the next one."""


class Cluster:
    """The workers of a Dask cluster.

    An item goes where its recording was read, while that worker lives; every item can be worked on
    by any worker, and its result does not depend on which. So a lost worker costs the items it was
    about, and the bags it had read.

    Parameters
    ----------
    client
        A ``distributed.Client``.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._pack: Callable[[Any], bytes] = import_module("cloudpickle").dumps

    def map(
        self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
    ) -> Iterator[ResultT]:
        """Yield the function's results in the order of the items."""
        return self.map_sent(self.send(function), items)

    def holding(self, value: HeldT) -> Holders[HeldT]:
        """Return the workers with a value that travels to them once, however often they map."""
        return _Holding[HeldT](self, self.send(value))

    def send(self, value: Any) -> Any:
        """Return the future of a value, packed.

        It travels once to every worker that needs it, and as a task's result it is made again
        where it was lost. It and the items are packed here: Dask would give arrays that lie
        anywhere in memory, and products round differently there.
        """
        with warnings.catch_warnings():
            # Data within a graph are what Dask warns of, and what makes them survive their holder.
            warnings.filterwarnings("ignore", "Sending large graph")
            return self._client.submit(_same, self._pack(value), pure=False)

    def map_sent(self, work: Any, items: Sequence[ItemT], *held: Any) -> Iterator[Any]:
        """Yield the results of a function that was sent, called with what is held and each item."""
        waiting: deque[Any] = deque()
        upcoming = iter(items)
        ahead = max(AHEAD * sum(self._client.nthreads().values()), AHEAD)
        for item in upcoming:
            waiting.append(self._submit(work, item, *held))
            if len(waiting) == ahead:
                break
        while waiting:
            result = self._result(waiting.popleft())
            for item in upcoming:
                waiting.append(self._submit(work, item, *held))
                break
            yield result

    def _result(self, future: Any) -> Any:
        result = future.result()
        if hasattr(result, "home"):  # what it tells of lies where it was made
            result.home = next(iter(self._client.who_has([future])[future.key]), None)
        return result

    def _submit(self, work: Any, item: Any, *held: Any) -> Any:
        home = _home(item)
        place = {} if home is None else {"workers": [home], "allow_other_workers": True}
        return self._client.submit(_do, work, self._pack(item), *held, pure=False, **place)


class _Holding(Generic[HeldT]):
    def __init__(self, cluster: Cluster, held: Any) -> None:
        self._cluster = cluster
        self._held = held

    def map(
        self, function: Callable[[HeldT, ItemT], ResultT], items: Sequence[ItemT]
    ) -> Iterator[ResultT]:
        return self._cluster.map_sent(self._cluster.send(function), items, self._held)


def workers_of(client: Any) -> Workers:
    """Return the workers of a ``distributed.Client``'s cluster; without one, this process."""
    return THIS_PROCESS if client is None else Cluster(client)


def _same(parcel: bytes) -> bytes:
    return parcel


def _do(work: bytes, item: bytes, *held: bytes) -> Any:
    keep_one_blas_thread()
    return _unpacked(work)(*map(_unpacked, held), pickle.loads(item))


@lru_cache(maxsize=4)
def _unpacked(parcel: bytes) -> Any:
    return pickle.loads(parcel)


def _home(item: Any) -> str | None:
    """Return the worker that read the item's first recording, where that is known."""
    while isinstance(item, tuple | list) and len(item):
        item = item[0]
    home = getattr(item, "home", None)
    return home if isinstance(home, str) else None
