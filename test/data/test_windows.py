"""Windows never reach across two runs, skip what is missing, and lose nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.window_source import WindowSource
from rffpsr_ros.data.windows import (
    complete_windows,
    count_windows,
    first_windows,
    window_chunks,
)


def numbered_run(number: int, ticks: int) -> Run:
    """A run whose values tell run and tick: observation 1000 run + tick, action its negative."""
    values = 1000.0 * number + np.arange(ticks)[:, None]
    return Run(values, -values)


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=4),
    st.integers(1, 6),
    st.integers(1, 5),
    st.integers(1, 9),
)
def test_every_window_is_one_stretch_of_one_run(
    lengths: list[int], past: int, future: int, chunk: int
) -> None:
    runs = [numbered_run(i, ticks) for i, ticks in enumerate(lengths)]
    starts = []
    for windows in window_chunks(runs, past, future, chunk):
        assert len(windows.actions) <= chunk
        for k in range(len(windows.actions)):
            whole = np.concatenate([windows.past_observations[k], windows.observations[k]])[:, 0]
            np.testing.assert_array_equal(np.diff(whole), 1)
            assert whole[0] // 1000 == whole[-1] // 1000
            actions = np.concatenate([windows.past_actions[k], windows.actions[k]])[:, 0]
            np.testing.assert_array_equal(actions, -whole)
            starts.append(whole[0])
    expected = [
        1000.0 * i + start
        for i, ticks in enumerate(lengths)
        for start in range(count_windows(ticks, past, future))
    ]
    assert starts == expected


def test_views_of_a_window() -> None:
    (windows,) = window_chunks([numbered_run(0, 8)], 3, 2)
    np.testing.assert_array_equal(windows.history[0], [0, 1, 2, 0, -1, -2])
    np.testing.assert_array_equal(windows.future_observations[0], [3, 4])
    np.testing.assert_array_equal(windows.shifted_observations[0], [4, 5])
    np.testing.assert_array_equal(windows.future_actions[0], [-3, -4])
    np.testing.assert_array_equal(windows.shifted_actions[0], [-4, -5])


def test_windows_with_a_missing_observation_are_left_out() -> None:
    run = numbered_run(0, 20)
    run.observations[10] = np.nan
    found = [
        w.past_observations[k, 0, 0]
        for w in window_chunks([run], 2, 2)
        for k in range(len(w.actions))
    ]
    # Windows are five ticks long; those that start at 6 to 10 hold tick 10.
    assert found == [0, 1, 2, 3, 4, 5, 11, 12, 13, 14, 15]


@pytest.mark.parametrize("count", [5, 1000])
def test_a_sample_is_drawn_from_all_runs_without_replacement(count: int) -> None:
    runs = [numbered_run(i, ticks) for i, ticks in enumerate((30, 2, 25))]
    sample = WindowSource.of_runs(runs, 2, 2).sample(count, np.random.default_rng(0))
    starts = sample.past_observations[:, 0, 0]
    assert len(set(starts)) == len(starts) == min(count, 26 + 21)
    np.testing.assert_array_equal(sample.observations[:, 0, 0], starts + 2)


def test_first_futures() -> None:
    runs = [numbered_run(i, ticks) for i, ticks in enumerate((4, 2, 3))]
    observations, actions = first_windows(runs, 3)
    np.testing.assert_array_equal(observations, [[0, 1, 2], [2000, 2001, 2002]])
    np.testing.assert_array_equal(actions, -observations)


@given(st.lists(st.booleans(), max_size=30), st.integers(1, 4), st.integers(1, 4))
def test_windows_are_complete_that_miss_nothing(seen: list[bool], past: int, future: int) -> None:
    observations = np.where(np.array(seen, bool)[:, None], [1.0, 2.0], [np.nan, 2.0])
    length = past + future + 1
    expected = [all(seen[i : i + length]) for i in range(count_windows(len(seen), past, future))]
    assert complete_windows(observations.reshape(-1, 2), past, future).tolist() == expected
