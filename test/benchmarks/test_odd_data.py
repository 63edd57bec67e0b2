"""The tool for odd recordings makes what it says, and judges by recordings not learned from."""

import numpy as np
import pytest

from benchmarks import odd_data
from benchmarks.odd_data import CASES, Outcome, measure, row


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_what_it_says(name: str) -> None:
    case = CASES[name]
    train, tests = case.make(0, quick=True)
    assert len(train) == case.recordings // (4 if case.recordings * case.ticks > 500 else 1)
    assert {len(run) for run in train} == {case.ticks}
    assert {len(run) for run in tests} == {case.test_ticks or case.ticks}
    shared = {run.actions[0, 0] for run in train} & {run.actions[0, 0] for run in tests}
    assert not shared
    again, _ = case.make(0, quick=True)
    np.testing.assert_array_equal(train[0].observations, again[0].observations)


def test_gaps_spikes_integers_and_scales_are_there() -> None:
    def learned_from(name: str) -> np.ndarray:
        return np.concatenate([run.observations for run in CASES[name].make(0)[0]])

    assert 0.2 <= np.isnan(learned_from("gaps")).mean() < 0.25
    spiked = learned_from("spikes")
    assert 0.002 < (np.abs(spiked) > 8 * np.median(np.abs(spiked), axis=0)).mean() < 0.02
    counts = learned_from("integers")
    np.testing.assert_array_equal(counts, np.round(counts))
    size = learned_from("scales").std(axis=0)
    assert size[2] / size[0] > 1e9
    far = CASES["odometry"].make(0)
    spans = [np.ptp(np.concatenate([run.observations for run in part]), axis=0) for part in far]
    assert (spans[1][:2] > 1.5 * spans[0][:2]).all()


def test_the_quick_form_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--quick", "--cases", "plain", "gaps", "--methods", "linear ARX", "mean"]
    assert odd_data.main(arguments) == 0
    heading, _, plain, gaps = capsys.readouterr().out.strip().splitlines()
    assert heading == "| recordings | linear ARX | mean |"
    assert plain.startswith("| plain: ")
    assert gaps.startswith("| gaps: ")
    assert odd_data.main(["--cases", "plane"]) == 2
    assert "did you mean 'plain'?" in capsys.readouterr().err


def test_errors_are_relative_to_the_variance_and_to_the_best() -> None:
    assert measure(CASES["plain"], "mean", 0, quick=True).error == pytest.approx(1, abs=0.5)
    outcomes = {
        "RFFPSR()": [Outcome(1.0, 10.0), Outcome(3.0, 20.0)],
        "linear ARX": [Outcome(4.0, 0.0), Outcome(4.0, 0.0)],
        "N4SID": [Outcome(float("nan"), 0.0, "too short")] * 2,
    }
    assert row("x", outcomes) == ["x", "2.00", "4.00", "-", "0.50", "15.0"]
