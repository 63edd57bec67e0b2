"""The swimmer against mechanics computed link by link, not from its own equations of motion."""

import numpy as np
import pytest

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.simulation.excitation import mixed_policy, uniform_hold
from rffpsr_ros.simulation.swimmer import Swimmer, nose, seek_goal
from rffpsr_ros.simulation.system import Policy, dataset


def a_state(seed: int = 0) -> Array:
    generator = np.random.default_rng(seed)
    return np.concatenate([generator.normal(size=5), generator.normal(size=5) * 2])


def links(state: Array) -> tuple[Array, Array]:
    """Return centres (3, 2) and velocities (3, 2) of the links, walking along the chain."""
    angles, turning = state[2:5], state[7:]
    tangents = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    tangents_change = np.stack([-np.sin(angles), np.cos(angles)], axis=1) * turning[:, None]
    return state[:2] + walk(tangents), state[5:7] + walk(tangents_change)


def walk(steps: Array) -> Array:
    """Return where half a step of one link and half of the next lead, relative to the mean."""
    places = np.concatenate([np.zeros((1, 2)), np.cumsum((steps[:-1] + steps[1:]) / 2, axis=0)])
    relative: Array = places - places.mean(axis=0)
    return relative


def momentum(state: Array) -> Array:
    """Return linear (2) and angular momentum about the origin, from the links."""
    centres, velocities = links(state)
    spin = (
        np.cross(np.c_[centres, np.zeros(3)], np.c_[velocities, np.zeros(3)])[:, 2].sum()
        + state[7:].sum() / 12
    )
    return np.array([*velocities.sum(axis=0), spin])


def energy(state: Array) -> float:
    _, velocities = links(state)
    return float((velocities**2).sum() / 2 + (state[7:] ** 2).sum() / 24)


def rate(swimmer: Swimmer, state: Array, torques: Array, quantity: object) -> Array:
    """Return the time derivative of a function of the state along the motion."""
    h = 1e-5
    motion = swimmer.derivative(state, torques)
    assert callable(quantity)
    return np.asarray((quantity(state + h * motion) - quantity(state - h * motion)) / (2 * h))


@pytest.mark.parametrize("seed", range(5))
def test_without_drag_momentum_is_conserved_whatever_the_joints_do(seed: int) -> None:
    free = Swimmer(normal_drag=0.0, tangential_drag=0.0)
    generator = np.random.default_rng(seed)
    state = a_state(seed)
    before = momentum(state)
    for _ in range(30):
        torques = generator.uniform(-2, 2, 2)
        np.testing.assert_allclose(rate(free, state, torques, momentum), 0, atol=1e-7)
        state = free.step(state, torques)
    np.testing.assert_allclose(momentum(state), before, atol=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_power_is_that_of_the_torques_and_the_drag(seed: int) -> None:
    swimmer, state, torques = Swimmer(), a_state(seed), np.array([1.5, -0.7])
    _, velocities = links(state)
    lost = 0.0
    for velocity, angle, turning in zip(velocities, state[2:5], state[7:], strict=True):
        along = np.array([np.cos(angle), np.sin(angle)]) @ velocity
        across = np.array([-np.sin(angle), np.cos(angle)]) @ velocity
        lost += 0.3 * along**2 + 7.5 * across**2 + 7.5 / 12 * turning**2
    done = torques[0] * (state[7] - state[8]) + torques[1] * (state[8] - state[9])
    assert rate(swimmer, state, torques, energy) == pytest.approx(done - lost, rel=1e-5)


def test_drag_pushes_against_the_motion_of_the_whole() -> None:
    swimmer, state = Swimmer(), a_state(1)
    _, velocities = links(state)
    pull = np.zeros(2)
    for velocity, angle in zip(velocities, state[2:5], strict=True):
        tangent = np.array([np.cos(angle), np.sin(angle)])
        normal = np.array([-np.sin(angle), np.cos(angle)])
        pull -= 0.3 * (tangent @ velocity) * tangent + 7.5 * (normal @ velocity) * normal
    np.testing.assert_allclose(swimmer.derivative(state, np.zeros(2))[5:7], pull / 3, rtol=1e-6)


def test_a_step_converges_with_the_time_step() -> None:
    state, torques = a_state(3), np.array([2.0, -2.0])
    exact = Swimmer(steps=512).step(state, torques)
    errors = [np.abs(Swimmer(steps=n).step(state, torques) - exact).max() for n in (4, 8, 16)]
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.4)
    assert errors[1] / errors[2] == pytest.approx(16, rel=0.2)
    assert errors[0] < 1e-4


def test_seen_are_joint_angles_and_the_goal_in_the_frame_of_the_nose() -> None:
    # Bent by a right angle at the first joint: the first link points up, the others to the right.
    state = np.zeros(10)
    state[2:5] = [np.pi / 2, 0.0, 0.0]
    centres, _ = links(state)
    state[:2] = np.array([3.0, -4.0]) - (centres[0] - [0.0, 0.5])  # the nose's place is given
    np.testing.assert_allclose(nose(state), [3.0, -4.0])
    # The goal lies (-3, 4) from the nose; along the first link that is 4, to its left 3.
    np.testing.assert_allclose(Swimmer().observe(state), [-np.pi / 2, 0.0, 4.0, 3.0], atol=1e-12)


def test_joint_angles_are_wrapped() -> None:
    state = np.zeros(10)
    state[2:5] = [0.0, 4.0, -3.0]
    np.testing.assert_allclose(Swimmer().observe(state)[:2], [4.0 - 2 * np.pi, -7.0 + 2 * np.pi])


def test_it_starts_stretched_with_its_nose_towards_the_goal() -> None:
    state = Swimmer().initial_state(np.random.default_rng(0))
    np.testing.assert_allclose(Swimmer().observe(state), [0.0, 0.0, -8.5, 0.0], atol=1e-12)


def test_the_goal_seeking_policy_swims_to_its_goal() -> None:
    swimmer, headings = Swimmer(), np.array([-1.0, 0.0, 1.0])
    state = np.zeros((3, 10))
    state[:, 0] = 10.0
    state[:, 2:5] = headings[:, None]
    start = np.linalg.norm(nose(state), axis=1)
    for tick in range(900):
        torques = np.clip(seek_goal(tick * swimmer.period, swimmer.observe(state)), -2, 2)
        state = swimmer.step(state, torques)
    assert (np.linalg.norm(nose(state), axis=1) < 0.15 * start).all()


def test_many_swimmers_are_stepped_as_one_at_a_time() -> None:
    states = np.stack([a_state(seed) for seed in range(4)])
    torques = np.random.default_rng(0).uniform(-2, 2, (4, 2))
    together = Swimmer().step(states, torques)
    np.testing.assert_allclose(together[2], Swimmer().step(states[2], torques[2]), rtol=1e-10)


def test_a_data_set_mixes_blind_and_seeking_actions() -> None:
    swimmer = Swimmer()
    low, high = swimmer.action_limits

    def policy(generator: np.random.Generator) -> Policy:
        blind = uniform_hold(generator, low, high, swimmer.period)
        return mixed_policy(generator, blind, seek_goal, 0.2, low, high)

    runs = dataset(swimmer, policy, count=3, ticks=50, seed=0, noise=0.05)
    at_limit = np.mean([np.abs(run.actions) == 2.0 for run in runs])
    assert 0.1 < at_limit < 0.8
    assert np.isfinite(runs[0].observations).all()
