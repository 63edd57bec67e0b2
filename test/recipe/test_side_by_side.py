"""What several processes learn is what one process learns, to the bit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.ensemble.model import EnsembleModel
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory
from test.swings import swings

pytestmark = pytest.mark.long

QUICK: dict[str, Any] = {"features": 30, "narx_features": 20, "iterations": 4}


def recordings(count: int, ticks: int, missing: float = 0.0) -> list[Trajectory]:
    """Return runs of a swing; of so large a share of ticks nothing was seen."""
    draw = np.random.default_rng(1)
    runs = []
    for run in swings(count, 1, ticks):
        gaps = draw.uniform(size=(ticks, 1)) < missing
        seen = np.where(gaps, np.nan, run.observations)
        runs.append(Trajectory(seen, run.actions, run.period))
    return runs


@pytest.mark.parametrize(
    ("runs", "options"),
    [
        (recordings(9, 120, missing=0.02), {}),
        # long enough for output-error models
        (recordings(2, 700), {"narx_learning": "off"}),
        # few data: windows are chosen
        (recordings(1, 300), {"narx_units": "sigmoids"}),
    ],
    ids=["gaps", "long", "few"],
)
def test_the_model_is_the_same_file(
    runs: list[Trajectory], options: dict[str, Any], tmp_path: Path
) -> None:
    written = []
    for processes in (1, 3):
        model = RFFPSR(**QUICK, **options, processes=processes).fit(runs)
        assert isinstance(model, EnsembleModel)
        model.save(tmp_path / "model")
        written.append((tmp_path / "model").read_bytes())
    assert written[0] == written[1]


def test_progress_comes_through_from_every_model() -> None:
    told: set[str] = set()

    def progress(stage: str, fraction: float, error: float | None = None) -> None:
        told.add(stage)
        assert 0 <= fraction <= 1

    RFFPSR(**QUICK, narx_learning="off", processes=2).fit(recordings(9, 120), progress=progress)
    assert "baselines" in told
    assert any(stage.endswith("refinement") for stage in told)


def test_data_that_cannot_be_learned_from_are_one_sentence() -> None:
    still = [Trajectory(np.zeros((200, 1)), run.actions[:, :1], 0.1) for run in recordings(9, 200)]
    with pytest.raises(InputError, match="constant"):
        RFFPSR(**QUICK, processes=2).fit(still)


def test_the_number_of_processes_is_an_option_that_leaves_no_trace() -> None:
    learner = RFFPSR.from_mapping({"processes": 2, "narx_learning": "off", **QUICK})
    assert learner.processes == 2
    assert "processes" not in learner.fit(recordings(9, 60)).record.options
    with pytest.raises(InputError, match=r"'learning\.proceses' is unknown"):
        RFFPSR.from_mapping({"proceses": 2})
