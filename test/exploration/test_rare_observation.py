"""Where most ticks hold no observation, the check says so, and what tick would."""

import numpy as np
import pytest

from rffpsr_ros.exploration.check import check_exploration
from rffpsr_ros.exploration.findings import as_json, findings
from rffpsr_ros.recordings.trajectory import Trajectory


def seen_at(ticks: np.ndarray, columns: int = 1) -> Trajectory:
    """Return a run of 400 ticks whose last column is seen at some ticks only."""
    generator = np.random.default_rng(0)
    seen = generator.normal(size=(400, columns))
    seen[np.setdiff1d(np.arange(400), ticks), -1] = np.nan
    names = tuple(f"y{column}" for column in range(columns))
    return Trajectory(seen, generator.normal(size=(400, 1)), 0.02, names, ("u",))


@pytest.mark.parametrize(
    ("columns", "advice"), [(1, "(rate: 10)"), (2, "(rate: 10), or raise its max_age if it is not")]
)
def test_a_sensor_slower_than_the_tick(columns: int, advice: str) -> None:
    check = check_exploration([seen_at(np.arange(0, 400, 5), columns)])
    (said,) = [one.sentence for one in findings(check) if one.level == "warning"]
    assert said.startswith(f"20 % of the ticks of 0.02 s hold 'y{columns - 1}', so that hardly one")
    assert f"it comes every 5 ticks, so choose longer ones {advice}" in said
    assert as_json(check)["rarest_observation"]["every"] == 5


def test_a_sensor_that_loses_ticks_now_and_then() -> None:
    (first, *_) = findings(check_exploration([seen_at(np.flatnonzero(np.arange(400) % 12))]))
    assert first.sentence.startswith("92 % of the ticks")
    assert first.sentence.endswith("by the sensor's rate that 'rffpsr inspect' shows")


def test_a_long_silence_is_a_note_and_no_gap_is_nothing() -> None:
    silent = [
        one
        for one in findings(check_exploration([seen_at(np.arange(180))]))
        if one.subject == "missing"
    ]
    assert [(one.level, one.sentence) for one in silent] == [
        ("note", "only 45 % of the ticks of 0.02 s hold 'y0'")
    ]
    assert check_exploration([seen_at(np.arange(400))]).rarest is None
