"""All features the two stages need, drawn once and projected, and windows turned into them.

Follows the first half of the paper's algorithm Learn-RFF-PSR ("Feature projection using PCA").
Features are computed on the fly, chunk by chunk; neither raw features nor products of features
are ever held for all windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from rffpsr_ros.learning.arrays import Array, khatri_rao, symmetric_products
from rffpsr_ros.learning.features import (
    MEDIAN_POINTS,
    FeatureMap,
    Features,
    draw_frequencies,
    median_distance,
    random_fourier_features,
)
from rffpsr_ros.learning.projection import principal_directions
from rffpsr_ros.learning.scaling import Run
from rffpsr_ros.learning.stage_one import Pair
from rffpsr_ros.learning.windows import Windows, count_windows, window_chunks

FeaturesT = TypeVar("FeaturesT")

CACHED_WINDOWS = 50_000
"""Up to so many windows the projected features are kept instead of computed in every pass."""


@dataclass(frozen=True)
class FeatureOptions:
    """Sizes of features; see `RFFPSR` for their meaning to a user."""

    past: int = 20
    future: int = 10
    features: int = 1000
    rank: int = 20
    observation_rank: int = 20
    action_rank: int = 20
    tolerance: float = 1e-6
    bandwidth: float = 1.0


class WindowFeatures(NamedTuple):
    """Projected features of N windows, in the paper's symbols."""

    history: Array  # h, with a constant (N, r_h + 1)
    observation: Array  # phi^o
    action: Array  # phi^a
    future_observation: Array  # psi^o
    future_action: Array  # psi^a
    extended_observation: Array  # xi^o, of psi^o_{t+1} x phi^o_t
    extended_action: Array  # xi^a, of phi^a_t x psi^a_{t+1}
    products: Array  # of phi^o x phi^o, upper triangle

    @property
    def state(self) -> Pair:
        """Return the pair of Q_t."""
        return Pair(self.future_action, self.future_observation)

    @property
    def extended(self) -> tuple[Pair, Pair]:
        """Return the pairs of P^xi_t and P^o_t."""
        return (
            Pair(self.extended_action, self.extended_observation),
            Pair(self.action, self.products),
        )


class FeatureSet(NamedTuple):
    """The maps behind `WindowFeatures`."""

    history: Features
    observation: Features
    action: Features
    future_observation: Features
    future_action: Features
    extended_observation: Array  # (r_psi_o r_o, r_xi_o), shifted future slowest
    extended_action: Array  # (r_a r_psi_a, r_xi_a), action slowest
    products: Array  # (r_o (r_o + 1) / 2, r_oo)

    def history_features(self, history: Array) -> Array:
        """Return h (N, r_h + 1), the constant last, of history windows (N, n (d_o + d_a))."""
        features = self.history(history)
        return np.concatenate([features, np.ones((len(features), 1))], axis=1)

    def __call__(self, windows: Windows) -> WindowFeatures:
        """Return the projected features of windows."""
        observation, action = self._immediate(windows)
        return WindowFeatures(
            self.history_features(windows.history),
            observation,
            action,
            self.future_observation(windows.future_observations),
            self.future_action(windows.future_actions),
            self._extended_observation(windows, observation) @ self.extended_observation,
            self._extended_action(windows, action) @ self.extended_action,
            symmetric_products(observation) @ self.products,
        )

    def _immediate(self, windows: Windows) -> tuple[Array, Array]:
        return self.observation(windows.observations[:, 0]), self.action(windows.actions[:, 0])

    def _extended_observation(self, windows: Windows, observation: Array) -> Array:
        return khatri_rao(self.future_observation(windows.shifted_observations), observation)

    def _extended_action(self, windows: Windows, action: Array) -> Array:
        return khatri_rao(action, self.future_action(windows.shifted_actions))


def fit_features(
    runs: Sequence[Run], options: FeatureOptions, generator: np.random.Generator
) -> FeatureSet:
    """Draw frequencies by the median trick and find all projections on the runs' windows."""

    def windows() -> Iterator[Windows]:
        return window_chunks(runs, options.past, options.future)

    sample = sample_windows(runs, options.past, options.future, MEDIAN_POINTS, generator)

    def map_of(view: Callable[[Windows], Array], rank: int) -> FeatureMap:
        points = view(sample)
        bandwidth = options.bandwidth * median_distance(points, generator)
        frequencies = draw_frequencies(points.shape[1], options.features, bandwidth, generator)

        def rows() -> Iterable[Array]:
            return (random_fourier_features(view(chunk), frequencies) for chunk in windows())

        return FeatureMap(
            frequencies,
            principal_directions(rows, 2 * options.features, rank, options.tolerance, generator),
        )

    maps = FeatureSet(
        map_of(lambda w: w.history, options.rank),
        map_of(lambda w: w.observations[:, 0], options.observation_rank),
        map_of(lambda w: w.actions[:, 0], options.action_rank),
        map_of(lambda w: w.future_observations, options.rank),
        map_of(lambda w: w.future_actions, options.rank),
        *([np.empty((0, 0))] * 3),
    )
    return fit_products(maps, windows, options, generator)


def fit_products(
    maps: FeatureSet,
    windows: Callable[[], Iterator[Windows]],
    options: FeatureOptions,
    generator: np.random.Generator,
) -> FeatureSet:
    """Return the maps with the second-level projections, of products of their features."""

    def directions(rows: Callable[[Windows], Array]) -> Array:
        size = rows(next(windows())).shape[1]
        return principal_directions(
            lambda: map(rows, windows()), size, options.rank, options.tolerance, generator
        )

    return maps._replace(
        extended_observation=directions(
            lambda w: maps._extended_observation(w, maps._immediate(w)[0])
        ),
        extended_action=directions(lambda w: maps._extended_action(w, maps._immediate(w)[1])),
        products=directions(lambda w: symmetric_products(maps._immediate(w)[0])),
    )


def sample_windows(
    runs: Sequence[Run], past: int, future: int, count: int, generator: np.random.Generator
) -> Windows:
    """Return at most ``count`` windows drawn without replacement over all runs."""
    total = sum(count_windows(len(run.observations), past, future) for run in runs)
    chosen = np.zeros(total, bool)
    chosen[generator.choice(total, min(count, total), replace=False)] = True
    picked: list[Windows] = []
    position = 0
    for run in runs:
        here = count_windows(len(run.observations), past, future)
        starts = np.flatnonzero(chosen[position : position + here])
        position += here
        for start in starts:
            span = slice(start, start + past + future + 1)
            piece = Run(run.observations[span], run.actions[span])
            picked.extend(window_chunks([piece], past, future))
    return Windows(*(np.concatenate(parts) for parts in zip(*picked, strict=True)))


def feature_chunks(
    features: Callable[[Windows], FeaturesT], runs: Sequence[Run], options: FeatureOptions
) -> Callable[[], Iterable[FeaturesT]]:
    """Return a source of feature chunks that can be passed over several times."""

    def chunks() -> Iterator[FeaturesT]:
        return (features(w) for w in window_chunks(runs, options.past, options.future))

    total = sum(count_windows(len(run.observations), options.past, options.future) for run in runs)
    if total > CACHED_WINDOWS:
        return chunks
    cached = list(chunks())
    return lambda: cached
