"""Records kept where a change of the code changed no figure, and only there."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import rekey
from benchmarks.datasets import fresh_synthetic
from benchmarks.measurement import measure
from benchmarks.methods import METHODS
from benchmarks.records import Record, Run, read_record, record_path, write_record
from benchmarks.tasks import TASKS, Task, single_test

METHOD = METHODS["last observation"]


@pytest.fixture
def task() -> Task:
    material = single_test(fresh_synthetic(7, 2))
    return replace(TASKS["fresh"], load=lambda draw: material)


def stale_record(task: Task, folder: Path, factor: float = 1.0) -> Run:
    """Keep two runs under keys that nothing has any more; return the first as it is today."""
    today = measure(METHOD, task, 0, task.load(0))
    scores = {test: [factor * value for value in row] for test, row in today.scores.items()}
    runs = tuple(Run(number, "stale", scores, 1.0) for number in (0, 1))
    write_record(Record(METHOD.name, task.name, {}, False, "", "a machine", runs), folder)
    return today


def test_the_same_figures_get_keys_of_today(task: Task, tmp_path: Path) -> None:
    today = stale_record(task, tmp_path)
    assert rekey.rekeyed(task, METHOD, tmp_path, task.load) == "the same figures"
    record = read_record(record_path(METHOD.name, task.name, tmp_path))
    assert record is not None
    assert record.runs[0].key == today.key
    assert record.runs[1].key not in ("stale", today.key)
    assert record.runs[0].training_seconds == 1.0  # what was measured is not touched
    assert rekey.rekeyed(task, METHOD, tmp_path, task.load) == "current"


def test_other_figures_leave_the_record_alone(task: Task, tmp_path: Path) -> None:
    stale_record(task, tmp_path, 1.001)
    before = record_path(METHOD.name, task.name, tmp_path).read_bytes()
    assert rekey.rekeyed(task, METHOD, tmp_path, task.load) == "OTHER FIGURES"
    assert record_path(METHOD.name, task.name, tmp_path).read_bytes() == before


def test_what_has_no_record_gets_none(task: Task, tmp_path: Path) -> None:
    assert rekey.rekeyed(task, METHOD, tmp_path, task.load) is None
    assert list(tmp_path.iterdir()) == []
