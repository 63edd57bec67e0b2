"""Symbols: the values of discrete channels, and indicator features of their windows.

A symbol is a distinct row of a recording's columns, whatever these are: one column of numbers, or
the indicator columns of several channels. The expected row is the probabilities times the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from rffpsr_ros.data.windows import Windows
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds
from rffpsr_ros.psr.instance_features import FeaturePair


class Codebook(NamedTuple):
    """The distinct rows (S, d) of the training data, in their order."""

    rows: Annotated[Array, holds("S", "d")]

    @classmethod
    def of(cls, columns: Sequence[Array]) -> Codebook:
        """Return the distinct complete rows of all arrays (T_n, d)."""
        distinct = [np.unique(rows[~np.isnan(rows).any(1)], axis=0) for rows in columns]
        return cls(np.unique(np.concatenate(distinct), axis=0))

    def matches(self, values: Array) -> Array:
        """Return which symbols (..., S) agree with the values (..., d) that are not NaN.

        Values that the training data do not have are taken for the nearest symbol.
        """
        apart = np.nan_to_num((values[..., None, :] - self.rows) ** 2).sum(-1)
        return np.asarray(apart <= apart.min(-1, keepdims=True))

    def encode(self, values: Array) -> Array:
        """Return the number of each row's symbol (T, 1); NaN where an entry is missing."""
        codes = self.matches(values).argmax(-1)
        return np.where(np.isnan(values).any(-1), np.nan, codes)[:, None]


class SymbolFeatures(NamedTuple):
    """Indicators of windows, as the two stages ask for them."""

    history: Array  # h: which class the history belongs to
    state: FeaturePair  # a_{t:t+k-1} and o_{t:t+k-1}
    extended: tuple[FeaturePair, FeaturePair]  # a_{t:t+k} and o_{t:t+k}; a_t and o_t
    weights: Array | None = None


@dataclass(frozen=True)
class Histories:
    """Classes of histories: the longest ending that is frequent in the training data.

    ``known`` holds, for endings of 1, 2, ... ticks, the sorted codes of the frequent ones.
    """

    known: tuple[Array, ...]
    symbols: int
    actions: int

    @property
    def size(self) -> int:
        """Number of classes; the first one is that of all other histories."""
        return 1 + sum(map(len, self.known))

    def classes(self, observations: Array, actions: Array) -> Array:
        """Return the class (N,) of histories of codes (N, n)."""
        chosen = np.zeros(len(observations), np.intp)
        first = 1
        for codes, known in zip(
            ending_codes(observations, actions, self.symbols, self.actions),
            self.known,
            strict=False,
        ):
            places = np.minimum(np.searchsorted(known, codes), max(len(known) - 1, 0))
            found = known[places] == codes if len(known) else np.zeros(len(codes), bool)
            chosen = np.where(found, first + places, chosen)
            first += len(known)
        return chosen


def ending_codes(observations: Array, actions: Array, symbols: int, choices: int) -> list[Array]:
    """Return one number (N,) for the last 1, 2, ... ticks of histories of codes (N, n)."""
    joint = (observations * choices + actions).astype(np.int64)
    codes, total = [], np.zeros(len(joint), np.int64)
    for back in range(joint.shape[1]):
        total = total + joint[:, -1 - back] * (symbols * choices) ** back
        codes.append(total)
    return codes


@dataclass(frozen=True)
class SymbolMaps:
    """From windows of codes to indicators."""

    histories: Histories

    def __call__(self, windows: Windows, weights: Array | None = None) -> SymbolFeatures:
        """Return the indicator features of windows, and what each counts."""
        symbols, actions = self.histories.symbols, self.histories.actions
        observed, acted = windows.observations[:, :, 0], windows.actions[:, :, 0]
        classes = self.histories.classes(
            windows.past_observations[:, :, 0], windows.past_actions[:, :, 0]
        )
        return SymbolFeatures(
            indicators(classes, self.histories.size),
            FeaturePair(sequence(acted[:, :-1], actions), sequence(observed[:, :-1], symbols)),
            (
                FeaturePair(sequence(acted, actions), sequence(observed, symbols)),
                FeaturePair(sequence(acted[:, :1], actions), sequence(observed[:, :1], symbols)),
            ),
            weights,
        )


def sequence(codes: Array, symbols: int) -> Array:
    """Return the indicator (N, symbols^k) of sequences of codes (N, k), the first one slowest."""
    length = codes.shape[1]
    places = symbols ** np.arange(length - 1, -1, -1)
    return indicators((codes @ places).astype(np.intp), symbols**length)


def indicators(numbers: Array, size: int) -> Array:
    """Return rows (N, size) with a 1 at each number (N,)."""
    rows = np.zeros((len(numbers), size))
    rows[np.arange(len(numbers)), numbers] = 1.0
    return rows
