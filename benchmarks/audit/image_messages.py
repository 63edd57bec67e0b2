"""Images that a camera, a network or somebody's ill will has spoilt."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.audit.case import Broken, Case
from benchmarks.audit.mutations import damaged
from benchmarks.audit.runner import Group
from rffpsr_ros.signals.fields.resolver import FieldResolver

SIZE = (48, 32)
"""Width and height of the images that are damaged."""


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png_bomb(width: int, height: int, depth: int = 1, colour: int = 0) -> bytes:
    """Return a small PNG whose header claims a size and whose data hold a part of it."""
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    data = zlib.compress(bytes(2**24), 9)
    parts = _png_chunk(b"IHDR", header) + _png_chunk(b"IDAT", data) + _png_chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def _encoded(form: str, mode: str = "RGB", **options: Any) -> bytes:
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (SIZE[1], SIZE[0], 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(buffer, format=form, **options)
    return buffer.getvalue()


EPS = (
    b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\n"
    b"(/tmp/owned) (w) file closefile showpage\n%%EOF\n"
)


def _compressed(data: bytes, form: str = "png") -> SimpleNamespace:
    return SimpleNamespace(format=form, data=data)


def _raw(**odd: Any) -> SimpleNamespace:
    width, height = SIZE
    right = {"height": height, "width": width, "step": 3 * width, "encoding": "rgb8"}
    data = np.arange(3 * width * height, dtype=np.uint32).astype(np.uint8)
    return SimpleNamespace(**{**right, "is_bigendian": 0, "data": data, **odd})


def _by_hand() -> Iterator[tuple[str, SimpleNamespace]]:
    yield "raw, whole", _raw()
    yield "PNG, whole", _compressed(_encoded("png"))
    yield "EPS", _compressed(EPS, "eps")
    yield "EPS that calls itself png", _compressed(EPS)
    for form in ("BMP", "GIF", "TIFF", "PPM", "TGA", "ICO"):
        yield f"{form} that calls itself png", _compressed(_encoded(form))
    yield "nothing", _compressed(b"")
    yield "compressedDepth", _compressed(bytes(12) + _encoded("png"), "16UC1; compressedDepth png")
    yield "PNG of 70 000 x 70 000", _compressed(_png_bomb(70_000, 70_000))
    yield "PNG of 2 147 483 647 x 1", _compressed(_png_bomb(2**31 - 1, 1))
    yield "PNG of 10 000 x 10 000", _compressed(_png_bomb(10_000, 10_000, 8, 2))
    yield "PNG of 5 600 x 5 600", _compressed(_png_bomb(5_600, 5_600, 8, 6))
    text = zlib.compress(bytes(2**26), 9)
    whole = _encoded("png")
    yield (
        "PNG with a text bomb",
        _compressed(whole[:33] + _png_chunk(b"zTXt", b"a\0\0" + text) + whole[33:]),
    )
    yield (
        "PNG with a profile bomb",
        _compressed(whole[:33] + _png_chunk(b"iCCP", b"a\0\0" + text) + whole[33:]),
    )
    jpeg = _encoded("jpeg", progressive=True)
    yield "JPEG of endless scans", _compressed(jpeg[:-2] + 5000 * jpeg[jpeg.index(b"\xff\xda") :])
    size = jpeg.index(b"\xff\xc2") + 5
    yield (
        "JPEG of 65 500 x 65 500",
        _compressed(jpeg[:size] + struct.pack(">HH", 65500, 65500) + jpeg[size + 4 :]),
    )
    yield "CMYK", _compressed(_encoded("jpeg", "CMYK"), "jpeg")
    yield "a format of many lines", _compressed(b"x", "png\n[ERROR] nothing works\n" * 99)
    yield "an encoding of many lines", _raw(encoding="rgb8\n[ERROR] nothing works\n" * 99)
    yield "an encoding that is empty", _raw(encoding="")
    yield "no data", _raw(data=b"")
    yield "a step of 0", _raw(step=0)
    yield "a step of 4 billion", _raw(step=2**32 - 1)
    yield "4 billion rows", _raw(height=2**32 - 1)
    yield "4 billion rows and columns", _raw(height=2**32 - 1, width=2**32 - 1, step=2**32 - 1)
    yield "no rows", _raw(height=0)
    yield (
        "33 million rows of a pixel",
        _raw(height=2**25, width=1, step=3, data=np.zeros(3 * 2**25, np.uint8)),
    )
    yield (
        "depths of nan",
        _raw(
            encoding="32FC1",
            step=4 * SIZE[0],
            data=np.full(SIZE[0] * SIZE[1], np.nan, "<f4").tobytes(),
        ),
    )
    yield "another encoding than its data", _raw(encoding="mono16")
    yield "another type's fields", SimpleNamespace(encoding=1.5, step="x")
    yield "no image at all", SimpleNamespace(x=1.0)


def cases(seed: int) -> Iterator[Case]:
    """Yield the images made by hand, then damaged ones without end."""
    for name, message in _by_hand():
        yield Case(name, partial(_look, message))
    rng = np.random.default_rng(seed)
    wholes = {
        "png": _encoded("png"),
        "grey png": _encoded("png", "L"),
        "palette png": _encoded("png", "P"),
        "jpeg": _encoded("jpeg"),
        "progressive jpeg": _encoded("jpeg", progressive=True),
    }
    for number in range(10**9):
        for name, whole in wholes.items():
            message = _compressed(damaged(whole, rng), name)
            yield Case(f"damaged {name} {number}", partial(_look, message))
        yield Case(f"damaged raw {number}", partial(_look, _odd_raw(rng)))


def _odd_raw(rng: np.random.Generator) -> SimpleNamespace:
    """Return a raw image one or two fields of which hold something else."""
    odd: dict[str, Any] = {
        "height": int(2 ** rng.uniform(0, 32)) - 1,
        "width": int(2 ** rng.uniform(0, 32)) - 1,
        "step": int(2 ** rng.uniform(0, 32)) - 1,
        "encoding": str(rng.choice(["mono8", "16UC1", "32FC1", "bgra8", "yuv422", "rgb8\0"])),
        "is_bigendian": int(rng.integers(256)),
        "data": rng.bytes(int(rng.integers(20_000))),
    }
    chosen = rng.choice(list(odd), int(rng.integers(1, 4)), replace=False)
    return _raw(**{name: odd[name] for name in chosen})


def _look(message: SimpleNamespace) -> None:
    """Resolve an image as the first message of a topic, and after a good one."""
    later = FieldResolver(["image(4x3)"])
    later.resolve(_raw())
    after = later.resolve(message)
    if after is None or after.shape != (12,):
        raise Broken("untrue state", "a bound field has changed its width")
    values = FieldResolver(["image(4x3)"]).resolve(message)
    if values is not None and np.isinf(values).any():
        raise Broken("non-finite", "an image has infinite grey levels")


GROUP = Group("images", cases, size=2000, seconds=10.0)
