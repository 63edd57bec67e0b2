"""Features of the Gaussian kernel itself, by Gram matrices: HSE-PSR without approximation.

Paper, "HSE-PSR as a predictive state controlled model".

All that kernel Bayes' rule computes lies in the span of the training windows' features. The Gram
matrix G = V L V^T gives an orthonormal basis of that span, in which x has the coordinates
L^{-1/2} V^T k(X, x): inner products are the kernel's, and what is learned from such coordinates is
what formulas in Gram matrices give (Boots, Gretton and Gordon 2013). Those hold an N x N matrix for
each of N windows. Coordinates can be cut where the kernel's spectrum has all but ended.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rffpsr_ros.data.principal_directions import gram_coordinates
from rffpsr_ros.data.window_source import WindowSource
from rffpsr_ros.data.windows import Windows, chunks_of
from rffpsr_ros.errors import InputError
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.feature_set import (
    FeatureOptions,
    FeatureSet,
    FittedFeatures,
    fit_products,
)
from rffpsr_ros.psr.fourier_features import median_distance
from rffpsr_ros.psr.kernel_features import KernelMap, gaussian_kernel

MATRICES = 6
"""Gram matrices that are in memory at once: one, its eigenvectors, and what finding them takes."""


def needed_memory(windows: int, columns: int, rank: int) -> float:
    """Return the bytes that learning from so many windows of so many values takes at its most.

    Windows span no more directions than there are of them, whatever ``rank`` allows.
    """
    rank = min(rank, windows)
    stage_one = 3 * rank**3 + 2 * min(4096, windows) * rank**2
    return 8.0 * (MATRICES * windows**2 + 2 * windows * columns + stage_one)


def fit_gram_features(
    source: WindowSource, options: FeatureOptions, generator: np.random.Generator, memory: float
) -> FittedFeatures:
    """Return the kernel's features in coordinates of all windows; ``memory`` is in bytes.

    Raises
    ------
    InputError
        If more memory would be needed; the message says how much.
    """
    windows = source.count
    first = source.recordings[0].cut(0, 1).read()
    columns = (first.observations.shape[1] + first.actions.shape[1]) * (
        source.past + source.future + 1
    )
    needed = needed_memory(windows, columns, options.rank)
    if needed > memory:
        raise InputError(
            f"Gram matrices of {windows} windows need {needed / 1e9:.1f} GB and"
            f" {memory / 1e9:.1f} GB are allowed; raise 'memory', learn from fewer ticks, or learn"
            " an rff_psr, whose memory does not grow with the data"
        )
    sample = source.sample(windows, generator)
    lost: dict[str, float] = {}

    def map_of(name: str, view: Callable[[Windows], Array], rank: int) -> KernelMap:
        points = np.unique(view(sample), axis=0)
        width = np.asarray(options.bandwidth * median_distance(view(sample), generator))
        # Equal points share one row: their features are one vector.
        gram = gaussian_kernel(points, points, width)
        coordinates, lost[name] = gram_coordinates(gram, rank, options.tolerance)
        return KernelMap(points, coordinates, width)

    maps = FeatureSet(
        map_of("history", lambda w: w.history, options.rank),
        map_of("observation", lambda w: w.observations[:, 0], options.observation_rank),
        map_of("action", lambda w: w.actions[:, 0], options.action_rank),
        map_of("future_observation", lambda w: w.future_observations, options.rank),
        map_of("future_action", lambda w: w.future_actions, options.rank),
        *([np.empty((0, 0))] * 3),
    )
    chunks = chunks_of(sample)
    features = fit_products(maps, chunks, options, generator)
    return FittedFeatures(features, sample, lost, np.float64)
