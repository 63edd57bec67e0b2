"""Compiled code for a model, made beside the filter: it serves by NumPy until that is ready.

A process of its own compiles, standing back behind everything else, and keeps for the user what it
made; then a thread loads it. Where it was kept before, it is there at once.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any

from rffpsr_ros.errors import InputError, shown

COMPILES = "rffpsr_ros.psr.runtime.compiled_code"
NICENESS = "5"
"""Of that process: it gets what is left, and a quarter of a processor where nothing is."""

READY = "compiled"
PREPARING = "NumPy, until compiled code is ready"
NONE = "NumPy"
FAILED = "NumPy, as compiled code could not be made"


class CodePreparation:
    """Makes sure that there is compiled code for models of one form.

    Parameters
    ----------
    form
        As `PredictiveModel.compiled_form`.
    wanted
        Whether models are to run compiled.
    start
        Begins to compile in a process of its own.
    more
        Makes what else is needed, in the thread; for it the process is started in any case, as it
        compiles more than `compiled_code` tells of.

    Attributes
    ----------
    form, wanted
        As they were given.
    told
        What forecasts are made by, in words.
    made
        What ``more`` returned, once the code is ready.
    """

    def __init__(
        self,
        form: str | None,
        wanted: bool = True,
        start: Callable[[str], subprocess.Popen[bytes]] | None = None,
        more: Callable[[], Any] | None = None,
    ) -> None:
        self.told = NONE
        self.made: Any = None
        self._loaded = threading.Event()
        self._fault: Exception | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.form, self.wanted = form, wanted
        self._more = more
        code = _code() if wanted and form is not None else None
        if form is None or code is None:
            return
        if more is None and code.is_kept(form):
            self.told = READY
            return
        self.told = PREPARING
        self._process = (start or _compiling)(form)
        threading.Thread(target=self._load, args=(code, form), daemon=True).start()

    @property
    def ready(self) -> bool:
        """Whether models may run compiled now; they may, too, where there is no code for them."""
        return self.told in (READY, NONE)

    def change_over(self, change: Callable[[], None], logger: Any) -> None:
        """Let a follower ``change``, once, as soon as the code is ready; tell the logger of it."""
        if self.told != PREPARING or not self._loaded.is_set():
            return
        try:
            if self._fault is not None:
                raise InputError(f"compiled code could not be made ({shown(self._fault)})")
            self.told = READY
            change()
        except InputError as problem:
            self.told = FAILED
            logger.warning(f"{problem}; forecasts go on by NumPy")
        else:
            logger.info("compiled code is ready: forecasts are made by it from now on")

    def close(self) -> None:
        """End what is under way."""
        process, self._process = self._process, None
        self.told = NONE
        if process is not None:
            with suppress(OSError):
                process.terminate()

    def _load(self, code: ModuleType, form: str) -> None:
        process = self._process
        if process is not None:
            process.wait()
        if self.told == PREPARING:
            try:
                code.make(form)  # what nobody could keep is compiled here once more
                self.made = self._more() if self._more is not None else None
            except Exception as fault:  # of compilers and full disks: whatever they may cause
                self._fault = fault
            self._loaded.set()


def _code() -> ModuleType | None:
    """Return what makes code; None where numba is not installed."""
    try:
        from rffpsr_ros.psr.runtime import compiled_code
    except ImportError:
        return None
    return compiled_code


def _compiling(form: str) -> subprocess.Popen[bytes]:
    return in_the_background(COMPILES, form)


def in_the_background(module: str, *words: str) -> subprocess.Popen[bytes]:
    """Run a module that compiles, standing back behind everything else."""
    command = [sys.executable, "-m", module, NICENESS, *words]
    quiet = subprocess.DEVNULL  # what fails there fails again where it is loaded, and is told then
    return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
