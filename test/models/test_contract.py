"""Every kind of model keeps the contract of `PredictiveModel`, whatever it was learned from."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.contract import Learner, PredictiveModel, stack_states
from rffpsr_ros.models.hse_psr.learner import HSEPSR
from rffpsr_ros.models.io_hmm.learner import IOHMM
from rffpsr_ros.models.kalman.learner import Kalman
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.models.rff_arx.learner import RFFARX
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

NAN = float("nan")


def continuous(generator: np.random.Generator, *shape: int) -> Array:
    return generator.normal(size=shape)


def discrete(generator: np.random.Generator, *shape: int) -> Array:
    return generator.integers(2, size=shape).astype(float)


@dataclass(frozen=True)
class Case:
    """A learner, and data of the sort that it learns from: two observations, one action."""

    learner: Learner
    draw: Callable[..., Array] = continuous
    rounding: float = 1e-13  # features on small directions of a kernel's spectrum magnify it

    def trajectories(self, count: int = 3, ticks: int = 30) -> list[Trajectory]:
        generator = np.random.default_rng(5)
        return [
            Trajectory(self.draw(generator, ticks, 2), self.draw(generator, ticks, 1), 0.1)
            for _ in range(count)
        ]

    @cache  # noqa: B019 - a handful of cases, alive throughout
    def model(self) -> PredictiveModel[Any]:
        return self.learner.fit(self.trajectories())


CASES = {
    "last_observation": Case(LastObservation()),
    "mean": Case(Mean()),
    "linear_arx": Case(LinearARX(past=3, future=4, ridge=1e-4)),
    "rff_arx": Case(RFFARX(past=3, future=4, features=30, ridge=1e-2)),
    "kalman": Case(Kalman(past=3, future=4)),
    "hse_psr": Case(HSEPSR(past=3, future=2, rank=4), rounding=1e-7),
    "io_hmm": Case(IOHMM(past=2), discrete),
}
every_kind = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@every_kind
def test_a_batch_gives_what_one_at_a_time_gives(case: Case) -> None:
    model = case.model()
    generator = np.random.default_rng(1)
    observations = case.draw(generator, 4, 6, 2)
    observations[1, 2, 0] = observations[3, 5] = NAN
    actions = case.draw(generator, 4, 6, 1)
    plans = case.draw(generator, 4, 9, 1)
    states = [model.initial_state()] * 4
    batch = stack_states(states)
    for tick in range(6):
        states = [
            model.update(states[i], actions[i, tick], observations[i, tick]) for i in range(4)
        ]
        batch = model.update(batch, actions[:, tick], observations[:, tick])
    one_by_one = np.stack([model.predict(states[i], plans[i]) for i in range(4)])
    np.testing.assert_allclose(model.predict(batch, plans), one_by_one, rtol=0, atol=case.rounding)
    assert np.isfinite(one_by_one).all()


@every_kind
def test_one_state_serves_many_plans(case: Case) -> None:
    model = case.model()
    plans = case.draw(np.random.default_rng(2), 3, 5, 1)
    state = model.initial_state()
    np.testing.assert_allclose(
        model.predict(state, plans),
        np.stack([model.predict(state, plan) for plan in plans]),
        rtol=0,
        atol=case.rounding,
    )


@every_kind
def test_a_forecast_does_not_see_later_actions(case: Case) -> None:
    model = case.model()
    plan = case.draw(np.random.default_rng(3), 11, 1)
    run = case.trajectories()[0]
    state = model.state_from_history(run.observations, run.actions)
    forecast = model.predict(state, plan)
    for h in range(1, 11):
        changed = plan.copy()
        changed[h:] += 1e3
        np.testing.assert_array_equal(model.predict(state, changed)[:h], forecast[:h])
        np.testing.assert_allclose(
            model.predict(state, plan[:h]), forecast[:h], rtol=0, atol=case.rounding
        )


@every_kind
def test_inputs_and_states_are_never_written_to(case: Case) -> None:
    model = case.model()
    frozen = [np.ones((5, 1)), np.ones(1), np.ones(2)]
    for array in frozen:
        array.setflags(write=False)
    state: Any = model.initial_state()
    before = [array.copy() for array in state]
    model.predict(state, frozen[0])
    model.update(state, frozen[1], frozen[2])
    for array, copy in zip(state, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@every_kind
def test_a_saved_model_forecasts_the_same(case: Case, tmp_path: Path) -> None:
    model = case.model()
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    run = case.trajectories()[1]
    plan = run.actions[:7]
    np.testing.assert_array_equal(
        loaded.predict(loaded.state_from_history(run.observations, run.actions), plan),
        model.predict(model.state_from_history(run.observations, run.actions), plan),
    )
    assert loaded.record == model.record
    assert loaded.signature == model.signature


@every_kind
def test_nothing_to_learn_from_is_said(case: Case) -> None:
    with pytest.raises(InputError, match="no trajectory to train on"):
        case.learner.fit([])


@every_kind
def test_trajectories_that_do_not_fit_together_are_said(case: Case) -> None:
    one = case.trajectories(1)[0]
    other_rate = Trajectory(one.observations, one.actions, 0.2, label="run 2")
    with pytest.raises(InputError, match=r"'run 2' has a period of 0\.2 s .* 0\.1 s"):
        case.learner.fit([one, other_rate])
    other_names = Trajectory(one.observations, one.actions, 0.1, ["x", "y"])
    with pytest.raises(InputError, match=r"observation names \['x', 'y'\]"):
        case.learner.fit([one], [other_names])


@every_kind
def test_an_observation_that_never_comes_is_named(case: Case) -> None:
    absent = Trajectory([[1.0, NAN]] * 20, [[0.0]] * 20, 0.1, ["x", "silent"])
    with pytest.raises(InputError, match="'silent' is missing in every tick"):
        case.learner.fit([absent, absent])
