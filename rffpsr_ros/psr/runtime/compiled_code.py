"""The compiled code that live forecasts need: whether it is there, and made ahead of any model.

    python -m rffpsr_ros.psr.runtime.compiled_code                  all of it
    python -m rffpsr_ros.psr.runtime.compiled_code 5 ensemble       what models of this form need,
                                                                    less urgently than all else

It is the same for all models. What is made is kept for the user, see `compiling`; processes make it
one after the other, so that the later find it, however often a node is started meanwhile. Imported
only where numba is installed.
"""

from __future__ import annotations

import fcntl
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from rffpsr_ros.numerics.priority import stand_back
from rffpsr_ros.psr.runtime.compiling import types
from rffpsr_ros.psr.runtime.ensemble.ensemble_kernels import forecast, forecast_many, update_all
from rffpsr_ros.psr.runtime.tick_kernels import roll_out, roll_out_many, tick


class _Call(NamedTuple):
    """A function, and the types that it is called with."""

    function: Any
    signature: tuple[Any, ...]


def _numbers(*dimensions: int) -> tuple[Any, ...]:
    return tuple(types.Array(types.float64, count, "C") for count in dimensions)


_FORECAST = (
    *_numbers(1, 1, 3),
    types.Array(types.int64, 1, "C"),
    *_numbers(3, 3, 4),
    types.int64,
    *_numbers(3),
)
SINGLE, ENSEMBLE = "single", "ensemble"
FORMS = {
    ENSEMBLE: (_Call(update_all, _numbers(1, 1, 1, 1)), _Call(forecast, _FORECAST)),
    SINGLE: (_Call(tick, _numbers(1, 1, 1, 1)), _Call(roll_out, _numbers(1, 1, 1, 2, 2))),
    "plans of an ensemble": (_Call(forecast_many, _FORECAST),),
    "plans": (_Call(roll_out_many, (*_numbers(1), types.int64, *_numbers(2, 2, 3, 3))),),
}
"""What is called for models of each form."""


def is_kept(form: str) -> bool:
    """Tell whether all code of a form was made before, here or by another process."""
    return all(_is_kept(call) for call in FORMS[form])


def _is_kept(call: _Call) -> bool:
    if call.signature in call.function.overloads:
        return True
    cache = call.function._cache
    return cache.load_overload(call.signature, call.function.targetctx) is not None


def make(form: str) -> None:
    """Load the code of a form, or compile it."""
    for function, signature in FORMS[form]:
        function.compile(signature)


@contextmanager
def alone(form: str, what: str = "code") -> Iterator[None]:
    """Wait until no other process makes such code of a form where this one would keep it."""
    try:
        folder = Path(FORMS[form][0].function._cache.cache_path)
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / f".compiling_{what}").open("w")
    except (TypeError, OSError):  # nowhere to keep it
        yield
        return
    with lock:
        with suppress(OSError):  # of file systems that know no locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(words: Sequence[str]) -> int:
    """Make the code of forms, by default of all of them, with a niceness if one stands first."""
    niceness, *forms = words or ["0"]
    if int(niceness):
        stand_back(int(niceness))
    for form in forms or FORMS:
        with alone(form):
            make(form)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
