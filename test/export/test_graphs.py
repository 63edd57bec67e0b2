"""The graphs of every kind compute what the models compute, derivatives included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.export.describe import DESCRIBED, described
from rffpsr_ros.export.evaluation import evaluate
from rffpsr_ros.export.files import exported
from rffpsr_ros.export.program import Program
from rffpsr_ros.export.trial import check_program
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.kalman.learner import Kalman
from rffpsr_ros.models.registry import model_kinds
from rffpsr_ros.models.rff_arx.learner import RFFARX
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory


def forecast(program: Program, state: Array, plan: Array) -> Array:
    (carry,) = evaluate([program.begin], {"state": state})
    found = []
    for action in plan:
        carry, seen = evaluate(program.step, {"carry": carry, "action": action})
        found.append(seen)
    return np.array(found)


def derivatives(program: Program, state: Array, plan: Array) -> Array:
    """Return (H, d_o, H, d_a), one direction after the other."""
    assert program.by_carry is not None
    assert program.by_action is not None
    (carry,) = evaluate([program.begin], {"state": state})
    moved, rows = np.zeros((plan.size, len(carry))), []
    for h, action in enumerate(plan):
        given, changes = {"carry": carry, "action": action}, []
        for k in range(plan.size):
            if k // plan.shape[1] == h:
                way, along = program.by_action, np.eye(plan.shape[1])[k % plan.shape[1]]
            else:
                way, along = program.by_carry, moved[k]
            changes.append(evaluate(way[1:], given | {"moved": along}))
        carry, _ = evaluate(program.step, given)
        moved = np.array([change[0] for change in changes])
        rows.append([change[1] for change in changes])
    stacked: Array = np.array(rows).transpose(0, 2, 1)
    return stacked.reshape(*stacked.shape[:2], *plan.shape)


def test_every_kind_of_model_file_is_described() -> None:
    assert set(DESCRIBED) == set(model_kinds())


def test_graphs_follow_and_forecast_as_the_model_does(case: Any) -> None:
    program = described(case.model)
    state = program.initial

    def update(action: Array, seen: Array) -> None:
        nonlocal state
        given = {"state": state, "action": action, "observation": seen}
        (state,) = evaluate([program.update], given)

    def compare(plan: Array, expected: Array) -> None:
        np.testing.assert_allclose(forecast(program, state, plan), expected, 1e-9, 1e-10)

    case.follow(update, compare, 400)


def test_graphs_have_the_derivatives_of_the_model(case: Any) -> None:
    program = described(case.model)
    if case.name == "io_hmm":
        assert program.by_carry is None
        return
    state, vector = case.model.initial_state(), program.initial
    for tick in range(160):
        action, seen = case.run.actions[tick], case.run.observations[tick]
        state = case.model.update(state, action, seen)
        given = {"state": vector, "action": action, "observation": seen}
        (vector,) = evaluate([program.update], given)
    plan = case.run.actions[160:165]
    expected = case.model.jacobian(state, plan)
    np.testing.assert_allclose(derivatives(program, vector, plan), expected, 1e-9, 1e-10)


def noiseless() -> list[Trajectory]:
    """Return runs that a linear system explains exactly."""
    generator = np.random.default_rng(0)
    runs = []
    for _ in range(3):
        acted, seen = generator.normal(size=(100, 1)), np.zeros((100, 2))
        for tick in range(1, 100):
            seen[tick, 0] = 0.8 * seen[tick - 1, 0] + acted[tick, 0]
            seen[tick, 1] = seen[tick, 0]
        runs.append(Trajectory(seen, acted, 0.1))
    return runs


def test_what_cannot_be_exported_is_refused(ensemble: PredictiveModel[Any]) -> None:
    generator = np.random.default_rng(2)
    runs = [Trajectory(generator.normal(size=(80, 1)), generator.normal(size=(80, 1)), 0.1)]
    small: dict[str, Any] = {"past": 3, "future": 3, "features": 10, "rank": 4, "iterations": 2}
    for model, words in (
        (RFFARX(past=3, future=3, features=10, one_shot=True).fit(runs), "one_shot"),
        (SingleRFFPSR(**small, forecast="window").fit(runs), "forecast: window"),
        (Kalman(past=3, future=3).fit(noiseless()), "singular"),
    ):
        with pytest.raises(InputError, match=words):
            exported(model, "c")
    for name in ("2nd", "double", "a-b", "", "x" * 70):
        with pytest.raises(InputError, match="cannot name functions"):
            exported(ensemble, "c", name)
    with pytest.raises(InputError, match="no format 'fortran'"):
        exported(ensemble, "fortran")


def test_graphs_that_compute_something_else_are_noticed() -> None:
    generator = np.random.default_rng(2)
    runs = [Trajectory(generator.normal(size=(80, 1)), generator.normal(size=(80, 1)), 0.1)]
    one = LinearARX(past=3, future=3).fit(runs)
    other = LinearARX(past=3, future=3, ridge=10.0).fit(runs)
    check_program(described(one), one)
    with pytest.raises(InputError, match="forecasts otherwise"):
        check_program(described(other), one)
