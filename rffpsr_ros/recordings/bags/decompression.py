"""Decompression that takes what there is: of data cut short, the part that is there."""

from __future__ import annotations

import shutil
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from lz4.frame import LZ4FrameDecompressor  # type: ignore[import-untyped]

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def decompress(data: bytes, compression: str) -> bytes:
    """Return the decompressed data (``zstd``, ``lz4``), as far as they go.

    Raises
    ------
    Exception
        Of the library's own kind, if the data are damaged; KeyError if the name is unknown.
    """
    decompressor = {"zstd": _zstd, "lz4": LZ4FrameDecompressor}[compression]
    return bytes(decompressor().decompress(data))


def decompress_file(source: Path, target: Path) -> str | None:
    """Write the decompressed content of a zstd file; return what went wrong, if anything did."""
    with target.open("wb") as output:
        try:
            with _zstd_open(source) as stream:
                shutil.copyfileobj(stream, output)
        except Exception as problem:  # Several libraries can stand behind it.
            return str(problem) or type(problem).__name__
    return None


def _zstd_library() -> Any:
    """Return the library that the installed version of rosbags has brought along."""
    for name in ("backports.zstd", "compression.zstd"):
        with suppress(ImportError):
            return import_module(name)
    return import_module("zstandard")


_LIBRARY = _zstd_library()
_zstd_open = _LIBRARY.open


def _zstd() -> Any:
    decompressor = _LIBRARY.ZstdDecompressor()
    return decompressor.decompressobj() if hasattr(decompressor, "decompressobj") else decompressor
