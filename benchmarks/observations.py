"""The paper's five observations, one by one, held against the measured records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.paper.variants import INITIALISATIONS, LIKE_GRAM, variant_name
from benchmarks.records import Record
from benchmarks.tables import number

SIZES = (20, 1000, 5000, 10_000)
AUTHORS = "authors: "
_TESTS = {"synth": ("test",), "fresh": ("test",), "swimmer": ("80 % blind", "20 % blind")}

Records = Mapping[str, Sequence[Record]]
"""Records by task."""


class Pair(NamedTuple):
    """Two errors, where they were measured, and the share of the second that the first may be."""

    where: str
    first: float
    second: float
    share: float = 1.05

    @property
    def holds(self) -> bool:
        """Return whether the first error is small enough beside the second."""
        return self.first <= self.share * self.second


def observations(records: Records) -> Iterator[str]:
    """Yield a paragraph for each observation."""
    for claim, ours, theirs in (
        (
            "Joint S1 matches or outperforms conditional S1, with and without refinement.",
            _joint_and_conditional(records, ""),
            _joint_and_conditional(records, AUTHORS),
        ),
        (
            "Refinement significantly improves prediction for all initialisations.",
            _after_and_before(records, ""),
            _after_and_before(records, AUTHORS),
        ),
        (
            "Refinement on its own is not sufficient: two-stage regression is a good beginning.",
            _joint_and_random(records),
            [],
        ),
        (
            "Even without refinement, RFF-PSR outperforms HSE-PSR.",
            [*_unrefined_and_gram(records, "HSE-PSR", ""), *_like_gram(records)],
            _unrefined_and_gram(records, "authors: HSE-PSR (Gram matrices)", AUTHORS),
        ),
        (
            "Compared to other methods, RFF-PSR is better with non-blind test policies.",
            _under_feedback(records),
            [],
        ),
    ):
        yield f"**{claim}** {_verdict(ours)}{_list(ours)}{_beside(theirs)}"


def _verdict(pairs: Sequence[Pair]) -> str:
    if not pairs:
        return "Not measured here."
    holding = sum(pair.holds for pair in pairs)
    word = {len(pairs): "Reproduced", 0: "Not reproduced"}.get(holding, "Partly reproduced")
    return f"{word}: it holds in {holding} of {len(pairs)} comparisons."


def _list(pairs: Sequence[Pair]) -> str:
    return "\n" + "".join(f"\n   - {_words(pair)}" for pair in pairs) if pairs else ""


def _beside(pairs: Sequence[Pair]) -> str:
    if not pairs:
        return ""
    holding = sum(pair.holds for pair in pairs)
    listed = "; ".join(_words(pair) for pair in pairs)
    return f"\n\n   In the authors' own figures it holds in {holding} of {len(pairs)}: {listed}."


def _words(pair: Pair) -> str:
    missed = "**not below**" if pair.share >= 1 else "**not a tenth below**"
    sign = "against" if pair.holds else missed
    return f"{pair.where}: {number(pair.first)} {sign} {number(pair.second)}"


def _places(records: Records) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Yield task, test and the mean error over horizons and runs of every method."""
    for task, tests in _TESTS.items():
        done = [record for record in records.get(task, ()) if not record.refused]
        for test in tests:
            yield (
                task,
                test,
                {
                    record.method: float(np.mean([run.scores[test] for run in record.runs]))
                    for record in done
                },
            )


def _pair(errors: Mapping[str, float], where: str, first: str, second: str) -> list[Pair]:
    if first not in errors or second not in errors:
        return []
    return [Pair(where, errors[first], errors[second])]


def _where(task: str, test: str, *more: str) -> str:
    return ", ".join([task, *([] if test == "test" else [test]), *more])


def _joint_and_conditional(records: Records, whose: str) -> list[Pair]:
    return [
        pair
        for task, test, errors in _places(records)
        for features in SIZES
        for refined in (False, True)
        for pair in _pair(
            errors,
            _where(task, test, f"D = {features}", "refined" if refined else "unrefined"),
            whose + variant_name(features, "joint", refined),
            whose + variant_name(features, "conditional", refined),
        )
    ]


def _after_and_before(records: Records, whose: str) -> list[Pair]:
    return [
        pair._replace(share=0.9)  # "significantly"
        for task, test, errors in _places(records)
        for features in SIZES
        for initialisation in INITIALISATIONS
        for pair in _pair(
            errors,
            _where(task, test, f"D = {features}", initialisation),
            whose + variant_name(features, initialisation, True),
            whose + variant_name(features, initialisation, False),
        )
    ]


def _joint_and_random(records: Records) -> list[Pair]:
    return [
        pair
        for task, test, errors in _places(records)
        for features in SIZES
        for pair in _pair(
            errors,
            _where(task, test, f"D = {features}, refined, joint against random beginning"),
            variant_name(features, "joint", True),
            variant_name(features, "random", True),
        )
    ]


def _unrefined_and_gram(records: Records, gram: str, whose: str) -> list[Pair]:
    return [
        pair
        for task, test, errors in _places(records)
        for features in SIZES
        for pair in _pair(
            errors,
            _where(task, test, f"joint, D = {features}"),
            whose + variant_name(features, "joint", False),
            gram,
        )
    ]


def _like_gram(records: Records) -> list[Pair]:
    """Compare where both have the same settings, not the paper's."""
    return [
        pair
        for task, test, errors in _places(records)
        for pair in _pair(
            errors,
            _where(task, test, "joint, D = 1000, with the settings of our HSE-PSR"),
            LIKE_GRAM,
            "HSE-PSR",
        )
    ]


def _under_feedback(records: Records) -> list[Pair]:
    """Compare the best of the paper's variants, and ours, with the best of the other methods."""
    others = ("N4SID", "linear ARX", "RFF-ARX", "RFF-ARX, one shot", "last observation")
    pairs = []
    for task, test, errors in _places(records):
        known = [name for name in others if name in errors]
        if task != "swimmer" or not known:
            continue
        best = min(known, key=errors.__getitem__)
        paper = [name for name in errors if name.startswith("RFF-PSR, ")]
        compared = [*([min(paper, key=errors.__getitem__)] if paper else []), "RFFPSR()"]
        for name in compared:
            pairs += _pair(errors, f"{test}, {name} and {best}", name, best)
    return pairs
