"""Gaps: what stood in for observations is mended once one is seen again."""

from typing import Any

import numpy as np
import pytest

from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.rff_arx.learner import RFFARX
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.models.tick_window import mended, silent_after
from rffpsr_ros.recordings.trajectory import Trajectory


def test_an_error_that_grew_steadily_is_gone() -> None:
    truth = np.linspace(3.0, 4.2, 7)
    forecast = truth.copy()
    forecast[3:] += 0.5 * np.arange(1, 5)  # nothing was seen since tick 2
    earlier, silent = forecast[:-1, None], np.array([3])
    found = mended(earlier, truth[-1:] - forecast[-1:], silent)
    np.testing.assert_allclose(found[:, 0], truth[:-1], rtol=1e-12)


def test_channels_are_mended_each_by_its_own_gap() -> None:
    earlier = np.zeros((4, 3))
    found = mended(earlier, np.array([4.0, 3.0, np.nan]), np.array([0, 2, 3]))
    np.testing.assert_allclose(found.T, [[0, 0, 0, 0], [0, 0, 1, 2], [0, 0, 0, 0]])


def test_of_a_gap_longer_than_what_is_kept_the_rest_is_mended() -> None:
    found = mended(np.zeros((2, 2, 1)), np.array([[10.0], [0.0]]), np.array([[9], [9]]))
    np.testing.assert_allclose(found[..., 0], [[8.0, 9.0], [0.0, 0.0]])


def test_ticks_are_counted_until_something_is_seen() -> None:
    silent = np.zeros(2, int)
    for missing in ([True, False], [True, True], [False, True]):
        silent = silent_after(silent, np.array(missing))
    np.testing.assert_array_equal(silent, [0, 2])


def swings(count: int, ticks: int) -> list[Trajectory]:
    """Return runs of a swing that is pushed and bounces off walls, of which the angle is seen."""
    step = 0.15
    transition = np.array([[1.0, step], [-step, 1.0 - 0.03 - step**2]])
    draw, runs = np.random.default_rng(5), []
    for _ in range(count):
        actions = np.repeat(draw.normal(size=(ticks // 4, 1)), 4, axis=0)
        state, angles = np.zeros(2), []
        for action in actions:
            state = transition @ state + step * np.array([0.0, action[0]])
            if abs(state[0]) > 1.0 and state[0] * state[1] > 0:
                state[1] *= -0.7
            angles.append(state[:1] + 1e-3 * draw.normal(size=1))
        runs.append(Trajectory(np.array(angles), actions))
    return runs


def one_tick_error(model: Any, run: Trajectory, every: int) -> float:
    """Return the error of one-tick forecasts where one observation in so many is seen."""
    state, errors = model.initial_state(), []
    for t, (action, observation) in enumerate(zip(run.actions, run.observations, strict=True)):
        if t > 40:
            errors.append(model.predict(state, action[None])[0] - observation)
        seen = observation if t % every == 0 else np.full(1, np.nan)
        state = model.update(state, action, seen)
    return float(np.sqrt(np.mean(np.square(errors))))


LEARNERS: dict[str, Any] = {
    "linear ARX": LinearARX(past=10, future=4, ridge=1e-6),
    "RFF-ARX": RFFARX(past=10, future=4, features=300),
    "RFF-PSR": SingleRFFPSR(past=8, future=4, features=60, refinement="none"),
}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("live", [False, True])
def test_a_sensor_slower_than_the_tick_does_not_send_forecasts_away(name: str, live: bool) -> None:
    *train, run = swings(6, 400)
    model = LEARNERS[name].fit(train)
    model = model.inference_model() if live else model
    spread = float(run.observations.std())
    for every in (2, 3, 5, 8):
        assert one_tick_error(model, run, every) < 0.6 * spread, every
