"""How the candidates' forecasts are blended: ensemble weights from their errors on held-out parts.

The squared error of a weighted sum of forecasts whose weights add up to one is w^T E w, with E the
products of the single forecasts' errors. Each horizon and observation has weights of its own,
not negative, so a blend is never further off than its worst candidate.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.ensemble.model import OutputLimits
from rffpsr_ros.models.ensemble.reach import Reach
from rffpsr_ros.models.forecasts import errors_by_origin, targets_by_origin
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.scores import robust_score
from rffpsr_ros.recipe.candidates import Candidate
from rffpsr_ros.recipe.prepare import Preparation, first_judged, holds_forecast
from rffpsr_ros.recipe.reach_choice import errors_within_reach, reach_of
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory

_SUM = 1e3
"""How strictly the weights must add up to one, before they are scaled to do so exactly."""


class Blend(NamedTuple):
    """How the forecasts of C candidates are blended, and what they miss on held-out parts."""

    weights: Array  # (H, d_o, C)
    limits: OutputLimits | None  # the fallback's place is that among candidates
    reach: Reach | None
    errors: Sequence[Sequence[Array]]  # of each candidate within limits: groups (n, H, d_o)
    blended: Sequence[Array]  # of the blend: groups (n, H, d_o)


def blend(
    candidates: Sequence[Candidate],
    baselines_from: int,
    prepared: Preparation,
    settings: RecipeSettings,
) -> Blend:
    """Return how candidates are blended up to the horizon that they were trained for.

    From the place ``baselines_from`` on they are baselines.
    """
    held_out = HeldOut(
        judged_blocks(prepared, settings),
        prepared.options.past,
        prepared.options.rollout_horizon,
        settings.settling,
    )
    errors = [held_out.errors(candidate.by_fold) for candidate in candidates]
    deviation = observation_deviation(prepared)
    limits = _output_limits(errors, baselines_from, deviation, prepared, settings)
    if limits is not None:
        targets, fallback = held_out.targets(), errors[limits.fallback]
        errors = [_limited(one, fallback, targets, limits) for one in errors]
    weights = ensemble_weights(errors, deviation, settings)
    reach = reach_of(_side_by_side(errors), weights, settings)
    return Blend(weights, limits, reach, errors, blended_errors(errors, weights, reach))


def observation_deviation(prepared: Preparation) -> Array:
    """Return the observations' standard deviation (d_o,) in all recordings."""
    rows = np.concatenate([trajectory.observations for trajectory in prepared.recordings])
    return np.asarray(np.nanstd(rows, axis=0))


# Held-out errors


def judged_blocks(prepared: Preparation, settings: RecipeSettings) -> list[list[Trajectory]]:
    """Return for each fold what models are judged on: held-out recordings in blocks.

    Of many blocks that are long enough for a forecast some are taken, evenly spread.
    """
    return [
        evenly_spread(
            [
                block
                for held_out in fold.held_out
                for block in _blocks(held_out, settings)
                if holds_forecast(len(block), prepared.options, settings)
            ],
            settings.judged_blocks,
        )
        for fold in prepared.folds
    ]


def _blocks(trajectory: Trajectory, settings: RecipeSettings) -> list[Trajectory]:
    """Return a short recording whole, a long one in blocks of nearly equal length."""
    count = max(1, len(trajectory) // settings.block_ticks)
    edges = [len(trajectory) * block // count for block in range(count + 1)]
    return [trajectory.slice(first, last) for first, last in itertools.pairwise(edges)]


class HeldOut(NamedTuple):
    """Blocks of what each fold holds out, and how a fold's model is judged on them.

    Blocks that are too short for a forecast of ``horizon`` ticks do not count.
    """

    blocks: Sequence[Sequence[Trajectory]]
    past: int
    horizon: int
    settling: float

    def targets(self) -> list[Array]:
        """Return what is forecast, a group (n, H, d_o) for each block."""
        return [
            targets
            for block in itertools.chain(*self.blocks)
            if len(targets := targets_by_origin(block, self.horizon, self._settled(block)))
        ]

    def errors(self, by_fold: Sequence[PredictiveModel[Any]]) -> list[Array]:
        """Return the errors of models, one a fold, as `targets`."""
        return [
            errors
            for model, of_fold in zip(by_fold, self.blocks, strict=True)
            for block in of_fold
            if len(errors := errors_by_origin(model, block, self.horizon, self._settled(block)))
        ]

    def _settled(self, block: Trajectory) -> int:
        """Return the first origin that counts."""
        return first_judged(len(block), self.past, self.settling)


def score(errors: Sequence[Array], deviation: Array) -> float:
    """Return the robust score of errors, a group each (n, H, d_o), relative to the variance."""
    relative = [np.nanmean((group / deviation) ** 2, axis=0).sum(axis=1) for group in errors]
    return robust_score(np.stack(relative))


# Output limits


def _output_limits(
    errors: Sequence[Sequence[Array]],
    baselines_from: int,
    deviation: Array,
    prepared: Preparation,
    settings: RecipeSettings,
) -> OutputLimits | None:
    """Return limits some way beyond the recordings, with the best baseline as fallback.

    ``fallback`` is its place among candidates. Without a baseline there are no limits.
    """
    if len(errors) == baselines_from:
        return None
    scores = [score(of_baseline, deviation) for of_baseline in errors[baselines_from:]]
    rows = np.concatenate([trajectory.observations for trajectory in prepared.recordings])
    low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
    span = settings.limit_margin * (high - low)
    return OutputLimits(low - span, high + span, baselines_from + int(np.argmin(scores)))


def _limited(
    errors: Sequence[Array],
    of_fallback: Sequence[Array],
    targets: Sequence[Array],
    limits: OutputLimits,
) -> list[Array]:
    """Return the errors where forecasts beyond limits are replaced by the fallback's."""
    return [
        target - limits(target - error, target - instead)
        for target, error, instead in zip(targets, errors, of_fallback, strict=True)
    ]


# Ensemble weights


def ensemble_weights(
    errors: Sequence[Sequence[Array]], deviation: Array, settings: RecipeSettings
) -> Array:
    """Return the weights (H, d_o, C) of as many candidates as do well together.

    Weights minimise a mean over blocks, which a few odd blocks can decide; the score does not fall
    for that. So candidates are left out one by one, the least useful first, but only where the
    score is clearly better without them: the more take part, the surer where a robot is used
    otherwise than it was recorded.
    """
    together = _side_by_side(errors)
    products = error_products(together, settings.group_share)

    def tried(kept: Sequence[int]) -> tuple[float, Array]:
        weights = np.zeros(products.shape[:-1])
        weights[..., kept] = blend_weights(products[..., kept, :][..., kept], settings)
        weights = _without_small(weights, settings.least_weight)
        return score(_weighted(together, weights), deviation), weights

    kept = list(range(products.shape[-1]))
    alone = min((tried([one]) for one in kept), key=lambda one: one[0])
    found = [tried(kept)]  # with fewer and fewer candidates
    while len(kept) > 2:
        fewer = [[one for one in kept if one != left] for left in kept]
        tries = [tried(some) for some in fewer]
        place = min(range(len(tries)), key=lambda some: tries[some][0])
        found.append(tries[place])
        kept = fewer[place]
    found.append(alone)
    best = min(reached for reached, _ in found)
    close = [weights for reached, weights in found if settings.worth_leaving_out * reached <= best]
    return close[0]


def blended_errors(
    errors: Sequence[Sequence[Array]], weights: Array, reach: Reach | None = None
) -> list[Array]:
    """Return the blend's errors, a group each (n, H, d_o), from those of C candidates."""
    together = _side_by_side(errors)
    if reach is not None:
        together = [errors_within_reach(group, weights, reach) for group in together]
    return _weighted(together, weights)


def _side_by_side(errors: Sequence[Sequence[Array]]) -> list[Array]:
    """Return groups (n, H, d_o, C) of C candidates' groups (n, H, d_o)."""
    return [np.stack(group, axis=-1) for group in zip(*errors, strict=True)]


def _weighted(together: Sequence[Array], weights: Array) -> list[Array]:
    """Return the blend's errors, a group each (n, H, d_o), from those of candidates (..., C)."""
    return [np.einsum("nhoc,hoc->nho", group, weights) for group in together]


def error_products(errors: Sequence[Array], share: float) -> Array:
    """Return E (H, d_o, C, C) of the errors (n, H, d_o, C) of C candidates in several groups.

    The mean over groups, in units of the best candidate's mean square, in which no group counts
    more than its ``share`` by that measure: those where a robot goes furthest, which decide a mean
    square, are not lost among the many, and one odd group does not decide alone. Errors that are
    not finite are left out.
    """
    relative, sizes = [], []
    for group in errors:
        finite = np.asarray(np.isfinite(group).all(axis=-1))
        known = np.where(finite[..., None], group, 0.0)
        products = np.einsum("nhoi,nhoj->hoij", known, known)
        products /= np.maximum(finite.sum(axis=0), 1)[..., None, None]
        size = np.diagonal(products, axis1=-2, axis2=-1).min(axis=-1)
        relative.append(products / np.where(size > 0, size, 1.0)[..., None, None])
        sizes.append(size)
    counts = _limited_shares(np.stack(sizes), share)
    return np.asarray(np.einsum("ghoij,gho->hoij", np.stack(relative), counts))


def _limited_shares(sizes: Array, most: float) -> Array:
    """Return each group's share of sizes (G, ...), none above ``most`` while others have any."""
    counted = (sizes > 0).sum(axis=0)
    highest = np.maximum(most, 1 / np.maximum(counted, 1))
    total = sizes.sum(axis=0)
    shares = sizes / np.where(total > 0, total, 1.0)
    for _ in range(len(sizes)):  # what one gives up may bring the next above
        above = shares >= highest
        rest = np.where(above, 0.0, shares)
        left = 1 - above.sum(axis=0) * highest
        scale = left / np.where(rest.sum(axis=0) > 0, rest.sum(axis=0), 1.0)
        shares = np.where(above, np.where(total > 0, highest, 0.0), rest * scale)
    return np.asarray(shares)


def blend_weights(products: Array, settings: RecipeSettings) -> Array:
    """Return weights (H, d_o, C) that minimise w^T E w, from E (H, d_o, C, C)."""
    horizon, columns, candidates = products.shape[:3]
    beside = np.pad(products, ((1, 1), (0, 0), (0, 0), (0, 0)), "edge")
    smooth = products + settings.neighbour * (beside[:-2] + beside[2:])
    weights = np.empty((horizon, columns, candidates))
    for place in np.ndindex(horizon, columns):
        weights[place] = _simplex_minimum(smooth[place], settings.shrinkage)
    return weights


def _simplex_minimum(product: Array, shrinkage: float) -> Array:
    """Return w >= 0 with sum 1 that minimises w^T E w."""
    candidates = len(product)
    size = float(product.diagonal().min())
    if not size > 0:
        best = product.diagonal() == size
        return np.asarray(best / best.sum())
    values, vectors = np.linalg.eigh(product / size + shrinkage * np.eye(candidates))
    root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
    system = np.vstack([root, np.full((1, candidates), _SUM)])
    target = np.zeros(candidates + 1)
    target[-1] = _SUM
    weights, _ = scipy.optimize.nnls(system, target)
    return np.asarray(weights / weights.sum())


def _without_small(weights: Array, least: float) -> Array:
    """Return the weights (H, d_o, C) without candidates that hardly have any."""
    least = min(least, 0.99 / weights.shape[-1])  # so that everywhere one is left
    kept = np.where(weights.max(axis=(0, 1)) >= least, weights, 0.0)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))
