"""The regressions of RFF-ARX: principal directions of random features, then ridge regression.

Directions are found on a sample of the windows; sums over all windows are kept in these
directions, so that every smaller rank and every ridge is a small solve.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg

from rffpsr_ros.data.moments import Regression
from rffpsr_ros.data.principal_directions import principal_directions_of_few
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.tick_windows import tick_windows
from rffpsr_ros.data.windows import flatten
from rffpsr_ros.models.rff_arx.model import WindowMap, features_of
from rffpsr_ros.numerics.arrays import Array

SAMPLE = 1000
"""Windows that principal directions are found on, at the most."""

_CHUNK = 1000
_NEGLIGIBLE = 1e-7
"""Singular values below this fraction of the largest are rounding."""


class Rows(NamedTuple):
    """N windows: history (N, past (d_o + d_a)), plan (N, H, d_a), target (N, H, d_o)."""

    history: Array
    plan: Array
    target: Array
    run: Array  # (N,): number of the run that a window belongs to

    def pick(self, chosen: Array | slice) -> Rows:
        """Return some of the windows."""
        return Rows(*(part[chosen] for part in self))

    def chunks(self) -> Iterator[Rows]:
        """Yield the windows in chunks."""
        for start in range(0, len(self.history), _CHUNK):
            yield self.pick(slice(start, start + _CHUNK))


def all_rows(runs: Sequence[Run], past: int, future: int) -> Rows | None:
    """Return the complete windows of runs, from their second tick on; None if there are none."""
    parts = [
        _rows(run, number, past, future)
        for number, run in enumerate(runs)
        if len(run.actions) > future
    ]
    if not any(len(part.run) for part in parts):
        return None
    return Rows(*(np.concatenate(same) for same in zip(*parts, strict=True)))


def _rows(run: Run, number: int, past: int, future: int) -> Rows:
    ticks = np.arange(1, len(run.actions) - future + 1)
    windows = tick_windows(run, past, ticks)
    ahead = ticks[:, None] + np.arange(future)
    history = flatten(windows.observations, windows.actions[:, :-1])
    rows = Rows(history, run.actions[ahead], run.observations[ahead], np.full(len(ticks), number))
    complete = np.isfinite(rows.history).all(axis=1) & np.isfinite(rows.target).all(axis=(1, 2))
    return rows.pick(np.flatnonzero(complete))


@dataclass
class HorizonFit:
    """The regression of one horizon in principal directions of its features.

    Attributes
    ----------
    directions
        (2 D, r), strongest first.
    sums, held_out_sums
        Moments of features and targets over the training and the held-out windows.
    held_out
        Features (M, r), targets (M, d_o) and runs (M,) of the held-out windows.
    """

    directions: Array
    sums: Regression
    held_out_sums: Regression
    held_out: tuple[Array, Array, Array]

    @property
    def rank(self) -> int:
        """Return the number of directions r."""
        return int(self.directions.shape[1])

    def weights(self, rank: int, ridge: float, also_held_out: bool) -> Array:
        """Return the weights (2 D, d_o) on the features."""
        sums = Regression.zeros(*self.sums.target_input.total.shape)
        sums.merge(self.sums)
        if also_held_out:
            sums.merge(self.held_out_sums)
        (inside,) = _solutions(sums, rank, [ridge])
        return np.asarray(self.directions[:, :rank] @ inside)

    def held_out_errors(self, rank: int, ridges: Sequence[float]) -> Array:
        """Return the mean squared error (ridges, runs) on the held-out windows."""
        features, targets, runs = self.held_out
        found = []
        for inside in _solutions(self.sums, rank, ridges):
            squares = np.sum((targets - features[:, :rank] @ inside) ** 2, axis=1)
            found.append([squares[runs == run].mean() for run in np.unique(runs)])
        return np.array(found)


def fit_horizons(windows: WindowMap, train: Rows, held_out: Rows, most: int) -> list[HorizonFit]:
    """Return the regression of every horizon, of at most ``most`` directions."""
    chosen = np.unique(np.linspace(0, len(train.history) - 1, SAMPLE).round().astype(int))
    directions = [
        principal_directions_of_few(features, most, _NEGLIGIBLE)
        for features in _features(windows, train.pick(chosen))
    ]
    sums = _sums(windows, train, directions)
    held_out_sums = _sums(windows, held_out, directions)
    inside: list[list[Array]] = [[] for _ in directions]
    for chunk in held_out.chunks():
        for h, features in enumerate(_features(windows, chunk)):
            inside[h].append(features @ directions[h])
    return [
        HorizonFit(
            directions[h],
            sums[h],
            held_out_sums[h],
            (np.concatenate(inside[h]), held_out.target[:, h], held_out.run),
        )
        for h in range(len(directions))
    ]


def _features(windows: WindowMap, rows: Rows) -> Iterator[Array]:
    return (features_of(phase) for phase in windows.phases(rows.history, rows.plan))


def _sums(windows: WindowMap, rows: Rows, directions: Sequence[Array]) -> list[Regression]:
    columns = rows.target.shape[2]
    sums = [Regression.zeros(columns, basis.shape[1]) for basis in directions]
    for chunk in rows.chunks():
        for h, features in enumerate(_features(windows, chunk)):
            sums[h].add(features @ directions[h], chunk.target[:, h])
    return sums


def _solutions(sums: Regression, rank: int, ridges: Sequence[float]) -> Iterator[Array]:
    """Yield the ridge weights (rank, d_o) for each ridge."""
    second = sums.input_input.mean[:rank, :rank]
    first = sums.target_input.mean[:, :rank]
    variances, vectors = scipy.linalg.eigh(second)
    turned = vectors.T @ first.T
    for ridge in ridges:
        yield vectors @ (turned / (np.maximum(variances, 0) + ridge)[:, None])
