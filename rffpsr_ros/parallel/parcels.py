"""Values on their way to another process, with arrays laid out in memory as they are here.

Pickle alone puts a slice of a matrix in order of its rows. The numbers are the same then, but
products of them, added up in another order, may round differently.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np

from rffpsr_ros.numerics.arrays import Array

_LOOSE = 4
"""A slice that extends over so many times its own size travels packed, its axes in their order."""


def packed(value: Any) -> bytes:
    """Return what `pickle.loads` makes the value of again."""
    parcel = io.BytesIO()
    _Packer(parcel, pickle.HIGHEST_PROTOCOL).dump(value)
    return parcel.getvalue()


class _Packer(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        """Return how an array is made again that is not contiguous; others know it themselves."""
        if type(value) is not np.ndarray or value.dtype.hasobject:
            return NotImplemented
        if value.flags.forc or not value.size:
            return NotImplemented
        if min(value.strides) < 0 or _extent(value) > _LOOSE * value.nbytes:
            value = value.copy(order="K")
        if value.flags.forc:
            return value.__reduce_ex__(self.proto)
        return _laid_out, (_memory(value), value.shape, value.strides, value.dtype)

    def __init__(self, target: io.BytesIO, protocol: int) -> None:
        super().__init__(target, protocol)
        self.proto = protocol


def _extent(array: Array) -> int:
    """Return over how many bytes an array's elements are spread."""
    steps = zip(array.shape, array.strides, strict=True)
    return int(sum((count - 1) * stride for count, stride in steps) + array.itemsize)


def _memory(array: Array) -> bytearray:
    """Return the bytes that an array extends over, with zeros where it has no elements."""
    memory = bytearray(_extent(array))
    _laid_out(memory, array.shape, array.strides, array.dtype)[...] = array
    return memory


def _laid_out(
    memory: bytearray, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any
) -> Array:
    return np.ndarray(shape, dtype, memory, 0, strides)
