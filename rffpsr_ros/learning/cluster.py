"""Work done by the workers of a Dask cluster, in the fixed order of the data.

Nothing here imports Dask: whoever has its client brings it along.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rffpsr_ros.learning.blas_threads import keep_one_blas_thread
from rffpsr_ros.learning.workers import ItemT, ResultT

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

    def map(
        self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
    ) -> Iterator[ResultT]:
        """Yield the function's results in the order of the items."""
        # The function, with the feature maps in it, travels once to every worker, and as a task's
        # result it is made again where it was lost.
        work = self._client.submit(_same, function, pure=False)
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
        return self._client.submit(_do, work, _Wrapped(item), pure=False, **place)


class _Wrapped:
    """An item that Dask does not look into for futures to wait for."""

    def __init__(self, item: Any) -> None:
        self.item = item


def _same(function: Any) -> Any:
    return function


def _do(function: Callable[[Any], Any], wrapped: _Wrapped) -> Any:
    keep_one_blas_thread()
    return function(wrapped.item)


def _home(item: Any) -> str | None:
    """Return the worker that read the item's first recording, where that is known."""
    while isinstance(item, tuple | list) and len(item):
        item = item[0]
    home = getattr(item, "home", None)
    return home if isinstance(home, str) else None
