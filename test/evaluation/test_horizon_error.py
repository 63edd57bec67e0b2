"""Errors by horizon: against a plain double loop, and against the authors' own program."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.datasets import synth
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.horizon_error import horizon_errors, observation_range
from rffpsr_ros.models import forecasts as models_forecasts
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.forecasts import forecasts
from rffpsr_ros.recordings.trajectory import Trajectory

NAN = float("nan")


def runs(lengths: tuple[int, ...] = (30, 23, 41)) -> list[Trajectory]:
    generator = np.random.default_rng(0)
    made = []
    for ticks in lengths:
        observations = np.cumsum(generator.normal(size=(ticks, 2)), axis=0) * [1.0, 5.0]
        observations[generator.random((ticks, 2)) < 0.1] = NAN
        made.append(Trajectory(observations, generator.normal(size=(ticks, 1))))
    return made


def plainly(
    model: PredictiveModel[Any], trajectory: Trajectory, horizon: int, start: int
) -> list[list[list[float]]]:
    """Squared errors [horizon][observation] -> list over origins, tick by tick."""
    collected: list[list[list[float]]] = [[[], []] for _ in range(horizon)]
    for origin in range(start, len(trajectory) - horizon + 1):
        state = model.state_from_history(
            trajectory.observations[:origin], trajectory.actions[:origin]
        )
        forecast = model.predict(state, trajectory.actions[origin : origin + horizon])
        for h in range(horizon):
            for i in range(2):
                truth = trajectory.observations[origin + h, i]
                if not np.isnan(truth):
                    collected[h][i].append((truth - forecast[h, i]) ** 2)
    return collected


@pytest.mark.parametrize("chunk", [1, 7, 1024])
def test_errors_are_those_of_a_plain_loop(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models_forecasts, "_CHUNK", chunk)
    test = runs()
    model = LinearARX(past=2, future=2, ridge=1e-2).fit(test)
    errors = horizon_errors(model, test, horizon=4, start=5)
    for n, trajectory in enumerate(test):
        for h, by_observation in enumerate(plainly(model, trajectory, 4, 5)):
            for i, values in enumerate(by_observation):
                assert errors.counts[n, h, i] == len(values)
                assert errors.squared_errors[n, h, i] == pytest.approx(np.mean(values), rel=1e-10)
    by_hand = errors.squared_errors.mean(axis=0)
    np.testing.assert_allclose(errors.mse_by_observation, by_hand)
    np.testing.assert_allclose(errors.mse, by_hand.sum(axis=1))
    np.testing.assert_allclose(errors.rmse, np.sqrt(by_hand))
    np.testing.assert_allclose(errors.mse_by_trajectory, errors.squared_errors.sum(axis=2))


def test_blocks_add_up_to_the_mean_squared_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models_forecasts, "_CHUNK", 17)  # chunks end within blocks
    test = runs((30, 3, 200, 41))
    errors = horizon_errors(LastObservation().fit(test), test, horizon=4, start=5)
    # 5 horizons of 4 ticks: 22 origins are 1 block, 192 are 9, 33 are 1.
    assert errors.block_errors.shape == (11, 4, 2)
    np.testing.assert_allclose(errors.block_errors.sum(axis=0), errors.mse_by_observation)
    alone = horizon_errors(LastObservation().fit(test), test[2:3], horizon=4, start=5)
    np.testing.assert_allclose(errors.block_errors[1:10] * 3, alone.block_errors)


def test_long_recordings_have_longer_blocks() -> None:
    errors = horizon_errors(LastObservation().fit(runs()), runs((2000,)), horizon=4, start=5)
    assert 35 <= len(errors.block_errors) <= 40


def test_fit_is_0_for_the_mean_of_the_targets_and_100_for_the_truth() -> None:
    test = [Trajectory(np.arange(12.0) % 3, np.zeros(12))]
    errors = horizon_errors(Mean().fit(test), test, horizon=1, start=0)
    assert errors.fit_percent[0, 0] == pytest.approx(0.0, abs=1e-9)
    still = [Trajectory([1.0, *[5.0] * 9], np.zeros(10))]
    assert np.isnan(horizon_errors(Mean().fit(still), still, 2, start=1).fit_percent).all()
    steps = [Trajectory(np.repeat([0.0, 4.0], 20), np.zeros(40))]
    errors = horizon_errors(LastObservation().fit(steps), steps, horizon=1, start=20)
    assert np.isnan(errors.fit_percent).all()
    errors = horizon_errors(LastObservation().fit(steps), steps, horizon=1, start=10)
    targets = steps[0].observations[10:, 0]
    expected = 100 * (1 - 4.0 / np.linalg.norm(targets - targets.mean()))
    assert errors.fit_percent[0, 0] == pytest.approx(expected)


def test_clipped_forecasts_stay_in_the_range() -> None:
    trajectory = Trajectory(np.arange(30.0), np.zeros(30))
    model = LastObservation().fit([trajectory])
    clip = (np.array([3.0]), np.array([5.0]))
    values = np.concatenate([chunk for _, chunk in forecasts(model, trajectory, 2, 0, clip)])
    assert values.min() == 3.0
    assert values.max() == 5.0


def test_the_range_of_observations_passes_over_gaps() -> None:
    low, high = observation_range(
        [Trajectory([[1.0, NAN]], [0.0]), Trajectory([[NAN, 4.0], [-2.0, 9.0]], [0.0, 0.0])]
    )
    np.testing.assert_array_equal(low, [-2.0, 4.0])
    np.testing.assert_array_equal(high, [1.0, 9.0])


def test_a_short_trajectory_among_others_is_not_scored() -> None:
    long, short = runs((30, 30))[0], runs((8,))[0]
    model = LastObservation().fit([long])
    both = horizon_errors(model, [long, short], horizon=4, start=5)
    alone = horizon_errors(model, [long], horizon=4, start=5)
    assert both.counts[1].sum() == 0
    np.testing.assert_array_equal(both.mse, alone.mse)


def test_nothing_to_score_is_said() -> None:
    model = LastObservation().fit(runs())
    with pytest.raises(InputError, match="no trajectory has an observation among 50 ticks"):
        horizon_errors(model, runs(), horizon=10, start=40)
    with pytest.raises(InputError, match="horizon is 0"):
        horizon_errors(model, runs(), horizon=0)


def test_the_authors_evaluation_is_reproduced(shared: Path) -> None:
    data = synth()
    clip = observation_range(data.train)
    theirs = json.loads((shared / "reference/reference_results.json").read_text())
    last = theirs["methods_seed0"]["last"]
    errors = horizon_errors(LastObservation().fit(data.train), data.test, 10, 9, clip)
    assert errors.counts.min() == errors.counts.max() == 82
    np.testing.assert_allclose(errors.mse, last["mse_mean"], rtol=1e-12)
    np.testing.assert_allclose(
        errors.mse_by_trajectory, last["mse_per_traj_by_horizon"], rtol=1e-12
    )
    np.testing.assert_allclose(errors.mse[[0, -1]], [0.0280, 0.9258], atol=5e-5)


@pytest.mark.usefixtures("shared")
def test_the_mean_of_each_test_trajectory_gives_their_variance() -> None:
    errors = [horizon_errors(Mean().fit([run]), [run], 1, start=0).mse[0] for run in synth().test]
    unbiased = np.mean(errors) * 100 / 99
    assert unbiased == pytest.approx(0.2697, abs=5e-5)
