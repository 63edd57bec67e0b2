"""A belief from a finite history: where a run is entered in the middle, or a belief was lost.

Not the paper's, whose filter starts at Q_0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from rffpsr_ros.data.moments import Regression
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.windows import flatten
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import count, holds, sizes
from rffpsr_ros.psr.feature_maps import Features


class HistoryRegression(NamedTuple):
    """q = R [h, window, 1]: the belief after n ticks, linear in their features and values."""

    features: Annotated[Features, sizes(d="n*(d_o+d_a)", r="r_h")]  # h, of the window's values
    weights: Annotated[Array, holds("p", "r_h+n*(d_o+d_a)+1")]  # R
    past: Annotated[int, count("n", least=1)]

    def __call__(self, observations: Array, actions: Array) -> Array:
        """Return beliefs (N, p) after standardised windows (N, n, d_o) and (N, n, d_a)."""
        return np.asarray(_inputs(self.features, observations, actions) @ self.weights.T)


def fit_history(
    runs: Sequence[Run],
    states: Sequence[Array],
    features: Features,
    past: int,
    ridge: float,
) -> HistoryRegression:
    """Regress filtered states (T_n, p), before each tick, on the windows that precede them."""
    size = states[0].shape[1]
    regression: Regression | None = None
    for run, here in zip(runs, states, strict=True):
        count = len(run.actions) - past
        if count < 1:
            continue
        rows = np.arange(count)[:, None] + np.arange(past)
        inputs = _inputs(features, run.observations[rows], run.actions[rows])
        if regression is None:
            regression = Regression.zeros(size, inputs.shape[1])
        regression.add(inputs, here[past:])
    assert regression is not None, "training data hold at least one window"
    return HistoryRegression(features, regression.solve(ridge), past)


def _inputs(features: Features, observations: Array, actions: Array) -> Array:
    window = flatten(observations, actions)
    return np.concatenate([features(window), window, np.ones((len(window), 1))], axis=1)
