"""Several feature maps of one row of values as one: two products, one cosine, one sine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.feature_maps import Features
from rffpsr_ros.psr.fourier_features import FeatureMap

MOST_FREQUENCIES = 2**25
"""Numbers in the frequencies of fused maps, most of them zero; no model that was learned has so
many, but one that was made up could have a hundred times as many as it is large."""


class FeatureTerm(NamedTuple):
    """Features of some of a row's values, and what is made of them."""

    features: Features
    weights: Array | None  # (features, r), applied to them; None: the features themselves
    places: Array  # where in the row their input stands

    @property
    def size(self) -> int:
        """Return the number of outputs r."""
        return self.features.size if self.weights is None else self.weights.shape[1]


class RowMap(Protocol):
    """Outputs (..., r) of rows (..., i), in double precision."""

    def __call__(self, rows: Array) -> Array:
        """Return all terms' outputs side by side."""
        ...


class SeparateMaps(NamedTuple):
    """Terms of any kind, one after the other."""

    terms: Sequence[FeatureTerm]
    constant: Array  # (r,)

    def __call__(self, rows: Array) -> Array:
        """Return all terms' outputs side by side."""
        outputs = []
        for features, weights, places in self.terms:
            values = features(rows[..., places])
            outputs.append(values if weights is None else values @ weights)
        return np.asarray(np.concatenate(outputs, axis=-1) + self.constant)


class FusedFeatureMap(NamedTuple):
    """Outputs (..., r) of rows (..., i), linear in cosines, sines and a constant.

    Computes in the precision of its arrays, but for the constant, which is in double precision.
    """

    frequencies: Array  # (i, D)
    output: Array  # (2 D, r), column after column
    constant: Array  # (r,)

    def __call__(self, rows: Array) -> Array:
        """Return all terms' outputs side by side."""
        phase = rows.astype(self.frequencies.dtype, copy=False).dot(self.frequencies)
        count = phase.shape[-1]
        shape = 2 * count if phase.ndim == 1 else (*phase.shape[:-1], 2 * count)
        waves = np.empty(shape, phase.dtype)
        np.cos(phase, out=waves[..., :count])
        np.sin(phase, out=waves[..., count:])
        return waves.dot(self.output) + self.constant  # type: ignore[no-any-return]


def side_by_side(
    terms: Sequence[FeatureTerm], size: int, constant: Array, dtype: type[np.floating]
) -> RowMap:
    """Return one map of rows of ``size`` values; ``constant`` (r_1,) is added to the first term.

    Random Fourier features become a `FusedFeatureMap` that computes in ``dtype``; with others the
    terms are evaluated one by one.

    Raises
    ------
    ValueError
        If that would take more than `MOST_FREQUENCIES`.
    """
    width = sum(term.size for term in terms)
    offset = np.concatenate([constant, np.zeros(width - len(constant))])
    maps = [term.features for term in terms if isinstance(term.features, FeatureMap)]
    if len(maps) < len(terms):
        cast = [term._replace(features=term.features.astype(dtype)) for term in terms]
        return SeparateMaps(cast, offset)
    count = sum(len(features.frequencies) for features in maps)
    if max(size, 2 * width) * count > MOST_FREQUENCIES:
        raise ValueError(f"{count} frequencies of {size} values are more than any model has")
    frequencies, output = np.zeros((size, count)), np.zeros((2 * count, width))
    row = column = 0
    for (_, weights, places), features in zip(terms, maps, strict=True):
        here = len(features.frequencies)
        frequencies[places, row : row + here] = features.frequencies.T
        scaled = features.projection / np.sqrt(max(here, 1))
        if weights is not None:
            scaled = scaled @ weights
        columns = slice(column, column + scaled.shape[1])
        output[row : row + here, columns] = scaled[:here]
        output[count + row : count + row + here, columns] = scaled[here:]
        row, column = row + here, columns.stop
    return FusedFeatureMap(frequencies.astype(dtype), output.astype(dtype, order="F"), offset)
