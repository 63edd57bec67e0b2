"""Linear ARX against systems that it can represent, and against ordinary least squares."""

import numpy as np
import pytest

from benchmarks.datasets import silverbox, synth
from rffpsr_ros.data.scaling import fit_scaling, standardise
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.horizon_error import horizon_errors, observation_range, simulation_rmse
from rffpsr_ros.models.arx.learner import RIDGES, LinearARX
from rffpsr_ros.models.arx.regression import Shape, Sums
from rffpsr_ros.models.arx.state import LinearARXState
from rffpsr_ros.recordings.trajectory import Trajectory

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
    model = LinearARX(past=4, future=3).fit(linear_system(10, 100))
    test = linear_system(3, 100, seed=1)
    errors = horizon_errors(model, test, horizon=8, start=4)
    assert model.record.options["ridge"] == 1e-10
    assert errors.rmse.max() < 1e-6


@pytest.mark.parametrize("seen", [0, 1, 2, 3])
def test_a_short_history_has_a_regression_of_its_own(seen: int) -> None:
    # Ordinary least squares on the last ``seen`` ticks, solved without normal equations.
    runs = linear_system(3, 40, noise=0.1)
    model = LinearARX(past=2, future=2, ridge=1e-12).fit(runs)
    used = min(seen, 2)
    rows, targets = [], []
    for run in runs:
        observed, acted = run.observations[:, 0], run.actions[:, 0]
        for t in range(2, 39):
            history = [*observed[t - used : t], *acted[t - used : t]]
            rows.append([*history, 1.0, acted[t], acted[t + 1]])
            targets.append(observed[t + 1])
    weights = np.linalg.lstsq(np.array(rows), np.array(targets), rcond=None)[0]
    run = runs[1]
    state = model.state_from_history(run.observations[:seen], run.actions[:seen])
    plan = run.actions[seen : seen + 2]
    recent = slice(seen - used, seen)
    history = [*run.observations[recent, 0], *run.actions[recent, 0]]
    expected = np.array([*history, 1.0, *plan[:, 0]]) @ weights
    assert model.predict(state, plan)[1, 0] == pytest.approx(expected, abs=1e-8)


def test_the_ridge_is_a_penalty_on_the_mean_squared_error() -> None:
    run = linear_system(1, 60, noise=0.3)[0]
    model = LinearARX(past=2, future=1, ridge=0.05).fit([run])
    observed = (run.observations[:, 0] - run.observations.mean()) / run.observations.std()
    acted = (run.actions[:, 0] - run.actions.mean()) / run.actions.std()
    rows = [
        [observed[t - 2], acted[t - 2], observed[t - 1], acted[t - 1], 1.0, acted[t]]
        for t in range(2, 60)
    ]
    # Ridge as extra rows of a least-squares problem.
    design = np.vstack([rows, np.sqrt(58 * 0.05) * np.eye(6)])
    weights = np.linalg.lstsq(design, np.concatenate([observed[2:], np.zeros(6)]), rcond=None)[0]
    np.testing.assert_allclose(model.parts.history_weights[-1].ravel(), weights[:4], atol=1e-10)
    np.testing.assert_allclose(model.parts.intercept[-1].ravel(), weights[4], atol=1e-10)
    np.testing.assert_allclose(model.parts.action_weights[-1].ravel(), weights[5], atol=1e-10)
    residual = observed[2:] - np.array(rows) @ weights
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
    np.testing.assert_allclose(with_gap.history, filled.history, rtol=1e-14)


def test_the_state_is_the_newest_history() -> None:
    model = LinearARX(past=2, future=2, ridge=1e-6).fit(linear_system(2, 80))
    state = model.state_from_history(np.arange(5.0)[:, None], 10 * np.arange(5.0)[:, None])
    assert isinstance(state, LinearARXState)
    scaling = zip(model.parts.observation_scaling, model.parts.action_scaling, strict=True)
    mean, deviation, *_ = (np.concatenate(pair) for pair in scaling)
    newest = np.array([[3.0, 30.0], [4.0, 40.0]])
    np.testing.assert_allclose(state.history, (newest - mean) / deviation, rtol=1e-15)


def test_no_row_crosses_two_trajectories_or_a_gap() -> None:
    first, second = linear_system(2, 40)
    gap = first.observations.copy()
    gap[20] = NAN
    model = LinearARX(past=3, future=2, ridge=1e-6)
    # Origins 3 to 38 of each run. A gap at tick 20 is a target of origins 19 and 20 and in the
    # history of origins 21 to 23.
    assert_rows(model, [first, second], 72)
    assert_rows(model, [Trajectory(gap, first.actions), second], 67)


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
        tried = set(model.record.metrics["held_out_scores"])
        assert tried >= {f"ridge {ridge:g}" for ridge in RIDGES} | {"past 1", "past 8", "past 10"}
    assert chosen[0.0] < chosen[1.0]


def test_less_history_is_taken_where_it_is_better() -> None:
    # Few noisy rows of a system that remembers two ticks: twenty would be fitted to noise.
    model = LinearARX(past=20, future=2).fit(linear_system(4, 60, 0.02))
    assert 2 <= model.record.options["past"] <= 8
    assert model.past == model.record.options["past"]
    assert len(model.initial_state().history) == model.past


def test_validation_steers_choices_only() -> None:
    runs, held_out = linear_system(3, 60, 0.2), linear_system(2, 60, 0.2, seed=3)
    model = LinearARX(past=4, future=2).fit(runs, held_out)
    options, chosen = model.record.options, model.parts
    given = LinearARX(past=4, future=2, ridge=options["ridge"]).fit(runs).parts
    np.testing.assert_array_equal(
        chosen.history_weights[-1],
        given.history_weights[list(given.lengths).index(options["past"]), -options["past"] :],
    )


def test_trajectories_too_short_for_the_history_shorten_it() -> None:
    model = LinearARX(past=20, future=3, ridge=1e-4).fit(linear_system(30, 14))
    assert model.past == 4  # 8 ticks of history would leave 4 of 12 origins, 4 leave 8


def test_a_constant_column_does_no_harm() -> None:
    run = linear_system(1, 60)[0]
    observations = np.column_stack([run.observations, np.full(60, 3.0)])
    model = LinearARX(past=3, future=2).fit([Trajectory(observations, run.actions)])
    forecast = model.predict(model.state_from_history(observations, run.actions), np.zeros((2, 1)))
    np.testing.assert_allclose(forecast[:, 1], 3.0)


def test_short_recordings_are_said() -> None:
    with pytest.raises(InputError, match=r"longest trajectory has 5 ticks; .* at least 11"):
        LinearARX().fit(linear_system(2, 5))
    gaps = np.where(np.arange(40) % 3 == 0, NAN, 1.0)
    with pytest.raises(InputError, match=r"no stretch .* 18 ticks without a missing"):
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
    assert errors.mse[0] < 2e-4
    assert errors.mse.mean() < 0.0215
    np.testing.assert_allclose(errors.mse, reference, rtol=0.1, atol=3e-4)


@pytest.mark.usefixtures("shared")
def test_silverbox_gives_the_published_free_run() -> None:
    # Champneys et al. 2024, linear ARX: 6.95, 14.2 and 6.59 mV.
    data = silverbox()
    model = LinearARX(past=10, future=10, ridge=1e-8).fit(data.train)
    free_run = [simulation_rmse(model, run, start=50)[0] for run in data.test]
    np.testing.assert_allclose(free_run, [6.95, 14.2, 6.59], rtol=0.03)
