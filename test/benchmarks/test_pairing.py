"""Records compared run by run, and what is said of it."""

import numpy as np
import pytest

from benchmarks.first_screen import first_screen
from benchmarks.pairing import compared, mean_ratio, tally
from benchmarks.records import Record, Run
from benchmarks.tasks import TASKS

FRESH, DRONE = TASKS["fresh"], TASKS["drone"]


def record(method: str, errors: dict[int, float], blocks: dict[int, list[float]] | None = None):  # type: ignore[no-untyped-def]
    kept = blocks or {}
    runs = tuple(
        Run(
            number,
            "",
            {"test": [error, error]},
            blocks={"test": kept[number]} if number in kept else {},
        )
        for number, error in errors.items()
    )
    return Record(method, "fresh", {}, False, "", "", runs)


def test_runs_are_paired_by_number_and_others_left_out() -> None:
    first = record("a", {0: 1.0, 1: 2.0, 2: 3.0, 7: 100.0})
    second = record("b", {0: 2.0, 1: 4.0, 2: 6.0, 3: 0.1})
    found = compared(first, second, "test", draws=True)
    assert found is not None
    assert (found.ratio, found.low, found.high) == pytest.approx((0.5, 0.5, 0.5))
    assert (found.pairs, found.smaller, found.of) == (3, 3, "draws")
    assert found.chance == pytest.approx(0.25)
    assert found.verdict() == "holds"
    reverse = compared(second, first, "test", draws=True)
    assert reverse is not None
    assert reverse.verdict(1.05) == "contradicted"
    assert compared(first, record("c", {9: 1.0}), "test", draws=True) is None


def test_a_shared_difficulty_of_the_draws_cancels() -> None:
    draw = np.random.default_rng(0)
    hard = np.exp(draw.normal(size=8))
    ours = dict(enumerate(0.8 * hard * np.exp(0.05 * draw.normal(size=8))))
    found = compared(record("a", ours), record("b", dict(enumerate(hard))), "test", draws=True)
    assert found is not None
    assert 0.7 < found.low < found.high < 0.9  # errors themselves differ by a factor of ten


def test_the_interval_is_students() -> None:
    # Of 1, 2, 3: mean 2, deviation 1, t of two degrees of freedom 4.303.
    ratio, low, high = mean_ratio(np.log([1.0, 2.0, 4.0]))
    assert ratio == pytest.approx(2.0)
    reach = 4.30265 * np.log(2) / np.sqrt(3)
    assert np.log([low, high]) == pytest.approx([np.log(2) - reach, np.log(2) + reach], abs=1e-4)


def test_two_pairs_decide_nothing() -> None:
    found = compared(record("a", {0: 1.0, 1: 1.0}), record("b", {0: 9.0, 1: 9.0}), "test", True)
    assert found is not None
    assert np.isnan(found.low)
    assert found.verdict() == "open"
    assert found.words() == "0.111, 2 draws"


def test_on_recorded_data_one_run_stands_beside_all_only_where_nothing_is_drawn() -> None:
    ours = record("RFFPSR()", {0: 1.0, 1: 1.1, 2: 1.2})
    linear = compared(ours, record("linear ARX", {0: 2.0}), "test", draws=False)
    drawn = compared(ours, record("GRU, 64 units", {0: 2.0}), "test", draws=False)
    assert linear is not None
    assert drawn is not None
    assert (linear.pairs, drawn.pairs) == (3, 1)


def test_blocks_of_the_test_are_preferred_to_seeds() -> None:
    blocks = [0.1, 0.3, 0.2, 0.25, 0.05, 0.1, 0.2]
    ours = record("RFFPSR()", {0: 0.6, 1: 0.6}, {0: [b / 2 for b in blocks]})
    other = record("linear ARX", {0: 1.2}, {0: blocks})
    found = compared(ours, other, "test", draws=False)
    assert found is not None
    assert (found.of, found.pairs, found.smaller) == ("blocks", 7, 7)
    assert found.ratio == pytest.approx(0.5)
    # Where every run has data of its own, these are the pairs.
    draws = compared(ours, other, "test", draws=True)
    assert draws is not None
    assert draws.of == "draws"


def test_a_tally_tells_what_is_open() -> None:
    told = tally(["holds", "open", "contradicted", "holds"])
    assert told == "it holds in 2 of 4 comparisons, is contradicted in 1, open in 1"


def test_the_first_screen_names_what_is_lost_first() -> None:
    def drawn(method: str, error: float) -> Record:
        made: Record = record(method, {n: error * (1 + 0.01 * n) for n in range(5)})
        return made

    won = [drawn("RFFPSR()", 1.0), drawn("linear ARX", 2.0), drawn("GRU, 64 units", 3.0)]
    lost = [drawn("RFFPSR()", 1.0), drawn("linear ARX", 2.0), drawn("Koopman", 0.5)]
    ignored = drawn("authors: RFF-PSR, joint, D = 20", 0.01)
    words, table, *_ = first_screen([FRESH, DRONE], {"fresh": won, "drone": [*lost, ignored]})
    assert words.splitlines() == ["- **Lost**: drone (Koopman).", "- **Won** against all: fresh."]
    rows = table.splitlines()[2:]
    assert rows[0].startswith("| drone | 1.02 | Koopman: **2.00 (2.00 to 2.00), 5 seeds** |")
    assert rows[1].startswith("| fresh | 1.02 | GRU, 64 units: 0.333")


def test_a_single_figure_that_is_better_is_named_before_what_is_undecided() -> None:
    ours, linear = record("RFFPSR()", {0: 1.0, 1: 1.0}), record("linear ARX", {0: 2.0})
    published = record("published: GRU", {0: 0.5})
    words, table, *_ = first_screen([DRONE], {"drone": [ours, linear, published]})
    assert words.splitlines() == [
        "- **Lost**: none.",
        "- **Behind, by too few pairs to say how surely**: drone (published: GRU).",
        "- **Ahead, by too few pairs to say how surely**: drone (linear ARX).",
        "- **Won** against all: none.",
    ]
    assert "published: GRU: **2.00 ?** | linear ARX: 0.500 ? |" in table
