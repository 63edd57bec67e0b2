"""Forward selection of drawn units, against regressions made one by one."""

import numpy as np
import pytest

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.forward_selection import RIDGE, selected_units


def moments(inputs: Array, targets: Array) -> tuple[Array, Array, Array]:
    count = len(inputs)
    return inputs.T @ inputs / count, inputs.T @ targets / count, np.mean(targets**2, axis=0)


def left(inputs: Array, targets: Array, ridge: float) -> float:
    """Return the sum of logarithms of what a ridge regression leaves, its penalty included."""
    root = np.sqrt(ridge * len(inputs))
    padded = np.vstack([inputs, root * np.eye(inputs.shape[1])])
    wanted = np.vstack([targets, np.zeros((inputs.shape[1], targets.shape[1]))])
    weights = np.linalg.lstsq(padded, wanted, rcond=None)[0]
    return float(np.sum(np.log(np.sum((wanted - padded @ weights) ** 2, axis=0))))


@pytest.mark.parametrize("each", [1, 2])
def test_selected_is_at_every_turn_with_what_the_regression_leaves_least(each: int) -> None:
    generator = np.random.default_rng(each)
    drawn, always = 9, 4
    inputs = generator.standard_normal((200, drawn * each + always))
    inputs[:, 1] += inputs[:, 0]  # units that tell nearly the same
    inputs *= np.exp(generator.standard_normal(inputs.shape[1]))
    targets = inputs @ generator.standard_normal((inputs.shape[1], 3))
    targets += generator.standard_normal(targets.shape)
    own = inputs[:, : drawn * each]
    ridge = RIDGE * float(np.mean(own**2))

    def values(units: list[int]) -> Array:
        columns = [unit + drawn * value for unit in units for value in range(each)]
        return np.hstack([own[:, columns], inputs[:, drawn * each :]])

    expected: list[int] = []
    while len(expected) < 5:
        others = [unit for unit in range(drawn) if unit not in expected]
        expected.append(min(others, key=lambda one: left(values([*expected, one]), targets, ridge)))
    assert selected_units(*moments(inputs, targets), drawn, each, 5) == expected


def test_selected_are_the_units_that_made_the_targets_and_no_copies_of_them() -> None:
    generator = np.random.default_rng(0)
    inputs = generator.standard_normal((500, 31))
    inputs[:, 10] = inputs[:, 3]
    targets = inputs[:, [3, 17]] @ np.array([[2.0, 1.0], [-1.0, 1.5]]) + inputs[:, 30:] - 0.5
    found = selected_units(*moments(inputs, targets), 30, 1, 2)
    assert found in ([3, 17], [10, 17])


def test_all_can_be_selected_also_where_nothing_is_left() -> None:
    generator = np.random.default_rng(0)
    inputs = generator.standard_normal((50, 6))
    targets = np.hstack([inputs[:, :1], np.zeros((50, 1))])
    found = selected_units(*moments(inputs, targets), 5, 1, 5)
    assert found[0] == 0
    assert sorted(found) == list(range(5))
