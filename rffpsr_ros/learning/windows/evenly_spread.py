"""A few of many: hours of recordings often say no more than some stretches of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

ItemT = TypeVar("ItemT")


def evenly_spread(items: Sequence[ItemT], most: int) -> list[ItemT]:
    """Return all items, or ``most`` of them, evenly spread, if there are more."""
    if len(items) <= most:
        return list(items)
    return [items[i] for i in np.linspace(0, len(items) - 1, most).round().astype(int)]
