"""Both stage ones against dense computations written from the paper, window by window."""

import numpy as np
import pytest

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.stage_one import (
    ConditionalStageOne,
    ConditioningForm,
    JointStageOne,
    StageOne,
    conditional_operator,
)

N, HISTORY, ACTIONS, OUTPUTS = 60, 4, 3, 2
RIDGE, REGULARISATION = 1e-2, 1e-3


def data() -> tuple[Array, Array, Array]:
    draw = np.random.default_rng(0)
    return (
        draw.standard_normal((N, HISTORY)),
        draw.standard_normal((N, ACTIONS)),
        draw.standard_normal((N, OUTPUTS)),
    )


def filled(stage: StageOne, chunk: int = N) -> StageOne:
    history, actions, outputs = data()
    for start in range(0, N, chunk):
        part = slice(start, start + chunk)
        stage.add(history[part], actions[part], outputs[part])
    return stage


@pytest.mark.parametrize("form", ["squared", "plain"])
def test_joint(form: ConditioningForm) -> None:
    history, actions, outputs = data()
    fitted = filled(JointStageOne(HISTORY, ACTIONS, OUTPUTS, form)).solve(RIDGE, REGULARISATION)
    operators = fitted(history)
    # T_oa and T_a as least squares with N lambda appended rows, then V for every window.
    penalty = np.sqrt(RIDGE * N) * np.eye(HISTORY)
    design = np.vstack([history, penalty])

    def regress(targets: Array) -> Array:
        padded = np.vstack([targets, np.zeros((HISTORY, targets.shape[1]))])
        return np.asarray(history @ np.linalg.lstsq(design, padded, rcond=None)[0])

    joint = regress(
        np.array([np.outer(o, a).ravel() for o, a in zip(outputs, actions, strict=True)])
    )
    action = regress(np.array([np.outer(a, a).ravel() for a in actions]))
    eye = REGULARISATION * np.eye(ACTIONS)
    for t in range(N):
        output_action = joint[t].reshape(OUTPUTS, ACTIONS)
        action_action = action[t].reshape(ACTIONS, ACTIONS)
        if form == "squared":
            inverse = np.linalg.inv(action_action @ action_action + eye)
            expected = output_action @ action_action @ inverse
        else:
            expected = output_action @ np.linalg.inv(action_action + eye)
        np.testing.assert_allclose(operators[t], expected, rtol=1e-7, atol=1e-9)


def test_conditional() -> None:
    history, actions, outputs = data()
    fitted = filled(ConditionalStageOne(HISTORY, ACTIONS, OUTPUTS)).solve(RIDGE, REGULARISATION)
    operators = fitted(history)
    design = np.array([np.kron(h, a) for h, a in zip(history, actions, strict=True)])
    size = design.shape[1]
    padded = np.vstack([design, np.sqrt(RIDGE * N) * np.eye(size)])
    targets = np.vstack([outputs, np.zeros((size, OUTPUTS))])
    tensor = np.linalg.lstsq(padded, targets, rcond=None)[0]  # ((h, a), o)
    for t in range(N):
        expected = np.zeros((OUTPUTS, ACTIONS))
        for a in range(ACTIONS):
            expected[:, a] = tensor.reshape(HISTORY, ACTIONS, OUTPUTS)[:, a].T @ history[t]
        np.testing.assert_allclose(operators[t], expected, rtol=1e-7, atol=1e-9)


def test_both_recover_a_conditional_operator_that_is_linear_in_history() -> None:
    """Independent truth: outputs are V(h) a, and the joint moments are linear in h."""
    draw = np.random.default_rng(1)
    tensor = draw.standard_normal((OUTPUTS, 2, ACTIONS))
    count = 20_000
    kinds = draw.integers(2, size=count)
    history = np.eye(2)[kinds]
    actions = draw.standard_normal((count, ACTIONS)) * np.array([[1.0], [2.0]])[kinds]
    outputs = np.einsum("oha,nh,na->no", tensor, history, actions)
    for stage in (
        JointStageOne(2, ACTIONS, OUTPUTS, "squared"),
        ConditionalStageOne(2, ACTIONS, OUTPUTS),
    ):
        stage.add(history, actions, outputs)
        operators = stage.solve(1e-12, 1e-12)(np.eye(2))
        np.testing.assert_allclose(operators, tensor.swapaxes(0, 1), atol=1e-6)


@pytest.mark.parametrize("chunk", [7, 30])
def test_chunks_do_not_matter(chunk: int) -> None:
    whole = filled(JointStageOne(HISTORY, ACTIONS, OUTPUTS, "squared"))
    parts = filled(JointStageOne(HISTORY, ACTIONS, OUTPUTS, "squared"), chunk)
    history = data()[0]
    np.testing.assert_allclose(
        parts.solve(RIDGE, REGULARISATION)(history),
        whole.solve(RIDGE, REGULARISATION)(history),
        rtol=1e-9,
    )


def test_squared_conditioning_stays_bounded_where_plain_does_not() -> None:
    """An estimated covariance with an eigenvalue near minus lambda: the reason for the lemma."""
    covariance = np.diag([1.0, -REGULARISATION * (1 + 1e-6)])[None]
    cross = np.ones((1, 1, 2))
    squared = conditional_operator(cross, covariance, REGULARISATION, "squared")
    plain = conditional_operator(cross, covariance, REGULARISATION, "plain")
    assert np.abs(squared).max() < 2
    assert np.abs(plain).max() > 1e6
