"""Several feature maps of one row of values as one: two products, and one call a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.waves import write_waves
from rffpsr_ros.psr.feature_maps import Features
from rffpsr_ros.psr.fourier_features import FeatureMap
from rffpsr_ros.psr.kernel_features import KernelMap
from rffpsr_ros.psr.sigmoid_features import SigmoidMap

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
    """Outputs (..., r) of rows (..., i), linear in D cosines and sines, E tangents and a constant.

    Computes in the precision of its arrays, but for the constant, which is in double precision.
    """

    directions: Array  # (i, D + E): frequencies of waves, then directions of sigmoids
    offsets: Array  # (E,)
    output: Array  # (2 D + E, r), column after column
    constant: Array  # (r,)

    def __call__(self, rows: Array) -> Array:
        """Return all terms' outputs side by side."""
        sums = rows.astype(self.directions.dtype, copy=False).dot(self.directions)
        count, width = sums.shape[-1] - len(self.offsets), len(self.output)
        values = np.empty(width if sums.ndim == 1 else (*sums.shape[:-1], width), sums.dtype)
        write_waves(sums[..., :count], values[..., :count], values[..., count : 2 * count])
        if len(self.offsets):
            np.tanh(sums[..., count:] + self.offsets, out=values[..., 2 * count :])
        return values.dot(self.output) + self.constant  # type: ignore[no-any-return]


def side_by_side(
    terms: Sequence[FeatureTerm], size: int, constant: Array, dtype: type[np.floating]
) -> RowMap:
    """Return one map of rows of ``size`` values; ``constant`` (r_1,) is added to the first term.

    Random Fourier features and sigmoids become a `FusedFeatureMap` that computes in ``dtype``; with
    others the terms are evaluated one by one.

    Raises
    ------
    ValueError
        If that would take more than `MOST_FREQUENCIES`.
    """
    width = sum(term.size for term in terms)
    constant = np.concatenate([constant, np.zeros(width - len(constant))])
    maps = [term.features for term in terms]
    if any(isinstance(features, KernelMap) for features in maps):
        cast = [term._replace(features=term.features.astype(dtype)) for term in terms]
        return SeparateMaps(cast, constant)
    waves = sum(len(one.frequencies) for one in maps if isinstance(one, FeatureMap))
    bends = [one.offsets for one in maps if isinstance(one, SigmoidMap)]
    count = waves + sum(map(len, bends))
    if max(size, 2 * width) * count > MOST_FREQUENCIES:
        raise ValueError(f"{count} frequencies of {size} values are more than any model has")
    directions, output = np.zeros((size, count)), np.zeros((waves + count, width))
    wave, bend, column = 0, waves, 0
    for term in terms:
        own, scaled = _own(term)
        columns = slice(column, column + scaled.shape[1])
        if isinstance(term.features, FeatureMap):
            here = slice(wave, wave + len(own))
            output[here, columns] = scaled[: len(own)]
            output[waves + wave : waves + here.stop, columns] = scaled[len(own) :]
            wave = here.stop
        else:
            here = slice(bend, bend + len(own))
            output[waves + bend : waves + here.stop, columns] = scaled
            bend = here.stop
        directions[term.places, here] = own.T
        column = columns.stop
    offsets = np.concatenate([np.zeros(0), *bends]).astype(dtype)
    weights = output.astype(dtype, order="F")
    return FusedFeatureMap(directions.astype(dtype), offsets, weights, constant)


def _own(term: FeatureTerm) -> tuple[Array, Array]:
    """Return a term's directions (D, d), and what becomes of its waves or sigmoids (., r)."""
    features = term.features
    assert not isinstance(features, KernelMap)
    own = features.frequencies if isinstance(features, FeatureMap) else features.directions
    scaled = features.projection / np.sqrt(max(len(own), 1))
    return own, scaled if term.weights is None else scaled @ term.weights
