"""The innovation form filters as the Kalman filter of any other form of the same system."""

from typing import NamedTuple

import numpy as np
import pytest
import scipy.linalg

from rffpsr_ros.models.kalman.linear_system import (
    LinearState,
    LinearSystem,
    SteadyStateFilter,
    expected_observation,
    forecast_means,
    kalman_step,
    lift,
    lifted_forecast,
)
from rffpsr_ros.numerics.arrays import Array

NAN = float("nan")


class NoiseForm(NamedTuple):
    """x' = A x + B a + w, o = C x + D a + v with covariances Q and R."""

    A: Array
    B: Array
    C: Array
    D: Array
    Q: Array
    R: Array

    def step(self, state: LinearState, action: Array, observation: Array) -> LinearState:
        """Return the textbook's measurement update with the seen rows, then its time update."""
        mean, covariance = state
        rows = np.flatnonzero(~np.isnan(observation))
        C = self.C[rows]
        error = observation[rows] - C @ mean - self.D[rows] @ action
        gain = covariance @ C.T @ np.linalg.inv(C @ covariance @ C.T + self.R[np.ix_(rows, rows)])
        mean, covariance = mean + gain @ error, covariance - gain @ C @ covariance
        return LinearState(self.A @ mean + self.B @ action, self.A @ covariance @ self.A.T + self.Q)

    def stationary(self) -> Array:
        """Return the covariance of the state's one-step prediction error in the long run."""
        return scipy.linalg.solve_discrete_are(self.A.T, self.C.T, self.Q, self.R)

    def innovation_form(self) -> LinearSystem:
        P = self.stationary()
        R = self.C @ P @ self.C.T + self.R
        gain = self.A @ P @ self.C.T @ np.linalg.inv(R)
        n = len(self.A)
        return LinearSystem(self.A, self.B, self.C, self.D, gain, R, np.zeros(n), np.zeros((n, n)))


@pytest.fixture
def system() -> NoiseForm:
    draw = np.random.default_rng(3)
    A = draw.normal(size=(4, 4))
    A *= 0.9 / np.abs(np.linalg.eigvals(A)).max()
    B, C, D = (draw.normal(size=shape) for shape in ((4, 2), (3, 4), (3, 2)))
    half = draw.normal(size=(4, 4))
    return NoiseForm(A, B, C, D, half @ half.T / 4, np.diag([0.5, 0.1, 1.0]))


def batched(state: LinearState) -> LinearState:
    return LinearState(state.mean[None], state.covariance[None])


def test_it_predicts_as_the_noise_forms_filter_through_any_gaps(system: NoiseForm) -> None:
    # The innovation form is another realisation of the same outputs: the covariances of the two
    # states differ by the stationary one, their means and forecasts not at all.
    draw = np.random.default_rng(4)
    form = system.innovation_form()
    ours = LinearState(np.zeros(4), np.zeros((4, 4)))
    theirs = LinearState(np.zeros(4), system.stationary())
    for tick in range(60):
        action, observation = draw.normal(size=2), draw.normal(size=3)
        observation[draw.random(3) < 0.4] = NAN
        if tick % 10 in (3, 4, 5):
            observation[:] = NAN
        ours = LinearState(
            *(part[0] for part in kalman_step(form, batched(ours), action[None], observation[None]))
        )
        theirs = system.step(theirs, action, observation)
        np.testing.assert_allclose(ours.mean, theirs.mean, rtol=0, atol=1e-10)
        np.testing.assert_allclose(
            ours.covariance + system.stationary(), theirs.covariance, rtol=0, atol=1e-10
        )


def test_nothing_seen_is_the_prediction_step(system: NoiseForm) -> None:
    form = system.innovation_form()
    draw = np.random.default_rng(5)
    mean, half, action = draw.normal(size=4), draw.normal(size=(4, 4)), draw.normal(size=2)
    before = LinearState(mean, half @ half.T)
    after = kalman_step(form, batched(before), action[None], np.full((1, 3), NAN))
    np.testing.assert_allclose(after.mean[0], system.A @ mean + system.B @ action, atol=1e-14)
    noise = form.gain @ form.innovation @ form.gain.T
    np.testing.assert_allclose(
        after.covariance[0], system.A @ before.covariance @ system.A.T + noise, atol=1e-13
    )


def test_with_everything_seen_the_gain_is_the_systems_own_even_without_noise(
    system: NoiseForm,
) -> None:
    form = system.innovation_form()._replace(innovation=np.zeros((3, 3)))
    draw = np.random.default_rng(6)
    mean, action, observation = (draw.normal(size=d) for d in (4, 2, 3))
    state = LinearState(mean, np.zeros((4, 4)))
    after = kalman_step(form, batched(state), action[None], observation[None])
    error = observation - expected_observation(form, mean, action)
    expected = form.transition @ mean + form.action @ action + form.gain @ error
    np.testing.assert_allclose(after.mean[0], expected, rtol=0, atol=1e-13)
    assert not after.covariance.any()


def test_each_of_a_batch_is_filtered_by_what_it_saw(system: NoiseForm) -> None:
    form = system.innovation_form()
    draw = np.random.default_rng(7)
    half = draw.normal(size=(4, 4, 4))
    states = LinearState(draw.normal(size=(4, 4)), half @ half.swapaxes(1, 2))
    actions, observations = draw.normal(size=(4, 2)), draw.normal(size=(4, 3))
    observations[1, 0] = observations[2] = NAN
    together = kalman_step(form, states, actions, observations)
    for i in range(4):
        one = LinearState(states.mean[i : i + 1], states.covariance[i : i + 1])
        alone = kalman_step(form, one, actions[i : i + 1], observations[i : i + 1])
        np.testing.assert_allclose(together.mean[i], alone.mean[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(together.covariance[i], alone.covariance[0], atol=1e-12)


def test_once_the_state_is_known_its_filter_has_settled_until_something_is_missing(
    system: NoiseForm,
) -> None:
    form = system.innovation_form()._replace(start_covariance=np.eye(4))
    draw = np.random.default_rng(8)
    settled = SteadyStateFilter(form)
    state = LinearState(form.start, form.start_covariance)
    steps = 0
    for tick in range(400):
        action, observation = draw.normal(size=2), draw.normal(size=3)
        if tick == 300:
            observation[1] = NAN
        full = kalman_step(form, batched(state), action[None], observation[None])
        short = settled.step(state, action, observation)
        state = LinearState(full.mean[0], full.covariance[0])
        if short is not None:
            steps += 1
            np.testing.assert_allclose(short.mean, state.mean, rtol=0, atol=1e-12)
            np.testing.assert_allclose(short.covariance, state.covariance, rtol=0, atol=1e-13)
            state = short
        assert short is None or tick not in (0, 300, 301)
    assert steps > 100


@pytest.mark.parametrize("batch", [(), (5,)])
@pytest.mark.parametrize("horizon", [1, 7, 23])
def test_several_steps_at_once_forecast_what_single_steps_do(
    system: NoiseForm, horizon: int, batch: tuple[int, ...]
) -> None:
    form = system.innovation_form()
    draw = np.random.default_rng(9)
    mean, actions = draw.normal(size=4), draw.normal(size=(*batch, horizon, 2))
    expected = forecast_means(form, mean, actions)
    found = lifted_forecast(lift(form, 7), mean, actions)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
