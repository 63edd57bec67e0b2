"""An ensemble keeps the contract of every model, and what `RFFPSR` makes of folds is one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.contract import PredictiveModel, TrainingRecord
from rffpsr_ros.models.ensemble.model import (
    EnsembleModel,
    EnsembleParts,
    OutputLimits,
)
from rffpsr_ros.models.ensemble.state import State
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.state_batches import stack_states
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory

QUICK: dict[str, Any] = {
    "features": 20, "iterations": 4, "narx_features": 10, "past": 8, "arx_past": 8
}  # fmt: skip


def pendulum_runs(count: int, ticks: int, seed: int) -> list[Trajectory]:
    draw = np.random.default_rng(seed)
    runs = []
    for _ in range(count):
        actions = np.repeat(draw.uniform(-1, 1, ticks // 4 + 1), 4)[:ticks]
        angle, speed, seen = 0.0, 0.0, []
        for action in actions:
            speed += 0.2 * (action - np.sin(2 * angle) - 0.3 * speed)
            angle += 0.2 * speed
            seen.append(angle + 0.005 * draw.standard_normal())
        runs.append(Trajectory(seen, actions, 0.1))
    return runs


@pytest.fixture(scope="module")
def learned() -> EnsembleModel:
    model = RFFPSR(**QUICK).fit(pendulum_runs(9, 80, 0))
    assert isinstance(model, EnsembleModel)
    return model


@pytest.fixture(scope="module")
def run() -> Trajectory:
    return pendulum_runs(1, 100, 9)[0]


def followed(model: EnsembleModel, run: Trajectory, ticks: int) -> State:
    state: State = model.initial_state()
    for t in range(ticks):
        state = model.update(state, run.actions[t], run.observations[t])
    return state


def test_forecasts_are_the_weighted_sum_of_the_members(run: Trajectory) -> None:
    train = pendulum_runs(3, 80, 1)
    members: list[PredictiveModel[Any]] = [
        LinearARX(past=4, future=3).fit(train),
        LastObservation().fit(train),
    ]
    weights = np.array([[[0.9, 0.1]], [[0.4, 0.6]]])
    parts = EnsembleParts(tuple(members), weights)
    model = EnsembleModel(members[0].signature, TrainingRecord(), parts)
    state = followed(model, run, 20)
    alone = [m.predict(s, run.actions[20:24])[:, 0] for m, s in zip(members, state[0], strict=True)]
    share = np.array([0.9, 0.4, 0.4, 0.4])  # the last known weights hold on
    expected = share * alone[0] + (1 - share) * alone[1]
    np.testing.assert_allclose(model.predict(state, run.actions[20:24])[:, 0], expected)


def test_a_batch_is_its_members_and_later_actions_are_not_seen(
    learned: EnsembleModel, run: Trajectory
) -> None:
    states = [followed(learned, run, ticks) for ticks in (5, 40)]
    plans = np.stack([run.actions[50:56], run.actions[60:66]])
    together = learned.predict(stack_states(states), plans)
    for state, plan, forecast in zip(states, plans, together, strict=True):
        np.testing.assert_allclose(learned.predict(state, plan), forecast, atol=1e-12)
        np.testing.assert_allclose(learned.predict(state, plan[:3]), forecast[:3], atol=1e-12)
    after = learned.update(stack_states(states), plans[:, 0], np.array([[0.1], [np.nan]]))
    one = learned.update(states[1], plans[1, 0], np.array([np.nan]))
    np.testing.assert_allclose(
        learned.predict(after, plans)[1], learned.predict(one, plans[1]), atol=1e-12
    )
    assert learned.events(one).missing == 1
    live = learned.inference_model().predict(states[1], plans[1])
    np.testing.assert_allclose(live, together[1], atol=1e-4)


def test_every_recording_is_held_out_once_and_the_choice_is_told(learned: EnsembleModel) -> None:
    own = [one for one in learned.parts.members if isinstance(one, RFFPSRModel)]
    drawn = [one for one in own if one.record.options["narx_learning"] == "off"]
    assert len(own) > 0
    assert len(drawn) <= 2  # one of everything for each family
    assert len(own) - len(drawn) in (0, 3, 6)
    np.testing.assert_allclose(learned.parts.weights.sum(-1), 1)
    tried = learned.record.metrics["cross_validation"]
    families = {"rff_psr", "rff_psr, affine"}
    families |= {f"rff_psr, learned {kind}" for kind in ("waves", "sigmoids")}
    assert set(tried) & families
    assert set(tried) - families == {"linear_arx", "n4sid", "last_observation", "ensemble"}
    best = min(entry["score"] for name, entry in tried.items() if name != "ensemble")
    assert tried["ensemble"]["score"] <= best
    assert "each with a part of all recordings held out" in learned.record.notes[0]


def test_a_member_that_runs_away_is_replaced_by_the_linear_one(run: Trajectory) -> None:
    train = pendulum_runs(3, 80, 1)
    members: list[PredictiveModel[Any]] = [
        LastObservation().fit(train),
        LinearARX(past=4, future=3).fit(train),
    ]
    weights = np.tile([0.7, 0.3], (3, 1, 1))
    limits = OutputLimits(np.array([-0.2]), np.array([0.2]), 1)
    parts = EnsembleParts(tuple(members), weights, limits)
    model = EnsembleModel(members[0].signature, TrainingRecord(), parts)
    state = followed(model, run, 20)
    for seen, believed in ((0.1, True), (5.0, False)):
        after = model.update(state, run.actions[20], np.array([seen]))
        alone = [m.predict(s, run.actions[21:24]) for m, s in zip(members, after[0], strict=True)]
        expected = 0.7 * alone[0 if believed else 1] + 0.3 * alone[1]
        np.testing.assert_allclose(model.predict(after, run.actions[21:24]), expected)


def test_the_model_file_holds_the_whole_ensemble(
    learned: EnsembleModel, run: Trajectory, tmp_path: Path
) -> None:
    learned.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert isinstance(loaded, EnsembleModel)
    assert loaded.record.notes == learned.record.notes
    first, second = (m.predict(followed(m, run, 30), run.actions[30:45]) for m in (learned, loaded))
    np.testing.assert_array_equal(first, second)


@pytest.mark.long
def test_a_long_recording_is_cut_and_a_short_one_gives_a_single_model() -> None:
    learner = RFFPSR(**QUICK, narx_learning="off")
    assert isinstance(learner.fit(pendulum_runs(1, 300, 2)), EnsembleModel)
    assert isinstance(learner.fit(pendulum_runs(1, 90, 2)), RFFPSRModel)
    single = RFFPSR(**QUICK, narx_learning="off", folds=1).fit(pendulum_runs(9, 80, 0))
    assert isinstance(single, RFFPSRModel)
