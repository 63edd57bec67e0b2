"""Residual checks of system identification: what is left in one-step errors to be learned.

Errors of a model that holds all there is to know are white, and tell nothing of past actions
(Ljung 1999, section 16.6). What is left is shown as correlations by lag, with the interval in
which those of all lags lie if there is nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from rffpsr_ros.evaluation.followed import FollowedRun
from rffpsr_ros.numerics.arrays import Array

LAGS = 25
"""Lags in ticks that are looked at, at the most."""
COVERED = 0.99
"""How often the correlations of all lags lie within the interval if there is nothing."""
NOTABLE = 0.1
"""A correlation below this, sure as it may be, gains nobody much."""
FEWEST = 50
"""Fewer ticks are no ground for correlations."""


class ResidualChecks(NamedTuple):
    """Correlations of one-step errors by lag."""

    ticks: int
    whiteness: Array
    """(L, d_o) of an error with those 1 to L ticks before."""
    whiteness_interval: Array
    """(d_o,) half its width."""
    response: Array
    """(L, d_o, d_a) of an error with the action 0 to L - 1 ticks before; 0 is that of its tick."""
    response_interval: Array
    """(d_o, d_a)."""

    def left_in_errors(self) -> list[tuple[int, int]]:
        """Return (observation, lag in ticks) of the largest notable correlation with the past."""
        size = np.abs(self.whiteness)
        found = []
        for column in range(size.shape[1]):
            lag = int(np.argmax(size[:, column]))
            if size[lag, column] > max(NOTABLE, self.whiteness_interval[column]):
                found.append((column, lag + 1))
        return found

    def left_in_actions(self) -> list[tuple[int, int, int]]:
        """Return (observation, action, lag in ticks) of the largest notable correlations."""
        size = np.abs(self.response)
        found = []
        for place in np.ndindex(size.shape[1:]):
            lag = int(np.argmax(size[(slice(None), *place)]))
            if size[(lag, *place)] > max(NOTABLE, self.response_interval[place]):
                found.append((*place, lag))
        return found


def residual_checks(followed: Sequence[FollowedRun]) -> ResidualChecks | None:
    """Return the correlations that are left in one-step errors; None if there are too few ticks."""
    lags = min(LAGS, max((len(one.one_step) for one in followed), default=0) // 4)
    errors = _standard([one.one_step for one in followed])
    acted = _standard(
        [one.trajectory.actions[one.start : one.start + len(one.one_step)] for one in followed]
    )
    ticks = sum(int(np.isfinite(one).all(axis=1).sum()) for one in errors)
    if ticks < FEWEST or lags < 1:
        return None
    whiteness = np.stack([_correlation(errors, errors, lag) for lag in range(1, lags + 1)])
    own = np.stack([np.diagonal(one) for one in whiteness])
    response = np.stack([_correlation(errors, acted, lag) for lag in range(lags)])
    past = np.stack([np.diagonal(_correlation(acted, acted, lag)) for lag in range(1, lags + 1)])
    # Slow errors and slow actions resemble each other by chance: Bartlett's factor.
    chance = 1 + 2 * np.einsum("li,lj->ij", own, past)
    z = float(ndtri(1 - (1 - COVERED) / (2 * lags)))  # after Bonferroni
    return ResidualChecks(
        ticks,
        own,
        np.full(own.shape[1], z / np.sqrt(ticks)),
        response,
        z * np.sqrt(np.maximum(chance, 1.0) / ticks),
    )


def _standard(runs: Sequence[Array]) -> list[Array]:
    """Return rows with mean 0 and variance 1 over all recordings; a column that is still is 0."""
    every = np.concatenate(runs)
    known = np.isfinite(every)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, every, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(known, every - mean, 0.0) ** 2).sum(axis=0) / count)
    scale = np.where(spread > 0, spread, np.inf)
    return [np.asarray((rows - mean) / scale) for rows in runs]


def _correlation(late: Sequence[Array], early: Sequence[Array], lag: int) -> Array:
    """Return the correlation (a, b) of rows with others ``lag`` ticks before."""
    total, count = np.zeros((late[0].shape[1], early[0].shape[1])), 0.0
    for one, other in zip(late, early, strict=True):
        after, before = one[lag:], other[: len(other) - lag]
        known = np.isfinite(after).astype(float).T @ np.isfinite(before).astype(float)
        total = total + np.nan_to_num(after).T @ np.nan_to_num(before)
        count = count + known
    return np.asarray(total / np.maximum(count, 1))
