"""Messages that differ in their numbers only: serialised once, the numbers put into the bytes.

Filling a message in and having it serialised takes longer than forecasting the numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message

from rffpsr_ros.numerics.arrays import Array

STAMP_AT = 4
"""Where the stamp is of a message that begins with a header; the bytes before it say how the rest
is to be read."""


class PreparedMessage:
    """The bytes of a message, up to its numbers.

    Parameters
    ----------
    make
        Called with an array, it returns a message that holds these float64 numbers, one after the
        other, in a single place.
    shape
        The array's.
    """

    def __init__(self, make: Callable[[Array], Any], shape: tuple[int, ...]) -> None:
        marks = np.random.default_rng(0).random(shape)  # nothing else looks like these
        self._draft = bytes(serialize_message(make(marks)))
        self._at = self._draft.index(marks.tobytes())
        self._end = self._at + marks.nbytes

    def filled(self, numbers: Array, stamp_ns: int | None = None) -> bytes:
        """Return the message with other numbers, and another stamp (ns) in its header if given."""
        data = bytearray(self._draft)
        data[self._at : self._end] = numbers.tobytes()
        if stamp_ns is not None:
            struct.pack_into("=iI", data, STAMP_AT, *divmod(stamp_ns, 1_000_000_000))
        return bytes(data)
