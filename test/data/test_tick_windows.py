"""The ticks that precede a tick, and which of them regressions may learn from."""

import numpy as np

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.tick_windows import settled_ticks, tick_windows


def test_ticks_near_a_start_or_a_gap_do_not_teach() -> None:
    seen = np.ones((20, 2), bool)
    seen[10, 1] = False
    np.testing.assert_array_equal(
        settled_ticks(seen, 3), [3, 4, 5, 6, 7, 8, 9, 14, 15, 16, 17, 18, 19]
    )


def test_a_very_short_run_teaches_from_its_start() -> None:
    np.testing.assert_array_equal(settled_ticks(np.ones((5, 1), bool), 3), [0, 1, 2, 3, 4])


def test_before_a_start_stands_the_first_tick() -> None:
    draw = np.random.default_rng(0)
    run = Run(draw.normal(size=(10, 1)), draw.normal(size=(10, 1)))
    windows = tick_windows(run, 3, np.array([0, 1, 5]))
    first = run.observations[0]
    np.testing.assert_array_equal(windows.observations[0], [first] * 3)
    np.testing.assert_array_equal(windows.observations[1], [first] * 3)
    np.testing.assert_array_equal(windows.observations[2], run.observations[2:5])
    np.testing.assert_array_equal(windows.actions[2], run.actions[2:6])
    np.testing.assert_array_equal(windows.target, run.observations[[0, 1, 5]])
