"""Was the policy blind? A permutation test of actions against past observations.

The paper asks for training data of a blind policy: given the past actions, an action must not
depend on past observations. The test regresses each action and the
recent observations on the past actions, and asks how much of the first residual the second
explains. What chance explains is seen by shuffling blocks of one against the other.

Shuffling alone would also destroy what is no fault: observations respond to actions, so wherever
actions have a memory, past observations and the next action are related under a blind policy too.
That relation is mediated by the past actions. They are therefore accounted for by far more ticks
than observations are, by powers of the last one (commands near their limits turn back), and, where
commands are held, by how long the last one has been held: a zero-order hold has no finite linear
memory, but given its age it is either held on or drawn anew.

Where observations integrate actions, as positions do, the two are related in any one recording by
the accident of its course (the unit root problem of regressions on a series' own sum), and no
shuffle repeats that. So observations count by how far they are from
their mean over a few ticks before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.exploration.block_permutation import (
    Blocks,
    orthonormal_basis,
    share_explained,
)
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.fourier_features import draw_frequencies, random_fourier_features

PERMUTATIONS = 999
OBSERVED_TICKS = 2
"""Past observations that a policy is suspected of depending on."""
USUAL_TICKS = 6
"""Observations before these, whose mean is what was usual."""
FREQUENCIES = 4
"""Random frequencies of the last observation: a policy need not be linear."""
OLDEST_AGE = 30
"""Ticks of holding that are distinguished."""
HELD = 0.1
"""A channel that repeats its last value exactly at more than this share of ticks holds it."""
LAG_COUNTS = (1, 3, 10, 20)
BITS = 12
"""Past bits of a binary channel of which products are accounted for."""
SMALLEST = 1e-9
"""Variances below this fraction of the original are rounding."""


_Kind = Literal["free", "held", "binary"]


class PolicyTest(NamedTuple):
    """How past observations explain the actions, beyond what past actions do."""

    p_value: float  # that chance explains as much, for all channels together; NaN: not testable
    p_values: Array  # (d_a,), for each channel by itself
    explained: Array  # (d_a,) share of the residual explained, beyond chance
    observed: Array  # (d_a,) the share explained
    shuffled: Array  # (P, d_a) the share explained after shuffling
    explained_by_last: Array  # (d_a,) the same by the last observation alone
    ticks: int


def blindness_test(runs: Sequence[Run], past: int, generator: np.random.Generator) -> PolicyTest:
    """Test whether actions depend on past observations, given past actions.

    Parameters
    ----------
    runs
        Standardised; observations (T, d_o), actions (T, d_a).
    past
        Ticks that the actions' own memory is looked for in, twice over where the runs allow.
    generator
        Draws the shuffles.
    """
    lags = _lags(runs, past)
    kinds = [_kind([run.actions[:, j] for run in runs]) for j in range(runs[0].actions.shape[1])]
    cut = [piece for run in runs if (piece := _cut(run, lags, kinds)) is not None]
    columns = runs[0].actions.shape[1]
    ticks = sum(len(piece.actions) for piece in cut)
    blocks = Blocks.of([len(piece.actions) for piece in cut], past)
    if blocks is None:
        nothing = np.full(columns, np.nan)
        empty = np.zeros((0, columns))
        return PolicyTest(np.nan, nothing, nothing, nothing, empty, nothing, ticks)
    kept = [piece.head(count) for piece, count in zip(cut, blocks.kept, strict=True)]
    whole = _Cut(*(np.concatenate(parts) for parts in zip(*kept, strict=True)))
    known = orthonormal_basis(_as_much_as_needed(whole, lags), SMALLEST)
    residuals, by_actions = _regressed(known, whole.actions)
    candidates = _candidates(whole.seen, generator)
    alone = orthonormal_basis(np.column_stack([np.ones(len(whole.last)), whole.last]), SMALLEST)
    seen = orthonormal_basis(_regressed(known, candidates)[0], np.sqrt(SMALLEST))
    # Residuals have lost what the known fitted; shuffled ones have not.
    fitted = len(known) / max(1, len(known) - known.shape[1])
    observed = share_explained(seen, residuals)
    shuffled = np.array(
        [
            fitted * share_explained(seen, residuals[blocks.shuffled(generator)])
            for _ in range(PERMUTATIONS)
        ]
    )
    result = _result(observed, shuffled, by_actions)
    by_last = _regressed(alone, whole.actions)[1]
    return PolicyTest(*result, observed, shuffled, by_last, ticks)


class _Cut(NamedTuple):
    """Ticks of one run: actions, regressors of past actions, the last observations."""

    actions: Array  # (N, d_a)
    known: Array  # (N, c)
    last: Array  # (N, d_o), the last observation
    seen: Array  # (N, OBSERVED_TICKS * d_o), the last ones less the mean of those before them

    def head(self, count: int) -> _Cut:
        return _Cut(*(part[:count] for part in self))


def _lags(runs: Sequence[Run], past: int) -> int:
    """Return how many past actions are accounted for: a third of a run, an eighth of all ticks."""
    ticks = sum(len(run.actions) for run in runs)
    typical = float(np.median([len(run.actions) for run in runs]))
    affordable = ticks // (8 * runs[0].actions.shape[1])
    return max(OBSERVED_TICKS + 1, int(min(2 * past, typical // 3, affordable)))


def _cut(run: Run, lags: int, kinds: Sequence[_Kind]) -> _Cut | None:
    count = len(run.actions) - lags
    if count < 1:
        return None
    rows = np.arange(count) + lags
    lagged = [run.actions[rows - lag] for lag in range(1, lags + 1)]
    channels = [
        _memory(column, rows, lags, kind) for column, kind in zip(run.actions.T, kinds, strict=True)
    ]
    last = lagged[0]
    known = np.concatenate([np.ones((count, 1)), last**2, last**3, *channels, *lagged], axis=1)
    recent = [run.observations[rows - lag] for lag in range(1, lags + 1)]
    usual = np.mean(recent[OBSERVED_TICKS : OBSERVED_TICKS + USUAL_TICKS], axis=0)
    seen = np.concatenate([observed - usual for observed in recent[:OBSERVED_TICKS]], axis=1)
    complete = ~np.isnan(seen).any(axis=1)
    return _Cut(*(part[complete] for part in (run.actions[rows], known, recent[0], seen)))


def _as_much_as_needed(whole: _Cut, lags: int) -> Array:
    """Return the known with so many lags as the actions' own memory asks for (Schwarz's criterion).

    Lags that explain nothing of the actions would still be fitted to their accidents, and bring
    what they share with the observations into the residuals.
    """
    ticks, columns = whole.actions.shape
    bare = whole.known.shape[1] - lags * columns
    choices = sorted({min(count, lags) for count in LAG_COUNTS} | {lags})

    def score(count: int) -> float:
        known = orthonormal_basis(whole.known[:, : bare + count * columns], SMALLEST)
        left = 1 - _regressed(known, whole.actions)[1]
        fit = ticks * np.log(np.maximum(left, SMALLEST)).sum()
        return float(fit + known.shape[1] * columns * np.log(ticks))

    return whole.known[:, : bare + min(choices, key=score) * columns]


def _kind(columns: Sequence[Array]) -> _Kind:
    """Return what sort of signal a channel plays in all runs."""
    if np.mean(np.concatenate([np.diff(column) == 0 for column in columns])) < HELD:
        return "free"
    return "binary" if len(np.unique(np.concatenate(columns))) == 2 else "held"


def _memory(column: Array, rows: Array, lags: int, kind: _Kind) -> Array:
    """Return what holds and binary sequences add to the lagged values of one channel.

    How long the last value has been held, as indicators, and these times the value; and the
    products of past bits, which determine the next one of a pseudo-random binary sequence.
    """
    if kind == "free":
        return np.empty((len(rows), 0))
    ticks = np.arange(len(column))
    changed = np.concatenate([[True], column[1:] != column[:-1]])
    age = ticks - np.maximum.accumulate(np.where(changed, ticks, 0))
    indicators = np.minimum(age, OLDEST_AGE - 1)[rows - 1, None] == np.arange(OLDEST_AGE)
    features = [indicators, indicators * column[rows - 1, None]]
    if kind == "binary":
        bits = [column[rows - lag] for lag in range(1, min(lags, BITS) + 1)]
        features += [(a * b)[:, None] for a, b in combinations(bits, 2)]
    return np.concatenate(features, axis=1)


def _candidates(seen: Array, generator: np.random.Generator) -> Array:
    """Return the last observations, in units of their deviation, and features of the very last."""
    columns = seen.shape[1] // OBSERVED_TICKS
    scaled = seen / np.maximum(seen.std(axis=0), np.finfo(float).tiny)
    frequencies = draw_frequencies(columns, FREQUENCIES, np.sqrt(columns), generator)
    return np.concatenate([scaled, random_fourier_features(scaled[:, :columns], frequencies)], 1)


def _regressed(known: Array, values: Array) -> tuple[Array, Array]:
    """Return the residuals of values on an orthonormal basis, and the share that it explains."""
    residual = values - known @ (known.T @ values)
    before = np.maximum(values.var(axis=0), np.finfo(float).tiny)
    return residual, 1 - residual.var(axis=0) / before


def _result(observed: Array, shuffled: Array, by_actions: Array) -> tuple[float, Array, Array]:
    """Return p-value, p-values and shares explained beyond chance.

    A channel that past actions determine entirely is not testable.
    """
    testable = 1 - by_actions > SMALLEST**0.5
    at_least = (shuffled >= observed).sum(axis=0)
    p_values = np.where(testable, (1 + at_least) / (1 + len(shuffled)), np.nan)
    centre = shuffled.mean(axis=0)
    beyond = np.where(testable, np.clip((observed - centre) / (1 - centre), 0, 1), np.nan)
    if not testable.any():
        return np.nan, p_values, beyond
    # Several channels are several chances: the largest of them is compared with the largest.
    spread = np.maximum(shuffled.std(axis=0), 1e-300)
    largest = ((observed - centre) / spread)[testable].max()
    by_chance = ((shuffled - centre) / spread)[:, testable].max(axis=1)
    return float((1 + np.sum(by_chance >= largest)) / (1 + len(shuffled))), p_values, beyond
