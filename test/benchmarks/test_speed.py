"""The jobs of the speed benchmark go through on small data and tell what they took."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import speed_cluster
from benchmarks.speed import (
    LEARN,
    LONG,
    SHORT,
    TEXTBOOK,
    compared_tools,
    main,
    reference,
    tool_figures,
)
from benchmarks.speed_jobs import Row, products, recording, write_bag
from rffpsr_ros.recordings.bags.reader import read_bags
from rffpsr_ros.signals.channels import ChannelConfiguration


@pytest.mark.parametrize("job", ["learn", "textbook"])
def test_a_job_tells_its_time_and_memory(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--job", json.dumps(Row(job, 300, 20))])
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["seconds"] > 0
    assert figures["peak"] >= figures["before"] > 10


def test_a_bag_written_at_once_is_read_like_any_other(tmp_path: Path) -> None:
    run = recording(70)
    write_bag(tmp_path / "bag", run)
    columns = {"topic": "/robot", "type": "geometry_msgs/msg/Vector3"}
    configuration = ChannelConfiguration.from_mapping(
        {
            "rate": 100.0,
            "observation": {"inputs": ["o"], "o": {**columns, "fields": ["x"]}},
            "action": {"inputs": ["a"], "a": {**columns, "fields": ["y"]}},
        }
    )
    (read,) = read_bags(tmp_path / "bag", configuration)
    assert len(read) >= len(run.actions) - 1
    first = int(abs(run.observations - read.observations[0]).argmin())
    assert (read.observations == run.observations[first : first + len(read)]).all()


def test_rows_are_compared_with_what_the_same_run_measured() -> None:
    results = {
        "machine": {"single GFlop/s": 50.0},
        LEARN: {"seconds": 1.0},
        TEXTBOOK: {"seconds": 20.0},
        SHORT: {"seconds": 3.0, "windows": 1000},
        LONG: {"seconds": 30.0, "windows": 10_000},
    }
    assert reference(LEARN, results) == (20.0, "textbook")
    short, long = reference(SHORT, results), reference(LONG, results)
    assert short is not None
    assert long is not None
    assert long[0] == pytest.approx(10 * short[0])
    assert products(Row("learn", 1, 1)) == 2 * (40 + 1 + 1 + 10 + 10 + 40 + 6 * 40)


def test_tools_are_compared_with_an_earlier_run() -> None:
    now = {"nodes": {"echo": {"cpu_percent": 20.0}, "new": {"cpu_percent": 1.0}}}
    before = {"nodes": {"echo": {"cpu_percent": 40.0}}}
    assert compared_tools(now, before).splitlines()[2:] == [
        "| nodes: echo | cpu_percent | 20.0 | 0.500 |"
    ]
    assert compared_tools(now, {}) == ""


def test_a_tool_that_misses_something_is_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.speed.NEEDED", {"realtime": "no_such_module"})
    assert tool_figures("realtime") is None
    assert "benchmarks.realtime is left out: it takes no_such_module" in capsys.readouterr().err


def test_the_cluster_tool_finds_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    file = tmp_path / "cluster.json"
    words = ["speed_cluster", "--windows", "3000", "--features", "20", "--json", str(file)]
    monkeypatch.setattr(sys, "argv", words)
    speed_cluster.main()
    figures = json.loads(file.read_text())
    assert len(figures) == 3
    assert len({one["bits"] for one in figures.values()}) == 1
