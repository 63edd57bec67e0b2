"""Which columns leave the range that a model was trained on, how often and how far."""

import numpy as np
import pytest

from rffpsr_ros.evaluation.extrapolation import Extrapolation, extrapolations, told
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.arx.model import LinearARXModel
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.recordings.trajectory import Trajectory


@pytest.fixture(scope="module")
def model() -> LinearARXModel:
    draw = np.random.default_rng(0)
    observations = draw.uniform(-1, 1, (200, 2))
    observations[:2] = [[-1, -1], [1, 1]]
    actions = draw.uniform(0, 4, (200, 1))
    actions[:2] = [[0], [4]]
    return LinearARX(2, 2).fit(
        [Trajectory(observations, actions, 0.1, observation_names=("x", "y"), action_names=("u",))]
    )


def run(observations: np.ndarray, actions: np.ndarray) -> Trajectory:
    return Trajectory(observations, actions, 0.1, observation_names=("x", "y"), action_names=("u",))


def test_columns_that_leave_their_range_are_told_the_most_frequent_first(
    model: LinearARXModel,
) -> None:
    observations, actions = np.zeros((10, 2)), np.full((10, 1), 2.0)
    observations[3, 1] = 1.5
    observations[4, 1] = np.nan
    actions[:4] = -1.0
    found = extrapolations(model, [run(observations, actions)])
    assert [one.name for one in found] == ["u", "y"]
    np.testing.assert_allclose([one.share for one in found], [0.4, 1 / 9])
    np.testing.assert_allclose([one.furthest for one in found], [0.25, 0.25])
    assert "u at 40 % of the ticks (by up to 25 % of its range), y at 11 %" in told(found)


def test_what_stays_within_is_not_told(model: LinearARXModel) -> None:
    within = run(np.zeros((10, 2)), np.full((10, 1), 2.0))
    assert extrapolations(model, [within]) == []
    assert extrapolations(model, []) == []
    assert told([]) == told([Extrapolation("x", 0.005, 9.0)]) == ""


def test_a_hair_beyond_is_within(model: LinearARXModel) -> None:
    actions = np.full((10, 1), 4.0 + 0.009 * 4)
    assert extrapolations(model, [run(np.zeros((10, 2)), actions)]) == []
    actions[0] = 4.0 + 0.011 * 4
    (found,) = extrapolations(model, [run(np.zeros((10, 2)), actions)])
    assert (found.name, found.share) == ("u", 0.1)
    assert found.furthest == pytest.approx(0.011)


def test_a_model_that_knows_no_range_tells_nothing() -> None:
    one = run(np.zeros((10, 2)), np.ones((10, 1)))
    assert extrapolations(LastObservation().fit([one]), [one]) == []


def test_a_range_without_width_has_no_size_to_compare_with() -> None:
    assert told([Extrapolation("x", 1.0, float("inf"))]).endswith("x at 100 % of the ticks")
