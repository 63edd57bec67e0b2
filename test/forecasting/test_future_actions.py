"""What actions a forecast assumes, worked out by hand."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.future_actions import FutureActions, plan_in

LAST = np.array([3.0])


def assumed(future: FutureActions, horizon: int = 4) -> tuple[list[float], str]:
    actions, words = future.ahead(horizon, LAST)
    assert actions.shape == (horizon, 1)
    return actions[:, 0].tolist(), words


def message(data: list[float], *sizes: int) -> Any:
    dimensions = [SimpleNamespace(size=size) for size in sizes]
    return SimpleNamespace(data=data, layout=SimpleNamespace(dim=dimensions, data_offset=0))


def test_hold_and_zero() -> None:
    assert assumed(FutureActions("hold", 1)) == ([3.0] * 4, "hold")
    assert assumed(FutureActions("zero", 1)) == ([0.0] * 4, "zero")


def test_a_plan_moves_on_with_the_ticks_and_its_end_is_held_until_it_is_over() -> None:
    future = FutureActions("topic", 1)
    assert assumed(future) == ([3.0] * 4, "hold (no plan yet)")
    future.take_plan(np.array([[10.0], [11.0], [12.0]]))
    future.advance()  # the tick under way when the plan arrived
    assert assumed(future) == ([10.0, 11.0, 12.0, 12.0], "plan")
    future.advance()
    assert assumed(future) == ([11.0, 12.0, 12.0, 12.0], "plan")
    future.advance()
    assert assumed(future) == ([12.0] * 4, "plan")
    future.advance()
    assert assumed(future) == ([3.0] * 4, "hold (plan is over)")
    future.take_plan(np.array([[20.0]]))
    future.advance()
    assert assumed(future) == ([20.0] * 4, "plan")
    future.forget()
    assert assumed(future) == ([3.0] * 4, "hold (no plan yet)")


def test_a_plan_longer_than_the_horizon_is_cut() -> None:
    future = FutureActions("topic", 1)
    future.take_plan(np.arange(10.0)[:, None])
    future.advance()
    assert assumed(future, 3) == ([0.0, 1.0, 2.0], "plan")


@pytest.mark.parametrize(
    "plan", [np.zeros((0, 1)), np.zeros((3, 2)), np.zeros(3), np.array([[np.nan]])]
)
def test_a_plan_that_does_not_fit_is_refused_and_the_old_one_stays(plan: Any) -> None:
    future = FutureActions("topic", 1)
    future.take_plan(np.array([[1.0]]))
    future.advance()
    with pytest.raises(InputError, match=r"a plan (has shape|holds a value)"):
        future.take_plan(plan)
    assert assumed(future) == ([1.0] * 4, "plan")


def test_plans_are_read_row_by_row() -> None:
    data = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    by_layout = plan_in(message(data, 2, 3), 2)
    np.testing.assert_array_equal(by_layout, [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(plan_in(message(data), 2), [[1, 2], [3, 4], [5, 6]])
    for wrong in (message([]), message(data[:5]), message(data, 2, 4), message(data, 2, 0)):
        with pytest.raises(InputError, match="whole rows of 2"):
            plan_in(wrong, 2)
