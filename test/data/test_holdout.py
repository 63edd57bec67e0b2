"""What is held out where the user names no validation recordings."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rffpsr_ros.data.folds import FRACTION, hold_out
from rffpsr_ros.recordings.trajectory import Trajectory


def trajectory(number: int, ticks: int) -> Trajectory:
    values = 1000.0 * number + np.arange(ticks)
    return Trajectory(values, values, 0.1)


@given(st.lists(st.integers(1, 200), min_size=1, max_size=23), st.integers(1, 40))
def test_nothing_is_lost_and_nothing_is_in_both(lengths: list[int], shortest: int) -> None:
    runs = [trajectory(i, ticks) for i, ticks in enumerate(lengths)]
    train, validation = hold_out(runs, shortest)
    learned = {value for run in train for value in run.observations[:, 0]}
    judged = {value for run in validation for value in run.observations[:, 0]}
    everything = {value for run in runs for value in run.observations[:, 0]}
    assert learned
    assert judged
    if judged != everything:
        assert not learned & judged
        assert learned | judged == everything


def test_whole_trajectories_spread_over_the_recordings() -> None:
    train, validation = hold_out([trajectory(i, 50) for i in range(20)], 10)
    assert len(validation) == round(FRACTION * 20)
    assert {run.observations[0, 0] for run in validation} == {2000, 7000, 12000, 17000}
    assert len(train) == 16


def test_the_end_of_a_single_one() -> None:
    (train,), (validation,) = hold_out([trajectory(0, 100)], 15)
    np.testing.assert_array_equal(train.observations[:, 0], np.arange(80))
    np.testing.assert_array_equal(validation.observations[:, 0], np.arange(80, 100))
