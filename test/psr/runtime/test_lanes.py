"""Systems side by side are each solved as by themselves."""

import numpy as np
import pytest

pytest.importorskip("numba")

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.compiling import compiled
from rffpsr_ros.psr.runtime.lanes import LANES, lanes_and_room, solve_side_by_side

RIDGES = np.array([1e-3, 2e-3, 1.0, 1e-2])


@compiled
def solve(given: Array, ridge: Array, size: int, work: Array) -> None:
    solve_side_by_side(given, ridge, size, work)


def laid_out(systems: list[tuple[Array, Array]], size: int) -> Array:
    """Return covariances and features as rows of four numbers."""
    width, room = lanes_and_room(size)
    given = np.zeros(room)
    rows = given[: -2 * LANES].reshape(-1, width // LANES, LANES)
    for lane, (covariance, features) in enumerate(systems):
        own = len(features)
        rows[:own, :own, lane] = covariance
        rows[size, :own, lane] = features
    return given


@pytest.mark.parametrize("sizes", [(1,) * 4, (2,) * 4, (5,) * 4, (6, 3, 5, 1), (13, 12, 2, 7)])
def test_four_systems_are_solved(sizes: tuple[int, ...]) -> None:
    draw, size = np.random.default_rng(0), max(sizes)
    systems = []
    for own in sizes:
        covariance = draw.normal(size=(own, own))
        systems.append((covariance + covariance.T, draw.normal(size=own)))
    width, room = lanes_and_room(size)
    work = np.full(room, np.nan)  # nothing of what was there before may count
    solve(laid_out(systems, size), RIDGES, size, work)
    solutions = work[: -2 * LANES].reshape(-1, width // LANES, LANES)[:size, size]
    for (covariance, features), ridge, found in zip(systems, RIDGES, solutions.T, strict=True):
        own = len(features)
        squared = covariance @ covariance + ridge * np.eye(own)
        np.testing.assert_allclose(squared @ found[:own], covariance @ features, atol=1e-9)
        assert not found[own:].any()


def test_a_system_that_is_lost_leaves_the_others_alone() -> None:
    draw = np.random.default_rng(1)
    systems = [(np.diag(draw.normal(size=4)), draw.normal(size=4)) for _ in range(LANES)]
    width, room = lanes_and_room(4)
    solutions = []
    for struck in (False, True):
        if struck:
            systems[2] = (np.full((4, 4), np.nan), systems[2][1])
        work = np.zeros(room)
        solve(laid_out(systems, 4), RIDGES, 4, work)
        solutions.append(work[: -2 * LANES].reshape(-1, width // LANES, LANES)[:4, 4])
    others = [0, 1, 3]
    np.testing.assert_array_equal(solutions[0][:, others], solutions[1][:, others])
    assert np.isnan(solutions[1][:, 2]).all()
