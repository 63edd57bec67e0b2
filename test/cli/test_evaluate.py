"""Evaluation on bags says exactly what the Python face says of the same arrays."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros import load_model, read_bags
from rffpsr_ros.episodes.split import split
from rffpsr_ros.evaluation.horizon_error import horizon_errors
from rffpsr_ros.models.arx import LinearARX
from rffpsr_ros.models.last_observation import LastObservation
from rffpsr_ros.signals import load_channels

Run = Callable[..., Any]
SPLIT = (0.6, 0.2, 0.2)


@pytest.fixture
def model(run: Run, workshop: Any, robot: Path, configuration: Path, here: Path) -> Path:
    words = ["--config", configuration, "--out", "m", "--split", "0.6,0.2,0.2", *workshop.quick]
    assert run("train", robot, *words).code == 0
    return here / "m"


def test_numbers_are_those_of_the_python_face(
    run: Run, robot: Path, configuration: Path, model: Path
) -> None:
    words = ["--model", model, "--split", "0.6,0.2,0.2", "--json", "--horizon", 7, "--start", 20]
    result = json.loads(run("evaluate", robot, *words).out)
    train, validation, test = split(read_bags(robot, load_channels(configuration)), SPLIT)
    models = {
        "rff_psr": load_model(model),
        "last_observation": LastObservation().fit(train),
        "linear_arx": LinearARX(future=7).fit(train, validation),
    }
    assert result["models"].keys() == models.keys()
    for name, one in models.items():
        errors = horizon_errors(one, test, horizon=7, start=20)
        told = result["models"][name]
        for key, values in (
            ("mse_by_observation", errors.mse_by_observation),
            ("rmse_by_observation", errors.rmse),
            ("fit_percent_by_observation", errors.fit_percent),
        ):
            np.testing.assert_allclose(
                told[key]["arm.position.elbow"], values[:, 0], rtol=1e-12, atol=1e-12
            )


def test_tables_show_every_model_observation_and_measure(
    run: Run, robot: Path, model: Path
) -> None:
    lines = run("evaluate", robot, "--model", model, "--split", "0.6,0.2,0.2").out.splitlines()
    assert "judged on 120 ticks" in lines[0]
    start = lines.index("arm.position.elbow (rad):")
    assert lines[start + 1].split() == ["model", "h1", "h2", "h3", "h5", "h10"]
    labels = [line.split()[0] for line in lines[start + 2 :]]
    assert labels == [
        *("rff_psr", "RMSE", "fit"),
        *("last_observation", "RMSE", "fit"),
        *("linear_arx", "RMSE", "fit"),
    ]


def test_without_training_data_arx_is_left_out_and_the_user_told(
    run: Run, robots: list[Path], arx_model: Path, model: Path
) -> None:
    outcome = run("evaluate", robots[0], "--model", model)
    assert "linear ARX is not shown" in outcome.out
    with_training = run("evaluate", robots[0], "--model", model, "--train", *robots[1:], "--json")
    assert "linear_arx" in json.loads(with_training.out)["models"]
    beside = run("evaluate", robots[0], "--model", model, "--beside", arx_model)
    assert "linear ARX is not shown" not in beside.out
    assert "\nlinear_arx" in beside.out


def test_plots_are_drawn(run: Run, robot: Path, model: Path, here: Path) -> None:
    pytest.importorskip("matplotlib")
    words = ["--plot", "errors.png", "--plot-forecast", "forecast.svg"]
    assert run("evaluate", robot, "--model", model, *words).code == 0
    assert (here / "errors.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (here / "forecast.svg").read_bytes()
