"""A robot that changed is forecast well again; one that did not, as well as without adaptation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.adaptation.adaptive_model import (
    LONGEST,
    AdaptiveModel,
    AdaptiveState,
    taken_over,
)
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.arx.model import LinearARXModel
from rffpsr_ros.models.bands import conformal_bands
from rffpsr_ros.models.ensemble.model import EnsembleModel, EnsembleParts
from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.models.input_gate import InputRange, TrainedRange
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.models.state_batches import stack_states
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.simulation.excitation import uniform_hold
from rffpsr_ros.simulation.system import dataset, open_loop, simulate

HORIZON, TICKS, CHANGE = 10, 900, 300


class Mass:
    """A mass on a spring that a motor moves, and whose position is seen."""

    period = 0.05
    observation_names = ("position",)
    action_names = ("force",)
    action_limits = (np.array([-1.0]), np.array([1.0]))

    def __init__(self, mass: float = 1.0) -> None:
        step = self.period / mass
        # Semi-implicit Euler: the speed first, then the position by the new speed.
        speed = np.array([-2.0 * step, 1 - 0.6 * step])
        self._moves = np.stack([[1.0, 0.0] + self.period * speed, speed])
        self._pushes = step * np.array([self.period, 1.0])

    def initial_state(self, generator: np.random.Generator) -> Array:
        return generator.uniform(-0.2, 0.2, 2)

    def step(self, state: Array, action: Array) -> Array:
        moved: Array = state @ self._moves.T + action * self._pushes
        return moved

    def observe(self, state: Array) -> Array:
        return state[..., :1]


def runs(mass: Mass, count: int, ticks: int, seed: int) -> list[Trajectory]:
    low, high = mass.action_limits
    return dataset(
        mass,
        lambda generator: open_loop(uniform_hold(generator, low, high, mass.period, 0.2)),
        count,
        ticks,
        seed,
        noise=0.01,
    )


def changed(run: Trajectory, other: Mass) -> Trajectory:
    """Return a run that goes on as another robot from tick `CHANGE`, without a jump."""
    position = run.observations[CHANGE - 2 : CHANGE, 0]
    state = np.array([position[1], (position[1] - position[0]) / run.period])
    later = simulate(other, run.actions[CHANGE:], initial_state=state)
    noise = 0.003 * np.random.default_rng(CHANGE).normal(size=later.observations.shape)
    observations = np.concatenate([run.observations[:CHANGE], later.observations + noise])
    return Trajectory(observations, run.actions, run.period)


@pytest.fixture(scope="module")
def model() -> LinearARXModel:
    learned = LinearARX(past=8, future=HORIZON).fit(runs(Mass(), 10, 200, 0))
    errors = [errors_by_origin(learned, run, HORIZON, 20) for run in runs(Mass(), 10, 200, 1)]
    return learned.replaced(bands=conformal_bands(np.concatenate(errors)))


@pytest.fixture(scope="module")
def same() -> list[Trajectory]:
    return runs(Mass(), 6, TICKS, 2)


@pytest.fixture(scope="module")
def heavy(same: list[Trajectory]) -> Trajectory:
    return changed(same[0], Mass(3.0))


def errors(model: Any, run: Trajectory, horizon: int = HORIZON) -> Array:
    return errors_by_origin(model, run, horizon)


def size(errors: Array, first: int, last: int | None = None) -> float:
    """Return the root mean square at the longest horizon."""
    return float(np.sqrt((errors[first:last, -1] ** 2).mean()))


def last_state(model: AdaptiveModel, run: Trajectory) -> AdaptiveState:
    state = model.initial_state()
    for action, seen in zip(run.actions, run.observations, strict=True):
        state = model.update(state, action, seen)
    return state


def test_a_changed_robot_is_soon_forecast_well_again(
    model: LinearARXModel, heavy: Trajectory
) -> None:
    plain, corrected = errors(model, heavy), errors(AdaptiveModel(model, HORIZON), heavy)
    soon = CHANGE + 200
    assert size(plain, soon) > 5 * size(plain, 50, CHANGE - HORIZON)  # else nothing is shown
    assert size(corrected, soon) < 0.5 * size(plain, soon)


def test_without_a_change_adaptation_costs_next_to_nothing(
    model: LinearARXModel, same: list[Trajectory]
) -> None:
    adaptive = AdaptiveModel(model, HORIZON)
    plain = np.concatenate([errors(model, run) for run in same])
    corrected = np.concatenate([errors(adaptive, run) for run in same])
    ratio = np.sqrt((corrected**2).mean(axis=0) / (plain**2).mean(axis=0))
    assert (ratio < 1.02).all()


FAULTS: dict[str, Callable[[Array, np.random.Generator], Array]] = {
    "spikes": lambda seen, generator: seen + 5 * generator.normal(size=seen.shape),
    "stuck": lambda seen, generator: np.repeat(seen[:1], len(seen), axis=0),
    "zeros": lambda seen, generator: np.zeros_like(seen),
    "silence": lambda seen, generator: np.full_like(seen, np.nan),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("robot", ["same", "heavy"])
def test_a_burst_of_faults_does_not_move_it(
    model: LinearARXModel, same: list[Trajectory], heavy: Trajectory, robot: str, fault: str
) -> None:
    run, adaptive = same[0] if robot == "same" else heavy, AdaptiveModel(model, HORIZON)
    burst, later = slice(600, 620), slice(640, 740)
    seen = run.observations.copy()
    seen[burst] = FAULTS[fault](seen[burst], np.random.default_rng(3))
    faulty = Trajectory(seen, run.actions, run.period)
    without, after = errors(adaptive, run)[later], errors(adaptive, faulty)[later]
    assert size(after, 0) < 1.1 * size(without, 0)
    if robot == "heavy":
        assert size(after, 0) < 0.5 * size(errors(model, faulty)[later], 0)


def test_a_change_is_learned_however_small_errors_were_in_training(model: LinearARXModel) -> None:
    """In a simulation without noise they are a ten-thousandth of those after a change."""
    assert model.bands is not None
    exact = model.replaced(bands=model.bands._replace(widths=1e-4 * model.bands.widths))
    (run,) = runs(Mass(3.0), 1, 260, 9)
    plain, corrected = errors(model, run), errors(AdaptiveModel(exact, HORIZON), run)
    assert size(corrected, 150) < 0.7 * size(plain, 150)


def test_what_did_harm_is_undone(model: LinearARXModel, heavy: Trajectory) -> None:
    """The payload is put down again: nothing that was learned of it may stay."""
    adaptive = AdaptiveModel(model, HORIZON)
    (light,) = runs(Mass(), 1, 500, 4)
    both = Trajectory(
        np.concatenate([heavy.observations, light.observations]),
        np.concatenate([heavy.actions, light.actions]),
        heavy.period,
    )
    plain, corrected = errors(model, both), errors(adaptive, both)
    assert last_state(adaptive, both).memory.correction.counts.undone > 0
    assert size(corrected, len(heavy) + 150) < 1.02 * size(plain, len(heavy) + 150)


def test_nothing_is_learned_far_outside_the_trained_range(
    model: LinearARXModel, same: list[Trajectory]
) -> None:
    adaptive = AdaptiveModel(model, HORIZON)
    outside = Trajectory(same[0].observations + 5.0, same[0].actions, same[0].period)
    correction = last_state(adaptive, outside).memory.correction
    assert correction.counts.learned == 0
    assert correction.counts.rejected > 100
    assert not correction.used
    commands = Trajectory(same[0].observations, same[0].actions + 9.0, same[0].period)
    assert last_state(adaptive, commands).memory.correction.counts.learned == 0


def test_a_robot_at_rest_tells_nothing_and_what_was_learned_stays(
    model: LinearARXModel, heavy: Trajectory
) -> None:
    adaptive = AdaptiveModel(model, HORIZON)
    (again,) = runs(Mass(3.0), 1, 100, 8)
    rest = np.zeros((3000, 1))
    run = Trajectory(
        np.concatenate([heavy.observations, rest, again.observations]),
        np.concatenate([heavy.actions, rest, again.actions]),
        heavy.period,
    )
    begun, ended = last_state(adaptive, heavy), last_state(adaptive, run.slice(0, TICKS + 3000))
    counts, before = (state.memory.correction.counts for state in (ended, begun))
    assert counts.frozen - before.frozen > 1000
    assert counts.learned - before.learned < 50
    moving = slice(TICKS + 3000, None)
    assert size(errors(adaptive, run)[moving], 0) < 0.75 * size(errors(model, run)[moving], 0)


def test_missing_observations_are_no_zeros(model: LinearARXModel, heavy: Trajectory) -> None:
    seen = heavy.observations.copy()
    seen[::3] = np.nan
    faulty = Trajectory(seen, heavy.actions, heavy.period)
    soon = CHANGE + 200
    plain = errors(model, faulty)[soon:, -1]
    corrected = errors(AdaptiveModel(model, HORIZON), faulty)[soon:, -1]
    assert np.nanmean(corrected**2) < 0.5 * np.nanmean(plain**2)


def test_plans_are_corrected_alike_alone_and_in_batches(
    model: LinearARXModel, heavy: Trajectory
) -> None:
    adaptive = AdaptiveModel(model, HORIZON)
    states = [last_state(adaptive, heavy.slice(0, end)) for end in (500, 700, 900)]
    plans = np.random.default_rng(5).uniform(-1, 1, (3, 25, 1))
    alone = [adaptive.predict(states[-1], plan) for plan in plans]
    np.testing.assert_allclose(adaptive.predict(states[-1], plans), alone, atol=1e-12)
    each = [adaptive.predict(one, plan) for one, plan in zip(states, plans, strict=True)]
    np.testing.assert_allclose(adaptive.predict(stack_states(states), plans), each, atol=1e-12)
    plain = [model.predict(one.belief, plan) for one, plan in zip(states, plans, strict=True)]
    change = np.array(each) - plain
    assert np.abs(change[:, 5]).min() > 1e-3
    np.testing.assert_allclose(change[:, HORIZON:], change[:, [HORIZON - 1] * 15], atol=1e-12)


def test_ensembles_are_corrected_however_they_run(model: LinearARXModel, heavy: Trajectory) -> None:
    """Live all members run in one compiled call, from one array."""
    single = SingleRFFPSR(iterations=1, features=20, past=6, future=HORIZON, arx_past=6)
    members = (single.fit(runs(Mass(), 4, 100, 0)), model)
    halves = np.full((HORIZON, 1, 2), 0.5)
    parts = EnsembleParts(members, halves)
    ensemble = EnsembleModel(model.signature, model.record, parts, model.bands)
    plain, soon = errors(ensemble, heavy), CHANGE + 200
    corrected = errors(AdaptiveModel(ensemble, HORIZON), heavy)
    assert size(corrected, soon) < 0.6 * size(plain, soon)
    live = errors(AdaptiveModel(ensemble.inference_model(), HORIZON), heavy)
    # In single precision a bound may be met a tick sooner; that tick's forecasts then differ.
    assert np.sqrt(np.mean((live - corrected) ** 2)) < 2e-4


def test_a_row_depends_on_the_actions_until_then_only(
    model: LinearARXModel, heavy: Trajectory
) -> None:
    adaptive = AdaptiveModel(model, HORIZON)
    state = last_state(adaptive, heavy)
    plan = np.random.default_rng(6).uniform(-1, 1, (HORIZON, 1))
    whole = adaptive.predict(state, plan)
    other = plan.copy()
    other[6:] = 0.0
    np.testing.assert_allclose(adaptive.predict(state, other)[:6], whole[:6], atol=1e-12)
    assert abs(adaptive.predict(state, other)[6:] - whole[6:]).max() > 1e-4
    for steps in (1, 4):
        np.testing.assert_allclose(adaptive.predict(state, plan[:steps]), whole[:steps], atol=1e-12)


@pytest.mark.parametrize("missing", [False, True])
def test_derivatives_by_the_actions_are_those_of_the_corrected_forecast(
    model: LinearARXModel, heavy: Trajectory, missing: bool
) -> None:
    adaptive = AdaptiveModel(model, HORIZON)
    state = last_state(adaptive, heavy)
    if missing:  # since the belief began
        state = taken_over(adaptive, adaptive.initial_state(), state)
    plan = np.random.default_rng(6).uniform(-1, 1, (HORIZON + 2, 1))
    exact = adaptive.jacobian(state, plan)
    size = 1e-6
    for tick in range(len(plan)):
        step = np.zeros_like(plan)
        step[tick] = size
        ahead, behind = adaptive.predict(state, plan + step), adaptive.predict(state, plan - step)
        np.testing.assert_allclose(exact[:, :, tick, 0], (ahead - behind) / (2 * size), atol=1e-7)
    assert np.abs(exact - model.jacobian(state.belief, plan)).max() > 1e-3
    both = adaptive.jacobian(state, np.stack([plan, 0.5 * plan]))
    np.testing.assert_allclose(both[0], exact, atol=1e-12)
    states = stack_states([state, state])
    np.testing.assert_allclose(adaptive.jacobian(states, np.stack([plan] * 2))[1], exact)


def test_what_is_held_at_a_bound_depends_on_no_action(
    model: LinearARXModel, heavy: Trajectory
) -> None:
    adaptive = AdaptiveModel(model, HORIZON)
    state, generator = last_state(adaptive, heavy), np.random.default_rng(7)
    for plan in generator.uniform(-40, 40, (50, HORIZON, 1)):
        exact = adaptive.jacobian(state, plan)
        step = np.zeros_like(plan)
        step[2] = 1e-7
        ahead, behind = adaptive.predict(state, plan + step), adaptive.predict(state, plan - step)
        np.testing.assert_allclose(exact[:, :, 2, 0], (ahead - behind) / 2e-7, atol=1e-5)


@pytest.mark.parametrize("horizon", [1, 3, 200])
def test_any_horizon_can_be_corrected(
    model: LinearARXModel, heavy: Trajectory, horizon: int
) -> None:
    adaptive = AdaptiveModel(model, horizon)
    correction = last_state(adaptive, heavy).memory.correction
    assert correction.counts.learned > 20
    assert len(correction.gain) == min(horizon, LONGEST)
    assert np.isfinite(errors(adaptive, heavy, horizon)).all()


def test_at_a_high_rate_it_is_learned_from_ten_forecasts_a_second(
    model: LinearARXModel, heavy: Trajectory
) -> None:
    """What a robot does in less is all the same, and would be forgotten at once."""
    signature = replace(model.signature, period=0.001)
    fast = AdaptiveModel(model.replaced(signature=signature), HORIZON)
    counts = last_state(fast, heavy).memory.correction.counts
    assert sum(counts) == TICKS // 100


def test_many_observations_are_corrected_each_by_itself(heavy: Trajectory) -> None:
    def copied(run: Trajectory) -> Trajectory:
        return Trajectory(np.repeat(run.observations, 20, axis=1), run.actions, run.period)

    train = [copied(run) for run in runs(Mass(), 10, 200, 0)]
    model = LinearARX(past=3, future=HORIZON).fit(train)
    adaptive, run = AdaptiveModel(model, HORIZON), copied(heavy)
    soon = CHANGE + 200
    assert size(errors(adaptive, run), soon) < 0.7 * size(errors(model, run), soon)
    state, plan = last_state(adaptive, run), run.actions[:HORIZON]
    assert state.memory.correction.weights.shape == (HORIZON, 20, 6, 1)
    step = np.zeros_like(plan)
    step[3] = 1e-6
    ahead, behind = adaptive.predict(state, plan + step), adaptive.predict(state, plan - step)
    exact = adaptive.jacobian(state, plan)[:, :, 3, 0]
    np.testing.assert_allclose(exact, (ahead - behind) / 2e-6, atol=1e-7)


def test_forecasts_are_the_models_bit_for_bit_until_a_correction_is_sure(
    model: LinearARXModel, same: list[Trajectory]
) -> None:
    early = same[0].slice(0, 40)
    np.testing.assert_array_equal(
        errors(AdaptiveModel(model, HORIZON), early), errors(model, early)
    )


def test_a_correction_stays_within_the_trained_range(
    model: LinearARXModel, heavy: Trajectory
) -> None:
    adaptive = AdaptiveModel(model, HORIZON)
    known = model.trained_range.observations
    assert known is not None
    state, generator = last_state(adaptive, heavy), np.random.default_rng(7)
    plans = generator.uniform(-40, 40, (200, HORIZON, 1))
    plain, corrected = model.predict(state.belief, plans), adaptive.predict(state, plans)
    inside = (plain >= known.low) & (plain <= known.high)
    assert not inside.all()
    kept = (corrected >= known.low) & (corrected <= known.high)
    assert kept[inside].all()
    assert (
        np.abs(corrected)
        <= np.maximum(np.abs(plain), np.abs([known.low, known.high]).max()) + 1e-12
    ).all()


def test_what_was_learned_is_taken_over_where_it_fits(
    model: LinearARXModel, heavy: Trajectory
) -> None:
    adaptive = AdaptiveModel(model, HORIZON)
    state = last_state(adaptive, heavy)
    anew = taken_over(adaptive, adaptive.initial_state(), state)
    assert anew.memory.correction is state.memory.correction
    assert anew.memory.recent == ()
    assert taken_over(model, state, state) is state.belief
    other = AdaptiveModel(model, 5)
    assert not taken_over(other, state, state).memory.correction.used
    assert not taken_over(adaptive, state.belief, state.belief).memory.correction.used
    assert taken_over(adaptive, None, state) is None


def test_a_model_that_knows_no_range_cannot_adapt(model: LinearARXModel) -> None:
    class Unknowing(LinearARXModel):
        @property
        def trained_range(self) -> TrainedRange:
            return TrainedRange()

    unknowing = Unknowing(model.signature, model.record, model.parts)
    with pytest.raises(InputError, match="adapt needs a model that knows the range"):
        AdaptiveModel(unknowing, HORIZON)


def test_a_column_of_unknown_range_is_left_as_it_is(
    model: LinearARXModel, heavy: Trajectory
) -> None:
    class Forgetful(LinearARXModel):
        @property
        def trained_range(self) -> TrainedRange:
            unknown = InputRange(np.array([np.nan]), np.array([np.nan]))
            return TrainedRange(unknown, unknown)

    forgetful = Forgetful(model.signature, model.record, model.parts, model.bands)
    adapted = errors(AdaptiveModel(forgetful, HORIZON), heavy)
    np.testing.assert_array_equal(adapted, errors(model, heavy))


def test_it_is_never_stored(model: LinearARXModel, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        AdaptiveModel(model, HORIZON).save(tmp_path / "model.psr")
    assert not list(tmp_path.iterdir())
