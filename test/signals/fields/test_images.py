"""Images as vectors, against means computed pixel by pixel."""

import io
import os
import struct
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffpsr_ros.errors import InputError
from rffpsr_ros.signals.fields import images
from rffpsr_ros.signals.fields.images import grey_image, resize_by_area
from rffpsr_ros.signals.fields.resolver import FieldResolver

nan = float("nan")


def image(
    pixels: np.ndarray[Any, Any], encoding: str, padding: int = 0, big: bool = False
) -> SimpleNamespace:
    """Return an image message; rows are padded by some bytes, as cameras do."""
    rows, columns = pixels.shape[:2]
    pixels = pixels.astype(pixels.dtype.newbyteorder(">" if big else "<"))
    lines = [pixels[row].tobytes() + b"\xff" * padding for row in range(rows)]
    return SimpleNamespace(
        height=rows,
        width=columns,
        encoding=encoding,
        is_bigendian=int(big),
        step=len(lines[0]),
        data=np.frombuffer(b"".join(lines), dtype=np.uint8),
    )


def mean_by_area(picture: np.ndarray[Any, Any], width: int, height: int) -> np.ndarray[Any, Any]:
    """Cut every pixel into so many equal bits that target pixels consist of whole ones."""
    fine = np.repeat(np.repeat(picture, height, axis=0), width, axis=1)
    rows, columns = picture.shape
    return np.asarray(fine.reshape(height, rows, width, columns).mean(axis=(1, 3)))


@given(st.integers(1, 7), st.integers(1, 7), st.integers(1, 7), st.integers(1, 7))
def test_every_pixel_is_the_mean_over_its_area(
    rows: int, columns: int, width: int, height: int
) -> None:
    picture = np.random.default_rng(rows * 10 + columns).uniform(size=(rows, columns))
    np.testing.assert_allclose(
        resize_by_area(picture, width, height), mean_by_area(picture, width, height), rtol=1e-12
    )


def test_pixels_that_are_not_finite_do_not_count() -> None:
    depth = np.array([[1.0, 3.0, nan, nan], [nan, 2.0, np.inf, nan]])
    np.testing.assert_allclose(resize_by_area(depth, 2, 1), [[2.0, nan]])


@pytest.mark.parametrize("padding", [0, 3])
@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize(
    ("encoding", "dtype", "white"),
    [
        ("mono8", "u1", 255.0),
        ("8UC1", "u1", 255.0),
        ("mono16", "u2", 65535.0),
        ("16UC1", "u2", 1.0),
        ("32FC1", "f4", 1.0),
    ],
)
def test_grey_encodings(encoding: str, dtype: str, white: float, big: bool, padding: int) -> None:
    pixels = np.arange(6).reshape(2, 3).astype(dtype) * 40
    if padding and dtype != "u1":
        padding = 4
    message = image(pixels, encoding, padding, big)
    np.testing.assert_allclose(grey_image(message, 3, 2), pixels.ravel() / white)


@pytest.mark.parametrize(
    ("encoding", "order"),
    [("rgb8", [0, 1, 2]), ("bgr8", [2, 1, 0]), ("rgba8", [0, 1, 2, 3]), ("bgra8", [2, 1, 0, 3])],
)
def test_colours_become_the_same_grey(encoding: str, order: list[int]) -> None:
    red_green_blue = np.array([[[255, 0, 0, 9], [0, 255, 0, 9], [0, 0, 255, 9]]], dtype=np.uint8)
    message = image(red_green_blue[..., order], encoding, padding=1)
    np.testing.assert_allclose(grey_image(message, 3, 1), [0.299, 0.587, 0.114])


def test_a_compressed_image_is_the_raw_one() -> None:
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pixels = np.random.default_rng(0).integers(0, 256, size=(8, 6, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    pillow.fromarray(pixels).save(buffer, format="png")
    message = SimpleNamespace(format="rgb8; png compressed bgr8", data=buffer.getvalue())
    np.testing.assert_allclose(
        grey_image(message, 3, 4), grey_image(image(pixels, "rgb8"), 3, 4), rtol=1e-12
    )


def test_a_compressed_grey_image_keeps_sixteen_bits() -> None:
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pixels = np.array([[0, 1000], [40000, 65535]], dtype=np.uint16)
    buffer = io.BytesIO()
    pillow.fromarray(pixels).save(buffer, format="png")
    message = SimpleNamespace(format="mono16; png compressed", data=buffer.getvalue())
    np.testing.assert_allclose(grey_image(message, 2, 2), pixels.ravel() / 65535)


def test_an_unknown_encoding_gets_one_sentence() -> None:
    message = image(np.zeros((2, 2), np.uint8), "bayer_rggb8")
    with pytest.raises(InputError, match="encoding 'bayer_rggb8' is not supported; supported are"):
        grey_image(message, 1, 1)
    with pytest.raises(InputError, match="compressedDepth images are not supported"):
        grey_image(SimpleNamespace(format="16UC1; compressedDepth png", data=b""), 1, 1)


def test_damaged_images_are_missing() -> None:
    whole = image(np.full((2, 2), 255, np.uint8), "mono8")
    resolver = FieldResolver(["image(1x1)"])
    cut = image(np.zeros((2, 2), np.uint8), "mono8")
    cut.data = cut.data[:3]
    assert resolver.resolve(cut) is None
    np.testing.assert_array_equal(resolver.resolve(whole), [1.0])
    np.testing.assert_array_equal(resolver.resolve(cut), [nan])
    assert resolver.column_names == ("image[0,0]",)


def test_a_damaged_compressed_image_is_missing() -> None:
    pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    message = SimpleNamespace(format="jpeg", data=b"\xff\xd8\xff\xe0 cut")
    assert FieldResolver(["image(1x1)"]).resolve(message) is None


def test_only_png_and_jpeg_are_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An EPS would be handed to Ghostscript, a program that runs what the network sent."""
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    eps = (
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\n"
        b"newpath 0 0 moveto 8 8 lineto stroke showpage\n%%EOF\n"
    )
    opened = tmp_path / "opened"
    (tmp_path / "gs").write_text(f"#!/bin/sh\ntouch {opened}\n")
    (tmp_path / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    others = {"EPS": eps}
    for name in ("BMP", "GIF", "TIFF", "PPM"):
        buffer = io.BytesIO()
        pillow.new("L", (8, 8)).save(buffer, format=name)
        others[name] = buffer.getvalue()
    for name, data in others.items():
        with pytest.raises(InputError, match=f"format '{name}' is neither PNG nor JPEG"):
            grey_image(SimpleNamespace(format=name, data=data), 2, 2)
    assert not opened.exists()


def test_a_small_file_of_many_pixels_is_refused_before_it_is_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    monkeypatch.setattr(images, "_decoded", lambda picture: pytest.fail("decoded"))
    for sides in ((8192, 8192), (20000, 20000), (2**31 - 1, 2**31 - 1), (2**15, 1)):
        with pytest.raises(InputError, match="is too large; it may have"):
            grey_image(SimpleNamespace(format="png", data=png_header(*sides)), 2, 2)


def png_header(width: int, height: int) -> bytes:
    """Return the beginning of a PNG of black and white pixels."""
    chunks = b""
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(100)))):
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        chunks += struct.pack(">I", len(data)) + kind + data + checksum
    return b"\x89PNG\r\n\x1a\n" + chunks


def test_a_raw_image_of_absurd_size_is_refused() -> None:
    for height, width in ((2**32 - 1, 2**32 - 1), (8192, 8192), (1, 2**15)):
        message = image(np.zeros((1, 1), np.uint8), "mono8")
        message.height, message.width, message.step = height, width, width
        with pytest.raises(InputError, match="is too large; it may have"):
            grey_image(message, 1, 1)


def test_a_jpeg_of_endless_scans_is_refused() -> None:
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    buffer = io.BytesIO()
    pillow.new("L", (8, 8)).save(buffer, format="jpeg", progressive=True)
    whole = buffer.getvalue()
    assert grey_image(SimpleNamespace(format="jpeg", data=whole), 1, 1).shape == (1,)
    scans = whole[whole.index(b"\xff\xda") : -2]
    with pytest.raises(InputError, match="more than 100 scans"):
        grey_image(SimpleNamespace(format="jpeg", data=whole[:-2] + 101 * scans), 1, 1)


def test_an_encoding_cannot_forge_a_line_of_the_log() -> None:
    message = image(np.zeros((1, 1), np.uint8), "x'\n[ERROR] all is lost" + 1000 * "!")
    with pytest.raises(InputError) as refusal:
        grey_image(message, 1, 1)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 300


def test_a_message_that_only_looks_like_an_image_gets_one_sentence() -> None:
    message = SimpleNamespace(encoding=[1.0], step="x", data=b"", height=1, width=1)
    with pytest.raises(InputError, match=r"'image\(1x1\)': SimpleNamespace is no image"):
        FieldResolver(["image(1x1)"]).resolve(message)
