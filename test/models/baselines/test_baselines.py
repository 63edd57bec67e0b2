"""What the simplest baselines forecast."""

import numpy as np

from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.recordings.trajectory import Trajectory

NAN = float("nan")


def trajectories(count: int = 3, ticks: int = 30) -> list[Trajectory]:
    generator = np.random.default_rng(5)
    return [
        Trajectory(generator.normal(size=(ticks, 2)), generator.normal(size=(ticks, 1)), 0.1)
        for _ in range(count)
    ]


def test_last_observation_forecasts_what_was_seen_last() -> None:
    model = LastObservation().fit([Trajectory([1.0, 3.0], [0.0, 0.0])])
    before = model.initial_state()
    np.testing.assert_array_equal(model.predict(before, np.zeros((3, 1))), [[2.0]] * 3)
    after = model.update(before, np.zeros(1), np.array([7.0]))
    np.testing.assert_array_equal(model.predict(after, np.zeros((2, 1))), [[7.0]] * 2)


def test_a_missing_entry_keeps_its_last_value() -> None:
    model = LastObservation().fit(trajectories())
    state = model.update(model.initial_state(), np.zeros(1), np.array([1.0, 2.0]))
    state = model.update(state, np.zeros(1), np.array([NAN, 5.0]))
    np.testing.assert_array_equal(state.observation, [1.0, 5.0])


def test_mean_forecasts_the_mean_of_what_was_there() -> None:
    model = Mean().fit(
        [Trajectory([[1.0, 10.0], [NAN, 20.0]], [0.0, 0.0]), Trajectory([[4.0, NAN]], [0])]
    )
    state = model.update(model.initial_state(), np.zeros(1), np.array([99.0, 99.0]))
    np.testing.assert_array_equal(model.predict(state, np.zeros((2, 1))), [[2.5, 15.0]] * 2)
