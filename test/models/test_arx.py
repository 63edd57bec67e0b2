"""Linear ARX against systems that it can represent, and against ordinary least squares."""

import numpy as np
import pytest

from benchmarks.datasets import synth
from rffpsr_ros.episodes.trajectory import Trajectory
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.horizon_error import horizon_errors, observation_range
from rffpsr_ros.learning.scaling import fit_scaling, standardise
from rffpsr_ros.models.arx import RIDGES, LinearARX, LinearARXState
from rffpsr_ros.models.arx_regression import Shape, Sums

NAN = float("nan")


def linear_system(count: int, ticks: int, noise: float = 0.0, seed: int = 0) -> list[Trajectory]:
    """o_t = 1.5 o_{t-1} - 0.7 o_{t-2} + a_t + 0.5 a_{t-1} + 0.2, started at rest."""
    generator = np.random.default_rng(seed)
    runs = []
    for _ in range(count):
        actions = generator.uniform(-1, 1, ticks)
        observations = np.zeros(ticks)
        for t in range(ticks):
            past = [observations[t - k] if t >= k else 0.0 for k in (1, 2)]
            before = actions[t - 1] if t else 0.0
            observations[t] = 1.5 * past[0] - 0.7 * past[1] + actions[t] + 0.5 * before + 0.2
        runs.append(Trajectory(observations + noise * generator.normal(size=ticks), actions))
    return runs


def test_a_linear_system_is_forecast_exactly() -> None:
    # Rows at the start, with means for what was before, are no part of this system: none is here.
    long = linear_system(1, 3000)[0]
    model = LinearARX(past=4, future=3, ridge=1e-13).fit([long])
    test = linear_system(1, 100, seed=1)
    errors = horizon_errors(model, test, horizon=8, start=50)
    assert errors.rmse.max() < 2e-2 * np.std(test[0].observations)


def test_one_horizon_is_ordinary_ridge_regression() -> None:
    run = linear_system(1, 60, noise=0.3)[0]
    model = LinearARX(past=2, future=1, ridge=0.05).fit([run])
    observed = (run.observations[:, 0] - run.observations.mean()) / run.observations.std()
    acted = (run.actions[:, 0] - run.actions.mean()) / run.actions.std()
    rows, targets = [], []
    for t in range(60):
        past = [(observed[t - k], acted[t - k]) if t >= k else (0.0, 0.0) for k in (2, 1)]
        rows.append([past[0][0], past[1][0], past[0][1], past[1][1], 1.0, acted[t]])
        targets.append(observed[t])
    # Ridge as extra rows of a least-squares problem, solved without normal equations.
    design = np.vstack([rows, np.sqrt(60 * 0.05) * np.eye(6)])
    weights = np.linalg.lstsq(design, np.concatenate([targets, np.zeros(6)]), rcond=None)[0]
    np.testing.assert_allclose(model.history_weights[:, 0, 0], weights[:4], atol=1e-10)
    np.testing.assert_allclose(model.intercept[0, 0], weights[4], atol=1e-10)
    np.testing.assert_allclose(model.action_weights[0, 0, 0, 0], weights[5], atol=1e-10)
    residual = np.array(targets) - np.array(rows) @ weights
    np.testing.assert_allclose(
        model.record.metrics["training_mse"], [(residual**2).mean() * run.observations.var()]
    )


def test_beyond_its_horizons_forecasts_are_fed_back() -> None:
    model = LinearARX(past=3, future=2, ridge=1e-6).fit(linear_system(2, 80))
    plan = np.random.default_rng(0).uniform(-1, 1, (5, 1))
    state = model.initial_state()
    forecast = model.predict(state, plan)
    for tick in range(2):
        state = model.update(state, plan[tick], forecast[tick])
    np.testing.assert_allclose(model.predict(state, plan[2:4]), forecast[2:4], atol=1e-12)


def test_the_forecast_stands_in_for_a_missing_observation() -> None:
    model = LinearARX(past=3, future=2, ridge=1e-6).fit(linear_system(2, 80))
    state = model.state_from_history(np.ones((5, 1)), np.ones((5, 1)))
    expected = model.predict(state, np.array([[0.3]]))[0]
    with_gap = model.update(state, np.array([0.3]), np.array([NAN]))
    filled = model.update(state, np.array([0.3]), expected)
    np.testing.assert_array_equal(with_gap.observations, filled.observations)


def test_the_state_is_the_newest_history() -> None:
    model = LinearARX(past=2, future=2, ridge=1e-6).fit(linear_system(2, 80))
    state = model.state_from_history(np.arange(5.0)[:, None], 10 * np.arange(5.0)[:, None])
    assert isinstance(state, LinearARXState)
    np.testing.assert_array_equal(state.observations, [[3.0], [4.0]])
    np.testing.assert_array_equal(state.actions, [[30.0], [40.0]])


def test_no_row_crosses_two_trajectories_or_a_gap() -> None:
    first, second = linear_system(2, 40)
    gap = first.observations.copy()
    gap[20] = NAN
    model = LinearARX(past=3, future=2, ridge=1e-6)
    # 39 origins per run; a gap at tick 20 is in the windows of origins 19, 20 (target), 21 to 23.
    assert_rows(model, [first, second], 78)
    assert_rows(model, [Trajectory(gap, first.actions), second], 73)


def assert_rows(learner: LinearARX, runs: list[Trajectory], count: int) -> None:
    scaled = standardise(
        runs, fit_scaling([r.observations for r in runs]), fit_scaling([r.actions for r in runs])
    )
    shape = Shape(learner.past, learner.future, 1, 1)
    assert Sums.merged((Sums.of(run, shape) for run in scaled), shape).count == count


@pytest.mark.parametrize(("count", "validated"), [(6, False), (1, False), (2, True)])
def test_noise_raises_the_chosen_ridge(count: int, validated: bool) -> None:
    chosen = {}
    for noise in (0.0, 1.0):
        runs = linear_system(count, 120, noise)
        held_out = linear_system(4, 120, noise, seed=9) if validated else None
        model = LinearARX(past=10, future=3).fit(runs, held_out)
        chosen[noise] = model.record.options["ridge"]
        assert set(model.record.metrics["ridge_scores"]) == {str(ridge) for ridge in RIDGES}
    assert chosen[0.0] < chosen[1.0]


def test_validation_steers_the_ridge_only() -> None:
    runs, held_out = linear_system(3, 60, 0.2), linear_system(2, 60, 0.2, seed=3)
    chosen = LinearARX(past=3, future=2).fit(runs, held_out)
    given = LinearARX(past=3, future=2, ridge=chosen.record.options["ridge"]).fit(runs)
    np.testing.assert_array_equal(chosen.history_weights, given.history_weights)


def test_a_constant_column_does_no_harm() -> None:
    run = linear_system(1, 60)[0]
    observations = np.column_stack([run.observations, np.full(60, 3.0)])
    model = LinearARX(past=3, future=2).fit([Trajectory(observations, run.actions)])
    forecast = model.predict(model.state_from_history(observations, run.actions), np.zeros((2, 1)))
    np.testing.assert_allclose(forecast[:, 1], 3.0)


def test_short_recordings_are_said() -> None:
    with pytest.raises(InputError, match=r"longest trajectory has 5 ticks; .* at least 10"):
        LinearARX().fit(linear_system(2, 5))
    gaps = np.where(np.arange(40) % 3 == 0, NAN, 1.0)
    with pytest.raises(InputError, match=r"no stretch .* 10 ticks without a missing"):
        LinearARX().fit([Trajectory(gaps, np.zeros(40))])


def test_a_single_short_recording_is_enough_when_nothing_can_be_held_out() -> None:
    model = LinearARX(past=3, future=10).fit(linear_system(1, 12))
    assert model.record.options["ridge"] > 0


@pytest.mark.parametrize("options", [{"past": 0}, {"future": 0}, {"ridge": 0.0}, {"ridge": NAN}])
def test_impossible_options_are_said(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match="must be"):
        LinearARX(**options)  # type: ignore[arg-type]


@pytest.mark.usefixtures("shared")
def test_the_authors_data_gives_their_figure() -> None:
    # A linear ARX with 20 past and 10 future actions was measured beside the authors' programs.
    reference = [0.0002, 0.0013, 0.0044, 0.0098, 0.0170, 0.0252, 0.0329, 0.0389, 0.0423, 0.0430]
    data = synth()
    train = [*data.train, *data.validation]
    errors = horizon_errors(LinearARX().fit(train), data.test, clip=observation_range(train))
    assert errors.mse[0] < 2.5e-4
    assert errors.mse.mean() < 0.0220
    np.testing.assert_allclose(errors.mse, reference, rtol=0.1, atol=2e-4)
