"""The paper's experiments run, in their small form, and the page tells what they found."""

import json
from pathlib import Path

import pytest

from benchmarks import page
from benchmarks.observations import observations
from benchmarks.paper import swimmer, synthetic, table1
from benchmarks.paper.authors import authors_records
from benchmarks.paper.variants import LIKE_GRAM, variant_name
from benchmarks.records import Record, Run, write_record


def test_the_experiments_and_the_page_in_their_small_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for experiment in (synthetic.main, swimmer.main, table1.main):
        assert experiment(["--quick", "--folder", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "| RFF-PSR, conditional + refinement, D = 20 |" in printed
    assert "80 % blind" in printed
    tables = json.loads((tmp_path / "table1.json").read_text())["tables"]
    assert set(tables) == set(table1.EXPERIMENTS)
    for name, known, unknown in tables["actions"]["rows"][:-1]:
        assert float(unknown) > 1.5 * float(known), name
    out = tmp_path / "results.md"
    assert page.main(["--folder", str(tmp_path), "--out", str(out), "--no-plots"]) == 0
    written = out.read_text()
    assert "### fresh, the paper" in written
    assert "### Table 1" in written
    assert written.count(" comparisons, open in ") >= 3  # of one run nothing is decided


def test_only_the_methods_asked_for_are_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    some = ["--quick", "--folder", str(tmp_path), "--methods"]
    assert swimmer.main([*some, "linear ARX"]) == 0
    assert [path.name for path in tmp_path.rglob("*.json")] == ["linear_arx.json"]
    assert swimmer.main([*some, "linear AXR"]) == 2
    assert "did you mean 'linear ARX'" in capsys.readouterr().err


def test_observations_are_printed_as_the_records_have_them() -> None:
    def record(name: str, error: float) -> Record:
        spread = (1.0, 1.05, 1.1, 1.0)
        runs = tuple(Run(n, "k", {"test": [error * f] * 10}) for n, f in enumerate(spread))
        return Record(name, "synth", {}, False, "", "", runs)

    records = [
        record(variant_name(20, "joint", False), 0.2),
        record(variant_name(20, "joint", True), 0.1),
        record(variant_name(20, "conditional", False), 0.1),
        record(variant_name(20, "conditional", True), 0.3),
        record("HSE-PSR", 0.05),
        record(LIKE_GRAM, 0.04),
    ]
    printed = list(observations({"synth": records}))
    assert len(printed) == 5
    assert "Partly reproduced: it holds in 1 of 2 comparisons, is contradicted in 1." in printed[0]
    assert "D = 20, unrefined: 0.208 against 0.104, ratio 2.00 (" in printed[0]
    assert "4 seeds (0 smaller, by chance 0.125): **contradicted**" in printed[0]
    assert "Partly reproduced: it holds in 1 of 2" in printed[1]
    assert printed[2].endswith("Not measured here.")
    assert "ratio 4.00 (4.00 to 4.00)" in printed[3]
    assert "settings of our HSE-PSR: 0.0415 against" in printed[3]
    assert "Why it is contradicted: Our HSE-PSR has settings of its own" in printed[3]


def test_the_papers_model_is_chosen_on_validation_draw_by_draw() -> None:
    def record(name: str, errors: list[float], validation: list[float]) -> Record:
        runs = tuple(
            Run(n, "k", {"80 % blind": [error]}, validation=[held_out])
            for n, (error, held_out) in enumerate(zip(errors, validation, strict=True))
        )
        return Record(name, "swimmer", {}, False, "", "", runs)

    records = [
        record(variant_name(1000, "joint", True), [1.0, 1.0, 1.0], [5.0, 1.0, 5.0]),
        record(variant_name(1000, "conditional", False), [3.0, 3.0, 3.0], [4.0, 2.0, 4.0]),
        record("N4SID", [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]),
    ]
    last = list(observations({"swimmer": records}))[-1]
    # The test's errors are 3, 1, 3: what did best on the test is not what is chosen.
    assert f"chosen on validation, and N4SID: {7 / 3:.2f} against 1.00" in last


@pytest.mark.usefixtures("shared")
def test_the_authors_figures_are_theirs(tmp_path: Path) -> None:
    records = {record.method: record for record in authors_records()}
    joint = records["authors: RFF-PSR, joint + refinement, D = 20"]
    assert len(joint.runs) == 10
    first = sum(run.scores["test"][0] for run in joint.runs) / 10
    assert first == pytest.approx(0.0190, abs=5e-5)
    write_record(joint, tmp_path)
    assert list(tmp_path.glob("synth/authors_*.json"))
