"""Two methods' records compared run by run: the ratio of their errors, and how surely.

Runs are paired by their number: where a task has draws, both learned from the same data and were
tested on the same; on recorded data a pair shares the seed. Where both records keep errors block by
block, recorded data are compared by blocks of the test instead, which differ more than seeds do. A
method that draws nothing has one run on recorded data, which stands beside each of the other's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import stdtrit

from benchmarks.methods import METHODS
from benchmarks.records import Record
from benchmarks.tables import number
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.paired_errors import COVERED, FEWEST_BLOCKS, paired_ratio

FEWEST_PAIRS = 3
"""With fewer runs there is no interval."""

_FIXED = ("polynomial NARX", "authors: HSE-PSR (Gram matrices)")
_OTHERS = ("published", "Octave")

Verdict = Literal["holds", "open", "contradicted"]


class Comparison(NamedTuple):
    """The first method's error over the second's: a geometric mean over pairs, with its interval.

    The interval is Student's t around the mean logarithm of the pairs' ratios; of blocks it is
    that of `paired_ratio`. Ends are NaN where there are too few pairs.
    """

    first: float
    second: float
    ratio: float
    low: float
    high: float
    pairs: int
    smaller: int
    """Pairs in which the first method's error is the smaller one."""
    of: str
    """What the pairs are: draws, seeds or blocks."""

    @property
    def has_interval(self) -> bool:
        """Return whether there are pairs enough for an interval."""
        return not math.isnan(self.low)

    @property
    def chance(self) -> float:
        """Return how likely signs as uneven as these are by chance (the sign test)."""
        fewer = min(self.smaller, self.pairs - self.smaller)
        tail = sum(math.comb(self.pairs, k) for k in range(fewer + 1))
        return min(1.0, 2.0 * tail / 2.0**self.pairs)

    def verdict(self, allowed: float = 1.0) -> Verdict:
        """Return whether the ratio is at most what is allowed, for all that the interval holds.

        What is above 1 for all that it holds contradicts; with no interval nothing is decided.
        """
        if self.high <= allowed:
            return "holds"
        return "contradicted" if self.low > 1 else "open"

    def words(self) -> str:
        """Return ratio, interval and number of pairs."""
        interval = ""
        if np.isfinite([self.low, self.high]).all():
            interval = f" ({number(self.low)} to {number(self.high)})"
        what = self.of[:-1] if self.pairs == 1 else self.of
        return f"{number(self.ratio)}{interval}, {self.pairs} {what}"


def compared(first: Record, second: Record, test: str, draws: bool) -> Comparison | None:
    """Return how two records compare on a test; None where they share no run.

    ``draws`` says whether runs have data of their own.
    """
    ours, theirs = run_errors(first, test), run_errors(second, test)
    by_block = None if draws else _by_block(first, second, test)
    if not draws and draws_nothing(second.method) and len(theirs) == 1:
        theirs = dict.fromkeys(ours, *theirs.values())
    elif not draws and draws_nothing(first.method) and len(ours) == 1:
        ours = dict.fromkeys(theirs, *ours.values())
    shared = sorted(ours.keys() & theirs.keys())
    if not shared:
        return None
    pairs = np.array([[ours[run], theirs[run]] for run in shared])
    mean, other = (float(value) for value in pairs.mean(axis=0))
    if by_block is not None:
        found = paired_ratio(*by_block)
        smaller = int(np.sum(by_block[0] < by_block[1]))
        ends = float(found.low), float(found.high)
        blocks = len(by_block[0])
        return Comparison(mean, other, float(found.value), *ends, blocks, smaller, "blocks")
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithms = np.log(pairs[:, 0] / pairs[:, 1])
    smaller = int(np.sum(pairs[:, 0] < pairs[:, 1]))
    what = "draws" if draws else "seeds"
    return Comparison(mean, other, *mean_ratio(logarithms), len(shared), smaller, what)


def draws_nothing(method: str) -> bool:
    """Return whether a method learns the same from the same data, whatever the seed."""
    known = METHODS.get(method)
    return (
        method in _FIXED or method.startswith(_OTHERS) or (known is not None and not known.seeded)
    )


def mean_ratio(logarithms: Array) -> tuple[float, float, float]:
    """Return the geometric mean of ratios and its interval, of their logarithms (n,)."""
    middle, count = float(logarithms.mean()), len(logarithms)
    if count < FEWEST_PAIRS:
        return math.exp(middle), math.nan, math.nan
    reach = stdtrit(count - 1, (1 + COVERED) / 2) * logarithms.std(ddof=1) / math.sqrt(count)
    return math.exp(middle), math.exp(middle - reach), math.exp(middle + reach)


def tally(verdicts: Sequence[Verdict]) -> str:
    """Return in words how often a claim held."""
    counts = {word: verdicts.count(word) for word in ("holds", "contradicted", "open")}
    told = f"it holds in {counts['holds']} of {len(verdicts)} comparisons"
    if counts["contradicted"]:
        told += f", is contradicted in {counts['contradicted']}"
    return told + (f", open in {counts['open']}" if counts["open"] else "")


def run_errors(record: Record, test: str) -> dict[int, float]:
    """Return each run's error, mean over horizons."""
    runs = [run for run in record.runs if test in run.scores]
    return {run.number: float(np.mean(run.scores[test])) for run in runs}


def _by_block(first: Record, second: Record, test: str) -> tuple[Array, Array] | None:
    """Return what blocks add to both errors (B,), means over the runs that keep them."""
    kept: list[Array] = []
    for record in (first, second):
        blocks: Mapping[int, list[float]] = {
            run.number: run.blocks[test] for run in record.runs if test in run.blocks
        }
        if not blocks:
            return None
        kept.append(np.mean(list(blocks.values()), axis=0))
    if kept[0].shape != kept[1].shape or len(kept[0]) < FEWEST_BLOCKS:
        return None
    return kept[0], kept[1]
