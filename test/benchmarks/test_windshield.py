"""The windshield experiment from frames to tables, on frames of a small renderer."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import compare
from benchmarks.methods import Method
from benchmarks.paper import windshield, windshield_data
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.simulation.arm_camera import render


def drawn(kind: str, number: int) -> Any:
    """Return frames of an arm whose shoulder turns as fast as one steers."""
    commands = np.array(list(islice(windshield_data.steering(kind, number), 60 + number)))
    angles = 3 * np.cumsum(commands)
    ticks = np.empty(len(commands), windshield_data.FRAME)
    ticks["steering"] = commands
    ticks["grey"] = [render(np.array([angle, 0.3])).mean(axis=2).round() for angle in angles]
    return ticks


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a dozen drawn trajectories stand in for those of TORCS."""
    monkeypatch.setattr(windshield_data, "frames", drawn)
    for module in (windshield_data, windshield):
        for name, count in (("TRAIN", 8), ("VALIDATION", 2), ("TEST", 2)):
            monkeypatch.setattr(module, name, count)
    monkeypatch.setattr(windshield_data, "COMPONENTS", 12)


@pytest.mark.usefixtures("small")
def test_frames_become_components_and_forecasts_of_them(tmp_path: Path) -> None:
    recorded = windshield_data.images("random")
    assert recorded[3].observations.shape == (63, 64 * 64)
    assert 0 <= recorded[3].observations.min() < recorded[3].observations.max() <= 1
    projection, material = windshield_data.projected(recorded)
    assert [len(part) for part in (material.train, material.validation)] == [8, 2]
    components = material.tests["test"][0]
    again = projection.expand(components.observations) - recorded[10].observations
    assert (again**2).mean() < 0.6 * recorded[10].observations.var(axis=0).mean()
    methods = [
        Method("linear ARX", LinearARX, {"past": 2}, everything=True),
        Method("last observation", LastObservation),
        Method("mean", Mean),
    ]
    records = compare.run(methods, [windshield.TASKS[1]], 1, tmp_path)["windshield_random"]
    arx, last, mean = (record.runs[0].scores["test"] for record in records)
    assert (np.array(arx)[2:] < np.array(last)[2:]).all()
    assert (np.array(arx)[:3] < np.array(mean)[:3]).all()


@pytest.mark.usefixtures("small")
def test_pictures_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(windshield, "METHODS", (Method("mean", Mean),))
    monkeypatch.setattr(Method, "make", lambda self, seed: LinearARX(past=2))
    windshield.draw_all(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "windshield_forecast.png",
        "windshield_frames.png",
    ]


def test_without_torcs_one_is_told_what_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RFFPSR_TORCS", str(tmp_path))
    with pytest.raises(
        InputError, match=r"TORCS is not ready in .*; run benchmarks/paper/torcs/build"
    ):
        windshield_data.images("sine")
    assert windshield.main(["--folder", str(tmp_path / "results")]) == 0
    assert "TORCS is not ready" in capsys.readouterr().err


def test_a_torcs_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").write_text("#!/bin/sh\necho no track >&2\nexit 3\n")
    (tmp_path / "run").chmod(0o755)
    monkeypatch.setenv("RFFPSR_TORCS", str(tmp_path))
    with pytest.raises(InputError, match="TORCS failed: no track"):
        windshield_data.frames("sine", 0)
    assert not list(tmp_path.rglob("*.frames"))
