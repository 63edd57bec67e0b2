"""Decompression that takes what there is, and no more than a limit.

Of data cut short, the part that is there is given. A few kilobytes can hold gigabytes of zeros:
what grows beyond a limit is refused before it is held.
"""

from __future__ import annotations

import shutil
from bz2 import BZ2Decompressor
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from lz4.frame import LZ4FrameDecompressor  # type: ignore[import-untyped]

from rffpsr_ros.errors import InputError

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

MOST_AT_ONCE = 2**27
"""Bytes of a chunk or message once it is decompressed."""
MOST_OF_FILE = 2**28
"""Bytes to which any file may grow; a large one, to `MOST_GROWTH` times its size."""
MOST_GROWTH = 100


class TooLarge(Exception):
    """Something grows beyond the limit when it is decompressed."""


def decompress(data: bytes, compression: str, *, whole: bool = False) -> bytes:
    """Return the decompressed data (``zstd``, ``lz4``, ``bz2``), as far as they go.

    ``whole`` data must not be cut short.

    Raises
    ------
    TooLarge
        If they are more than `MOST_AT_ONCE` bytes.
    Exception
        Of the library's own kind, if the data are damaged; KeyError if the name is unknown.
    """
    start = _DECOMPRESSORS[compression]
    found, rest = b"", bytes(data)
    while rest:  # one frame after the other
        decompressor = start()
        found += decompressor.decompress(rest, MOST_AT_ONCE + 1 - len(found))
        if len(found) > MOST_AT_ONCE:
            raise TooLarge(f"{len(data)} bytes of {compression} become more than {MOST_AT_ONCE}")
        if whole and not decompressor.eof:
            raise EOFError(f"{compression} data are cut short")
        rest = decompressor.unused_data or b"" if decompressor.eof else b""
    return found


def decompress_file(source: Path, target: Path) -> str | None:
    """Write the decompressed content of a zstd file; return what went wrong, if anything did.

    Raises
    ------
    InputError
        If it becomes larger than the limits allow, or than the disk has room for.
    """
    most = most_of_file(source.stat().st_size)
    free = int(0.9 * shutil.disk_usage(target.parent).free)
    complete = False
    with target.open("wb") as output:
        try:
            with open_zstd(source) as stream:
                complete = _copied(stream, output, min(most, free))
        except Exception as problem:  # Damaged data fail in many ways.
            return str(problem) or type(problem).__name__
    if not complete:
        target.unlink()
        raise InputError(
            f"{source} becomes too large when it is decompressed: "
            + (f"only {free} bytes are free in {target.parent}" if free < most else "")
            + (f"it may have {most} bytes" if most <= free else "; TMPDIR names another place")
        )
    return None


def most_of_file(size: int) -> int:
    """Return how many bytes a compressed file of a size may become."""
    return max(MOST_OF_FILE, MOST_GROWTH * size)


def _copied(stream: IO[bytes], output: IO[bytes], most: int) -> bool:
    """Copy a stream; False if it is longer than so many bytes."""
    while part := stream.read(2**20):
        most -= len(part)
        if most < 0:
            return False
        output.write(part)
    return True


def _zstd_library() -> Any:
    """Return the library that Python or rosbags brings along."""
    try:
        return import_module("compression.zstd")
    except ImportError:
        return import_module("backports.zstd")


_LIBRARY = _zstd_library()
open_zstd = _LIBRARY.open
"""Opens a compressed file, by path or as a file, for reading."""
_DECOMPRESSORS = {
    "zstd": _LIBRARY.ZstdDecompressor,
    "lz4": LZ4FrameDecompressor,
    "bz2": BZ2Decompressor,
}
