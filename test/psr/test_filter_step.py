"""One step of the filter, and runs filtered side by side."""

import numpy as np

from rffpsr_ros.psr.filter_step import Conditioning, Dynamics, filter_runs, filter_step
from rffpsr_ros.psr.stage_one import conditional_operator


def test_runs_of_any_lengths_do_not_touch_each_other() -> None:
    draw = np.random.default_rng(0)
    state, acted, seen = 3, 2, 4
    dynamics = Dynamics(
        draw.normal(size=(state * acted, seen * (seen + 1) // 2)),
        draw.normal(size=(state * acted, state * seen)) / 4,
        draw.normal(size=state),
    )
    conditioning = Conditioning(1e-2, 10.0)
    lengths = (5, 12, 1, 12, 7)
    actions = [draw.normal(size=(length, acted)) for length in lengths]
    observations = [draw.normal(size=(length, seen)) for length in lengths]
    together = filter_runs(dynamics, conditioning, actions, observations)
    assert [len(states) for states in together] == [*lengths]
    for states, action, observation in zip(together, actions, observations, strict=True):
        (alone,) = filter_runs(dynamics, conditioning, [action], [observation])
        np.testing.assert_allclose(states, alone, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(states[0], dynamics.initial)
    first, second = filter_runs(dynamics, conditioning, actions[:1] * 2, observations[:1] * 2)
    np.testing.assert_array_equal(first, second)


def test_the_filter_conditions_as_stage_one_does() -> None:
    draw = np.random.default_rng(1)
    count, state, acted, seen = 40, 3, 2, 5
    dynamics = Dynamics(
        draw.normal(size=(state * acted, seen * (seen + 1) // 2)),
        draw.normal(size=(state * acted, state * seen)),
        np.zeros(state),
    )
    joined, observation = draw.normal(size=(count, state * acted)), draw.normal(size=(count, seen))
    following, cache = filter_step(dynamics, Conditioning(0.03), joined, observation)
    row = conditional_operator(observation[:, None], cache.covariance, 0.03, "squared")
    np.testing.assert_allclose(cache.conditioner, row[:, 0], rtol=1e-9)
    extended = (joined @ dynamics.extended).reshape(count, state, seen)
    np.testing.assert_allclose(following, np.einsum("nps,ns->np", extended, row[:, 0]), rtol=1e-9)
