"""Which directions features begin with: those of what bends, and any where nothing can be told."""

import numpy as np
import pytest

from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.models.state_space.directions import drawn_directions, with_telling_features
from rffpsr_ros.models.state_space.dynamics import StateSpace
from rffpsr_ros.numerics.arrays import Array

UNLIMITED = Bounds(np.full(1, -np.inf), np.full(1, np.inf))


def system(directions: Array) -> StateSpace:
    """Return a system of one state and two actions, x' = .7 x + a_1 + e, with idle features."""
    count = len(directions)
    return StateSpace(
        transition=np.hstack([[[0.7, 1.0, 0.0, 0.0]], np.zeros((1, count))]),
        output=np.hstack([[[1.0, 0.0, 0.0, 0.0]], np.zeros((1, count))]),
        directions=directions,
        gain=np.ones((1, 1)),
        start=np.zeros(1),
        powers=np.zeros(count),
        reach=np.full(count, np.inf),
        integrators=np.zeros(1),
        bounds=UNLIMITED,
    )


def recording(true: Array, ticks: int, seed: int = 0) -> Run:
    """Return what follows such a system in which one feature has a weight."""
    draw = np.random.default_rng(seed)
    actions = draw.standard_normal((ticks, 2))
    state, seen = 0.0, []
    for action in actions:
        seen.append(state + 0.01 * draw.standard_normal())
        bent = np.tanh(true @ np.array([state, *action, 1.0]))
        state = 0.7 * state + action[0] + 0.5 * bent
    return Run(np.array(seen)[:, None], actions)


@pytest.mark.parametrize("place", [0, 17, 63])
def test_the_direction_that_bends_is_the_first(place: int) -> None:
    drawn = drawn_directions(64, 4, np.random.default_rng(3))
    run = recording(drawn[place], 2000)
    found = with_telling_features(system(drawn[:4]), drawn, [run])
    np.testing.assert_array_equal(found.directions[0], drawn[place])
    assert found.transition.shape == found.output.shape == (1, 8)
    assert len(found.powers) == len(found.reach) == 4


def test_gaps_are_left_out() -> None:
    drawn = drawn_directions(64, 4, np.random.default_rng(3))
    run = recording(drawn[5], 3000)
    run.observations[::20] = np.nan
    found = with_telling_features(system(drawn[:1]), drawn, [run])
    np.testing.assert_array_equal(found.directions, drawn[5:6])


def test_of_too_few_ticks_the_first_are_taken() -> None:
    drawn = drawn_directions(64, 4, np.random.default_rng(3))
    run = recording(drawn[5], 12)
    found = with_telling_features(system(drawn[:3]), drawn, [run])
    np.testing.assert_array_equal(found.directions, drawn[:3])


def test_the_last_column_is_as_long_as_the_others() -> None:
    drawn = drawn_directions(5000, 4, np.random.default_rng(0))
    lengths = np.sqrt(np.mean(drawn**2, axis=0))
    np.testing.assert_allclose(lengths, lengths[0], rtol=0.05)
