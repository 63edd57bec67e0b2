"""The prepared step computes what predictor and filter say, in either precision."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.episodes.trajectory import Trajectory
from rffpsr_ros.learning.arrays import Array, khatri_rao
from rffpsr_ros.learning.filtering import filter_step
from rffpsr_ros.learning.predictor import predict_observation
from rffpsr_ros.models.rff_psr import RFFPSRModel
from rffpsr_ros.models.rff_psr_learner import RFFPSR
from test.models.test_rff_psr import QUICK, two_channel_runs

HORIZON = 8


def straight(model: RFFPSRModel, run: Trajectory) -> tuple[Array, Array]:
    """Return beliefs and forecasts after every tick, from the equations as they stand."""
    frame, weights = model.parts.frame, model.parts.weights
    limits = frame.limits
    assert limits is not None
    observations = np.tile(frame.start.observation, (1, frame.past, 1))
    actions = np.tile(frame.start.action, (1, frame.past, 1))
    belief = weights.initial[None]
    acted = model.parts.action_scaling.apply(run.actions)
    seen = model.parts.observation_scaling.apply(run.observations)

    def tick(
        belief: Array, observations: Array, actions: Array, action: Array, observation: Array
    ) -> tuple[Array, Array, Array, Array]:
        joined = khatri_rao(belief, frame.action(np.clip(action, *limits[2:])[None]))
        actions = np.concatenate([actions, action[None, None]], axis=1)
        expected = predict_observation(weights, frame, joined, observations, actions).value
        taken = np.where(np.isnan(observation), expected, observation)
        features = frame.observation(np.clip(taken, *limits[:2]))
        belief, _ = filter_step(weights, frame.conditioning, joined, features)
        observations = np.concatenate([observations[:, 1:], taken[:, None]], axis=1)
        return belief, observations, actions[:, 1:], expected[0]

    beliefs, forecasts = [], []
    for t in range(len(run) - HORIZON):
        belief, observations, actions, _ = tick(belief, observations, actions, acted[t], seen[t])
        if t == 0:
            observations = np.repeat(observations[:, -1:], frame.past, axis=1)
            actions = np.repeat(actions[:, -1:], frame.past, axis=1)
        beliefs.append(belief[0])
        ahead, rolled = [], (belief, observations, actions)
        for h in range(t + 1, t + 1 + HORIZON):
            *rolled_on, expected = tick(*rolled, acted[h], np.full(seen.shape[1], np.nan))
            rolled = tuple(rolled_on)  # type: ignore[assignment]
            ahead.append(model.parts.observation_scaling.invert(expected))
        forecasts.append(ahead)
    return np.array(beliefs), np.array(forecasts)


def followed(model: RFFPSRModel, run: Trajectory) -> tuple[Array, Array]:
    """Return beliefs and forecasts after every tick, by the contract."""
    state, beliefs, forecasts = model.initial_state(), [], []
    for t in range(len(run) - HORIZON):
        state = model.update(state, run.actions[t], run.observations[t])
        beliefs.append(state.belief)
        forecasts.append(model.predict(state, run.actions[t + 1 : t + 1 + HORIZON]))
    return np.array(beliefs), np.array(forecasts)


@pytest.fixture(scope="module", params=["every part", "no direct term", "the state alone"])
def model(request: pytest.FixtureRequest) -> RFFPSRModel:
    without: dict[str, dict[str, Any]] = {
        "every part": {},
        "no direct term": {"direct_features": 0},
        "the state alone": {"direct_features": 0, "base_past": 0, "regularisation": 1e-2},
    }
    return RFFPSR(**{**QUICK, **without[request.param]}).fit(two_channel_runs())


@pytest.fixture(scope="module")
def run() -> Trajectory:
    """Return a run with gaps, and with a value out of range."""
    (run,) = two_channel_runs(1, ticks=120, seed=9)
    observations, actions = run.observations.copy(), run.actions.copy()
    observations[30:33, 0] = np.nan
    observations[50:52] = np.nan
    actions[70] = 1.5
    observations[80, 1] += 0.5
    return Trajectory(observations, actions, run.period)


@pytest.mark.parametrize(("precision", "tolerance"), [("double", 1e-11), ("single", 1e-5)])
def test_the_prepared_step_is_the_method(
    model: RFFPSRModel, run: Trajectory, precision: str, tolerance: float
) -> None:
    unwatched = model.parts._replace(guards=model.parts.guards._replace(surprise=np.inf))
    model = RFFPSRModel(model.signature, model.record, unwatched)
    expected = straight(model, run)
    found = followed(model.served() if precision == "single" else model, run)
    for one, other in zip(found, expected, strict=True):
        scale = np.abs(other).max()
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * scale)


def test_a_copied_or_sent_model_is_the_same_model(model: RFFPSRModel, run: Trajectory) -> None:
    short = run.slice(0, 20)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        for one, two in zip(followed(model, short), followed(other, short), strict=True):
            np.testing.assert_array_equal(one, two)
