"""Importance weights for windows whose actions were chosen by a policy that looked.

Stage one takes the distribution of a window under the recording's policy for that under a blind one
(paper, footnote to "Learning A Predictive State Controlled Model"; Bowling et al. 2006, Boots et
al. 2011). Given history the two differ by the product, over the window's ticks, of the ratios
b(a) / pi(a). Its variance grows exponentially with the ticks, so the product takes only so many of
them, from the window's first on, as leave a useful number of effective windows, and single weights
are limited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.scaling import Run, Scaling, standardise
from rffpsr_ros.data.windows import Windows
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.feature_set import FeatureSet, WindowFeatures
from rffpsr_ros.recordings.trajectory import Trajectory

LIMIT = 10.0
"""No window counts more than so many average ones."""
USEFUL = 0.25
"""Share of the windows that weighting should leave effective."""


class Importance(NamedTuple):
    """How windows are weighted, and what is left of them."""

    length: int  # ticks over which ratios are multiplied
    limit: float  # of a single weight
    windows: int
    effective: float  # (sum w)^2 / sum w^2

    def weights(self, ratios: Array) -> Array:
        """Return what the window whose future begins at each tick counts, (T,)."""
        return np.minimum(_products(ratios, self.length), self.limit)

    def describe(self) -> str:
        """Return in words how windows are weighted."""
        ticks = "1 tick" if self.length == 1 else f"{self.length} ticks"
        return (
            f"windows weighted by how likely a blind policy was over {ticks};"
            f" {self.windows} count as {self.effective:.0f}"
        )


def importance(trajectories: Sequence[Trajectory], past: int, future: int) -> Importance | None:
    """Return the weighting of windows by the longest product that leaves them useful.

    None where no trajectory has likelihood ratios; one that has none counts as blind.
    """
    if all(trajectory.likelihood_ratios is None for trajectory in trajectories):
        return None
    ratios = [ratios_of(trajectory) for trajectory in trajectories]
    best = _importance(ratios, past, future, 1)
    for length in range(2, future + 2):
        longer = _importance(ratios, past, future, length)
        if longer.effective < USEFUL * longer.windows:
            break
        best = longer
    return best


def ratios_of(trajectory: Trajectory) -> Array:
    """Return a trajectory's likelihood ratios; a policy that is not known counts as blind."""
    known = trajectory.likelihood_ratios
    return np.ones(len(trajectory)) if known is None else known


def _importance(ratios: Sequence[Array], past: int, future: int, length: int) -> Importance:
    products = np.concatenate(
        [_products(one, length)[past : max(past, len(one) - future)] for one in ratios]
    )
    limit = LIMIT * float(products.mean()) if len(products) else LIMIT
    weights = np.minimum(products, limit)
    squares = float((weights**2).sum())
    effective = float(weights.sum()) ** 2 / squares if squares else 0.0
    return Importance(length, limit, len(weights), effective)


def _products(ratios: Array, length: int) -> Array:
    """Return the product of ``length`` ratios from each tick on, fewer at the end."""
    padded = np.concatenate([ratios, np.ones(length - 1)])
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, length).prod(axis=1))


class WeightedRecording(NamedTuple):
    """A trajectory, standardised when read, with the windows' weights as its last action."""

    trajectory: Trajectory
    observation_scaling: Scaling
    action_scaling: Scaling
    importance: Importance

    @property
    def ticks(self) -> int:
        """Number of ticks."""
        return len(self.trajectory)

    def cut(self, start: int, stop: int) -> WeightedRecording:
        """Return the stretch of ticks ``start`` to ``stop`` (half-open)."""
        return self._replace(trajectory=self.trajectory.slice(start, stop))

    def read(self) -> Run:
        """Return the ticks; the last column of the actions is the weight of each tick's window."""
        scalings = self.observation_scaling, self.action_scaling
        (run,) = standardise([self.trajectory], *scalings)
        weights = self.importance.weights(ratios_of(self.trajectory))
        return run._replace(actions=np.column_stack([run.actions, weights]))


class WeightedFeatureSet(NamedTuple):
    """Features of windows of `WeightedRecording`."""

    features: FeatureSet

    def __call__(self, windows: Windows) -> WindowFeatures:
        """Return the windows' features and weights."""
        bare = windows._replace(
            past_actions=windows.past_actions[..., :-1], actions=windows.actions[..., :-1]
        )
        return self.features(bare, windows.actions[:, 0, -1])
