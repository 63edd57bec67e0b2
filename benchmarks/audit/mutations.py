"""Small damages to bytes and text, drawn with a seed."""

from __future__ import annotations

import numpy as np

ODD_TEXT = (
    b"",
    b"nan",
    b"-inf",
    b"1e309",
    b"1.797e308",
    b"99999999999999999999999999",
    b"-1",
    b"\x00",
    b"\xff\xfe",
    b"\n",
    b'"',
    b"0x10",
    b"1_000",
    "\u0663".encode(),
    b"a" * 5000,
)
"""What programs often stumble over."""


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes with one to four small damages."""
    text = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        kind = int(rng.integers(6))
        at = int(rng.integers(len(text) + 1))
        length = int(rng.integers(1, 17))
        if kind == 0 and at < len(text):
            text[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del text[at : at + length]
        elif kind == 2:
            text[at:at] = text[at : at + length]
        elif kind == 3:
            text[at:at] = ODD_TEXT[int(rng.integers(len(ODD_TEXT)))]
        elif kind == 4:
            del text[at:]
        else:
            text[at : at + length] = rng.bytes(length)
    return bytes(text)
