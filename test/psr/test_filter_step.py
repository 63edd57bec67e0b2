"""Runs filtered side by side go as each would alone."""

import numpy as np

from rffpsr_ros.psr.filter_step import Conditioning, Dynamics, filter_runs


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
