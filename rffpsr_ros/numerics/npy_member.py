"""An array in the npy format, as model files hold it: sizes are checked before memory is taken."""

from __future__ import annotations

import ast
import io
import math
import warnings
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

KINDS = "biuf"
"""Of the numbers that arrays hold: truth values, integers and floats; no objects, no texts."""

MOST_AXES = 8

HEADER_STARTS = 10
"""In bytes: after the magic text, the version and the length."""


def npy_bytes(array: NDArray[Any]) -> bytes:
    """Return an array in C order as npy."""
    buffer = io.BytesIO()
    npy.write_array(buffer, array, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def array_of_npy(content: bytes) -> NDArray[Any]:
    """Return the read-only array that `npy_bytes` wrote.

    Raises
    ------
    ValueError
        If the content is no such array, or not as long as it says.
    """
    stream = io.BytesIO(content)
    if npy.read_magic(stream) != (1, 0):
        raise ValueError("another version of npy")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # told of headers that nobody writes any more
            shape, fortran_order, dtype = npy.read_array_header_1_0(stream)
        # An old NumPy mends a header of Python 2's without a word; ours are read as they stand.
        ast.literal_eval(content[HEADER_STARTS : stream.tell()].decode("ascii").strip())
    except Exception as fault:  # of a parser of Python's own, which raises many
        raise ValueError("no header of npy") from fault
    if dtype.kind not in KINDS or dtype.hasobject or dtype.fields or dtype.shape or fortran_order:
        raise ValueError("no plain numbers in C order")
    if len(shape) > MOST_AXES or any(type(size) is not int or size < 0 for size in shape):
        raise ValueError("no shape")
    start = stream.tell()
    if math.prod(shape) * dtype.itemsize != len(content) - start:
        raise ValueError("not as many numbers as the header says")
    array = np.empty(shape, dtype)
    array.reshape(-1)[:] = np.frombuffer(content, dtype, offset=start)
    array.setflags(write=False)
    return array
