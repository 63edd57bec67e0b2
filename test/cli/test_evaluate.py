"""Evaluation on bags says exactly what the Python face says of the same arrays."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros import load_model, read_bags
from rffpsr_ros.evaluation.horizon_error import horizon_errors
from rffpsr_ros.forecasting.adaptation.adaptive_model import AdaptiveModel
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.recordings.split import split
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


def test_a_model_that_adapts_stands_beside_itself(
    run: Run, robot: Path, configuration: Path, model: Path
) -> None:
    words = ["--model", model, "--json", "--horizon", 4, "--adapt"]
    result = json.loads(run("evaluate", robot, *words).out)
    runs, loaded = read_bags(robot, load_channels(configuration)), load_model(model)
    errors = horizon_errors(AdaptiveModel(loaded, 4), runs, horizon=4)
    told = result["models"]["rff_psr, adaptive"]["mse_by_observation"]["arm.position.elbow"]
    np.testing.assert_allclose(told, errors.mse_by_observation[:, 0], rtol=1e-12)
    assert "rff_psr, adaptive" not in json.loads(run("evaluate", robot, *words[:-1]).out)["models"]


def test_tables_show_every_model_observation_and_measure(
    run: Run, robot: Path, model: Path
) -> None:
    lines = run("evaluate", robot, "--model", model, "--split", "0.6,0.2,0.2").out.splitlines()
    assert "judged on 120 ticks" in lines[0]
    start = lines.index("arm.position.elbow (rad):")
    assert lines[start + 1].split() == ["model", "h1", "h2", "h3", "h5", "h10"]
    labels = [line.split()[0] for line in lines[start + 2 : start + 11]]
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


def test_arx_is_left_out_with_a_word_where_gaps_leave_no_place_for_it(
    run: Run, robot: Path, configuration: Path, here: Path
) -> None:
    words = ["--set", "rate=100", "--model", "last_observation", "--no-check", "--quiet"]
    split = ["--split", "0.6,0,0.4"]
    assert run("train", robot, "--config", configuration, "--out", "m", *words, *split).code == 0
    outcome = run("evaluate", robot, "--model", "m", *split, "--quiet")
    assert outcome.code == 0
    assert "warning: linear ARX is left out: no stretch of the recordings has" in outcome.err
    assert "say what to fit it to" not in outcome.out


def test_bands_are_judged_by_how_much_of_what_came_they_cover(
    run: Run, robots: list[Path], arx_model: Path
) -> None:
    words = ["evaluate", robots[0], "--model", arx_model, "--coverage", "0.8"]
    told = json.loads(run(*words, "--json").out)["bands"]
    assert told["coverage"] == 0.8
    assert 0.6 < np.mean(told["fixed"]["arm.position.elbow"]) <= 1
    lines = run(*words).out.splitlines()
    table = lines[lines.index("share that bands of 80 % covered (%):") + 1 :]
    assert table[0].split()[:3] == ["observation", "bands", "h1"]
    assert [row.split()[1] for row in table[2:4]] == ["fixed", "adapted"]
    assert float(table[2].split()[2]) == round(100 * told["fixed"]["arm.position.elbow"][0], 1)
    outcome = run(*words[:-1], "0.999")
    assert outcome.code == 2
    assert "coverage is 0.999; bands are known from 0.5 to 0.99" in outcome.err


def test_plots_are_drawn(run: Run, robot: Path, model: Path, here: Path) -> None:
    pytest.importorskip("matplotlib")
    words = ["--plot", "errors.png", "--plot-forecast", "forecast.svg"]
    assert run("evaluate", robot, "--model", model, *words).code == 0
    assert (here / "errors.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (here / "forecast.svg").read_bytes()


def test_it_ends_with_the_verdict_that_json_holds(run: Run, robot: Path, model: Path) -> None:
    words = ["evaluate", robot, "--model", model, "--split", "0.6,0.2,0.2"]
    result = json.loads(run(*words, "--json").out)
    said = result["verdict"]
    assert len(said["sentences"]) == 2
    outcome = run(*words)
    assert outcome.code == 0
    *_, nothing, first, second = outcome.out.splitlines()
    assert [nothing, first, second] == [
        "",
        f"verdict: {said['sentences'][0]}",
        said["sentences"][1],
    ]
    paired, models = said["paired"], result["models"]
    assert paired["baseline"] == "linear_arx"
    ratio = np.divide(models["rff_psr"]["mse"], models["linear_arx"]["mse"])
    np.testing.assert_allclose(paired["by_horizon"]["value"], ratio)


def test_recordings_that_were_learned_from_are_called_that(
    run: Run, robot: Path, configuration: Path, here: Path
) -> None:
    words = ["--config", configuration, "--model", "linear_arx", "--bands", "none"]
    assert run("train", robot, "--out", "m", *words).code == 0
    said = run("evaluate", robot, "--model", "m").out
    assert "On 600 ticks that it has learned from" in said
    assert run("train", robot, "--out", "m", *words, "--split", "0.6,0.2,0.2").code == 0
    said = run("evaluate", robot, "--model", "m", "--split", "0.6,0.2,0.2").out
    assert "learned from" not in said
    for forgotten in ([], ["--split", "0.2,0.2,0.6"]):
        said = run("evaluate", robot, "--model", "m", *forgotten).out
        known = "1 of 1 recordings are among those that it has learned from, whole or in part"
        assert (known in said) == (not forgotten)
