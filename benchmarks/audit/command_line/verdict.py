"""What a run of the command line said, and whether it may say that."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from benchmarks.audit.case import Broken, lost_data
from rffpsr_ros.cli.main import FAULT_OF_INPUT, INTERRUPTED, main
from rffpsr_ros.errors import InputError

_NAME, _WARNING = "rffpsr: ", "rffpsr: warning: "


class Said(NamedTuple):
    """A run's exit code, and the bytes that came of it."""

    code: int
    output: bytes
    error: bytes


def run_here(words: Sequence[str]) -> Said:
    """Run the command line in this process, on streams as strict as those of a process."""
    output, error = io.BytesIO(), io.BytesIO()
    out = io.TextIOWrapper(output, "utf-8", write_through=True)
    err = io.TextIOWrapper(error, "utf-8", errors="backslashreplace", write_through=True)
    before = sys.argv
    sys.argv = ["rffpsr", *words]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main(list(words))
    except SystemExit as end:  # as argparse does after --help
        code = end.code if isinstance(end.code, int) else 0
    finally:
        sys.argv = before
    return Said(code, output.getvalue(), error.getvalue())


def judge(said: Said, codes: Sequence[int] = (0, FAULT_OF_INPUT), silent: bool = False) -> None:
    """Raise what came of a run if it was refused, or broke a promise.

    ``silent`` asks for no sentence: nobody could have read it.

    Raises
    ------
    InputError
        With the sentence, if the input was refused.
    Broken
        If the exit code is none of ``codes``, a traceback or something that acts on a terminal was
        printed, or a refusal is not one sentence.
    """
    text = (said.output + b"\n" + said.error).decode("utf-8", errors="replace")
    if "Traceback" in text:
        raise Broken("traceback", text[-1500:])
    if said.code not in codes:
        raise Broken("exit code", f"{said.code}: {text[-600:]}")
    odd = {c for c in text if not c.isprintable()} - {"\n"}
    if odd:
        raise Broken("unprintable", repr(odd))
    if silent:
        return
    lines = said.error.decode("utf-8", errors="replace").splitlines()
    foreign = [line for line in lines if not line.startswith(_NAME)]
    if foreign:
        raise Broken("foreign words", foreign[0])
    refusals = [line for line in lines if not line.startswith(_WARNING)]
    if said.code in (FAULT_OF_INPUT, INTERRUPTED):
        if len(refusals) != 1 or refusals[0] != lines[-1]:
            raise Broken("no sentence", repr(refusals[:3]))
        raise InputError(refusals[0].removeprefix(_NAME))
    if refusals:
        raise Broken("untrue state", f"exit code 0 and yet: {refusals[0]}")


def held(folder: Path) -> set[str]:
    """Return what is in a folder, at any depth."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def check_left(before: set[str], after: set[str]) -> None:
    """Raise `Broken` if a run that was refused left something behind, or took something away."""
    if before - after:
        raise lost_data(f"gone: {sorted(before - after)[:3]}")
    if after - before:
        raise Broken("left behind", f"{sorted(after - before)[:3]}")
