"""Bags that become gigabytes when they are decompressed, or say so."""

from __future__ import annotations

import struct
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.audit.bags.small_bags import SUFFIXES, TOPICS, Make, recording, whole, written


def zstd(data: bytes) -> bytes:
    """Return data compressed."""
    try:
        library: Any = import_module("compression.zstd")
    except ImportError:
        library = import_module("backports.zstd")
    return bytes(library.compress(data))


def zeros_compressed(size: int) -> bytes:
    """Return zstd data without a declared size that become so many zeros."""
    blocks = [b"\x28\xb5\x2f\xfd\x00\x58"]  # a window of 2 MiB, no content size
    whole_blocks, rest = divmod(size, 2**17)
    for number in range(whole_blocks):
        last = number == whole_blocks - 1 and not rest
        blocks.append(struct.pack("<I", (2**17 << 3) | 2 | last)[:3] + b"\0")
    if rest:
        blocks.append(struct.pack("<I", (rest << 3) | 3)[:3] + b"\0")
    return b"".join(blocks)


def claiming(size: int) -> bytes:
    """Return zstd data that declare a size and hold a few bytes."""
    return (
        b"\x28\xb5\x2f\xfd\xe0"
        + struct.pack("<Q", size)
        + struct.pack("<I", 8 << 3 | 3)[:3]
        + b"\0"
    )


def by_compression(storage: str) -> dict[str, Make]:
    """Return makers of bags by what their compressed parts hold."""
    suffix = SUFFIXES[storage]

    def file(data: bytes) -> Make:
        def make(folder: Path) -> Path:
            path = folder / f"a{suffix}.zstd"
            path.write_bytes(data)
            return path

        return make

    def in_folder(data: bytes) -> Make:
        def make(folder: Path) -> Path:
            path = whole(folder / "bag", storage, "file")
            path.write_bytes(data)
            return path.parent

        return make

    def messages(data: bytes) -> Make:
        changed = [one._replace(data=data) for one in recording()]
        return written(storage, TOPICS, changed)

    bombs = {
        "2 GB undeclared": zeros_compressed(2**31),
        "16 GB declared": claiming(2**34),
        "2^63 bytes declared": claiming(2**63),
        "nothing": b"",
        "magic alone": b"\x28\xb5\x2f\xfd",
        "zeros": zstd(bytes(10_000)),
    }
    found: dict[str, Make] = {}
    for name, data in bombs.items():
        found[f"file of {name}"] = file(data)
        found[f"file in a folder of {name}"] = in_folder(data)
        found[f"messages of {name}"] = messages(data)
    return found
