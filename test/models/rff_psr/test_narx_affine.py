"""An RFF-PSR whose NARX term sees observations only."""

from typing import Any

import numpy as np
import pytest

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.recordings.trajectory import Trajectory

SMALL = {"past": 6, "arx_past": 6, "narx_past": 3, "features": 30, "iterations": 1, "future": 5}


def recording(seed: int, force: bool, ticks: int = 160) -> Trajectory:
    """A map that is nonlinear, of observations only where an action is a force."""
    draw = np.random.default_rng(seed)
    actions, seen, value = draw.uniform(-1, 1, (ticks, 2)), np.zeros((ticks, 2)), 0.3
    for tick in range(1, ticks):
        push = actions[tick] @ [1.0, -0.5]
        value = 0.8 * np.sin(2 * value) + 0.3 * push if force else 0.5 * value + np.sin(2 * push)
        seen[tick] = value, seen[tick - 1, 0]
    return Trajectory(seen, actions, 0.1)


def learned(choice: str, force: bool) -> PredictiveModel[Any]:
    train = [recording(seed, force) for seed in range(3)]
    learner = SingleRFFPSR(**SMALL, narx_learning="off", narx_affine=choice)
    return learner.fit(train, [recording(9, force)])


def error(model: PredictiveModel[Any]) -> float:
    return float(np.mean(model.record.metrics["validation_mse"]))


def frequency(model: Any) -> float:
    """Return the largest frequency of the NARX term's features where actions are."""
    structure = model.parts.structure
    seen = structure.narx_past * 2
    return float(np.abs(structure.narx.frequencies[:, seen:]).max())


@pytest.mark.parametrize("force", [True, False])
def test_auto_takes_what_does_better(force: bool) -> None:
    of_all, affine, auto = (learned(choice, force) for choice in ("off", "on", "auto"))
    assert frequency(affine) == 0
    assert frequency(of_all) > 0
    assert (error(affine) < 0.8 * error(of_all)) == force
    assert (frequency(auto) == 0) == force
    if not force:  # draws the same features first
        starts = [one.record.metrics["refinement"] for one in (of_all, auto)]
        assert starts[0]["score_before"] == starts[1]["score_before"]
        assert error(auto) < error(affine)


@pytest.mark.parametrize(("given", "meant"), [(True, "on"), (False, "off"), ("auto", "auto")])
def test_yaml_reads_on_and_off_as_truth(given: Any, meant: str) -> None:
    assert RFFPSROptions(narx_affine=given).narx_affine == meant
