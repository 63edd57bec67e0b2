"""The ARX term by itself: what it learns, and the gaps it fills."""

import numpy as np

from rffpsr_ros.data.arx_term import fill_missing, fit_arx
from rffpsr_ros.data.scaling import Run


def linear_run(ticks: int, seed: int) -> Run:
    """o_t = 0.7 o_{t-1} - 0.2 o_{t-2} + 0.5 a_t + 0.1, exactly."""
    actions = np.random.default_rng(seed).standard_normal((ticks, 1))
    seen = np.zeros((ticks, 1))
    for t in range(ticks):
        earlier = seen[t - 1] if t else 0.0
        before = seen[t - 2] if t > 1 else 0.0
        seen[t] = 0.7 * earlier - 0.2 * before + 0.5 * actions[t] + 0.1
    return Run(seen, actions)


def test_the_arx_term_of_a_linear_system_is_that_system() -> None:
    runs = [linear_run(ticks, seed) for seed, ticks in enumerate((60, 45))]
    seen = [np.ones_like(run.observations, bool) for run in runs]
    weights = fit_arx(runs, seen, 2, 1e-12)
    # Order of the window: o_{t-2}, o_{t-1}, a_{t-2}, a_{t-1}, a_t, 1.
    np.testing.assert_allclose(weights[:, 0], [-0.2, 0.7, 0, 0, 0.5, 0.1], atol=1e-7)


def test_gaps_of_a_linear_system_are_filled_with_what_was_there() -> None:
    run = linear_run(60, 3)
    weights = fit_arx([run], [np.ones_like(run.observations, bool)], 2, 1e-12)
    holes = run.observations.copy()
    holes[[20, 21, 22, 40]] = np.nan
    filled = fill_missing(Run(holes, run.actions), weights, 2)
    np.testing.assert_allclose(filled.observations, run.observations, atol=1e-5)
    assert np.isnan(holes[20])
