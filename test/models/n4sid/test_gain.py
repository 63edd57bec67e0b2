"""The innovation form's gain against a Kalman filter that is iterated until it is steady."""

from __future__ import annotations

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.n4sid.gain import gain_of, is_stable_gain
from rffpsr_ros.models.n4sid.learner import N4SID
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

DRIFTING = np.array([[1.0, 0.1], [0.0, 1.0]])
SEEN = np.array([[1.0, 0.0]])


def residuals(noise: Array, error: Array) -> tuple[Array, Array]:
    """Return rows of v and e that have exactly these products, and none with each other."""
    rows_v, rows_e = np.linalg.cholesky(noise).T, np.linalg.cholesky(error).T
    return (
        np.vstack([rows_v, np.zeros((len(error), len(noise)))]),
        np.vstack([np.zeros((len(noise), len(error))), rows_e]),
    )


def steady_gain(transition: Array, output: Array, noise: Array, error: Array) -> Array:
    spread = np.eye(len(transition))
    for _ in range(5000):
        innovation = output @ spread @ output.T + error
        gain = transition @ spread @ output.T @ np.linalg.inv(innovation)
        spread = transition @ spread @ transition.T + noise - gain @ innovation @ gain.T
    return gain


def test_an_unstable_gain_makes_room_for_the_steady_kalman_filters() -> None:
    noise, error = np.diag([1e-4, 1e-3]), np.array([[0.05]])
    rows = residuals(noise, error)
    found = gain_of(*rows, DRIFTING, SEEN)  # least squares give none at all: v and e are unrelated
    np.testing.assert_allclose(
        found.gain, steady_gain(DRIFTING, SEEN, noise, error), rtol=1e-4, atol=1e-6
    )
    assert is_stable_gain(found.gain, DRIFTING, SEEN)
    assert found.innovation[0, 0] > error[0, 0]


def test_a_stable_one_stays_that_of_least_squares() -> None:
    draw = np.random.default_rng(1)
    error = draw.standard_normal((500, 1))
    gain = np.array([[0.5], [0.4]])
    noise = error @ gain.T
    found = gain_of(noise, error, DRIFTING, SEEN)
    np.testing.assert_allclose(found.gain, gain)
    np.testing.assert_allclose(found.innovation, error.T @ error)


def test_where_no_gain_is_stable_that_of_least_squares_is_left() -> None:
    growing = np.diag([0.5, 1.5])
    found = gain_of(*residuals(np.eye(2), np.eye(1)), growing, SEEN)  # which nothing shows
    np.testing.assert_array_equal(found.gain, np.zeros((2, 1)))


def test_what_adds_up_is_found_beside_what_it_adds_up() -> None:
    """An encoder and a noisy gauge of its acceleration: least squares find no stable filter."""
    runs = []
    for seed in range(4):
        draw = np.random.default_rng(seed)
        actions = np.repeat(draw.uniform(-1, 1, 40), 10)
        place = speed = bend = rate = 0.0
        seen = np.empty((400, 2))
        for tick, action in enumerate(actions):
            push = 0.6 * np.tanh(2 * action) - speed
            rate += 0.4 * push - 0.3 * bend - 0.02 * rate
            bend += 0.3 * rate
            speed += 0.1 * push
            place = round(place + 0.1 * speed, 3)
            seen[tick] = place, rate + 0.05 * draw.standard_normal()
        runs.append(Trajectory(seen, actions, 0.02))
    for order in range(2, 9):
        try:
            model = N4SID(10, 10, order).fit(runs)
        except InputError as error:  # the assertion tells the order
            pytest.fail(f"order {order}: {error}")
        system = model.parts.system
        assert is_stable_gain(system.gain, system.transition, system.output)
