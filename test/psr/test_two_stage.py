"""Stage two, contraction and initial state, against the formulas of the paper taken literally."""

import numpy as np
import pytest

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.windows import first_windows, window_chunks
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import khatri_rao
from rffpsr_ros.psr.feature_set import FeatureSet
from rffpsr_ros.psr.filter_step import Conditioning, Dynamics, filter_step
from rffpsr_ros.psr.system_map import SystemMap, contraction
from rffpsr_ros.psr.two_stage import (
    MANY_RECORDINGS,
    StageOneMethod,
    TwoStageOptions,
    learn_system,
    two_stage_regression,
)

LAMBDA = 0.01


def runs(count: int, ticks: int = 40) -> list[Run]:
    draw = np.random.default_rng(0)
    made = []
    for _ in range(count):
        actions = draw.uniform(-1, 1, (ticks, 1))
        state, seen = draw.standard_normal(), []
        for action in actions[:, 0]:
            state = 0.8 * np.sin(state) + action
            seen.append([state])
        made.append(Run(np.array(seen), actions))
    return made


def options(stage_one: StageOneMethod = "joint") -> TwoStageOptions:
    return TwoStageOptions(
        past=4, future=3, features=30, rank=8, state_rank=6, tolerance=1e-4, stage_one=stage_one
    )


def learn(recordings: list[Run], method: StageOneMethod = "joint") -> tuple[FeatureSet, SystemMap]:
    learned = two_stage_regression(recordings, options(method), np.random.default_rng(1))
    return learned.features, learned.system


def literal_step(
    features: FeatureSet, system: SystemMap, state: Array, action: Array, observation: Array
) -> Array:
    """One step of the paper's filter with every operator at its full size."""
    size = features.observation.size
    immediate = (system.immediate @ state).reshape(-1, features.action.size) @ action
    half = features.products @ immediate
    covariance = np.zeros((size, size))
    covariance[np.triu_indices(size)] = half
    covariance = np.triu(covariance) + np.triu(covariance, 1).T
    inverse = np.linalg.inv(covariance @ covariance + LAMBDA * np.eye(size))
    conditioner = inverse @ covariance @ observation
    shifted_actions = features.extended_action.reshape(
        features.action.size, -1, features.extended_action.shape[1]
    )
    by_action = np.einsum("abf,a->fb", shifted_actions, action)
    shifted = features.extended_observation.reshape(
        -1, size, features.extended_observation.shape[1]
    )
    by_observation = np.einsum("soe,o->se", shifted, conditioner)
    extended = (system.extended @ state).reshape(by_observation.shape[1], -1)
    operator = by_observation @ extended @ by_action
    return np.asarray(operator.ravel() @ system.state_projection)


@pytest.mark.parametrize("method", ["joint", "conditional", "random"])
def test_the_contracted_step_is_the_papers(method: StageOneMethod) -> None:
    features, system = learn(runs(6), method)
    tensors = contraction(features, system.state_projection).tensors
    dynamics = Dynamics(*tensors(system.extended, system.immediate), system.initial)
    recording = runs(1)[0]
    actions, observations = (
        features.action(recording.actions),
        features.observation(recording.observations),
    )
    state = system.initial
    for action, observation in zip(actions[:10], observations[:10], strict=True):
        expected = literal_step(features, system, state, action, observation)
        joined = khatri_rao(state[None], action[None])
        stepped, _ = filter_step(dynamics, Conditioning(LAMBDA), joined, observation[None])
        np.testing.assert_allclose(stepped[0], expected, rtol=1e-9, atol=1e-12)
        state = expected


def test_the_contractions_adjoint_is_its_transpose() -> None:
    features, system = learn(runs(6))
    maps = contraction(features, system.state_projection)
    draw = np.random.default_rng(2)
    extended, immediate = (draw.standard_normal(part.shape) for part in system[1:3])
    outputs = maps.tensors(extended, immediate)
    gradients = [draw.standard_normal(part.shape) for part in outputs]
    back = maps.adjoint(*gradients)
    forward = sum(float(np.sum(o * g)) for o, g in zip(outputs, gradients, strict=True))
    backward = float(np.sum(extended * back[0]) + np.sum(immediate * back[1]))
    assert forward == pytest.approx(backward, rel=1e-10)


def test_few_recordings_start_at_the_average_state() -> None:
    recordings = runs(6)
    features, _ = learn(recordings, "conditional")
    # In double precision; features and what is learned from them then have the same rounding.
    system = learn_system(features, recordings, options("conditional"), np.random.default_rng(2))
    # With conditional S1, Q_t is T x h: the average state belongs to the average history.
    chunks = [features(windows) for windows in window_chunks(recordings, 4, 3)]
    history = np.concatenate([chunk.history for chunk in chunks])
    joint, outputs = [], []
    for chunk in chunks:
        joint.append(khatri_rao(chunk.history, chunk.state.actions))
        outputs.append(chunk.state.outputs)
    inputs = np.concatenate(joint)
    penalty = options().ridge * len(inputs) * np.eye(inputs.shape[1])
    weights = np.linalg.solve(inputs.T @ inputs + penalty, inputs.T @ np.concatenate(outputs)).T
    tensor = weights.reshape(weights.shape[0], history.shape[1], -1)
    average = np.einsum("oha,h->oa", tensor, history.mean(0))
    np.testing.assert_allclose(average.ravel() @ system.state_projection, system.initial, atol=1e-6)


def test_many_recordings_regress_the_initial_state_on_their_starts() -> None:
    recordings = runs(MANY_RECORDINGS + 5)
    features, system = learn(recordings)
    observations, actions = first_windows(recordings, 3)
    inputs, outputs = features.future_action(actions), features.future_observation(observations)
    count = len(inputs)
    penalty = options().ridge * count * np.eye(inputs.shape[1])
    operator = np.linalg.solve(inputs.T @ inputs + penalty, inputs.T @ outputs).T
    np.testing.assert_allclose(
        operator.ravel() @ system.state_projection, system.initial, rtol=1e-6
    )


def test_random_weights_keep_the_learned_ones_size() -> None:
    _, learned = learn(runs(6))
    _, drawn = learn(runs(6), "random")
    for ours, theirs in zip(drawn[1:], learned[1:], strict=True):
        assert np.linalg.norm(ours) == pytest.approx(float(np.linalg.norm(theirs)))
        assert not np.allclose(ours, theirs)
