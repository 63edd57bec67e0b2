"""Cases that break each promise on purpose: the audit itself must see every one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from benchmarks.audit.case import Case, untrue_state
from benchmarks.audit.runner import Group
from rffpsr_ros.errors import InputError

VERDICTS = {
    "good": "served",
    "refused": "refused",
    "crash": "death",
    "exit": "death",
    "defect": "traceback",
    "endless": "hang",
    "large": "memory",
    "lie": "untrue state",
}
"""What the audit must say of each."""


def _refuse() -> None:
    raise InputError("no")


def _defect() -> None:
    raise KeyError("x")


def _endless() -> None:
    while True:
        pass


def _lie() -> None:
    raise untrue_state("all is well")


def cases(seed: int) -> Iterator[Case]:
    """Yield a case for each verdict."""
    acts: tuple[Callable[[], object], ...] = (
        lambda: None,
        _refuse,
        partial(os.abort),
        partial(os._exit, 3),
        _defect,
        _endless,
        partial(np.ones, 2**29),
        _lie,
    )
    for name, act in zip(VERDICTS, acts, strict=True):
        yield Case(name, act)


GROUP = Group("self check", cases, size=len(VERDICTS), seconds=1.0)
