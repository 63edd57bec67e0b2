"""Ratios of the ablation are taken run by run, on the same draws."""

from pathlib import Path

import pytest

from benchmarks import ablation
from benchmarks.records import Record, Run
from benchmarks.tasks import TASKS
from rffpsr_ros.models.rff_psr.options import RFFPSROptions


def record(name: str, *errors: float, refused: str = "") -> Record:
    runs = tuple(Run(n, "", {"test": [error, 3 * error]}) for n, error in enumerate(errors))
    if refused:
        runs = (Run(0, "", refused=refused),)
    return Record(name, "fresh", {}, False, "", "", runs)


def test_ratios_are_geometric_means_over_the_runs_that_both_have() -> None:
    records = [
        record(ablation.WHOLE, 1.0, 10.0),
        record("features drawn", 4.0, 10.0, 999.0),
        record("one configuration, not refined", 1.0, 90.0),
        record("without a state", refused="too few ticks"),
    ]
    lines = ablation.table([TASKS["fresh"]], {"fresh": records}).splitlines()
    names, row = ([cell.strip() for cell in line.split("|")] for line in (lines[0], lines[-1]))
    found = dict(zip(names, row, strict=True))
    assert (found["data"], found["runs"]) == ("fresh", "2")
    assert (found["features drawn"], found["one configuration, not refined"]) == ("2.00", "3.00")
    assert found["without a state"] == found["one model"] == "-"


def test_what_was_not_measured_has_no_row() -> None:
    assert "fresh" not in ablation.table([TASKS["fresh"]], {"fresh": []})


def test_variants_have_options_that_are_known() -> None:
    for options in ablation.WITHOUT.values():
        RFFPSROptions(**options)


def test_an_unknown_variant_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ablation.main(["--variants", "no state", "--folder", str(tmp_path)]) == 2
    assert "no state" in capsys.readouterr().err
