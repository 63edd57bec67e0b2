"""The regressions of the linear ARX model, from sums over rows: memory does not grow with data.

A row belongs to an origin t of one trajectory. Its columns are the ``past`` ticks before t, oldest
first, each with its observation and action; a one; and the ``future`` actions from t on. Its
targets are the ``future`` observations from t on. All of it is in standard units.

A regression on fewer ticks of history, or for an earlier horizon, uses columns in between: its
sums are a block of the whole, so one pass over the data serves them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rffpsr_ros.data.folds import in_turn, pieces_of
from rffpsr_ros.data.moments import Regression, ridge_regression
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

_CHUNK = 4096
_FOLDS = 5
_FEWEST_TRAJECTORIES = 3
"""With fewer, pieces of the trajectories are held out instead of whole ones."""


class Shape(NamedTuple):
    """Sizes of a regression."""

    past: int
    future: int
    d_o: int
    d_a: int

    @property
    def tick(self) -> int:
        """Return the number of columns of one tick of history."""
        return self.d_o + self.d_a

    @property
    def history(self) -> int:
        """Return the number of history columns."""
        return self.past * self.tick

    @property
    def columns(self) -> int:
        """Return the number of all columns."""
        return self.history + 1 + self.future * self.d_a


@dataclass
class Sums:
    """Sums over rows: those of the regression, and each target's squares (future d_o,)."""

    regression: Regression
    squares: Array

    @property
    def count(self) -> float:
        """Return the number of rows, or the sum of their weights."""
        return self.regression.input_input.count

    @classmethod
    def zeros(cls, shape: Shape) -> Sums:
        """Return the sums over no rows."""
        targets = shape.future * shape.d_o
        return cls(Regression.zeros(targets, shape.columns), np.zeros(targets))

    @classmethod
    def of(cls, run: Run, shape: Shape) -> Sums:
        """Return the sums over the rows of one trajectory."""
        sums = cls.zeros(shape)
        for rows, targets in _rows(run, shape):
            sums.regression.add(rows, targets)
            sums.squares += np.einsum("ij,ij->j", targets, targets)
        return sums

    @classmethod
    def merged(cls, parts: Iterable[Sums], shape: Shape) -> Sums:
        """Return the sums over the rows of all parts."""
        sums = cls.zeros(shape)
        for part in parts:
            sums.regression.merge(part.regression)
            sums.squares += part.squares
        return sums


def _rows(run: Run, shape: Shape) -> Iterator[tuple[Array, Array]]:
    """Yield rows and targets of one trajectory, in chunks; incomplete rows are left out."""
    ticks = np.concatenate(run, axis=1)
    past, future = shape.past, shape.future
    origins = len(ticks) - past - future + 1
    for start in range(0, origins, _CHUNK):
        size = min(_CHUNK, origins - start)
        rows = np.concatenate(
            [
                _windows(ticks[start:], past, size),
                np.ones((size, 1)),
                _windows(run.actions[start + past :], future, size),
            ],
            axis=1,
        )
        targets = _windows(run.observations[start + past :], future, size)
        complete = np.isfinite(rows).all(axis=1) & np.isfinite(targets).all(axis=1)
        yield rows[complete], targets[complete]


def _windows(series: Array, length: int, count: int) -> Array:
    """Return the first ``count`` windows of ``length`` rows (T, d), each flattened row by row."""
    windows = sliding_window_view(series[: count + length - 1], length, axis=0)
    flat: Array = windows.swapaxes(1, 2).reshape(count, -1)
    return flat


def fit_weights(sums: Sums, past: int, ridge: float, shape: Shape) -> Array:
    """Return the weights (columns, future d_o) of regressions on the last ``past`` ticks.

    They are zero for older ticks, and where a horizon must not see an action.
    """
    target_input = sums.regression.target_input.mean
    input_input = sums.regression.input_input.mean
    weights = np.zeros((shape.columns, shape.future * shape.d_o))
    for h in range(shape.future):
        seen = slice(shape.history - past * shape.tick, shape.history + 1 + (h + 1) * shape.d_a)
        targets = slice(h * shape.d_o, (h + 1) * shape.d_o)
        weights[seen, targets] = ridge_regression(
            target_input[targets, seen], input_input[seen, seen], ridge
        ).T
    return weights


def mean_squared_errors(sums: Sums, weights: Array, shape: Shape) -> Array:
    """Return the mean squared error (future, d_o) of ``weights`` on the rows of ``sums``."""
    target_input, input_input = sums.regression.target_input, sums.regression.input_input
    explained = np.einsum(
        "ij,ij->j", weights, 2 * target_input.total.T - input_input.total @ weights
    )
    rounding = np.finfo(np.float64).eps * sums.squares
    errors: Array = np.maximum(sums.squares - explained, rounding) / sums.count
    return errors.reshape(shape.future, shape.d_o)


def held_out_score(
    folds: Sequence[tuple[Sums, Sums]], past: int, ridge: float, shape: Shape
) -> float:
    """Return how wrong regressions are on the held-out rows of (training, held out) folds.

    Geometric over horizons, so that none drowns another, and a power mean (1/2) over folds, so
    that no odd trajectory decides alone.
    """
    errors = np.stack(
        [
            mean_squared_errors(held, fit_weights(fit, past, ridge, shape), shape).sum(axis=1)
            for fit, held in folds
        ]
    )
    over_folds = np.maximum(np.sqrt(errors).mean(axis=0) ** 2, np.finfo(np.float64).tiny)
    return float(np.exp(np.log(over_folds).mean()))


def folds_of(
    train: Sequence[Trajectory], summarise: Callable[[Trajectory], Sums], shape: Shape
) -> list[tuple[Sums, Sums]]:
    """Return (training, held-out) sums: whole trajectories in turn, or pieces of a few ones.

    Not `folds` of trajectories, because a sum over all but one piece is made of the pieces' own:
    each recording is passed over once for all folds. Hence no row spans two pieces, as rows of
    `folds`, which joins what is left of a recording, would. Folds without rows are left out; there
    may be none.
    """
    pieces = list(train)
    if len(train) < _FEWEST_TRAJECTORIES:
        pieces = [piece for trajectory in train for piece in pieces_of(trajectory, _FOLDS)]
    sums = [summarise(piece) for piece in pieces]
    folds = [
        (Sums.merged(fit, shape), Sums.merged(held, shape))
        for fit, held in in_turn(sums, min(_FOLDS, len(sums)))
    ]
    return [(fit, held) for fit, held in folds if fit.count and held.count]
