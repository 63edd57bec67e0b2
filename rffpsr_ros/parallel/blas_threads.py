"""One BLAS thread for a while.

Learning multiplies thousands of small matrices. OpenBLAS, which numpy's wheels bring, spreads
them over all cores and spends more time waking threads than multiplying: three times the processor
time for no gain. Where another library does the products, nothing happens here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

_MAPPED = Path("/proc/self/maps")
_PREFIXES = ("scipy_openblas", "openblas")
_SUFFIXES = ("64_", "")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold every OpenBLAS of this process to one thread within the block."""
    before = [(set_threads, get_threads()) for get_threads, set_threads in _thread_controls()]
    for set_threads, _ in before:
        set_threads(1)
    try:
        yield
    finally:
        for set_threads, count in before:
            set_threads(count)


@lru_cache(maxsize=1)
def keep_one_blas_thread() -> None:
    """Hold every OpenBLAS of this process to one thread for good."""
    for _, set_threads in _thread_controls():
        set_threads(1)


def _thread_controls() -> Iterator[tuple[Callable[[], int], Callable[[int], None]]]:
    """Yield getter and setter of the number of threads of each OpenBLAS that is loaded."""
    for path in _loaded_libraries("openblas"):
        library = ctypes.CDLL(path)
        for prefix in _PREFIXES:
            for suffix in _SUFFIXES:
                getter = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
                setter = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
                if getter is not None and setter is not None:
                    yield getter, setter


def _loaded_libraries(name: str) -> list[str]:
    if not _MAPPED.exists():
        return []
    lines = _MAPPED.read_text(encoding="utf-8", errors="replace").splitlines()
    paths = {line.split(maxsplit=5)[5] for line in lines if name in line and "/" in line}
    return sorted(path for path in paths if name in Path(path).name)
