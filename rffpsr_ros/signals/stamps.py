"""When a message was: its header's stamp where there is one, else the time of receipt."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

Stamp = Callable[[Any, int], int]
"""From a message (or its bytes) and its time of receipt to its stamp, all in nanoseconds."""

_CDR_STAMPS = {0: struct.Struct(">iI"), 1: struct.Struct("<iI")}
_ROS1_STAMP = struct.Struct("<II")


def stamp_of(message: Any, receive_ns: int) -> int:
    """Return the header's stamp in nanoseconds; the time of receipt if there is none or it is 0.

    A stamp of exactly 0 is what a publisher leaves that does not fill it in.
    """
    header = getattr(message, "header", None)
    stamp = getattr(header, "stamp", None)
    if stamp is None:
        return receive_ns
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec) or receive_ns


def receive_time(message: Any, receive_ns: int) -> int:
    """Return the time of receipt, whatever the message says."""
    return receive_ns


def stamp_of_cdr(raw: Any, receive_ns: int) -> int:
    """Return what `stamp_of` would, from the CDR bytes of a message that begins with its header."""
    try:
        seconds, nanoseconds = _CDR_STAMPS[raw[1]].unpack_from(raw, 4)
    except (KeyError, IndexError, struct.error):
        return receive_ns
    return int(seconds * 1_000_000_000 + nanoseconds) or receive_ns


def stamp_of_ros1(raw: Any, receive_ns: int) -> int:
    """Return what `stamp_of` would, from the ROS 1 bytes of a message that begins so."""
    try:
        seconds, nanoseconds = _ROS1_STAMP.unpack_from(raw, 4)
    except struct.error:
        return receive_ns
    return int(seconds * 1_000_000_000 + nanoseconds) or receive_ns
