"""Work done by the workers of a Dask cluster, in the fixed order of the data.

Nothing here imports Dask: whoever has its client brings it along.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from rffpsr_ros.learning.windows.blas_threads import keep_one_blas_thread
from rffpsr_ros.learning.windows.workers import ItemT, ResultT

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
        # The function, with the feature maps in it, travels once to every worker, and as a task's
        # result it is made again where it was lost. It and the items are packed here: Dask would
        # give arrays that lie anywhere in memory, and products round differently there.
        work = self._client.submit(_same, self._pack(function), pure=False)
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

    def _result(self, future: Any) -> Any:
        result = future.result()
        if hasattr(result, "home"):  # what it tells of lies where it was made
            result.home = next(iter(self._client.who_has([future])[future.key]), None)
        return result

    def _submit(self, work: Any, item: Any) -> Any:
        home = _home(item)
        place = {} if home is None else {"workers": [home], "allow_other_workers": True}
        return self._client.submit(_do, work, self._pack(item), pure=False, **place)


def _same(parcel: bytes) -> bytes:
    return parcel


def _do(work: bytes, item: bytes) -> Any:
    keep_one_blas_thread()
    return _unpacked(work)(pickle.loads(item))


@lru_cache(maxsize=4)
def _unpacked(work: bytes) -> Callable[[Any], Any]:
    function: Callable[[Any], Any] = pickle.loads(work)
    return function


def _home(item: Any) -> str | None:
    """Return the worker that read the item's first recording, where that is known."""
    while isinstance(item, tuple | list) and len(item):
        item = item[0]
    home = getattr(item, "home", None)
    return home if isinstance(home, str) else None
