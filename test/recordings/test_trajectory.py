"""A trajectory holds numbers and names of columns, or one sentence says what it lacks."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings.trajectory import Trajectory

SEEN, ACTED = np.arange(6.0).reshape(3, 2), np.ones((3, 1))


class Index:
    """Names as those of a table's columns, of which nobody can say whether they are true."""

    def __iter__(self) -> Iterator[str]:
        return iter(("x", "y"))

    def __bool__(self) -> bool:
        raise ValueError("the truth value of an index is ambiguous")


@pytest.mark.parametrize("names", [["x", "y"], np.array(["x", "y"]), Index()])
def test_names_come_in_any_sequence(names: Any) -> None:
    run = Trajectory(SEEN, ACTED, 0.1, names)
    assert run.observation_names == ("x", "y")
    assert run.action_names == ("action[0]",)
    assert all(type(name) is str for name in run.observation_names)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("xy", "observation_names is the text 'xy'; give a list of names"),
        (5, "observation_names is '5'; give a list"),
        ([1, 2], "observation name '1' is no text"),
        (["x", "x"], "observation name 'x' stands twice"),
        (["x"], "1 observation name for 2 columns; give one for each"),
    ],
)
def test_names_that_are_none_are_said(names: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Trajectory(SEEN, ACTED, 0.1, names)


@pytest.mark.parametrize(
    ("observations", "words"),
    [
        (SEEN + 1j, "array of real numbers; these are of type complex128"),
        ([[1, 2], [3], [4, 5]], "array of real numbers, with rows of one length"),
        ([["a", "b"]] * 3, "array of real numbers; these are of type <U1"),
        (np.array([["a", None]] * 3, object), "array of real numbers"),
        (np.zeros(3, "M8[s]"), r"array of real numbers; these are of type datetime64\[s\]"),
        (np.zeros((3, 0)), "have no column; give at least one"),
        (np.zeros((3, 1, 1)), r"shape \(3, 1, 1\); they must be \(ticks, columns\)"),
    ],
)
def test_observations_that_are_no_numbers_are_said(observations: Any, words: str) -> None:
    with pytest.raises(InputError, match=f"^observations .*{words}"):
        Trajectory(observations, ACTED)


@pytest.mark.parametrize("period", ["0.1", None, [0.1, 0.2], 1j, 0, -1.0, float("nan"), 10**400])
def test_a_period_that_is_no_time_is_said(period: Any) -> None:
    with pytest.raises(InputError, match=r"period is .*; it must be a positive number of seconds"):
        Trajectory(SEEN, ACTED, period)


def test_what_is_no_number_for_every_tick_is_no_likelihood_ratio() -> None:
    with pytest.raises(InputError, match="likelihood ratios must be an array of real numbers"):
        Trajectory(SEEN, ACTED, likelihood_ratios=["a", "b", "c"])


def test_none_and_whole_numbers_are_numbers() -> None:
    some: Any = [[1, None], [2, 3], [4, 5]]
    run = Trajectory(some, [True, False, True], 0.5)
    np.testing.assert_array_equal(run.observations, [[1, np.nan], [2, 3], [4, 5]])
    np.testing.assert_array_equal(run.actions, [[1], [0], [1]])
    assert run.period == 0.5
