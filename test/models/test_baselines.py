"""Last observation and mean keep the contract of every model."""

from typing import Any

import numpy as np
import pytest

from rffpsr_ros.episodes.trajectory import Trajectory
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.arx import LinearARX
from rffpsr_ros.models.last_observation import LastObservation
from rffpsr_ros.models.mean import Mean
from rffpsr_ros.models.predictive_model import Learner, stack_states
from rffpsr_ros.models.storage import load_model

LEARNERS = [LastObservation(), Mean(), LinearARX(past=3, future=4, ridge=1e-4)]
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


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
class TestContract:
    def test_a_batch_gives_what_one_at_a_time_gives(self, learner: Learner) -> None:
        model = learner.fit(trajectories())
        generator = np.random.default_rng(1)
        observations = generator.normal(size=(4, 6, 2))
        observations[1, 2, 0] = observations[3, 5] = NAN
        actions = generator.normal(size=(4, 6, 1))
        plans = generator.normal(size=(4, 9, 1))
        states = [model.initial_state()] * 4
        batch = stack_states(states)
        for tick in range(6):
            states = [
                model.update(states[i], actions[i, tick], observations[i, tick]) for i in range(4)
            ]
            batch = model.update(batch, actions[:, tick], observations[:, tick])
        one_by_one = np.stack([model.predict(states[i], plans[i]) for i in range(4)])
        np.testing.assert_allclose(model.predict(batch, plans), one_by_one, rtol=0, atol=1e-13)
        assert np.isfinite(one_by_one).all()

    def test_one_state_serves_many_plans(self, learner: Learner) -> None:
        model = learner.fit(trajectories())
        plans = np.random.default_rng(2).normal(size=(3, 5, 1))
        state = model.initial_state()
        np.testing.assert_allclose(
            model.predict(state, plans),
            np.stack([model.predict(state, plan) for plan in plans]),
            rtol=0,
            atol=1e-13,
        )

    def test_a_forecast_does_not_see_later_actions(self, learner: Learner) -> None:
        model = learner.fit(trajectories())
        plan = np.random.default_rng(3).normal(size=(11, 1))
        state = model.state_from_history(trajectories()[0].observations, np.ones((30, 1)))
        forecast = model.predict(state, plan)
        for h in range(1, 11):
            changed = plan.copy()
            changed[h:] += 1e3
            np.testing.assert_array_equal(model.predict(state, changed)[:h], forecast[:h])
            np.testing.assert_allclose(
                model.predict(state, plan[:h]), forecast[:h], rtol=0, atol=1e-13
            )

    def test_inputs_and_states_are_never_written_to(self, learner: Learner) -> None:
        model = learner.fit(trajectories())
        frozen = [np.ones((5, 1)), np.ones(1), np.ones(2)]
        for array in frozen:
            array.setflags(write=False)
        state: Any = model.initial_state()
        before = [array.copy() for array in state]
        model.predict(state, frozen[0])
        model.update(state, frozen[1], frozen[2])
        for array, copy in zip(state, before, strict=True):
            np.testing.assert_array_equal(array, copy)

    def test_a_saved_model_forecasts_the_same(self, learner: Learner, tmp_path: Any) -> None:
        model = learner.fit(trajectories())
        model.save(tmp_path / "m")
        loaded = load_model(tmp_path / "m")
        run = trajectories()[1]
        plan = run.actions[:7]
        np.testing.assert_array_equal(
            loaded.predict(loaded.state_from_history(run.observations, run.actions), plan),
            model.predict(model.state_from_history(run.observations, run.actions), plan),
        )
        assert loaded.record == model.record
        assert loaded.signature == model.signature

    def test_nothing_to_learn_from_is_said(self, learner: Learner) -> None:
        with pytest.raises(InputError, match="no trajectory to train on"):
            learner.fit([])

    def test_trajectories_that_do_not_fit_together_are_said(self, learner: Learner) -> None:
        one = trajectories(1)[0]
        other_rate = Trajectory(one.observations, one.actions, 0.2, label="run 2")
        with pytest.raises(InputError, match=r"'run 2' has a period of 0\.2 s .* 0\.1 s"):
            learner.fit([one, other_rate])
        other_names = Trajectory(one.observations, one.actions, 0.1, ["x", "y"])
        with pytest.raises(InputError, match=r"observation names \['x', 'y'\]"):
            learner.fit([one], [other_names])

    def test_an_observation_that_never_comes_is_named(self, learner: Learner) -> None:
        absent = Trajectory([[1.0, NAN]] * 20, [[0.0]] * 20, 0.1, ["x", "silent"])
        with pytest.raises(InputError, match="'silent' is missing in every tick"):
            learner.fit([absent, absent])
