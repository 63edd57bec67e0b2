"""The paired bootstrap tells a difference from luck."""

import numpy as np
import pytest

from benchmarks.datasets import fresh_synthetic
from benchmarks.methods import METHODS
from benchmarks.paired import BLOCK, main, ratio, squared_errors
from benchmarks.tasks import TASKS, single_test
from rffpsr_ros.evaluation.horizon_error import horizon_errors


def test_a_common_difficulty_is_no_uncertainty_and_luck_is_one() -> None:
    draw = np.random.default_rng(0)
    hard = np.repeat(draw.exponential(size=20), BLOCK)
    noise = draw.uniform(0.9, 1.1, len(hard))
    always = ratio(0.9 * hard, hard * noise, draw)
    assert 0.85 < always.low < always.value < always.high < 0.95
    lucky = np.where(np.arange(len(hard)) // BLOCK % 2, 0.5, 1.5)
    once = ratio(hard * lucky, hard, draw)
    assert once.low < 1 < once.high


def test_errors_are_those_of_the_tables() -> None:
    material = single_test(fresh_synthetic(0, 3))
    method = METHODS["last observation"]
    errors = squared_errors(method, TASKS["fresh"], 0, material)
    model = method.make(0).fit(material.train)
    found = horizon_errors(model, material.tests["test"], 10, 20)
    np.testing.assert_allclose(errors.mean(), found.mse_by_observation.sum(axis=1).mean())


def test_an_unknown_method_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--methods", "linear ARX", "linear AXR"]) == 2
    assert "did you mean 'linear ARX'" in capsys.readouterr().err
