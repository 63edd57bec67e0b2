"""Long runs, bursts of nonsense, starts in the middle: the filter stays, or comes back."""

from collections.abc import Callable

import numpy as np
import pytest

from rffpsr_ros.models.rff_psr.filter_monitor import FilterMonitor
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.state import RFFPSRState
from rffpsr_ros.models.state_batches import stack_states
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory
from test.models.conftest import synthetic_runs

HORIZON = 5


def squared_errors(
    model: RFFPSRModel, run: Trajectory, fed: Trajectory | None = None
) -> tuple[Array, RFFPSRState]:
    """Return the forecast's squared error (T,) at each tick, and the last state.

    The model sees ``fed``; it is judged by what really happened in ``run``.
    """
    fed = fed or run
    states, state = [], model.initial_state()
    for action, observation in zip(fed.actions, fed.observations, strict=True):
        states.append(state)
        state = model.update(state, action, observation)
    count = len(run) - HORIZON + 1
    rows = np.arange(count)[:, None] + np.arange(HORIZON)
    forecasts = model.predict(stack_states(states[:count]), run.actions[rows])
    return ((forecasts - run.observations[rows]) ** 2).sum((1, 2)), state


def burst(what: str, run: Trajectory, start: int) -> Trajectory:
    observations, actions = run.observations.copy(), run.actions.copy()
    spell = slice(start, start + 50)
    if what == "observations":
        observations[spell] = 100 * np.abs(run.observations).max()
    elif what == "silence":
        observations[spell] = np.nan
    else:
        actions[spell] = 10 * np.sign(run.actions[spell])
    return Trajectory(observations, actions, run.period)


@pytest.mark.parametrize("what", ["observations", "silence", "actions"])
def test_the_error_is_back_soon_after_a_burst(
    synthetic_model: RFFPSRModel, long_run: Trajectory, what: str
) -> None:
    normal, _ = squared_errors(synthetic_model, long_run)
    starts = range(100, 2700, 500)
    after = []
    for start in starts:
        run = long_run.slice(start - 100, start + 210)
        # The system itself is left alone: only what the filter is told is wrong.
        fed = burst(what, run, 100)
        errors, state = squared_errors(synthetic_model, run, fed)
        assert np.isfinite(errors).all()
        assert np.isfinite(state.belief).all()
        after.append(errors[200:300].mean())
    usual = np.mean([normal[start + 100 : start + 200].mean() for start in starts])
    assert np.mean(after) < 1.5 * usual


def test_events_are_counted(synthetic_model: RFFPSRModel, long_run: Trajectory) -> None:
    run = long_run.slice(0, 300)
    _, calm = squared_errors(synthetic_model, run)
    counts = synthetic_model.events(calm)
    assert counts.missing == counts.rebuilds == 0
    _, state = squared_errors(synthetic_model, run, burst("observations", run, 100))
    assert synthetic_model.events(state).limited_observations >= 50
    _, state = squared_errors(synthetic_model, run, burst("actions", run, 100))
    assert synthetic_model.events(state).limited_actions >= 50
    _, state = squared_errors(synthetic_model, run, burst("silence", run, 100))
    assert synthetic_model.events(state).missing == 50


def collapsed(belief: Array) -> Array:
    return np.zeros_like(belief)


def blown_up(belief: Array) -> Array:
    return 1e12 * belief


def undefined(belief: Array) -> Array:
    return np.full_like(belief, np.nan)


@pytest.mark.parametrize("damage", [collapsed, blown_up, undefined])
def test_a_lost_belief_is_rebuilt_from_the_recent_past(
    synthetic_model: RFFPSRModel, long_run: Trajectory, damage: Callable[[Array], Array]
) -> None:
    """Zero is absorbing: without the guard the belief would stay there for ever."""
    state = synthetic_model.initial_state()
    for t in range(200):
        state = synthetic_model.update(state, long_run.actions[t], long_run.observations[t])
    lost = state._replace(belief=damage(state.belief))
    for t in range(200, 230):
        state = synthetic_model.update(state, long_run.actions[t], long_run.observations[t])
        lost = synthetic_model.update(lost, long_run.actions[t], long_run.observations[t])
    assert synthetic_model.events(lost).rebuilds == 1
    plan = long_run.actions[230:240]
    rebuilt, undisturbed = (synthetic_model.predict(s, plan) for s in (lost, state))
    spread = np.std(long_run.observations)
    np.testing.assert_allclose(rebuilt, undisturbed, atol=0.1 * float(spread))
    unguarded = RFFPSRModel(
        synthetic_model.signature,
        synthetic_model.record,
        synthetic_model.parts._replace(monitor=FilterMonitor(longest=np.inf)),
    )
    if damage is collapsed:
        gone = unguarded.update(
            lost._replace(belief=collapsed(lost.belief)), long_run.actions[0], np.ones(1)
        )
        assert not gone.belief.any()


def test_a_start_in_mid_recording(synthetic_model: RFFPSRModel, long_run: Trajectory) -> None:
    """Twenty ticks after the history, forecasts are nearly those of a filter that ran all along."""
    past = synthetic_model.parts.history.past
    running, entered = [], []
    state = synthetic_model.initial_state()
    states = []
    for action, observation in zip(long_run.actions, long_run.observations, strict=True):
        states.append(state)
        state = synthetic_model.update(state, action, observation)
    for start in range(100, 2900, 40):
        stop = start + past + 20
        history = slice(start, stop)
        fresh = synthetic_model.state_from_history(
            long_run.observations[history], long_run.actions[history]
        )
        plan = long_run.actions[stop : stop + HORIZON]
        truth = long_run.observations[stop : stop + HORIZON]
        entered.append(np.square(synthetic_model.predict(fresh, plan) - truth).mean())
        running.append(np.square(synthetic_model.predict(states[stop], plan) - truth).mean())
    assert np.mean(entered) < 1.1 * np.mean(running)


def test_a_history_shorter_than_the_regression_needs(
    synthetic_model: RFFPSRModel, long_run: Trajectory
) -> None:
    short = synthetic_model.state_from_history(long_run.observations[:3], long_run.actions[:3])
    state = synthetic_model.initial_state()
    for t in range(3):
        state = synthetic_model.update(state, long_run.actions[t], long_run.observations[t])
    np.testing.assert_array_equal(short.belief, state.belief)


@pytest.mark.long
def test_a_hundred_thousand_steps(synthetic_model: RFFPSRModel) -> None:
    """One filter, to the end as good as filters started shortly before, on the same ticks."""
    (once,) = synthetic_runs(1, 5_000, 11)
    # The same run over and over, as a bag that loops: simulating all of it would take minutes.
    run = Trajectory(np.tile(once.observations, (20, 1)), np.tile(once.actions, (20, 1)))
    every, warm_up = 1000, 100
    blocks = np.arange(every // 2, len(run) - every, every)
    fresh = stack_states([synthetic_model.initial_state()] * len(blocks))
    for t in range(warm_up):
        fresh = synthetic_model.update(fresh, run.actions[blocks + t], run.observations[blocks + t])
    judged = blocks + warm_up
    kept, state = [], synthetic_model.initial_state()
    for t in range(len(run)):
        if t in judged:
            kept.append(state)
        state = synthetic_model.update(state, run.actions[t], run.observations[t])
    assert np.isfinite(state.belief).all()
    ticks = judged[:, None] + np.arange(HORIZON)
    errors = [
        np.square(synthetic_model.predict(states, run.actions[ticks]) - run.observations[ticks])
        for states in (stack_states(kept), fresh)
    ]
    assert np.isfinite(errors).all()
    assert np.mean(errors[0]) < 1.2 * np.mean(errors[1])
