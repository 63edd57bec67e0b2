"""Residual checks find what a model lacks, and nothing where it lacks nothing."""

import numpy as np
import pytest

from rffpsr_ros.evaluation.followed import FollowedRun, follow, stretches
from rffpsr_ros.evaluation.residual_checks import residual_checks
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory


def followed(errors: Array, actions: Array) -> FollowedRun:
    """Return what a model with such one-step errors leaves."""
    run = Trajectory(np.zeros((len(errors), errors.shape[1])), actions)
    return FollowedRun(run, 0, errors, np.zeros(len(errors)), np.zeros((0, 5, errors.shape[1])))


def noise(ticks: int, columns: int, seed: int) -> Array:
    return np.random.default_rng(seed).normal(size=(ticks, columns))


def test_white_errors_leave_nothing() -> None:
    left = 0
    for seed in range(20):
        checks = residual_checks([followed(noise(800, 2, seed), noise(800, 1, 100 + seed))])
        assert checks is not None
        left += len(checks.left_in_errors()) + len(checks.left_in_actions())
    assert left <= 2  # of 80


def test_slow_errors_and_slow_actions_are_no_response() -> None:
    """By chance they resemble each other much more than white ones do."""
    found = 0
    for seed in range(20):
        slow = [np.zeros((800, 1)), np.zeros((800, 1))]
        for part, white in zip(slow, (noise(800, 1, seed), noise(800, 1, 99 - seed)), strict=True):
            for tick in range(1, 800):
                part[tick] = 0.9 * part[tick - 1] + white[tick]
        checks = residual_checks([followed(slow[0], slow[1])])
        assert checks is not None
        assert checks.left_in_errors() == [(0, 1)]
        found += len(checks.left_in_actions())
    assert found <= 4


def test_an_action_that_acts_late_is_found_with_its_lag() -> None:
    actions = noise(600, 2, 0)
    errors = noise(600, 1, 1)
    errors[7:, 0] += 0.8 * actions[:-7, 1]
    errors[40] = np.nan
    checks = residual_checks(
        [followed(errors[:300], actions[:300]), followed(errors[300:], actions[300:])]
    )
    assert checks is not None
    assert checks.left_in_actions() == [(0, 1, 7)]
    assert checks.response[7, 0, 1] == pytest.approx(0.8 / np.sqrt(1.64), abs=0.1)


def test_few_ticks_and_still_columns_are_no_fault() -> None:
    assert residual_checks([followed(noise(40, 1, 0), noise(40, 1, 1))]) is None
    checks = residual_checks([followed(np.zeros((200, 1)), np.ones((200, 1)))])
    assert checks is not None
    assert not checks.left_in_errors()
    assert not checks.left_in_actions()


def swings(count: int) -> list[Trajectory]:
    runs = []
    for seed in range(count):
        generator = np.random.default_rng(seed)
        actions = generator.normal(size=(150, 1))
        observations = np.cumsum(actions, axis=0) * 0.1 + 0.01 * generator.normal(size=(150, 1))
        observations[generator.random((150, 1)) < 0.05] = np.nan
        runs.append(Trajectory(observations, actions))
    return runs


def test_what_is_kept_are_the_forecasts_themselves() -> None:
    runs = swings(2)
    model = LinearARX(past=2, future=5).fit(runs)
    (first, _) = follow(model, runs, 5, 9)
    errors = errors_by_origin(model, runs[0], 5, 9)
    np.testing.assert_allclose(first.one_step, errors[:, 0])
    targets = np.stack([runs[0].observations[9 + k : 14 + k] for k in range(0, len(errors), 5)])
    np.testing.assert_allclose(targets - first.whole, errors[::5])
    variance = np.nanvar(np.concatenate([run.observations for run in runs]), axis=0)
    np.testing.assert_allclose(first.relative, np.nanmean((errors**2 / variance)[..., 0], axis=1))


def test_stretches_are_ordered_by_their_error() -> None:
    runs = swings(3)
    found = stretches(follow(Mean().fit(runs), runs, 5, 9))
    sizes = [one.relative for one in found]
    assert sizes == sorted(sizes)
    best = found[0]
    origins = slice(best.first * 5, (best.first + best.forecasts) * 5)
    assert best.relative == pytest.approx(np.nanmean(best.followed.relative[origins]))
