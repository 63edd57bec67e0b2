"""The ARX term: an observation as a linear function of the last n ticks and the tick's action.

    o_t = W_arx [last n o, last n a, a_t, 1]

In the predictor (`psr/predictor.py`) it carries what is nearly linear or integrates. By itself it
fills gaps in recordings before anything is learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.moments import Regression
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.tick_windows import newest_ticks, settled_ticks, tick_chunks, tick_windows
from rffpsr_ros.numerics.arrays import Array


class ArxTerm(NamedTuple):
    """Inputs and gradient of the ARX term; its weights (inputs, d_o) are kept elsewhere."""

    past: int  # n

    def size(self, observed: int, acted: int) -> int:
        """Return the number of inputs, n (d_o + d_a) + d_a + 1."""
        return self.past * (observed + acted) + acted + 1

    def inputs(self, observations: Array, actions: Array) -> Array:
        """Return [last n o, last n a, a_t, 1] as rows (N, n (d_o + d_a) + d_a + 1).

        Takes windows of n ticks or more: observations (N, m, d_o), and the actions with the
        tick's own (N, m + 1, d_a). Nothing is held within limits: what is linear extrapolates.
        """
        ones = np.ones((len(observations), 1), dtype=observations.dtype)
        return np.concatenate([*newest_ticks(self.past, observations, actions), ones], axis=1)

    def predict(self, weights: Array, observations: Array, actions: Array) -> tuple[Array, Array]:
        """Return the term (N, d_o), and what `gradients` needs: its inputs."""
        inputs = self.inputs(observations, actions)
        return inputs @ weights, inputs

    def gradients(self, weights: Array, kept: Array, at_predicted: Array) -> tuple[Array, Array]:
        """Return the gradients at the weights and at the observations (N, n, d_o)."""
        columns = at_predicted.shape[1]
        at_window = at_predicted @ weights[: self.past * columns].T
        return kept.T @ at_predicted, at_window.reshape(-1, self.past, columns)


def fit_arx(runs: Sequence[Run], observed: Sequence[Array], past: int, ridge: float) -> Array:
    """Return W_arx (inputs, d_o) of the ARX term alone, by one-step ridge regression.

    ``observed`` (T, d_o) says what was seen: only ticks seen with their whole window take part.
    """
    term = ArxTerm(past)
    columns, acted = runs[0].observations.shape[1], runs[0].actions.shape[1]
    regression = Regression.zeros(columns, term.size(columns, acted))
    for run, seen in zip(runs, observed, strict=True):
        for ticks in tick_chunks(settled_ticks(seen, past)):
            windows = tick_windows(run, past, ticks)
            regression.add(term.inputs(windows.observations, windows.actions), windows.target)
    return regression.solve(ridge).T


def fill_missing(run: Run, weights: Array, past: int) -> Run:
    """Return the run with missing observations replaced by the ARX term's one-step forecast."""
    missing = np.isnan(run.observations)
    if not missing.any():
        return run
    filled = np.where(missing, 0.0, run.observations)
    for t in np.flatnonzero(missing.any(axis=1)):
        windows = tick_windows(Run(filled, run.actions), past, np.array([t]))
        inputs = ArxTerm(past).inputs(windows.observations, windows.actions)
        filled[t] = np.where(missing[t], (inputs @ weights)[0], filled[t])
    return Run(filled, run.actions)
