"""One BLAS thread for a while.

Learning multiplies thousands of small matrices. Libraries such as OpenBLAS, which numpy's wheels
bring, spread them over all cores and spend more time waking threads than multiplying: three times
the processor time for no gain.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import scipy.linalg  # noqa: F401 - loads the libraries that are to be found
from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold every BLAS of this process to one thread within the block; blocks may be nested.

    Most libraries share their threads among all threads of Python: the limit is the process's.
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


def keep_one_blas_thread() -> None:
    """Hold every BLAS to one thread for good.

    For worker processes, before each task: with OpenMP a limit is the calling thread's alone.
    """
    _controller().limit(limits=1, user_api="blas")


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    """Return what controls the libraries; finding them takes a hundred times as long as a limit."""
    return ThreadpoolController()
