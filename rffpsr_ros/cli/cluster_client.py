"""The Dask cluster that a command hands its work to, if it was asked to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from rffpsr_ros.cli.console import warn
from rffpsr_ros.errors import InputError

CONNECTION_SECONDS = 10
UNSAFE = (
    "the scheduler's address is not tls://: whoever reaches its port runs programs on every machine"
    " of the cluster, and on this one (docs/security.md)"
)


@contextmanager
def cluster_client(address: str | None) -> Iterator[Any]:
    """Give the client of the scheduler at an address such as ``tls://host:8786``, or None.

    One without encryption is warned of: who reaches its port runs programs on all of the cluster.

    Raises
    ------
    InputError
        If Dask is not installed, or no scheduler with workers answers.
    """
    if address is None:
        yield None
        return
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise InputError(
            "--scheduler needs Dask, which is not installed; pip install distributed"
        ) from None
    try:
        client = distributed.Client(address, timeout=CONNECTION_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError) as fault:
        raise InputError(f"no Dask scheduler answers at {address}: {fault}") from None
    if not address.startswith("tls://"):
        warn(UNSAFE)
    with client:
        if not client.nthreads():
            raise InputError(f"the Dask scheduler at {address} has no workers; start at least one")
        yield client
