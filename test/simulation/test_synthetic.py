"""The synthetic system is the one of the authors' recordings."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from benchmarks.datasets import synth
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.simulation.excitation import uniform_hold
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import dataset, open_loop, simulate

SYSTEM = SyntheticSystem()


def test_a_step_solves_the_papers_equations() -> None:
    def by_hand(time: float, x: Array, a: float) -> list[float]:
        return [
            x[1]
            - 0.1 * np.cos(x[0]) * (5 * x[0] - 4 * x[0] ** 3 + x[0] ** 5)
            - 0.5 * np.cos(x[0]) * a,
            -65 * x[0] + 50 * x[0] ** 3 - 15 * x[0] ** 5 - x[1] - 100 * a,
        ]

    generator = np.random.default_rng(0)
    actions = generator.uniform(-0.5, 0.5, 60)
    run = simulate(SYSTEM, actions, initial_state=np.array([0.1, -0.3]))
    state = np.array([0.1, -0.3])
    for tick, action in enumerate(actions):
        state = solve_ivp(by_hand, (0, 0.05), state, args=(action,), rtol=1e-10, atol=1e-12).y[
            :, -1
        ]
        assert run.observations[tick, 0] == pytest.approx(state[0], abs=2e-4)


def state_before(first: Array, second: Array, action: Array) -> Array:
    """Return the states (..., 2) at ``second``, one tick of ``action`` after ``first``.

    What is not seen, x2 at ``first``, is found by Newton's method so that x1 becomes ``second``.
    """
    x2 = (second - first) / SYSTEM.period
    for _ in range(10):
        here = SYSTEM.step(np.stack([first, x2], -1), action)[..., 0] - second
        beside = SYSTEM.step(np.stack([first, x2 + 1e-4], -1), action)[..., 0] - second
        x2 = x2 - here * 1e-4 / (beside - here)
    return SYSTEM.step(np.stack([first, x2], -1), action)


@pytest.mark.usefixtures("shared")
def test_it_forecasts_the_recordings_as_well_as_the_true_equations_do() -> None:
    # An independent integration of the equations found .00003 .0003 .0009 .0024 at h 1, 3, 5, 10.
    test = synth().test
    seen = np.stack([run.observations[:, 0] for run in test])
    actions = np.stack([run.actions for run in test])
    origins = np.arange(9, 91)
    state = state_before(seen[:, origins - 2], seen[:, origins - 1], actions[:, origins - 1])
    errors = []
    for h in range(10):
        state = SYSTEM.step(state, actions[:, origins + h])
        errors.append(np.mean((state[..., 0] - seen[:, origins + h]) ** 2))
    np.testing.assert_allclose(np.array(errors)[[0, 2, 4, 9]], [3e-5, 3e-4, 9e-4, 2.4e-3], rtol=0.2)


@pytest.mark.usefixtures("shared")
def test_its_trajectories_look_like_the_recordings() -> None:
    data = synth()
    recorded = np.stack([r.observations[:, 0] for r in [*data.train, *data.validation, *data.test]])
    low, high = SYSTEM.action_limits
    made = dataset(
        SYSTEM, lambda g: open_loop(uniform_hold(g, low, high, SYSTEM.period)), 100, 100, seed=0
    )
    simulated = np.stack([run.observations[:, 0] for run in made])
    for part in (slice(0, 10), slice(10, 30), slice(30, 100)):
        assert simulated[:, part].std() == pytest.approx(recorded[:, part].std(), rel=0.2)


def test_many_states_are_stepped_as_one_at_a_time() -> None:
    generator = np.random.default_rng(0)
    states, actions = generator.normal(size=(2, 3, 2)), generator.uniform(-0.5, 0.5, (2, 3, 1))
    together = SYSTEM.step(states, actions)
    np.testing.assert_allclose(together[1, 2], SYSTEM.step(states[1, 2], actions[1, 2]), rtol=1e-12)
