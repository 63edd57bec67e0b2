"""What every process that computes for others does first, beside this one or in a cluster."""

from __future__ import annotations

from rffpsr_ros.parallel.blas_threads import keep_one_blas_thread
from rffpsr_ros.parallel.freed_memory import keep_freed_memory


def settle() -> None:
    """Make this a process that multiplies many small matrices."""
    keep_one_blas_thread()
    keep_freed_memory()
