"""How functions are compiled; imported only where numba is installed.

What is compiled is kept on disk: beside the function's file, in the user's cache where that cannot
be written to, and where neither can, it is compiled anew each time. It is compiled anew, too, when
that file changes, but not when another one does: functions that call each other stay in one file.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeVar, cast

import numba

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

# Sums may be taken in any order, which vectors need; what is not a number stays so.
LOOSE = {"contract", "nsz", "reassoc"}


def compiled(function: FunctionT, inline: Literal["never", "always"] = "never") -> FunctionT:
    """Return the function as numba will compile it, kept on disk wherever possible."""
    compiling = partial(numba.njit, fastmath=LOOSE, inline=inline)
    try:
        return cast("FunctionT", compiling(cache=True)(function))
    except RuntimeError:  # nowhere to keep it
        return cast("FunctionT", compiling()(function))


in_place = partial(compiled, inline="always")  # a part of those that call it
