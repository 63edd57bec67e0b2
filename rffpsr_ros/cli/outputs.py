"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.storage import check_folder


class FileKind(NamedTuple):
    """Files of which one replaces another: what they are called, and what they begin with."""

    name: str
    begins: tuple[bytes, ...]


_PLOTS = {
    ".png": (b"\x89PNG",),
    ".pdf": (b"%PDF",),
    ".svg": (b"<?xml", b"<svg"),
    ".jpg": (b"\xff\xd8",),
    ".jpeg": (b"\xff\xd8",),
}
"""What a plot of each ending begins with."""

PAGE = FileKind("a page", (b"<!doctype html>",))
PLOT = FileKind("a plot", tuple(begin for begins in _PLOTS.values() for begin in begins))
FORECASTS = FileKind("a table of forecasts", (b"time,segment,",))


def check_writable(path: str | Path, kind: FileKind | None = None) -> Path:
    """Return ``path`` if a file can be written there: asked before hours of work, not after.

    Raises
    ------
    InputError
        If its folder is missing or closed to us, it is a folder itself, or a file is there that is
        not of the ``kind`` that is going to be written.
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(f"cannot write '{target}': it is a folder; give the name of a file")
    check_folder(target)
    if target.exists() and not target.is_file():
        raise InputError(f"cannot write '{target}': it is a device or a pipe, not a file")
    if kind is not None and target.exists() and not _is_of(kind, target):
        raise InputError(
            f"'{target}' is there already and is not {kind.name}, so it is not replaced; choose"
            " another name or remove it"
        )
    return target


def check_plot(path: str | Path) -> Path:
    """Return ``path`` if a plot can be drawn there: its ending says how.

    Raises
    ------
    InputError
        As `check_writable`, or if there is no such ending, or nothing to draw with.
    """
    target = check_writable(path, PLOT)
    if target.suffix.lower() not in _PLOTS:
        raise InputError(
            f"cannot draw '{target}': its ending says no format; end it in .png, .pdf or .svg"
        )
    from rffpsr_ros.evaluation.plots import empty_figure  # for those who draw alone

    empty_figure(1, 1)
    return target


def _is_of(kind: FileKind, target: Path) -> bool:
    """Return whether a file is of a kind, or empty."""
    try:
        with target.open("rb") as file:
            first = file.read(max(map(len, kind.begins)))
    except OSError as fault:
        raise InputError(f"cannot write '{target}': {fault.strerror}") from None
    return not first or first.startswith(kind.begins)


@contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """Yield where to build a folder that is moved to ``path`` when the block ends well.

    Raises
    ------
    InputError
        If ``path`` exists already, or its parent is missing or closed to us.
    """
    target = Path(path)
    if target.exists() or target.is_symlink():
        raise InputError(f"'{target}' exists already; choose another name or remove it")
    check_folder(target)
    try:
        workshop = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as fault:
        raise InputError(f"cannot write '{target}': {fault.strerror or fault}") from None
    try:
        yield workshop / target.name
        (workshop / target.name).replace(target)
    except OSError as fault:
        raise InputError(f"cannot write '{target}': {fault.strerror or fault}") from fault
    finally:
        shutil.rmtree(workshop, ignore_errors=True)
