"""The ARX term, the ticks it may learn from, and the gaps it fills."""

import numpy as np

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.tick_windows import fill_missing, fit_arx, settled_ticks, tick_windows


def linear_run(ticks: int, seed: int) -> Run:
    """o_t = 0.7 o_{t-1} - 0.2 o_{t-2} + 0.5 a_t + 0.1, exactly."""
    actions = np.random.default_rng(seed).standard_normal((ticks, 1))
    seen = np.zeros((ticks, 1))
    for t in range(ticks):
        earlier = seen[t - 1] if t else 0.0
        before = seen[t - 2] if t > 1 else 0.0
        seen[t] = 0.7 * earlier - 0.2 * before + 0.5 * actions[t] + 0.1
    return Run(seen, actions)


def test_the_base_of_a_linear_system_is_that_system() -> None:
    runs = [linear_run(ticks, seed) for seed, ticks in enumerate((60, 45))]
    seen = [np.ones_like(run.observations, bool) for run in runs]
    base = fit_arx(runs, seen, 2, 1e-12)
    # Order of the window: o_{t-2}, o_{t-1}, a_{t-2}, a_{t-1}, a_t, 1.
    np.testing.assert_allclose(base[:, 0], [-0.2, 0.7, 0, 0, 0.5, 0.1], atol=1e-7)


def test_gaps_of_a_linear_system_are_filled_with_what_was_there() -> None:
    run = linear_run(60, 3)
    base = fit_arx([run], [np.ones_like(run.observations, bool)], 2, 1e-12)
    holes = run.observations.copy()
    holes[[20, 21, 22, 40]] = np.nan
    filled = fill_missing(Run(holes, run.actions), base, 2)
    np.testing.assert_allclose(filled.observations, run.observations, atol=1e-5)
    assert np.isnan(holes[20])


def test_ticks_near_a_start_or_a_gap_do_not_teach() -> None:
    seen = np.ones((20, 2), bool)
    seen[10, 1] = False
    np.testing.assert_array_equal(
        settled_ticks(seen, 3), [3, 4, 5, 6, 7, 8, 9, 14, 15, 16, 17, 18, 19]
    )


def test_a_very_short_run_teaches_from_its_start() -> None:
    np.testing.assert_array_equal(settled_ticks(np.ones((5, 1), bool), 3), [0, 1, 2, 3, 4])


def test_before_a_start_stands_the_first_tick() -> None:
    run = linear_run(10, 0)
    windows = tick_windows(run, 3, np.array([0, 1, 5]))
    first = run.observations[0]
    np.testing.assert_array_equal(windows.observations[0], [first] * 3)
    np.testing.assert_array_equal(windows.observations[1], [first] * 3)
    np.testing.assert_array_equal(windows.observations[2], run.observations[2:5])
    np.testing.assert_array_equal(windows.actions[2], run.actions[2:6])
    np.testing.assert_array_equal(windows.target, run.observations[[0, 1, 5]])
