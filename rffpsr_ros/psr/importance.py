"""Importance weights for windows whose actions were chosen by a policy that looked.

Stage one takes the distribution of a window under the recording's policy for that under a blind one
(paper, footnote to "Learning A Predictive State Controlled Model"; Bowling et al. 2006, Boots et
al. 2011). Given history the two differ by the product, over the window's ticks, of the ratios
b(a) / pi(a). Its variance grows exponentially with the ticks, so the product takes only so many of
them, from the window's first on, as leave a useful number of effective windows, and single weights
are limited.

Stage one learns what follows *given history and actions*. Where the policy read nothing but what
history holds, the first tick's ratio is a function of just these and cancels; the product then
begins at the second tick, and more windows stay effective. Stage two, the states' projection and
the initial state are averages over histories, which future actions say nothing about: weights would
only add to their variance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from rffpsr_ros.data.scaling import Run, Scaling, standardise
from rffpsr_ros.data.windows import Windows
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

LIMIT = 10.0
"""No window counts more than so many average ones."""
USEFUL = 0.25
"""Share of the windows that weighting should leave effective."""
ENOUGH = 1000
"""Effective windows that will do, however small a share: a product that covers the whole future
removes the bias, one that ends before it leaves most of it."""

FeaturesT = TypeVar("FeaturesT")


class Importance(NamedTuple):
    """How windows are weighted, and what is left of them."""

    length: int  # ticks over which ratios are multiplied
    limit: float  # of a single weight
    windows: int
    effective: float  # (sum w)^2 / sum w^2
    first: int = 0
    """The window's tick at which the product begins: 1 where the first tick's ratio cancels."""

    def weights(self, ratios: Array) -> Array:
        """Return what the window whose future begins at each tick counts, (T,)."""
        return np.minimum(_products(ratios, self.first, self.length), self.limit)

    def describe(self) -> str:
        """Return in words how windows are weighted."""
        ticks = "1 tick" if self.length == 1 else f"{self.length} ticks"
        after = " after the first, whose ratio cancels" if self.first else ""
        return (
            f"windows weighted by how likely a blind policy was over {ticks}{after};"
            f" {self.windows} count as {self.effective:.0f}"
        )


def importance(
    trajectories: Sequence[Trajectory], past: int, future: int, held: int | None = None
) -> Importance | None:
    """Return the weighting of windows by the longest product that leaves them useful.

    None where no trajectory has likelihood ratios; one that has none counts as blind. ``held`` is
    the number of past ticks that every history holds for certain: by default all ``past``. The
    first tick's ratio is left out where no policy read more than these.
    """
    weighted = [run for run in trajectories if run.likelihood_ratios is not None]
    if not weighted:
        return None
    known = past if held is None else min(held, past)
    cancels = all(run.policy_memory is not None and run.policy_memory <= known for run in weighted)
    ratios = [ratios_of(trajectory) for trajectory in trajectories]
    first = int(cancels)
    best = _importance(ratios, past, future, first, 1)
    for length in range(2, future + 2 - first):
        longer = _importance(ratios, past, future, first, length)
        if longer.effective < min(USEFUL * longer.windows, ENOUGH):
            break
        best = longer
    return best


def ratios_of(trajectory: Trajectory) -> Array:
    """Return a trajectory's likelihood ratios; a policy that is not known counts as blind."""
    known = trajectory.likelihood_ratios
    return np.ones(len(trajectory)) if known is None else known


def _importance(
    ratios: Sequence[Array], past: int, future: int, first: int, length: int
) -> Importance:
    products = np.concatenate(
        [_products(one, first, length)[past : max(past, len(one) - future)] for one in ratios]
    )
    limit = LIMIT * float(products.mean()) if len(products) else LIMIT
    weights = np.minimum(products, limit)
    squares = float((weights**2).sum())
    effective = float(weights.sum()) ** 2 / squares if squares else 0.0
    return Importance(length, limit, len(weights), effective, first)


def _products(ratios: Array, first: int, length: int) -> Array:
    """Return the product of ``length`` ratios from ``first`` ticks after each, fewer at the end."""
    padded = np.concatenate([ratios[first:], np.ones(length - 1 + first)])
    products = np.lib.stride_tricks.sliding_window_view(padded, length).prod(axis=1)
    return np.asarray(products[: len(ratios)])


def with_weights(run: Run, ratios: Array, importance: Importance) -> Run:
    """Return a run whose last column of the actions is the weight of each tick's window."""
    return run._replace(actions=np.column_stack([run.actions, importance.weights(ratios)]))


def weighted_runs(
    runs: Sequence[Run], trajectories: Sequence[Trajectory], importance: Importance
) -> list[Run]:
    """Return the runs made of trajectories, with weights by the latter's likelihood ratios."""
    return [
        with_weights(run, ratios_of(trajectory), importance)
        for run, trajectory in zip(runs, trajectories, strict=True)
    ]


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
        """Return the ticks, with weights."""
        scalings = self.observation_scaling, self.action_scaling
        (run,) = standardise([self.trajectory], *scalings)
        return with_weights(run, ratios_of(self.trajectory), self.importance)


@dataclass(frozen=True)
class WeightedFeatures(Generic[FeaturesT]):
    """Features of windows whose last action column is their weight.

    ``features`` turns windows without that column, and their weights (N,), into features.
    """

    features: Callable[[Windows, Array], FeaturesT]

    def __call__(self, windows: Windows) -> FeaturesT:
        """Return the windows' features and weights."""
        bare = windows._replace(
            past_actions=windows.past_actions[..., :-1], actions=windows.actions[..., :-1]
        )
        return self.features(bare, windows.actions[:, 0, -1])
