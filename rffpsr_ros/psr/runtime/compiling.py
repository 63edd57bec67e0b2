"""How functions are compiled; imported only where numba is installed.

What is compiled is kept on disk: beside the function's file, in the user's cache where that cannot
be written to, and where neither can, it is compiled anew each time. It is compiled anew, too, when
any file of this folder changes: functions of one call those of another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite.ir
import numba
import numba.core.cgutils
import numba.core.imputils
import numba.extending

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

# What instructions for the compiler's back end are written with; all of it is untyped.
ir: Any = llvmlite.ir
types: Any = numba.core.types
cgutils: Any = numba.core.cgutils
borrowed: Any = numba.core.imputils.impl_ret_borrowed
number_type: Any = numba.from_dtype
_njit: Any = numba.njit
_intrinsic: Any = numba.extending.intrinsic

# Sums may be taken in any order, which vectors need; what is not a number stays so.
LOOSE = {"contract", "nsz", "reassoc"}


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what compiled functions call, of one that writes it for the compiler's back end."""
    return cast("Callable[..., Any]", _intrinsic(function))


def compiled(function: FunctionT) -> FunctionT:
    """Return the function as numba will compile it, kept on disk wherever possible."""
    try:
        kept = _njit(fastmath=LOOSE, no_cfunc_wrapper=True, cache=True)(function)
    except RuntimeError:  # nowhere to keep it
        return cast("FunctionT", _njit(fastmath=LOOSE, no_cfunc_wrapper=True)(function))
    _stamp(kept)
    return cast("FunctionT", kept)


def part(function: FunctionT, inline: str = "never") -> FunctionT:
    """Return a function that compiled ones call, and nobody else can: it is a part of each."""
    alone = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast("FunctionT", _njit(fastmath=LOOSE, inline=inline, **alone)(function))


def in_place(function: FunctionT) -> FunctionT:
    """Return a part of a single function, written into it, which then is compiled but once."""
    return part(function, "always")


def _stamp(kept: Any) -> None:
    """Let what is kept of a function be that of all these files, and not of its own alone."""
    index = getattr(getattr(kept, "_cache", None), "_cache_file", None)
    if index is not None:
        index._source_stamp = (index._source_stamp, _DIGEST)


def _digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_DIGEST = _digest()
