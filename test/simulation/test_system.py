"""Systems become trajectories: order of events, seeds, noise."""

from dataclasses import dataclass

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.simulation.excitation import uniform_hold
from rffpsr_ros.simulation.system import Policy, dataset, open_loop, runge_kutta, simulate


@dataclass(frozen=True)
class Integrator:
    """x becomes x + a; x is seen."""

    period: float = 0.5
    observation_names: tuple[str, ...] = ("x",)
    action_names: tuple[str, ...] = ("a",)

    @property
    def action_limits(self) -> tuple[Array, Array]:
        return np.array([-1.0]), np.array([1.0])

    def initial_state(self, generator: np.random.Generator) -> Array:
        return generator.uniform(-1, 1, 1)

    def step(self, state: Array, action: Array) -> Array:
        return state + action

    def observe(self, state: Array) -> Array:
        return state


def random_policy(generator: np.random.Generator) -> Policy:
    return open_loop(uniform_hold(generator, np.array([-1.0]), np.array([1.0]), 0.5))


def test_an_observation_is_recorded_after_its_action_acted() -> None:
    run = simulate(Integrator(), [1.0, 2.0, -5.0], initial_state=np.array([10.0]))
    np.testing.assert_array_equal(run.observations[:, 0], [11.0, 13.0, 8.0])
    np.testing.assert_array_equal(run.actions[:, 0], [1.0, 2.0, -5.0])
    assert run.period == 0.5
    assert run.observation_names == ("x",)


def test_feedback_sees_the_newest_observation_and_the_time() -> None:
    seen: list[tuple[float, float]] = []

    def policy(generator: np.random.Generator) -> Policy:
        def act(time: float, observation: Array) -> Array:
            seen.append((time, float(observation[0])))
            return -observation / 2

        return act

    (run,) = dataset(Integrator(), policy, count=1, ticks=3, seed=0)
    np.testing.assert_allclose(run.observations[1:, 0], run.observations[:-1, 0] / 2)
    assert [time for time, _ in seen] == [0.0, 0.5, 1.0]
    assert [value for _, value in seen[1:]] == run.observations[:-1, 0].tolist()


def test_a_larger_data_set_begins_with_the_smaller_one() -> None:
    small = dataset(Integrator(), random_policy, count=2, ticks=5, seed=3)
    large = dataset(Integrator(), random_policy, count=4, ticks=5, seed=3)
    for one, other in zip(small, large, strict=False):
        np.testing.assert_array_equal(one.observations, other.observations)
    other_seed = dataset(Integrator(), random_policy, count=2, ticks=5, seed=4)
    assert not np.array_equal(small[0].actions, other_seed[0].actions)
    assert not np.array_equal(large[0].actions, large[1].actions)


def test_noise_has_its_share_of_the_deviation_and_leaves_the_system_alone() -> None:
    clean = dataset(Integrator(), random_policy, count=50, ticks=100, seed=1)
    noisy = dataset(Integrator(), random_policy, count=50, ticks=100, seed=1, noise=0.05)
    added = np.concatenate(
        [n.observations - c.observations for n, c in zip(noisy, clean, strict=True)]
    )
    signal = np.concatenate([c.observations for c in clean])
    assert added.std() == pytest.approx(0.05 * signal.std(), rel=0.05)
    assert abs(added.mean()) < 4 * added.std() / np.sqrt(added.size)
    np.testing.assert_array_equal(noisy[0].actions, clean[0].actions)


@pytest.mark.parametrize("wrong", [{"count": 0}, {"ticks": 0}, {"noise": -0.1}])
def test_nothing_to_simulate_is_said(wrong: dict[str, float]) -> None:
    options = {"count": 1, "ticks": 1, "seed": 0, "noise": 0.0} | wrong
    with pytest.raises(InputError, match="are needed for a data set"):
        dataset(Integrator(), random_policy, **options)  # type: ignore[arg-type]


def test_the_integrator_is_of_fourth_order() -> None:
    def pendulum(state: Array, action: Array) -> Array:
        return np.stack([state[..., 1], -np.sin(state[..., 0]) + action[..., 0]], axis=-1)

    start, action = np.array([1.0, 0.5]), np.array([0.2])
    exact = runge_kutta(pendulum, start, action, 1.0, 4096)
    errors = [np.abs(runge_kutta(pendulum, start, action, 1.0, n) - exact).max() for n in (8, 16)]
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.15)
