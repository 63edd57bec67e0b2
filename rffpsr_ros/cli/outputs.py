"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rffpsr_ros.errors import InputError


def check_writable(path: str | Path) -> Path:
    """Return ``path`` if a file can be written there: asked before hours of work, not after.

    Raises
    ------
    InputError
        If its folder is missing or closed to us, or it is a folder itself.
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(f"cannot write '{target}': it is a folder; give the name of a file")
    _check_folder(target)
    if target.exists() and not target.is_file():
        raise InputError(f"cannot write '{target}': it is a device or a pipe, not a file")
    return target


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
    _check_folder(target)
    workshop = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield workshop / target.name
        (workshop / target.name).replace(target)
    except OSError as fault:
        raise InputError(f"cannot write '{target}': {fault.strerror or fault}") from fault
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


def _check_folder(target: Path) -> None:
    folder = target.parent
    if not folder.is_dir():
        raise InputError(f"cannot write '{target}': there is no folder '{folder}'")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"cannot write '{target}': the folder '{folder}' is read-only")


def made_folder(folder: Path) -> Path:
    """Return a folder that is there now, with those above it.

    Raises
    ------
    InputError
        If it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise InputError(f"cannot make the folder '{folder}': {fault.strerror}") from None
    return folder
