"""Images as vectors, against means computed pixel by pixel."""

import io
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffpsr_ros.errors import InputError
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
