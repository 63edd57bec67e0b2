"""The jobs of the speed benchmark go through on small data and tell what they took."""

import json

import pytest

from benchmarks.speed import Row, run_job


@pytest.mark.parametrize("job", ["learn", "textbook"])
def test_a_job_tells_its_time_and_memory(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    run_job(Row(job, 300, 20))
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["seconds"] > 0
    assert figures["peak"] > 10
