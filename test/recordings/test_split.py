"""Splits are contiguous blocks of time over all trajectories."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings import Trajectory, parse_split, split


def numbered(*lengths: int) -> list[Trajectory]:
    """Return trajectories whose ticks are numbered through."""
    ends = np.cumsum(lengths)
    return [
        Trajectory(np.arange(end - length, end), np.arange(end - length, end), 0.1, label=str(i))
        for i, (length, end) in enumerate(zip(lengths, ends, strict=True))
    ]


def ticks(part: list[Trajectory]) -> list[list[float]]:
    return [trajectory.observations[:, 0].tolist() for trajectory in part]


def test_a_trajectory_that_crosses_a_boundary_is_cut() -> None:
    train, validation, test = split(numbered(4, 6), (0.5, 0.3, 0.2))
    assert ticks(train) == [[0, 1, 2, 3], [4]]
    assert ticks(validation) == [[5, 6, 7]]
    assert ticks(test) == [[8, 9]]
    assert train[0].label == "0"
    assert train[1].period == 0.1


def test_the_rest_is_left_out() -> None:
    (train,) = split(numbered(10), (0.7,))
    assert ticks(train) == [[0, 1, 2, 3, 4, 5, 6]]


def test_a_share_of_nothing_is_empty() -> None:
    train, validation, test = split(numbered(3), (1.0, 0.0, 0.0))
    assert (len(train), len(validation), len(test)) == (1, 0, 0)


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=5),
    st.lists(st.integers(0, 10), min_size=1, max_size=4).filter(any),
)
def test_parts_share_no_tick_and_miss_none(lengths: list[int], weights: list[int]) -> None:
    fractions = [weight / sum(weights) for weight in weights]
    parts = split(numbered(*lengths), fractions)
    everything = [tick for part in parts for run in ticks(part) for tick in run]
    assert everything == list(range(sum(lengths)))
    for part, fraction in zip(parts, fractions, strict=True):
        assert abs(sum(map(len, part)) - fraction * sum(lengths)) <= 1


@pytest.mark.parametrize("fractions", [(0.7, 0.4), (-0.1, 0.5), (0.0,), (), (math.nan, 0.5)])
def test_impossible_shares(fractions: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match=r"as in 0\.7,0\.1,0\.2"):
        split(numbered(10), fractions)


def test_text_of_the_command_line() -> None:
    assert parse_split("0.7, 0.1,.2") == (0.7, 0.1, 0.2)
    with pytest.raises(InputError, match="the split '70%' is wrong"):
        parse_split("70%")
