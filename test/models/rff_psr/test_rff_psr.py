"""The fitted RFF-PSR keeps the contract of every model."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.state import RFFPSRState
from rffpsr_ros.models.state_batches import stack_states
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.fourier_features import FeatureMap
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory

QUICK: dict[str, Any] = {"features": 20, "iterations": 10, "narx_features": 10}


def two_channel_runs(count: int = 5, ticks: int = 80, seed: int = 0) -> list[Trajectory]:
    """Two observations, two actions, unequal lengths: a damped oscillator and an integrator."""
    draw = np.random.default_rng(seed)
    runs = []
    for index in range(count):
        actions = draw.uniform(-1, 1, (ticks + 10 * index, 2))
        state, seen = np.zeros(3), []
        for action in actions:
            position, speed, level = state
            speed += 0.3 * (action[0] - position - 0.2 * speed)
            state = np.array([position + 0.3 * speed, speed, level + 0.05 * action[1]])
            seen.append(state[[0, 2]] + 0.01 * draw.standard_normal(2))
        runs.append(Trajectory(seen, actions, 0.1, ["angle", "level"], ["torque", "pump"]))
    return runs


def follow(model: RFFPSRModel, run: Trajectory, ticks: int) -> RFFPSRState:
    state = model.initial_state()
    for t in range(ticks):
        state = model.update(state, run.actions[t], run.observations[t])
    return state


def test_it_learns_what_it_was_made_for(synthetic_model: RFFPSRModel, long_run: Trajectory) -> None:
    errors, last = [], []
    state = synthetic_model.initial_state()
    for t in range(300):
        truth = long_run.observations[t : t + 10, 0]
        if t >= 10:
            errors.append(
                synthetic_model.predict(state, long_run.actions[t : t + 10])[:, 0] - truth
            )
            last.append(long_run.observations[t - 1, 0] - truth)
        state = synthetic_model.update(state, long_run.actions[t], long_run.observations[t])
    assert np.mean(np.square(errors)) < 0.05 * np.mean(np.square(last))


def test_a_forecast_does_not_see_later_actions(
    synthetic_model: RFFPSRModel, long_run: Trajectory
) -> None:
    state = follow(synthetic_model, long_run, 30)
    plan = long_run.actions[30:40]
    forecast = synthetic_model.predict(state, plan)
    for horizon in range(1, 10):
        changed = plan.copy()
        changed[horizon:] = 0.4
        np.testing.assert_array_equal(
            synthetic_model.predict(state, changed)[:horizon], forecast[:horizon]
        )
        assert not np.allclose(
            synthetic_model.predict(state, changed)[horizon:], forecast[horizon:]
        )


def test_any_horizon_begins_alike(synthetic_model: RFFPSRModel, long_run: Trajectory) -> None:
    state = follow(synthetic_model, long_run, 30)
    long = synthetic_model.predict(state, long_run.actions[30:100])
    assert long.shape == (70, 1)
    assert np.isfinite(long).all()
    np.testing.assert_array_equal(synthetic_model.predict(state, long_run.actions[30:33]), long[:3])


def test_a_batch_is_its_members(synthetic_model: RFFPSRModel, long_run: Trajectory) -> None:
    states = [follow(synthetic_model, long_run, ticks) for ticks in (5, 40, 41)]
    batch = stack_states(states)
    plans = np.stack([long_run.actions[i : i + 6] for i in (50, 60, 70)])
    together = synthetic_model.predict(batch, plans)
    for state, plan, forecast in zip(states, plans, together, strict=True):
        np.testing.assert_allclose(synthetic_model.predict(state, plan), forecast, atol=1e-12)
    shared = synthetic_model.predict(states[1], plans)
    np.testing.assert_allclose(shared[1], together[1], atol=1e-12)
    observations = np.array([[0.3], [np.nan], [-50.0]])
    after = synthetic_model.update(batch, plans[:, 0], observations)
    for index, state in enumerate(states):
        one = synthetic_model.update(state, plans[index, 0], observations[index])
        for part, expected in zip(one, RFFPSRState(*(p[index] for p in after)), strict=True):
            np.testing.assert_allclose(part, expected, atol=1e-12)


def test_the_model_file_holds_the_whole_model(
    synthetic_model: RFFPSRModel, long_run: Trajectory, tmp_path: Path
) -> None:
    synthetic_model.save(tmp_path / "model.psr")
    loaded = load_model(tmp_path / "model.psr")
    assert loaded.signature == synthetic_model.signature
    assert (
        loaded.record.metrics["validation_mse"] == synthetic_model.record.metrics["validation_mse"]
    )
    run = long_run.slice(0, 60)
    blanked = run.observations.copy()
    blanked[20:25] = np.nan
    blanked[30] = 1e3
    for model in (synthetic_model, loaded):
        assert isinstance(model, RFFPSRModel)
    states = [
        follow(model, Trajectory(blanked, run.actions), 60)  # type: ignore[arg-type]
        for model in (synthetic_model, loaded)
    ]
    for one, other in zip(*states, strict=True):
        np.testing.assert_array_equal(one, other)


def test_missing_observations_are_stood_in_for_per_channel() -> None:
    model = SingleRFFPSR(**QUICK).fit(two_channel_runs())
    run = two_channel_runs(1, seed=9)[0]
    state = follow(model, run, 40)
    expected = model.predict(state, run.actions[40:41])[0]
    half = np.array([np.nan, run.observations[40, 1]])
    filled = np.array([expected[0], run.observations[40, 1]])
    with_gap = model.update(state, run.actions[40], half)
    without = model.update(state, run.actions[40], filled)
    np.testing.assert_allclose(with_gap.belief, without.belief, atol=1e-12)
    assert model.events(with_gap).missing == model.events(state).missing + 1


def test_a_purely_two_stage_model_stands_in_with_expected_features() -> None:
    model = SingleRFFPSR(features=20, refinement="none", arx_past=0, narx_past=0).fit(
        two_channel_runs()
    )
    run = two_channel_runs(1, seed=9)[0]
    state = follow(model, run, 40)
    after = model.update(state, run.actions[40], np.full(2, np.nan))
    limits = model.parts.structure.limits
    assert limits is not None
    acted = model.parts.action_scaling.apply(run.actions[40])
    action = model.parts.structure.action(np.clip(acted, *limits[2:]))
    joined = np.kron(state.belief, action)
    features = joined @ model.parts.expected
    size = len(features)
    covariance = np.zeros((size, size))
    covariance[np.triu_indices(size)] = joined @ model.parts.parameters.covariance
    covariance = np.triu(covariance) + np.triu(covariance, 1).T
    lam = model.parts.structure.conditioning.regularisation
    inverse = np.linalg.inv(covariance @ covariance + lam * np.eye(size))
    extended = (joined @ model.parts.parameters.extended).reshape(-1, size)
    np.testing.assert_allclose(after.belief, extended @ inverse @ covariance @ features, rtol=1e-8)


@pytest.mark.parametrize("gap", [0.0, 0.05])
def test_training_takes_unequal_runs_and_gaps(gap: float) -> None:
    draw = np.random.default_rng(4)
    runs = []
    for run in two_channel_runs():
        observations = run.observations.copy()
        observations[draw.uniform(size=observations.shape) < gap / 20] = np.nan
        runs.append(Trajectory(observations, run.actions, run.period))
    model = SingleRFFPSR(**QUICK).fit(runs)
    assert np.isfinite(model.record.metrics["validation_mse"]).all()


@pytest.mark.long
def test_one_seed_one_model_whatever_the_process() -> None:
    program = (
        "import hashlib, sys; sys.path.insert(0, 'test/models/rff_psr')\n"
        "from test_rff_psr import QUICK, two_channel_runs\n"
        "from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR\n"
        "SingleRFFPSR(**QUICK, seed=3).fit(two_channel_runs()).save(sys.argv[1])\n"
    )
    root = Path(__file__).resolve().parents[3]
    digests = set()
    for hash_seed in ("1", "2"):
        target = root / f".pytest_cache/model{hash_seed}.psr"
        target.parent.mkdir(exist_ok=True)
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)}
        subprocess.run(
            [sys.executable, "-c", program, str(target)], cwd=root, env=environment, check=True
        )
        digests.add(target.read_bytes())
        target.unlink()
    assert len(digests) == 1


def test_another_seed_is_another_model() -> None:
    runs = two_channel_runs()
    first, second = (SingleRFFPSR(**QUICK, seed=seed).fit(runs) for seed in (0, 1))
    one, other = (model.parts.structure.action for model in (first, second))
    assert isinstance(one, FeatureMap)
    assert isinstance(other, FeatureMap)
    assert not np.array_equal(one.frequencies, other.frequencies)


def test_validation_recordings_do_not_enter_the_weights_before_refinement() -> None:
    runs = two_channel_runs(8)
    other = two_channel_runs(3, seed=5)
    plain = {**QUICK, "refinement": "none"}
    first, second = (SingleRFFPSR(**plain).fit(runs, held) for held in (runs[:1], other))
    np.testing.assert_array_equal(first.parts.parameters.extended, second.parts.parameters.extended)


@pytest.mark.parametrize("stage_one", ["joint", "conditional", "random"])
@pytest.mark.parametrize("refinement", ["rollout", "window", "none"])
def test_every_combination_of_methods_runs(stage_one: str, refinement: str) -> None:
    learner = RFFPSR.paper(
        features=20, rank=8, stage_one=stage_one, refinement=refinement, iterations=3, rounds=5
    )
    model = learner.fit(two_channel_runs())
    forecast = model.predict(model.initial_state(), np.zeros((12, 2)))
    assert forecast.shape == (12, 2)
    assert np.isfinite(forecast).all()


def test_the_papers_head_sees_the_whole_window() -> None:
    model = RFFPSR.paper(features=20, rank=8, refinement="none").fit(two_channel_runs())
    state, plan = model.initial_state(), np.zeros((10, 2))
    changed = plan.copy()
    changed[9] = 0.9
    assert not np.allclose(model.predict(state, plan)[0], model.predict(state, changed)[0])


def test_refinement_lowers_the_validation_score() -> None:
    for refinement in ("rollout", "window"):
        learner = SingleRFFPSR(
            features=50,
            refinement=refinement,
            iterations=60,
            rounds=15,
            step=1e-3,
            arx_past=0,
            narx_past=0,
        )
        notes = learner.fit(two_channel_runs(8)).record.metrics["refinement"]
        before, after = list(notes.values())[:2]
        assert after < before


def test_refinement_that_gains_nothing_ends_early() -> None:
    draw = np.random.default_rng(0)
    noise = [Trajectory(draw.standard_normal(60), draw.standard_normal(60), 0.1) for _ in range(12)]
    reached: list[float] = []

    def told(stage: str, fraction: float, error: float | None = None) -> None:
        if stage == "refinement":
            reached.append(fraction)

    options = QUICK | {"iterations": 200, "refine_from": "regularised"}
    model = SingleRFFPSR(**options).fit(noise, progress=told)
    assert model.record.metrics["refinement"]["iterations"] < 40
    assert max(reached) <= 0.2


REFUSALS: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown option": ({"rnak": 3}, "option 'rnak' is unknown; did you mean 'rank'?"),
    "a wrong choice": ({"stage_one": "both"}, "must be one of joint, conditional, random"),
    "a fraction for a count": ({"rank": 2.5}, "option 'rank' is 2.5; it must be a whole number"),
    "a negative rank": ({"rank": -1}, "option 'rank' is -1; it must be at least 1"),
    "no ridge": ({"ridge": 0.0}, "option 'ridge' is 0.0; it must be greater than 0"),
    "words for a number": (
        {"bandwidth": "wide"},
        "option 'bandwidth' is 'wide'; it must be a number",
    ),
    "truth for a count": ({"past": True}, "option 'past' is True; it must be a whole number"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_wrong_option_gets_one_sentence(case: str) -> None:
    options, sentence = REFUSALS[case]
    with pytest.raises(InputError, match=sentence.replace("?", r"\?")):
        RFFPSR(**options)


def test_configuration_keys_are_named_as_they_stand_in_the_file() -> None:
    assert RFFPSR.from_mapping({"rank": 7}).options.rank == 7
    with pytest.raises(
        InputError, match=r"key 'learning\.rnak' is unknown; did you mean 'learning\.rank'"
    ):
        RFFPSR.from_mapping({"rnak": 7})


def test_too_few_windows_are_counted() -> None:
    with pytest.raises(InputError, match=r"hold 29 complete windows of 12 ticks .* 42 are needed"):
        RFFPSR(folds=1).fit(two_channel_runs(1, ticks=40), two_channel_runs(1))
    with pytest.raises(InputError, match=r"hold 9 complete windows of 32 ticks .* 42 are needed"):
        RFFPSR(past=21, folds=1).fit(two_channel_runs(1, ticks=40), two_channel_runs(1))


def test_constant_columns_are_named() -> None:
    def with_constant(run: Trajectory, what: str) -> Trajectory:
        columns: dict[str, Array] = {"observations": run.observations, "actions": run.actions}
        columns[what] = columns[what].copy()
        columns[what][:, 1] = 0.3
        names = run.observation_names, run.action_names
        return Trajectory(columns["observations"], columns["actions"], run.period, *names)

    for what, name in (("observations", "observation 'level'"), ("actions", "action 'pump'")):
        runs = [with_constant(run, what) for run in two_channel_runs()]
        with pytest.raises(InputError, match=f"{name} is constant"):
            RFFPSR().fit(runs)


def test_a_horizon_beyond_the_future_is_refined_after_it() -> None:
    model = SingleRFFPSR(**QUICK, future=5, horizon=20).fit(two_channel_runs(6))
    assert len(model.record.metrics["validation_mse"]) == 20
    notes = model.record.metrics["refinement"]
    assert notes["score_after"] <= notes["score_before"]
