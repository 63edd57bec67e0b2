"""Images to vectors: grey, resized by area, flattened row by row."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.errors import InputError, shown

Vector = NDArray[np.float64]

_LUMA = np.array([0.299, 0.587, 0.114])
"""Weights of red, green and blue in the grey level (ITU-R BT.601)."""

MOST_PIXELS = 2**25
"""Of an image as it arrives; a larger one is refused before it is decoded."""
LONGEST_SIDE = 2**14
"""Pixels."""
MOST_SCANS = 100
"""Of a progressive JPEG image; cameras write about ten. Each passes over all pixels."""

_ROWS_AT_ONCE = 64
"""Made grey at a time: as floats with three colours, a whole image takes 24 times its bytes."""

_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
_STARTS = (_PNG, _JPEG)
_JPEG_SCAN = b"\xff\xda"

# Per encoding: item type, channels, where red, green and blue stand (None: grey), white's value.
# White is 1 where the values are measures (metres, millimetres) and not grey levels.
_ENCODINGS: dict[str, tuple[str, int, tuple[int, int, int] | None, float]] = {
    "mono8": ("u1", 1, None, 255.0),
    "8UC1": ("u1", 1, None, 255.0),
    "mono16": ("u2", 1, None, 65535.0),
    "16UC1": ("u2", 1, None, 1.0),
    "32FC1": ("f4", 1, None, 1.0),
    "rgb8": ("u1", 3, (0, 1, 2), 255.0),
    "bgr8": ("u1", 3, (2, 1, 0), 255.0),
    "8UC3": ("u1", 3, (2, 1, 0), 255.0),
    "rgba8": ("u1", 4, (0, 1, 2), 255.0),
    "bgra8": ("u1", 4, (2, 1, 0), 255.0),
}


def grey_image(message: Any, width: int, height: int) -> Vector:
    """Return an image message as grey levels (height * width,), row by row.

    Grey levels run from 0 to 1; ``16UC1`` and ``32FC1`` (depths) keep their unit. Each value is
    the mean over the area that its pixel covers, without pixels that are not finite.

    Parameters
    ----------
    message
        sensor_msgs Image or CompressedImage (the latter needs Pillow).
    width, height
        Size in pixels to which the image is resized.

    Raises
    ------
    InputError
        If the message is no image, its encoding is not known, it has more pixels than `MOST_PIXELS`
        or more than `LONGEST_SIDE` on a side, or is compressed as neither PNG nor JPEG.
    IndexError
        If the image is damaged: its data are shorter than its size says, or cannot be decoded.
    """
    if hasattr(message, "encoding") and hasattr(message, "step"):
        grey = _raw_image(message)
    elif hasattr(message, "format") and hasattr(message, "data"):
        grey = _compressed_image(message)
    else:
        raise InputError(
            f"image({width}x{height}) needs sensor_msgs/msg/Image or CompressedImage, not"
            f" {getattr(message, '__msgtype__', type(message).__name__)}"
        )
    return resize_by_area(grey, width, height).ravel()


def resize_by_area(image: Vector, width: int, height: int) -> Vector:
    """Return an image (rows, columns) as the means over the areas of (height, width) pixels."""
    rows = _overlaps(image.shape[0], height)
    columns = _overlaps(image.shape[1], width)
    finite = np.isfinite(image)
    if finite.all():
        resized: Vector = rows @ image @ columns.T
        return resized
    weights = rows @ finite.astype(np.float64) @ columns.T
    sums = rows @ np.where(finite, image, 0.0) @ columns.T
    return np.where(weights > 1e-9, sums / np.maximum(weights, 1e-9), np.nan)


@lru_cache(maxsize=16)
def _overlaps(source: int, target: int) -> Vector:
    """Return (target, source) weights: the share of each source pixel in each target pixel."""
    edges = np.arange(target + 1) * (source / target)
    low = np.maximum(edges[:-1, None], np.arange(source)[None, :])
    high = np.minimum(edges[1:, None], np.arange(1, source + 1)[None, :])
    weights = np.clip(high - low, 0.0, None)
    normed: Vector = weights / weights.sum(axis=1, keepdims=True)
    return normed


def _raw_image(message: Any) -> Vector:
    try:
        item, channels, order, white = _ENCODINGS[message.encoding]
    except KeyError:
        raise InputError(
            f"image encoding {shown(message.encoding)} is not supported; supported are"
            f" {', '.join(_ENCODINGS)}"
        ) from None
    dtype = np.dtype(item).newbyteorder(">" if message.is_bigendian else "<")
    rows, columns, step = int(message.height), int(message.width), int(message.step)
    _check_size(columns, rows)
    data = np.frombuffer(bytes(message.data), dtype=np.uint8)
    used = columns * channels * dtype.itemsize
    if rows < 1 or columns < 1 or step < used or len(data) < step * rows:
        raise IndexError("the image data do not fill its size")
    lines = data[: step * rows].reshape(rows, step)[:, :used]

    def pixels(first: int, last: int) -> Any:
        part = np.ascontiguousarray(lines[first:last])
        return part.view(dtype).reshape(len(part), columns, channels)

    return _grey(pixels, (rows, columns), order, white)


def _check_size(width: int, height: int) -> None:
    if width * height > MOST_PIXELS or max(width, height) > LONGEST_SIDE:
        raise InputError(
            f"an image of {width} x {height} pixels is too large; it may have {MOST_PIXELS} pixels,"
            f" and {LONGEST_SIDE} on a side"
        )


def _grey(
    pixels: Callable[[int, int], Any],
    size: tuple[int, int],
    order: tuple[int, int, int] | None,
    white: float,
) -> Vector:
    """Return grey levels (rows, columns), made of some rows of pixels (rows, columns, c) at a time.

    ``pixels`` is given the first and the last row (half-open) of those that it shall return.
    """
    grey = np.empty(size)
    for first in range(0, size[0], _ROWS_AT_ONCE):
        last = min(first + _ROWS_AT_ONCE, size[0])
        part = pixels(first, last).astype(np.float64)
        grey[first:last] = part[..., 0] if order is None else part[..., list(order)] @ _LUMA
    grey /= white
    return grey


def _compressed_image(message: Any) -> Vector:
    if "compresseddepth" in str(message.format).lower():
        raise InputError("compressedDepth images are not supported; record the raw depth image")
    try:
        from PIL import Image
    except ImportError:
        raise InputError(
            "compressed images need Pillow; install it by pip install Pillow"
        ) from None
    data = bytes(message.data)
    if not data.startswith(_STARTS):
        raise InputError(
            f"a compressed image of the format {shown(message.format)} is neither PNG nor JPEG,"
            " the formats that are read"
        )
    if data.startswith(_JPEG) and data.count(_JPEG_SCAN) > MOST_SCANS:
        raise InputError(f"a JPEG image has more than {MOST_SCANS} scans, which take long to read")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Pillow has to say ends below, in one way or another
        try:
            with Image.open(io.BytesIO(data), formats=("PNG", "JPEG")) as picture:
                _check_size(*picture.size)
                return _decoded(picture)
        except InputError:
            raise
        except Image.DecompressionBombError:  # Pillow's own limit is above ours.
            raise InputError(
                f"a compressed image is too large; it may have {MOST_PIXELS} pixels"
            ) from None
        except Exception:  # Damaged images fail in many ways.
            raise IndexError("the compressed image cannot be decoded") from None


def _decoded(picture: Any) -> Vector:
    if picture.mode.startswith(("I", "F")):
        return np.asarray(picture, dtype=np.float64) / 65535.0
    pixels = np.asarray(picture.convert("RGB"))
    return _grey(lambda first, last: pixels[first:last], pixels.shape[:2], (0, 1, 2), 255.0)
