"""CasADi's functions compute what the model computes, and differentiate it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.export.files import exported, written
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.numerics.arrays import Array

casadi = pytest.importorskip("casadi")
WORST, HORIZON = 1e-9, 6


def loaded(model: PredictiveModel[Any], folder: Path, horizon: int = HORIZON) -> dict[str, Any]:
    """Return the functions that the files hold, by what they do."""
    written(exported(model, "casadi", "robot", horizon), folder / "made")
    found = {}
    for path in (folder / "made").iterdir():
        kind = path.stem.removeprefix("robot_")
        found[kind] = casadi.Function.load(str(path))
    return found


def test_it_follows_and_forecasts_as_the_model_does(case: Any, tmp_path: Path) -> None:
    functions = loaded(case.model, tmp_path)
    state = functions["initial"]()["state"]

    def update(action: Array, seen: Array) -> None:
        nonlocal state
        state = functions["update"](state, action, seen)

    def compare(plan: Array, expected: Array) -> None:
        whole = np.zeros((plan.shape[1], HORIZON))
        steps = min(len(plan), HORIZON)
        whole[:, :steps] = plan[:steps].T
        forecast = np.array(functions["predict"](state, whole)).T[:steps]
        scale = np.abs(expected).max()
        np.testing.assert_allclose(forecast, expected[:steps], WORST, WORST * scale)

    case.follow(update, compare)
    assert ("jacobian" in functions) == (case.name != "io_hmm")
    if "jacobian" in functions:
        plan = case.run.actions[:HORIZON]
        expected = case.model.jacobian(case.last_state(), plan)
        forecast, jacobian = functions["jacobian"](state, plan.T)
        again = np.array(functions["predict"](state, plan.T))
        np.testing.assert_array_equal(np.array(forecast), again)
        scale = np.abs(expected).max()
        found = np.array(jacobian).reshape(expected.shape)
        np.testing.assert_allclose(found, expected, 10 * WORST, 10 * WORST * scale)


def test_parts_make_the_whole(ensemble: PredictiveModel[Any], tmp_path: Path) -> None:
    functions = loaded(ensemble, tmp_path)
    state = functions["initial"]()["state"]
    plan = np.random.default_rng(1).uniform(-1, 1, (2, HORIZON))
    carry, found = functions["begin"](state), []
    for h in range(HORIZON):
        carry, seen = functions["step"](carry, plan[:, h])
        found.append(np.array(seen).ravel())
    expected = np.array(functions["predict"](state, plan))
    np.testing.assert_allclose(np.array(found).T, expected, 1e-12)


def test_opti_finds_the_actions_that_reach_a_goal(
    ensemble: PredictiveModel[Any], tmp_path: Path
) -> None:
    """The goal is what some actions reach, so that as near a way to it is known."""
    functions = loaded(ensemble, tmp_path)
    state = functions["initial"]()["state"]
    known = np.tile([[0.4], [-0.3]], (1, HORIZON))
    goal = np.array(functions["predict"](state, known))
    opti = casadi.Opti()
    plan = opti.variable(2, HORIZON)
    opti.minimize(casadi.sumsqr(functions["predict"](state, plan) - goal))
    opti.subject_to(opti.bounded(-1, casadi.vec(plan), 1))
    opti.set_initial(plan, 0.0)
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "max_iter": 100})
    solution = opti.solve()
    reached = np.array(functions["predict"](state, solution.value(plan)))
    assert np.abs(reached - goal).max() < 0.01 * np.abs(goal).max()


def test_casadi_writes_c_of_what_is_built_on_it(
    ensemble: PredictiveModel[Any], tmp_path: Path
) -> None:
    """As solvers that generate code do."""
    step = loaded(ensemble, tmp_path)["step"]
    generator = casadi.CodeGenerator("generated.c")
    generator.add(step)
    generator.add(step.jacobian())
    generator.generate(f"{tmp_path}/")
    assert "robot_step" in (tmp_path / "generated.c").read_text()
