"""What the commands say: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, TextIO

from tqdm import tqdm

from rffpsr_ros.numerics.json_values import finite

_BAR = "{elapsed} {desc:<32} {percentage:3.0f}% |{bar}|"
_REDRAWN_SECONDS = 0.1
_LONGEST = 600
"""Characters of a sentence that somebody reads."""


class ProgressBar:
    """Shows how far work is: one bar on a terminal, elsewhere a line per stage and slow quarter.

    An instance is called with a stage's name and the fraction of it that is done, and is a context
    that leaves the terminal in order however it ends. Stages come in turns where several models are
    learned side by side: on a terminal one takes the place of the other, behind the time since all
    began; in a log each is named once.
    """

    def __init__(self, stream: TextIO | None = None, quiet: bool = False) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._terminal = self._stream.isatty()
        self._stage = ""
        self._named: set[str] = set()
        self._quarter = 0
        self._began = 0.0
        self._bar: tqdm[Any] | None = None
        self._made = time.time()
        self._drawn = 0.0

    def __call__(self, stage: str, fraction: float, error: float | None = None) -> None:
        """Take note that ``fraction`` (0 to 1) of ``stage`` is done, and of the error by now."""
        if self._quiet:
            return
        if self._terminal:
            self._draw(stage, fraction, error)
            return
        if stage != self._stage:
            self._start(stage)
        quarter = int(4 * fraction)
        if quarter > self._quarter:
            self._quarter = quarter
            seconds = time.monotonic() - self._began
            if seconds >= 1:  # what is done at once needs no account
                by_now = "" if error is None else f", error {error:.3g} standard deviations"
                self._say(f"{stage}: {25 * quarter} % after {seconds:.0f} s{by_now}")

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._finish()

    def note(self, sentence: str) -> None:
        """Say something between stages."""
        if not self._quiet:
            self._finish()
            self._stage = ""
            self._say(sentence)

    def _draw(self, stage: str, fraction: float, error: float | None) -> None:
        """Show a stage on the terminal's bar."""
        told = stage if error is None else f"{stage}, error {error:.3g}"
        if self._bar is None:
            self._bar = tqdm(
                total=1.0,
                desc=told,
                bar_format=_BAR,
                file=self._stream,
                dynamic_ncols=True,
                leave=False,
            )
            self._bar.start_t = self._made
        self._bar.set_description_str(told, refresh=False)
        self._bar.n = min(max(fraction, 0.0), 1.0)
        if stage != self._stage or time.monotonic() - self._drawn >= _REDRAWN_SECONDS:
            self._stage, self._drawn = stage, time.monotonic()
            self._bar.refresh()

    def _start(self, stage: str) -> None:
        """Begin to count a stage's quarters, and name it in the log if that is new."""
        self._stage, self._quarter, self._began = stage, 0, time.monotonic()
        if stage not in self._named:
            self._named.add(stage)
            self._say(stage)

    def _finish(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = None

    def _say(self, line: str) -> None:
        _tell(line, self._stream)


def warn(sentence: str) -> None:
    """Say on standard error what was lost or guessed."""
    _tell(f"rffpsr: warning: {_one_line(sentence)}", sys.stderr)


def complain(sentence: str) -> None:
    """Say on standard error, in one line, why nothing was done."""
    line = _one_line(sentence)
    if len(line) > _LONGEST:  # it quotes what is no name, such as a file's whole content
        line = f"{line[: _LONGEST - 200]} ... {line[-150:]}"
    _tell(f"rffpsr: {line}", sys.stderr)


def open_streams() -> None:
    """Let there be standard output and error, whatever the process was started with.

    One that is closed leads nowhere, and takes its own descriptor, which the next file would get
    otherwise. What the terminal's encoding lacks, as bytes of a name that are no UTF-8, is escaped.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def silence(stream: TextIO) -> None:
    """Let what is still to be written to a stream go nowhere, also at the interpreter's end."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _tell(line: str, stream: TextIO) -> None:
    """Write a line of account; work does not end because nobody can take it."""
    try:
        print(line, file=stream, flush=True)
    except OSError:
        silence(stream)


def say(*lines: str) -> None:
    """Print lines on standard output, with their spaces, and nothing that acts on a terminal."""
    for line in lines:
        print(_printable(line))


def say_json(value: Mapping[str, Any]) -> None:
    """Print a mapping as JSON; numbers that are not finite are null."""
    print(json.dumps(finite(value), indent=1, allow_nan=False))


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Return rows of cells as lines with aligned columns; those in ``right`` end together."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _one_line(text: str) -> str:
    """Return a text without line breaks and other characters that act on a terminal."""
    return _printable(" ".join(text.split()))


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
