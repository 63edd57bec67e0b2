"""What actions a forecast assumes, worked out by hand."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.future_actions import FutureActions, check_plan, plan_in
from rffpsr_ros.numerics.arrays import Array

LAST = np.array([3.0])


def assumed(future: FutureActions, tick: int = 0, horizon: int = 4) -> tuple[list[float], str]:
    actions, words = future.ahead(horizon, LAST, tick)
    assert actions.shape == (horizon, 1)
    return actions[:, 0].tolist(), words


def column(*values: float) -> Array:
    return np.array(values)[:, None]


def message(data: list[float], *sizes: int) -> Any:
    dimensions = [SimpleNamespace(size=size) for size in sizes]
    return SimpleNamespace(data=data, layout=SimpleNamespace(dim=dimensions, data_offset=0))


def test_hold_and_zero() -> None:
    assert assumed(FutureActions("hold")) == ([3.0] * 4, "hold")
    assert assumed(FutureActions("zero")) == ([0.0] * 4, "zero")


def test_a_plan_moves_on_with_the_ticks_and_its_end_is_held_until_it_is_over() -> None:
    future = FutureActions("topic")
    assert assumed(future) == ([3.0] * 4, "hold (no plan yet)")
    future.take_plan(column(10, 11, 12), first=5)
    assert assumed(future, 5) == ([10.0, 11.0, 12.0, 12.0], "plan")
    assert assumed(future, 6) == ([11.0, 12.0, 12.0, 12.0], "plan")
    assert assumed(future, 7) == ([12.0] * 4, "plan")
    assert assumed(future, 8) == ([3.0] * 4, "hold (plan is over)")
    future.take_plan(column(20), first=9)
    assert assumed(future, 9) == ([20.0] * 4, "plan")
    future.forget()
    assert assumed(future, 9) == ([3.0] * 4, "hold (no plan yet)")


def test_until_a_plan_begins_the_one_before_it_holds_or_the_last_command() -> None:
    future = FutureActions("topic")
    future.take_plan(column(10, 11, 12), first=6)
    assert assumed(future, 5) == ([3.0, 10.0, 11.0, 12.0], "plan")
    future.take_plan(column(20, 21), first=8)
    assert assumed(future, 6) == ([10.0, 11.0, 20.0, 21.0], "plan")
    future.take_plan(column(30), first=8)  # in place of what was to begin then
    assert assumed(future, 7) == ([11.0, 30.0, 30.0, 30.0], "plan")
    future.take_plan(column(40), first=20)
    assert assumed(future, 9) == ([3.0] * 4, "hold (plan is over)")


def test_a_plan_longer_than_the_horizon_is_cut() -> None:
    future = FutureActions("topic")
    future.take_plan(np.arange(10.0)[:, None], first=0)
    assert assumed(future, horizon=3) == ([0.0, 1.0, 2.0], "plan")


@pytest.mark.parametrize(
    "plan", [np.zeros((0, 1)), np.zeros((3, 2)), np.zeros(3), np.array([[np.nan]])]
)
def test_a_plan_that_does_not_fit_is_refused(plan: Any) -> None:
    with pytest.raises(InputError, match=r"a plan (has shape|holds a value)"):
        check_plan(plan, 1)


def test_plans_are_read_row_by_row() -> None:
    data = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    by_layout = plan_in(message(data, 2, 3), 2)
    np.testing.assert_array_equal(by_layout, [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(plan_in(message(data), 2), [[1, 2], [3, 4], [5, 6]])
    for wrong in (message([]), message(data[:5]), message(data, 2, 4), message(data, 2, 0)):
        with pytest.raises(InputError, match="whole rows of 2"):
            plan_in(wrong, 2)
