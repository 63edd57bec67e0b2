"""Plans are those that direct computations find, and within the limits in any case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from rffpsr_ros.control.gauss_newton import GaussNewton
from rffpsr_ros.control.limits import ActionLimits
from rffpsr_ros.control.plan_cost import PlanCost, differences
from rffpsr_ros.control.planner import Planner
from rffpsr_ros.control.problem import Plan, Problem, Solver
from rffpsr_ros.control.quadratic import least_within
from rffpsr_ros.control.sampling import PathIntegral
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.numerics.arrays import Array
from test.nonlinear_runs import nonlinear_runs

HORIZON = 8
FREE = np.full((HORIZON, 2), np.inf)


def limits(low: float = -1.0, high: float = 1.0, step: float = np.inf) -> ActionLimits:
    return ActionLimits(*(np.full(2, value) for value in (low, high, step)))


def objective(**changes: Any) -> PlanCost:
    one = PlanCost(
        np.ones(2),
        np.ones(2),
        np.array([1.0, 0.3]),
        np.full(2, 1e-2),
        np.full(2, 3e-2),
        np.full(2, 0.1),
        -FREE,
        FREE,
        50.0,
    )
    return one._replace(**changes)


def problem(model: PredictiveModel[Any], **changes: Any) -> Problem:
    run = nonlinear_runs(1, 40)[0]
    state = model.state_from_history(run.observations, run.actions)
    reference = np.cumsum(np.full((HORIZON, 2), 0.1), axis=0)
    reference[:3, 1] = np.nan
    given = Problem(
        model, state, np.full(2, 0.2), np.full(2, 0.3), reference, objective(), limits()
    )
    return replace(given, **changes)


@pytest.fixture(scope="module")
def linear() -> PredictiveModel[Any]:
    return LinearARX(past=3, future=4).fit(nonlinear_runs(3, 150))


@pytest.fixture(scope="module")
def nonlinear() -> PredictiveModel[Any]:
    small: dict[str, Any] = {"past": 3, "future": 3, "features": 20, "rank": 6, "iterations": 3}
    return SingleRFFPSR(**small, arx_past=3, narx_features=10).fit(nonlinear_runs(3, 150))


def endless() -> bool:
    return True


def few(rounds: int) -> Callable[[], bool]:
    left = iter(range(rounds))
    return lambda: next(left, None) is not None


def rest() -> Array:
    return np.full((HORIZON - 1, 2), 0.3)


def test_a_linear_models_plan_is_the_least_squares_solution(linear: PredictiveModel[Any]) -> None:
    asked = problem(linear)
    found = GaussNewton().improve(asked, rest(), endless)
    base = asked.forecast(np.zeros((HORIZON - 1, 2)))
    slope = linear.jacobian(asked.state, asked.actions(rest()))[:, :, 1:].reshape(HORIZON * 2, -1)
    want = asked.reference - base
    known = np.isfinite(want).ravel()
    weights = np.sqrt(np.broadcast_to(asked.objective.tracking, want.shape)).ravel()[known]
    size = 2 * (HORIZON - 1)
    start = np.zeros(size)
    start[:2] = 0.3
    change = np.sqrt(0.03) * differences(HORIZON - 1, 2)
    rows = np.concatenate([weights[:, None] * slope[known], 0.1 * np.eye(size), change])
    aims = [weights * want.ravel()[known], np.full(size, 0.1 * 0.1), np.sqrt(0.03) * start]
    exact = lsq_linear(rows, np.concatenate(aims), (-1.0, 1.0), tol=1e-12)
    np.testing.assert_allclose(found.actions.ravel(), exact.x, atol=2e-3)
    assert found.cost == pytest.approx(2 * exact.cost, rel=1e-4)


@pytest.mark.parametrize("solver", [GaussNewton(), PathIntegral(64)], ids=["gradient", "drawn"])
def test_a_plan_is_better_than_the_start_and_within_the_limits(
    solver: Solver, nonlinear: PredictiveModel[Any]
) -> None:
    asked = problem(nonlinear, limits=limits(-0.4, 0.5, 0.15))
    start = asked.limits.hold_all(rest(), asked.before)
    before = float(asked.cost(start, asked.forecast(start)))
    found = solver.improve(asked, start, few(6))
    assert found.cost < 0.9 * before
    np.testing.assert_allclose(found.forecast, asked.forecast(found.actions), atol=1e-9)
    assert found.cost == pytest.approx(float(asked.cost(found.actions, found.forecast)))
    steps = np.diff(found.actions, axis=0, prepend=asked.before[None])
    assert (np.abs(steps) <= 0.15 + 1e-12).all()
    assert (found.actions >= -0.4).all()
    assert (found.actions <= 0.5).all()


def test_drawn_plans_come_close_to_those_by_derivatives(nonlinear: PredictiveModel[Any]) -> None:
    asked = problem(nonlinear)
    exact = GaussNewton().improve(asked, rest(), endless)
    drawn = PathIntegral(512, seed=1).improve(asked, rest(), few(12))
    start = float(asked.cost(rest(), asked.forecast(rest())))
    assert exact.cost <= drawn.cost * (1 + 1e-3)
    assert drawn.cost - exact.cost < 0.1 * (start - exact.cost)


def test_a_gradient_is_that_of_finite_differences(nonlinear: PredictiveModel[Any]) -> None:
    tight = objective(low=np.full((HORIZON, 2), -0.05), high=np.full((HORIZON, 2), 0.05))
    asked = problem(nonlinear, objective=tight)
    plan = np.linspace(-0.5, 0.5, 2 * (HORIZON - 1)).reshape(-1, 2)
    forecast = asked.forecast(plan)
    jacobian = nonlinear.jacobian(asked.state, asked.actions(plan))[:, :, 1:]
    _, gradient = tight.quadratic(forecast, jacobian, asked.reference, plan, asked.before)
    step = 1e-5
    for place in range(plan.size):
        costs = []
        for sign in (1, -1):
            moved = plan.copy()
            moved.flat[place] += sign * step
            costs.append(float(asked.cost(moved, asked.forecast(moved))))
        assert (costs[0] - costs[1]) / (4 * step) == pytest.approx(gradient[place], rel=1e-4)


def test_a_quadratic_programme_meets_its_conditions() -> None:
    """With bounds on changes alone reparametrised, the programme is one of bounds."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(30, 12))
    second, gradient = rows.T @ rows, generator.normal(size=12) * 20
    before = np.array([0.2, -0.1])
    wide, step = np.full(2, 100.0), np.array([0.1, 0.2])
    found = least_within(second, gradient, -wide, wide, step, before)
    change = differences(6, 2)
    back = np.linalg.inv(change)  # from changes to plans
    start = np.tile(before, 6)
    factor = np.linalg.cholesky(second).T
    aim = np.linalg.solve(factor.T, -gradient) - factor @ start
    bound = np.tile(step, 6)
    exact = start + back @ lsq_linear(factor @ back, aim, (-bound, bound), tol=1e-12).x
    own = 0.5 * exact @ second @ exact + gradient @ exact
    plan = found.ravel()
    assert 0.5 * plan @ second @ plan + gradient @ plan == pytest.approx(own, rel=0.02)


def test_observations_keep_their_limits_where_they_can(linear: PredictiveModel[Any]) -> None:
    free = GaussNewton().improve(problem(linear), rest(), endless)
    ceiling = float(free.forecast[1:, 0].max()) - 0.05
    high = FREE.copy()
    high[:, 0] = ceiling
    bound = problem(linear, objective=objective(high=high, limit=1e4))
    kept = GaussNewton().improve(bound, rest(), endless)
    assert kept.forecast[1:, 0].max() < ceiling + 0.01


class Broken:
    """A solver that gives what it likes."""

    def __init__(self, plan: Array, cost: float = 0.0) -> None:
        self.plan, self.cost = plan, cost

    def improve(self, problem: Problem, start: Array, more: Callable[[], bool]) -> Plan:
        return Plan(self.plan, np.zeros((HORIZON, 2)), self.cost, 1)


def test_a_planner_gives_no_plan_beyond_the_limits(linear: PredictiveModel[Any]) -> None:
    asked = problem(linear, limits=limits(-0.5, 0.5, 0.1))
    wild = Broken(np.full((HORIZON - 1, 2), 9.0))
    plan = Planner(wild, 1.0).plan(asked, HORIZON - 1)
    assert plan is not None
    np.testing.assert_allclose(plan.actions[:3, 0], [0.4, 0.5, 0.5])
    for useless in (Broken(np.full((HORIZON - 1, 2), np.nan)), Broken(rest(), np.inf)):
        assert Planner(useless, 1.0).plan(asked, HORIZON - 1) is None


def test_a_planner_goes_on_from_the_plan_before(linear: PredictiveModel[Any]) -> None:
    asked = problem(linear)
    planner = Planner(GaussNewton(), 10.0)
    first = planner.plan(asked, HORIZON - 1)
    assert first is not None
    starts: list[Array] = []

    class Noting(GaussNewton):
        def improve(self, problem: Problem, start: Array, more: Callable[[], bool]) -> Plan:
            starts.append(start)
            return super().improve(problem, start, more)

    planner._solver = Noting()
    planner.plan(asked, HORIZON - 1)
    np.testing.assert_array_equal(starts[0][:-1], first.actions[1:])


def test_a_planner_begins_no_round_that_would_end_too_late(linear: PredictiveModel[Any]) -> None:
    now = 0.0

    class Slow:
        def improve(self, problem: Problem, start: Array, more: Callable[[], bool]) -> Plan:
            nonlocal now
            rounds = 0
            while more():
                rounds += 1
                now += 3.0
            return Plan(start, np.zeros((HORIZON, 2)), 1.0, rounds)

    planner = Planner(Slow(), 10.0, lambda: now)
    plans = [planner.plan(problem(linear), HORIZON - 1) for _ in range(3)]
    assert [plan.rounds for plan in plans if plan] == [3, 3, 3]
    tight = Planner(Slow(), 1.0, lambda: now).plan(problem(linear), HORIZON - 1)
    assert tight is not None
    assert tight.rounds == 1
