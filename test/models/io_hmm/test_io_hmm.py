"""Learned discrete models against the IO-HMMs they were learned from."""

import numpy as np
import pytest

from benchmarks.known_systems import IOHMM as KnownIOHMM
from benchmarks.known_systems import favouring_policy
from rffpsr_ros.data.likelihood_ratios import with_table_policy
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import Signature, TrainingRecord
from rffpsr_ros.models.io_hmm.discrete_system import (
    CountingStageOne,
    DiscreteOptions,
    DiscreteSystem,
    learn_discrete_systems,
    symbol_probabilities,
)
from rffpsr_ros.models.io_hmm.learner import IOHMM
from rffpsr_ros.models.io_hmm.model import IOHMMModel, IOHMMParts, IOHMMState
from rffpsr_ros.models.io_hmm.symbols import Codebook, indicators
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.importance import Importance, importance, weighted_runs
from rffpsr_ros.psr.stage_one import ConditionalStageOne, JointStageOne
from rffpsr_ros.recordings.trajectory import Trajectory

NAN = float("nan")


def one_step(model: IOHMMModel, run: Trajectory) -> Array:
    """Return the model's one-step probabilities (T, S) before each tick."""
    state, predictions = model.initial_state(), []
    for action, observation in zip(run.actions, run.observations, strict=True):
        predictions.append(model.probabilities(state, action[None])[0])
        state = model.update(state, action, observation)
    return np.array(predictions)


@pytest.fixture(scope="module")
def known() -> KnownIOHMM:
    return KnownIOHMM.random(0)


@pytest.fixture(scope="module")
def model(known: KnownIOHMM) -> IOHMMModel:
    return IOHMM().fit([known.simulate(20_000, 1)])


@pytest.fixture(scope="module")
def exact(known: KnownIOHMM) -> IOHMMModel:
    """Return the known system itself as a model: its beliefs are those of the hidden states."""
    extended = np.einsum("sao,sai->saoi", known.observation, known.transition)
    system = DiscreteSystem(known.observation, extended, known.start, np.ones(()))
    signature = Signature(("o",), ("a",), 1.0)
    symbols, choices = (Codebook(np.arange(size)[:, None] * 1.0) for size in (4, 3))
    return IOHMMModel(signature, TrainingRecord(), IOHMMParts(system, symbols, choices, past=1))


def test_probabilities_come_near_the_exact_filters(known: KnownIOHMM, model: IOHMMModel) -> None:
    run = known.simulate(1500, 2)
    truth = known.predictions(run)[50:]
    apart = np.abs(one_step(model, run)[50:] - truth).sum(1).mean()
    constant = np.bincount(run.observations[:, 0].astype(int)) / len(run)
    assert apart < 0.2 * np.abs(truth - constant).sum(1).mean()


def test_the_update_is_the_exact_filter(known: KnownIOHMM, exact: IOHMMModel) -> None:
    run = known.simulate(200, 3)
    observations = run.observations.copy()
    observations[np.random.default_rng(0).random(200) < 0.3] = NAN
    gaps = Trajectory(observations, run.actions)
    np.testing.assert_allclose(one_step(exact, gaps), known.predictions(gaps), atol=1e-12)


def test_a_missing_observation_is_marginalised(model: IOHMMModel) -> None:
    state = model.initial_state()
    for action in (0.0, 2.0, 1.0):
        acted = np.array([action])
        chance = model.probabilities(state, acted[None])[0]
        raw = np.einsum("p,pas->as", state.belief, model.parts.system.probability)[int(action)]
        possible = np.flatnonzero(chance > 1e-3)
        # Each symbol's belief, weighted by the chance that its own extended state gives it.
        slices = np.einsum("p,psi->si", state.belief, model.parts.system.extended[:, int(action)])
        total = slices.sum(0)
        after = model.update(state, acted, np.array([NAN]))
        np.testing.assert_allclose(
            after.belief, total / (total @ model.parts.system.total), atol=1e-12
        )
        for symbol in possible:
            seen = model.update(state, acted, model.parts.symbols.rows[symbol])
            share = slices[symbol] @ model.parts.system.total
            np.testing.assert_allclose(seen.belief * share, slices[symbol], atol=1e-12)
            assert share == pytest.approx(raw[symbol], abs=0.02)
        state = after


def test_what_was_seen_in_part_counts_as_any_symbol_that_agrees(exact: IOHMMModel) -> None:
    rows = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    two = IOHMMModel(
        Signature(("x", "y"), ("a",), 1.0),
        exact.record,
        exact.parts._replace(symbols=Codebook(rows)),
    )
    state, action = two.initial_state(), np.array([1.0])
    chance = two.probabilities(state, action[None])[0]
    parts = [two.update(state, action, rows[i]).belief for i in (2, 3)]
    expected = (chance[2] * parts[0] + chance[3] * parts[1]) / (chance[2] + chance[3])
    after = two.update(state, action, np.array([1.0, NAN]))
    np.testing.assert_allclose(after.belief, expected, atol=1e-12)


def test_indicator_columns_are_forecast_as_probabilities(known: KnownIOHMM) -> None:
    run = known.simulate(3000, 1)
    hot = indicators(run.observations[:, 0].astype(int), 4)
    model = IOHMM(past=2, future=1).fit([Trajectory(hot, run.actions)])
    forecast = model.predict(model.initial_state(), run.actions[:5])
    np.testing.assert_allclose(forecast.sum(1), 1.0, atol=1e-12)
    assert (forecast >= 0).all()


def test_what_was_impossible_begins_anew(exact: IOHMMModel) -> None:
    state = IOHMMState(np.zeros(5))
    after = exact.update(state, np.array([0.0]), np.array([1.0]))
    np.testing.assert_array_equal(after.belief, exact.parts.system.start)
    assert symbol_probabilities(exact.parts.system, np.zeros((1, 5)), np.array([0])).tolist() == [
        [0.25] * 4
    ]


def test_counting_is_joint_stage_one_of_indicators() -> None:
    draw = np.random.default_rng(0)
    history, actions, outputs = (indicators(draw.integers(n, size=500), n) for n in (6, 3, 4))
    weights = draw.random(500)
    counted, multiplied = CountingStageOne(6, 3, 4), JointStageOne(6, 3, 4, "squared")
    for part in (slice(0, 200), slice(200, 500)):
        for regression in (counted, multiplied):
            regression.add(history[part], actions[part], outputs[part], weights[part])
    np.testing.assert_allclose(
        counted.solve(1e-6, 1e-6)(np.eye(6)), multiplied.solve(1e-6, 1e-6)(np.eye(6)), atol=1e-9
    )


def test_counting_is_conditional_stage_one_of_indicators() -> None:
    draw = np.random.default_rng(0)
    history, actions, outputs = (indicators(draw.integers(n, size=500), n) for n in (6, 3, 4))
    weights = draw.random(500)
    counted = CountingStageOne(6, 3, 4, "conditional")
    multiplied = ConditionalStageOne(6, 3, 4)
    for part in (slice(0, 200), slice(200, 500)):
        for regression in (counted, multiplied):
            regression.add(history[part], actions[part], outputs[part], weights[part])
    np.testing.assert_allclose(
        counted.solve(1e-6, 1e-6)(np.eye(6)), multiplied.solve(1e-6, 1e-6)(np.eye(6)), atol=1e-9
    )


def test_conditional_stage_one_learns_what_joint_stage_one_does(known: KnownIOHMM) -> None:
    run, test = known.simulate(5000, 1), known.simulate(500, 2)
    truth = known.predictions(test)[50:]
    models = [IOHMM(past=2, future=1, stage_one=one).fit([run]) for one in ("joint", "conditional")]
    apart = [np.abs(one_step(model, test)[50:] - truth).sum(1).mean() for model in models]
    assert models[1].record.options["stage_one"] == "conditional"
    assert apart[1] == pytest.approx(apart[0], rel=0.1)
    with pytest.raises(InputError, match="'stage_one' is 'random'; it must be one of joint"):
        IOHMM(stage_one="random")  # type: ignore[arg-type]


LOOKING = favouring_policy(4, 3, 0.8)
TABLE = np.arange(4.0)[:, None], np.arange(3.0)[:, None], LOOKING


def total_variation(known: KnownIOHMM, run: Trajectory, weighting: Importance | None) -> float:
    """Return the distance of what is learned from the exact filter, on blind data."""
    codes = Run(run.observations, run.actions)
    counted = None if weighting is None else weighted_runs([codes], [run], weighting)
    (system,) = learn_discrete_systems([codes], 4, 3, DiscreteOptions(2, 1), [5], counted)
    symbols, choices = (Codebook(np.arange(size)[:, None] * 1.0) for size in (4, 3))
    parts = IOHMMParts(system, symbols, choices, past=2)
    model = IOHMMModel(Signature(("o",), ("a",), 1.0), TrainingRecord(), parts)
    test = known.simulate(1000, 2)
    apart = np.abs(one_step(model, test) - known.predictions(test))[100:]
    return float(apart.sum(1).mean() / 2)


@pytest.mark.parametrize("seed", [0, 1])
def test_weights_in_stage_one_halve_the_error_that_a_looking_policy_makes(seed: int) -> None:
    known = KnownIOHMM.random(seed)
    (run,) = with_table_policy([known.simulate(60_000, 100, LOOKING)], *TABLE)
    weighting = importance([run], 2, 1, held=1)
    assert weighting is not None
    # The first tick's ratio cancels: .42 of the windows count, where both would leave .18.
    assert weighting.effective / weighting.windows == pytest.approx(0.42, abs=0.01)
    plain, weighted = (total_variation(known, run, one) for one in (None, weighting))
    assert 0.14 < plain < 0.25
    assert weighted < 0.55 * plain
    # Both ticks' ratios do no better.
    both = importance([without_memory(run)], 2, 1)
    assert both is not None
    whole = total_variation(known, run, both._replace(length=2))
    assert weighted < 1.05 * whole


def without_memory(run: Trajectory) -> Trajectory:
    return Trajectory(run.observations, run.actions, likelihood_ratios=run.likelihood_ratios)


def test_a_known_policy_changes_what_is_learned_and_is_noted(known: KnownIOHMM) -> None:
    run = known.simulate(3000, 1, LOOKING)
    (weighted,) = with_table_policy([run], *TABLE)
    plain, model = (IOHMM(past=2, future=1).fit([one]) for one in (run, weighted))
    assert plain.record.notes == ()
    assert "over 1 tick after the first, whose ratio cancels" in model.record.notes[0]
    plans = run.actions[:5]
    forecasts = [one.probabilities(one.initial_state(), plans) for one in (plain, model)]
    assert np.abs(forecasts[0] - forecasts[1]).max() > 1e-3


def test_continuous_columns_are_refused() -> None:
    draw = np.random.default_rng(0)
    run = Trajectory(draw.normal(size=100), draw.integers(2, size=100))
    with pytest.raises(InputError, match=r"observations take 100 distinct values .* at most 64"):
        IOHMM().fit([run])
