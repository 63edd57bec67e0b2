"""The comparison measures what it says, and measures anew only what changed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import compare, fingerprint
from benchmarks.datasets import Split, fresh_synthetic
from benchmarks.methods import METHODS, Method
from benchmarks.records import Record, Run, machine, read_record, record_path, write_record
from benchmarks.tables import markdown, number, spread, task_tables
from benchmarks.tasks import TASKS, Task, recorded, single_test
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.horizon_error import horizon_errors
from rffpsr_ros.models.baselines.mean import Mean, MeanModel, MeanParts
from rffpsr_ros.progress import Progress
from rffpsr_ros.recordings.trajectory import Trajectory

TASK = Task("small", "three runs", lambda draw: single_test(few(draw)), draws=True, start=3)


def few(draw: int) -> Split:
    split = fresh_synthetic(draw, test_count=1)
    return Split(split.train[:2], split.validation[:1], split.test)


class Drawn(Mean):
    """Tells the mean, and its seed beside it; counts how often it learned."""

    fitted: list[int]  # set by each test

    def __init__(self, seed: int, shift: float = 0.0) -> None:
        self.seed = seed
        self.shift = shift

    def _fit(
        self, train: list[Trajectory], validation: list[Trajectory] | None, progress: Progress
    ) -> MeanModel:
        Drawn.fitted.append(self.seed)
        if self.shift < 0:
            raise InputError("the shift is negative; it must be positive")
        model = super()._fit(train, validation, progress)
        mean = model.parts.mean + self.seed + self.shift
        return MeanModel(model.signature, model.record, MeanParts(mean))


def test_runs_are_kept_until_what_they_depend_on_changes(tmp_path: Path) -> None:
    Drawn.fitted = []
    method = Method("Drawn", Drawn, {"shift": 1.0}, seeded=True)
    (first,) = compare.run([method], [TASK], 2, tmp_path)["small"]
    assert Drawn.fitted == [0, 1]
    (again,) = compare.run([method], [TASK], 2, tmp_path)["small"]
    assert Drawn.fitted == [0, 1]
    assert [run.key for run in again.runs] == [run.key for run in first.runs]
    compare.run([method], [TASK], 3, tmp_path)
    assert Drawn.fitted == [0, 1, 2]
    compare.run([replace(method, options={"shift": 2.0})], [TASK], 1, tmp_path)
    assert Drawn.fitted == [0, 1, 2, 0]
    compare.run([replace(method, options={"shift": 2.0})], [replace(TASK, start=4)], 1, tmp_path)
    assert Drawn.fitted == [0, 1, 2, 0, 0]


def test_a_score_is_the_evaluations(tmp_path: Path) -> None:
    Drawn.fitted = []
    (record,) = compare.run([Method("Drawn", Drawn, seeded=True)], [TASK], 2, tmp_path)["small"]
    split = few(1)
    expected = horizon_errors(Drawn(1).fit(split.train), split.test, 10, 3).mse
    np.testing.assert_allclose(record.runs[1].scores["test"], expected, rtol=1e-12)
    stored = read_record(record_path("Drawn", "small", tmp_path))
    assert stored is not None
    np.testing.assert_allclose(stored.runs[1].scores["test"], expected, rtol=1e-4)


def test_what_draws_nothing_learns_recorded_data_once(tmp_path: Path) -> None:
    task = replace(TASK, load=recorded(lambda: few(0)), draws=False)
    (record,) = compare.run([METHODS["mean"]], [task], 5, tmp_path)["small"]
    assert len(record.runs) == 1


def test_a_refusal_is_kept_and_left_out_of_the_table(tmp_path: Path) -> None:
    Drawn.fitted = []
    refusing = Method("Drawn", Drawn, {"shift": -1.0}, seeded=True)
    records = compare.run([refusing, METHODS["mean"]], [TASK], 1, tmp_path)["small"]
    assert records[0].refused == "the shift is negative; it must be positive"
    ((_, table),) = task_tables(TASK, records)
    assert "| mean |" in table
    assert "Drawn" not in table


def test_absent_data_leave_a_task_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RFFPSR_SHARED", str(tmp_path))
    assert not compare.run(METHODS.values(), [TASKS["synth"]], 1, tmp_path)["synth"]
    assert "synth: left out: data/synthetic/synth.mat is not in" in capsys.readouterr().err


def test_code_counts_and_comments_do_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fingerprint, "_CHECKOUT", tmp_path)
    (tmp_path / "benchmarks").mkdir()

    def digest(used: str) -> str:
        (tmp_path / "benchmarks/used.py").write_text(used)
        (tmp_path / "benchmarks/uses.py").write_text("from benchmarks.used import f\n")
        fingerprint.forget_sources()
        return fingerprint.source_digest("benchmarks.uses")

    plain = digest('def f():\n    """Say."""\n    return 1\n')
    assert digest("def f():\n    return 1  # one\n") == plain
    assert digest("def f():\n    return 2\n") != plain
    fingerprint.forget_sources()


def test_a_method_depends_on_its_own_modules_only() -> None:
    own = fingerprint.modules_behind("rffpsr_ros.models.arx.learner")
    assert {"rffpsr_ros.models.arx.learner", "rffpsr_ros.models.arx.regression"} <= own
    assert "rffpsr_ros.models.rff_psr.model" not in own


def test_a_plot_names_every_method(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    records = [
        Record(name, "small", {}, False, "", machine(), (Run(0, "", {"a": [1.0, 2.0]}),))
        for name in ("one", "another")
    ]
    compare.plot(TASK, records, tmp_path / "plot.svg")
    drawn = (tmp_path / "plot.svg").read_text()
    assert "<!-- one -->" in drawn
    assert "<!-- another -->" in drawn


def test_the_command_line_shows_what_it_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["--methods", "mean", "--data", "fresh", "--runs", "1", "--folder", str(tmp_path)]
    assert compare.main(chosen) == 0
    measured = capsys.readouterr().out
    assert compare.main(["--show", *chosen]) == 0
    shown = capsys.readouterr().out
    assert shown.split("|")[:20] == measured.split("|")[:20]
    assert compare.main(["--methods", "maen"]) == 2
    assert "did you mean 'mean'?" in capsys.readouterr().err


def test_numbers_are_told_in_three_digits() -> None:
    assert [number(v) for v in (0.0012345, 0.5, 12.345, 1234.5, 1e-6, 0.0)] == [
        "0.00123",
        "0.500",
        "12.3",
        "1234",
        "1e-06",
        "0",
    ]
    assert spread(np.array([1.0, 3.0])) == "2.00 (1.00 to 3.00)"
    assert markdown(["a", "b"], [["x", "1"]]) == "| a | b |\n| --- | ---: |\n| x | 1 |"


def test_writing_twice_gives_the_same_file(tmp_path: Path) -> None:
    record = Record("m", "t", {"k": 1}, False, "", "here", (Run(0, "k", {"test": [0.1]}, 1.0),))
    write_record(record, tmp_path)
    first = record_path("m", "t", tmp_path).read_bytes()
    again = read_record(record_path("m", "t", tmp_path))
    assert again == record
    write_record(again, tmp_path)
    assert record_path("m", "t", tmp_path).read_bytes() == first
