"""The benchmark of bags measures what it says: every job takes in every message."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import bags


def test_every_message_is_read(tmp_path: Path) -> None:
    bags.write_bag(tmp_path / "bag", 500)
    (trajectory,) = bags.read(tmp_path / "bag", bags.MESSAGE_RATE)
    assert trajectory.observations.shape == (499, 6)
    assert np.isfinite(trajectory.observations).all()


def test_a_job_tells_its_time_and_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bags.write_bag(tmp_path / "bag", 100)
    bags.run_job("rosbags alone, decoding", tmp_path / "bag")
    measured = json.loads(capsys.readouterr().out)
    assert measured["seconds"] > 0
    assert measured["peak"] >= measured["before"] > 0
