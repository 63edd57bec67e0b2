"""What takes part in a blend of forecasts, and how large its share is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.ensemble.model import OutputLimits
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.scores import robust_score
from rffpsr_ros.recipe.blending import blend_weights, error_products

LEAST_SHARE = 0.02
"""A member that nowhere has a larger share is left out: it would cost more than it gives."""


class Candidate(NamedTuple):
    """Models of one kind that share a weight, and their errors on parts they have not seen."""

    name: str
    members: Sequence[PredictiveModel[Any]]
    by_fold: Sequence[PredictiveModel[Any]]  # each has not seen what its fold holds out
    errors: Sequence[Array]  # a group each (n, H, d_o)


def best_shares(errors: Sequence[Sequence[Array]], deviation: Array) -> Array:
    """Return the shares (H, d_o, C) of the candidates that together have the best score.

    Shares minimise a mean over blocks, which a few odd blocks can decide; the score does not fall
    for that. So candidates are left out one by one while this does no harm to the score.
    """
    together = [np.stack(group, axis=-1) for group in zip(*errors, strict=True)]
    products = error_products(together)

    def tried(kept: Sequence[int]) -> tuple[float, Array]:
        shares = np.zeros(products.shape[:-1])
        shares[..., kept] = blend_weights(products[..., kept, :][..., kept])
        shares = _without_idlers(shares)
        return score(_summed(together, shares), deviation), shares

    everyone = list(range(products.shape[-1]))
    found = [tried([one]) for one in everyone]
    kept = everyone
    while len(kept) > 1:
        found.append(tried(kept))
        fewer = [[one for one in kept if one != left] for left in kept]
        kept = min(fewer, key=lambda some: tried(some)[0])
    return min(found, key=lambda one: one[0])[1]


def blended(errors: Sequence[Sequence[Array]], shares: Array) -> list[Array]:
    """Return the blend's errors, a group each (n, H, d_o), from those of C candidates."""
    return _summed([np.stack(group, axis=-1) for group in zip(*errors, strict=True)], shares)


def _summed(together: Sequence[Array], shares: Array) -> list[Array]:
    """Return the blend's errors, a group each (n, H, d_o), from those of candidates (..., C)."""
    return [np.einsum("nhoc,hoc->nho", group, shares) for group in together]


def members_taking_part(
    candidates: Sequence[Candidate], shares: Array, limits: OutputLimits | None
) -> tuple[list[PredictiveModel[Any]], Array, OutputLimits | None]:
    """Return the models of all who have a share or are fallen back on, and their weights.

    The fallback's place is then that among members.
    """
    members: list[PredictiveModel[Any]] = []
    weights: list[Array] = []
    limited = limits
    for place, candidate in enumerate(candidates):
        share = shares[..., place]
        speaks = limits is not None and limits.fallback == place
        if speaks and limits is not None:
            limited = limits._replace(fallback=len(members))
        if share.any() or speaks:
            members += candidate.members
            weights += [share / len(candidate.members)] * len(candidate.members)
    return members, np.stack(weights, -1), limited


def score(errors: Sequence[Array], deviation: Array) -> float:
    """Return the robust score of errors, a group each (n, H, d_o), relative to the variance."""
    relative = [np.nanmean((group / deviation) ** 2, axis=0).sum(axis=1) for group in errors]
    return robust_score(np.stack(relative))


def _without_idlers(shares: Array) -> Array:
    """Return the shares (H, d_o, C) without candidates that hardly have any."""
    kept = np.where(shares.max(axis=(0, 1)) >= LEAST_SHARE, shares, 0.0)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))
