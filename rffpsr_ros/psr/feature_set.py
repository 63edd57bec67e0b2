"""All features the two stages need, drawn once and projected, and windows turned into them.

The first half of the paper's algorithm Learn-RFF-PSR, "Feature projection using PCA".
Features are computed on the fly, chunk by chunk; neither raw features nor products of features
are ever in memory for all windows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np

from rffpsr_ros.data.principal_directions import principal_directions
from rffpsr_ros.data.window_source import WindowSource
from rffpsr_ros.data.windows import CHUNK, Windows, chunks_of, flatten
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds, sizes
from rffpsr_ros.numerics.packing import khatri_rao, symmetric_products
from rffpsr_ros.psr.feature_maps import Features
from rffpsr_ros.psr.fourier_features import FeatureMap, draw_feature_map
from rffpsr_ros.psr.instance_features import FeaturePair

PROJECTION_WINDOWS = 2048
"""Windows that projections are found on, at the most."""

JUDGING_WINDOWS = 1024
"""Further windows, on which what the projections lose is measured."""


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


class WindowFeatures:
    """Projected features of N windows, in the paper's symbols.

    Each is computed when it is first asked for: stage two asks for histories only.

    Parameters
    ----------
    maps
        What turns windows into features.
    windows
        In the precision of the maps.
    weights
        What each window counts (N,); None: once.
    """

    def __init__(self, maps: FeatureSet, windows: Windows, weights: Array | None = None) -> None:
        self._maps, self._windows, self.weights = maps, windows, weights

    @cached_property
    def history(self) -> Array:
        """Return h, with a constant (N, r_h + 1)."""
        return self._maps.history_features(self._windows.history)

    @cached_property
    def observation(self) -> Array:
        """Return phi^o (N, r_o)."""
        return self._maps.observation(self._windows.observations[:, 0])

    @cached_property
    def action(self) -> Array:
        """Return phi^a (N, r_a)."""
        return self._maps.action(self._windows.actions[:, 0])

    @cached_property
    def future_observation(self) -> Array:
        """Return psi^o (N, r_psi_o)."""
        return self._maps.future_observation(self._windows.future_observations)

    @cached_property
    def future_action(self) -> Array:
        """Return psi^a (N, r_psi_a)."""
        return self._maps.future_action(self._windows.future_actions)

    @property
    def observation_products(self) -> tuple[Array, Array]:
        """Return psi^o_{t+1} x phi^o_t, and the distinct products phi^o x phi^o."""
        maps, observations = self._maps.future_observation, self._windows.observations
        shifted = _shifted(maps, observations, self.future_observation)
        return khatri_rao(shifted, self.observation), symmetric_products(self.observation)

    @property
    def action_products(self) -> Array:
        """Return phi^a_t x psi^a_{t+1}."""
        maps, actions = self._maps.future_action, self._windows.actions
        return khatri_rao(self.action, _shifted(maps, actions, self.future_action))

    @property
    def state(self) -> FeaturePair:
        """Return the pair of Q_t."""
        return FeaturePair(self.future_action, self.future_observation)

    @property
    def extended(self) -> tuple[FeaturePair, FeaturePair]:
        """Return the pairs of P^xi_t and P^o_t: xi^a and xi^o, phi^a and phi^o x phi^o."""
        maps, (extended, products) = self._maps, self.observation_products
        return (
            FeaturePair(
                self.action_products @ maps.extended_action, extended @ maps.extended_observation
            ),
            FeaturePair(self.action, products @ maps.products),
        )


class FeatureSet(NamedTuple):
    """The maps behind `WindowFeatures`."""

    history: Annotated[Features, sizes(d="n*(d_o+d_a)", r="r_h")]
    observation: Annotated[Features, sizes(d="d_o", r="r_o")]
    action: Annotated[Features, sizes(d="d_a", r="r_a")]
    future_observation: Annotated[Features, sizes(d="k*d_o", r="r_psi_o")]
    future_action: Annotated[Features, sizes(d="k*d_a", r="r_psi_a")]
    extended_observation: Annotated[Array, holds("r_psi_o*r_o", "r_xi_o")]
    """Shifted future slowest."""
    extended_action: Annotated[Array, holds("r_a*r_psi_a", "r_xi_a")]
    """Action slowest."""
    products: Annotated[Array, holds("pairs", "r_oo")]
    """Of the r_o (r_o + 1) / 2 distinct pairs."""

    def history_features(self, history: Array) -> Array:
        """Return h (N, r_h + 1), the constant last, of history windows (N, n (d_o + d_a))."""
        features = self.history(history)
        ones = np.ones((len(features), 1), features.dtype)
        return np.concatenate([features, ones], axis=1)

    def __call__(self, windows: Windows, weights: Array | None = None) -> WindowFeatures:
        """Return the projected features of windows, and what each counts."""
        return WindowFeatures(self, windows.astype(self.products.dtype.type), weights)

    def astype(self, dtype: type[np.floating]) -> FeatureSet:
        """Return the same maps computing in another precision."""
        cast: Any = [part.astype(dtype) for part in self]
        return FeatureSet(*cast)


def _shifted(features: Features, values: Array, future: Array) -> Array:
    """Return the features of the future from the next tick on, of values (N, k + 1, d).

    Where the next window is the one that begins at the next tick, they are known already.
    """
    known = (values[:-1, 1:] == values[1:, :-1]).all((1, 2))
    unknown = np.append(~known, True)
    shifted = np.concatenate([future[1:], future[-1:]])
    shifted[unknown] = features(flatten(values[unknown, 1:]))
    return shifted


class FittedFeatures(NamedTuple):
    """Features fitted to a sample of windows."""

    features: FeatureSet
    sample: Windows  # what the projections were found on
    lost: dict[str, float]  # share of each map's second moment that its projection leaves out
    precision: type[np.floating] = np.float32  # what the stages compute them in


def fit_features(
    source: WindowSource, options: FeatureOptions, generator: np.random.Generator
) -> FittedFeatures:
    """Draw frequencies by the median trick and find all projections on a sample of windows."""
    drawn = source.sample(PROJECTION_WINDOWS + JUDGING_WINDOWS, generator)
    kept = generator.permutation(len(drawn.actions))
    judging = kept[PROJECTION_WINDOWS:] if len(kept) > PROJECTION_WINDOWS else kept
    kept, judging = np.sort(kept[:PROJECTION_WINDOWS]), np.sort(judging)
    sample, judged = (Windows(*(part[rows] for part in drawn)) for rows in (kept, judging))
    lost = {}

    def map_of(name: str, view: Callable[[Windows], Array], rank: int) -> FeatureMap:
        points = view(sample)
        # In single precision cosines cost a tenth.
        rows = [
            points[start : start + CHUNK].astype(np.float32)
            for start in range(0, len(points), CHUNK)
        ]
        features = draw_feature_map(
            points, options.features, options.bandwidth, rank, options.tolerance, generator, rows
        )
        # Features have unit norm: what a projection does not keep of it, it loses.
        held_out = features.astype(np.float32)(view(judged).astype(np.float32))
        lost[name] = 1 - float(np.mean(np.sum(held_out**2, axis=1)))
        return features

    maps = FeatureSet(
        map_of("history", lambda w: w.history, options.rank),
        map_of("observation", lambda w: w.observations[:, 0], options.observation_rank),
        map_of("action", lambda w: w.actions[:, 0], options.action_rank),
        map_of("future_observation", lambda w: w.future_observations, options.rank),
        map_of("future_action", lambda w: w.future_actions, options.rank),
        *([np.empty((0, 0))] * 3),
    )
    chunks = chunks_of(sample.astype(np.float32))
    single = fit_products(maps.astype(np.float32), chunks, options, generator)
    return FittedFeatures(FeatureSet(*maps[:5], *single[5:]), sample, lost)


def fit_products(
    maps: FeatureSet,
    windows: Sequence[Windows],
    options: FeatureOptions,
    generator: np.random.Generator,
) -> FeatureSet:
    """Return the maps with the second-level projections, of products of their features."""
    chunks = [maps(chunk) for chunk in windows]
    extended, products = zip(*(chunk.observation_products for chunk in chunks), strict=True)
    actions = [chunk.action_products for chunk in chunks]

    def directions(rows: Sequence[Array]) -> Array:
        size = rows[0].shape[1]
        return principal_directions(lambda: rows, size, options.rank, options.tolerance, generator)

    return maps._replace(
        extended_observation=directions(extended),
        extended_action=directions(actions),
        products=directions(products),
    )
