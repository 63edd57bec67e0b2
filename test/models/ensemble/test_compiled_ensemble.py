"""All members in one compiled call are the members one by one, whatever happens to one of them."""

import copy
import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.compressed.model import CompressedModel, CompressedParts, Projection
from rffpsr_ros.models.contract import PredictiveModel, TrainingRecord
from rffpsr_ros.models.ensemble.model import EnsembleModel, EnsembleParts, OutputLimits
from rffpsr_ros.models.ensemble.reach import Reach
from rffpsr_ros.models.ensemble.state import PackedState
from rffpsr_ros.models.n4sid.learner import N4SID
from rffpsr_ros.models.output_error.learner import OutputError
from rffpsr_ros.models.rff_psr.filter_monitor import NIS_MEMORY
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.state_batches import stack_states
from rffpsr_ros.models.state_space.learner import NonlinearStateSpace
from rffpsr_ros.models.trial import inference_model_tried
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime import packed_ensemble
from rffpsr_ros.recordings.trajectory import Trajectory
from test.models.rff_psr.test_rff_psr import QUICK, two_channel_runs

pytest.importorskip("numba")

HORIZON, KNOWN = 4, 3
SMALL, LARGE = {"observation_rank": 3}, {"observation_rank": 5}
"""Covariances of different sizes, side by side."""


def without_state(model: PredictiveModel[Any]) -> RFFPSRModel:
    """Return a model whose state has no say in forecasts, as where only features were learned."""
    assert isinstance(model, RFFPSRModel)
    parameters = model.parts.parameters
    parameters = parameters._replace(prediction=np.zeros_like(parameters.prediction))
    return RFFPSRModel(model.signature, model.record, model.parts._replace(parameters=parameters))


@pytest.fixture(scope="module")
def members() -> dict[str, PredictiveModel[Any]]:
    train = two_channel_runs()
    return {
        **{
            f"rff_psr {seed}": SingleRFFPSR(**QUICK, **rank, seed=seed).fit(train)
            for seed, rank in enumerate([LARGE, SMALL, LARGE, SMALL, LARGE])
        },
        "without a state": without_state(SingleRFFPSR(**QUICK, **LARGE, seed=6).fit(train)),
        "arx": LinearARX(past=6, future=HORIZON).fit(train),
        "kalman": N4SID().fit(train),
        "output error": OutputError().fit(train),
        "system": NonlinearStateSpace(None, 4, past=4, stages=1).fit(train),
        "integrating": NonlinearStateSpace(
            None, 3, saturating=False, integrating=True, past=4, stages=1
        ).fit(train),
        "last": LastObservation().fit(train),
        "mean": Mean().fit(train),
    }


MIXTURES = {
    "one": ["rff_psr 0"],
    "as the recipe's": ["rff_psr 0", "rff_psr 1", "rff_psr 2", "arx", "kalman"],
    "many": [*(f"rff_psr {seed}" for seed in range(5)), "arx"],
    "every kind": ["output error", "arx", "rff_psr 1", "last", "kalman", "rff_psr 0", "mean"],
    "some without a state": ["rff_psr 1", "without a state", "rff_psr 2", "arx"],
    "none with a state": ["without a state", "arx"],
    "systems": ["system", "rff_psr 0", "integrating", "arx"],
}


def mixed(
    members: dict[str, PredictiveModel[Any]],
    names: list[str],
    limited: bool = False,
    near: bool = False,
) -> EnsembleModel:
    chosen = tuple(members[name] for name in names)
    weights = np.random.default_rng(0).random((KNOWN, 2, len(chosen)))
    limits = OutputLimits(np.full(2, -0.1), np.full(2, 0.1), len(chosen) - 1) if limited else None
    bounds = Bounds(np.array([-np.inf, -0.05]), np.array([0.07, np.inf])) if limited else None
    reach = None
    if near:
        draw = np.random.default_rng(1)
        weights[draw.random(weights.shape) < 0.3] = 0.0
        weights[..., :2] += 0.1
        distance = 0.02 * draw.random(weights.shape)
        reach = Reach(np.where(draw.random(weights.shape) < 0.3, np.inf, distance))
    weights /= weights.sum(-1, keepdims=True)
    parts = EnsembleParts(chosen, weights, limits, bounds, reach)
    return EnsembleModel(chosen[0].signature, TrainingRecord(), parts)


@pytest.fixture(params=MIXTURES)
def model(request: pytest.FixtureRequest, members: dict[str, Any]) -> EnsembleModel:
    return mixed(members, MIXTURES[request.param])


@pytest.fixture(scope="module")
def run() -> Trajectory:
    """Return a run with gaps of all and of some observations, and values out of range."""
    (run,) = two_channel_runs(1, ticks=90, seed=9)
    observations, actions = run.observations.copy(), run.actions.copy()
    observations[30:33, 0] = np.nan
    observations[50:60] = np.nan
    actions[70] = 1.5
    observations[75, 1] += 0.5
    return Trajectory(observations, actions, run.period)


def followed(model: EnsembleModel, run: Trajectory) -> Iterator[tuple[int, Any]]:
    """Yield ticks and the states after them."""
    state: Any = model.initial_state()
    for t in range(len(run)):
        state = model.update(state, run.actions[t], run.observations[t])
        yield t, state


def pairs(model: EnsembleModel, run: Trajectory) -> Iterator[tuple[int, Any, Any]]:
    """Yield the states by numpy and by compiled code, tick by tick."""
    slow, fast = model.inference_model(compiled=False), model.inference_model()
    assert fast.compiled
    assert not slow.compiled
    for (t, one), (_, other) in zip(followed(slow, run), followed(fast, run), strict=True):
        yield t, one, other


def assert_close(one: Array, other: Array, tolerance: float = 1e-5) -> None:
    assert one.shape == other.shape
    atol = tolerance * max(1.0, float(np.abs(one).max(initial=0)))
    np.testing.assert_allclose(one, other, rtol=0, atol=atol)


@pytest.mark.parametrize("horizon", [1, HORIZON, 12])
def test_forecasts_are_those_of_numpy(model: EnsembleModel, run: Trajectory, horizon: int) -> None:
    """Beyond the horizons with weights, and beyond those of linear members in compiled code."""
    slow, fast = model.inference_model(compiled=False), model.inference_model()
    plans = np.random.default_rng(1).uniform(-1, 1, (5, horizon, 2))
    for t, one, other in pairs(model, run):
        assert_close(slow.predict(one, plans[t % 5]), fast.predict(other, plans[t % 5]))
        if t % 9 == 0:
            assert_close(slow.predict(one, plans), fast.predict(other, plans))
            held = np.tile(plans[0, :1], (horizon, 1))
            assert_close(slow.predict(one, held), fast.predict(other, held))


def test_states_are_those_of_numpy(model: EnsembleModel, run: Trajectory) -> None:
    for _, one, other in pairs(model, run):
        for mine, its in zip(one.members, other.members, strict=True):
            assert type(mine) is type(its)
            for part, of_other in zip(mine, its, strict=True):
                assert_close(np.asarray(part, float), np.asarray(of_other, float), 1e-3)
    for kind, of_other in zip(model.events(one), model.events(other), strict=True):
        assert kind == of_other
    assert model.events(one).missing == 13


def test_limits_and_bounds_hold(members: dict[str, Any], run: Trajectory) -> None:
    model = mixed(members, MIXTURES["as the recipe's"], limited=True)
    free = mixed(members, MIXTURES["as the recipe's"])
    slow, fast = model.inference_model(compiled=False), model.inference_model()
    plan, reached = np.full((HORIZON, 2), 0.8), 0.0
    for _, one, other in pairs(model, run):
        forecast = fast.predict(other, plan)
        assert_close(slow.predict(one, plan), forecast)
        assert forecast[:, 0].max() <= 0.07
        assert forecast[:, 1].min() >= -0.05
        reached = max(reached, np.abs(free.predict(one, plan) - forecast).max())
    assert reached > 0.1


@pytest.mark.parametrize("names", ["as the recipe's", "every kind", "many"])
@pytest.mark.parametrize("limited", [False, True])
def test_who_is_far_outside_the_others_is_held_back(
    members: dict[str, Any], run: Trajectory, names: str, limited: bool
) -> None:
    model = mixed(members, MIXTURES[names], limited, near=True)
    parts = model.parts._replace(reach=None)
    free = EnsembleModel(model.signature, TrainingRecord(), parts)
    slow, fast = model.inference_model(compiled=False), model.inference_model()
    plans = np.random.default_rng(1).uniform(-1, 1, (5, KNOWN + 3, 2))
    most = 0.0
    for t, one, other in pairs(model, run):
        plan = plans[t % 5]
        assert_close(slow.predict(one, plan), fast.predict(other, plan))
        if t % 9 == 0:
            assert_close(slow.predict(one, plans), fast.predict(other, plans))
        most = max(most, np.abs(free.predict(one, plan) - slow.predict(one, plan)).max())
    assert most > 0.01


def test_a_member_is_apart_only_while_something_is_unusual(
    members: dict[str, Any], run: Trajectory
) -> None:
    """Else compiled code alone follows: a member that is asked would show."""
    model = mixed(members, MIXTURES["as the recipe's"]).inference_model()
    apart = [
        [own is not None for own in state.apart]
        for _, state in followed(model, run)
        if isinstance(state, PackedState)
    ]
    assert len(apart) == len(run)
    by_member = np.array(apart).T
    assert by_member[3].tolist() == [t < 5 for t in range(len(run))]  # until it knows six ticks
    assert by_member[4, 30:33].all()  # a linear filter's gain is not the steady one then
    assert not by_member[:3, 1:30].any()
    assert not by_member[:3, 35:50].any()


def test_a_windows_followers_need_not_be_asked(
    members: dict[str, Any], run: Trajectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = mixed(members, ["rff_psr 0", "output error"]).inference_model()
    states = followed(model, run)
    next(states)
    monkeypatch.setattr(type(members["output error"]), "update", None, raising=False)
    for t, state in states:
        assert state.apart[1] is None
        if t == 20:  # there are no gaps before, in which it would be asked
            break


def test_systems_need_not_be_asked(
    members: dict[str, Any], run: Trajectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = mixed(members, MIXTURES["systems"]).inference_model()
    states = followed(model, run)
    next(states)
    for name in ("update", "predict"):
        monkeypatch.setattr(type(members["system"]), name, None, raising=False)
    for _, state in states:
        assert state.apart[0] is None
        assert state.apart[2] is None
        model.predict(state, np.zeros((40, 2)))


def test_values_that_are_infinite_are_left_to_the_members(
    members: dict[str, Any], run: Trajectory
) -> None:
    model = mixed(members, MIXTURES["as the recipe's"])
    slow, fast = model.inference_model(compiled=False), model.inference_model()
    one, other = ([state for _, state in followed(m, run.slice(0, 20))][-1] for m in (slow, fast))
    with np.errstate(all="ignore"):
        one = slow.update(one, run.actions[20], np.array([np.inf, 0.0]))
        other = fast.update(other, run.actions[20], np.array([np.inf, 0.0]))
    for mine, its in zip(one.members, other.members, strict=True):
        for part, of_other in zip(mine, its, strict=True):
            np.testing.assert_allclose(
                np.asarray(part, float), np.asarray(of_other, float), rtol=1e-4, atol=2e-5
            )


@pytest.mark.parametrize("lost", [np.nan, 1e200])
def test_a_member_whose_numbers_are_lost_begins_anew_and_no_other(
    members: dict[str, Any], run: Trajectory, lost: float
) -> None:
    model = mixed(members, MIXTURES["as the recipe's"]).inference_model()
    state = [state for _, state in followed(model, run.slice(0, 30))][-1]
    assert isinstance(state, PackedState)
    assert model.sound_state(state) is state
    numbers = state.numbers.copy()
    start = len(numbers) - members["kalman"].packing().member.size
    numbers[start - 6 : start - 4] = lost  # of the ARX model's history: the linear filter is apart
    sound = model.sound_state(state._replace(numbers=numbers))
    assert not sound.members[3].history.any()
    assert not sound.members[3].ticks
    for before, after in zip(state.members[:3], sound.members[:3], strict=True):
        for part, same in zip(before, after, strict=True):
            np.testing.assert_array_equal(part, same)
    after = model.update(sound, run.actions[30], np.zeros(2))
    assert np.isfinite(model.predict(after, run.actions[:HORIZON])).all()


def test_it_is_tried_before_it_is_served(members: dict[str, Any], run: Trajectory) -> None:
    served = inference_model_tried(mixed(members, MIXTURES["every kind"]), compiled=True)
    state = [state for _, state in followed(served, run.slice(0, 5))][-1]  # type: ignore[arg-type]
    assert isinstance(state, PackedState)


def test_linear_filters_are_followed_once_they_are_steady(members: dict[str, Any]) -> None:
    model = mixed(members, ["rff_psr 1", "kalman"])
    (long,) = two_channel_runs(1, ticks=500, seed=3)
    packed = 0
    for t, one, other in pairs(model, long):
        packed += isinstance(other, PackedState) and other.apart[1] is None
        if t % 50 == 0:
            plan = long.actions[:HORIZON]
            assert_close(model.predict(one, plan), model.inference_model().predict(other, plan))
    assert packed > 100


def test_states_side_by_side_are_each_their_own(members: dict[str, Any], run: Trajectory) -> None:
    model = mixed(members, MIXTURES["as the recipe's"]).inference_model()
    states = [state for t, state in followed(model, run) if t in (0, 3, 40, 55)]
    plans = np.random.default_rng(2).uniform(-1, 1, (4, HORIZON, 2))
    together = model.predict(stack_states(states), plans)
    for state, plan, forecast in zip(states, plans, together, strict=True):
        assert_close(model.predict(state, plan), forecast)


def test_models_and_states_are_copied_and_sent(members: dict[str, Any], run: Trajectory) -> None:
    model = mixed(members, MIXTURES["every kind"]).inference_model()
    state = [state for _, state in followed(model, run.slice(0, 40))][-1]
    plan = run.actions[40 : 40 + HORIZON]
    expected = model.predict(state, plan)
    for other, of_other in (
        copy.deepcopy((model, state)),
        pickle.loads(pickle.dumps((model, state))),
    ):
        assert other.compiled
        np.testing.assert_array_equal(other.predict(of_other, plan), expected)
        np.testing.assert_array_equal(model.predict(of_other, plan), expected)
        after: Any = other.update(of_other, run.actions[40], run.observations[40])
        own: Any = model.update(state, run.actions[40], run.observations[40])
        np.testing.assert_array_equal(after.numbers, own.numbers)


def test_a_state_of_the_model_as_learned_goes_on_in_compiled_code(
    members: dict[str, Any], run: Trajectory
) -> None:
    model = mixed(members, MIXTURES["as the recipe's"])
    fast = model.inference_model()
    state = model.state_from_history(run.observations[:25], run.actions[:25])
    plan = run.actions[25 : 25 + HORIZON]
    assert_close(fast.predict(state, plan), model.predict(state, plan))
    one, other = (m.update(state, run.actions[25], run.observations[25]) for m in (model, fast))
    assert isinstance(other, PackedState)
    assert_close(fast.predict(other, plan), model.predict(one, plan))
    assert_close(model.predict(other.plain, plan), model.predict(one, plan))


def test_components_of_many_observations_are_followed_alike(
    members: dict[str, Any], run: Trajectory
) -> None:
    inner = mixed(members, MIXTURES["as the recipe's"])
    directions = np.linalg.qr(np.random.default_rng(3).normal(size=(7, 2)))[0]
    projection = Projection(np.zeros(7), directions)
    wide = projection.expand(run.observations)
    parts = CompressedParts(inner, projection)
    signature = replace(inner.signature, observation_names=tuple("abcdefg"))
    model = CompressedModel(signature, TrainingRecord(), parts)
    forecasts = []
    for served in (model.inference_model(compiled=False), model.inference_model()):
        state, made = served.initial_state(), []
        for t in range(70):
            state = served.update(state, run.actions[t], wide[t])
            made.append(served.predict(state, run.actions[t : t + HORIZON]))
        forecasts.append(np.array(made))
    assert isinstance(state, PackedState)
    assert_close(forecasts[0], forecasts[1])


def test_without_numba_an_ensemble_runs_by_numpy(
    members: dict[str, Any], run: Trajectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = mixed(members, MIXTURES["as the recipe's"])
    monkeypatch.setitem(
        __import__("sys").modules, "rffpsr_ros.models.ensemble.compiled_ensemble", None
    )
    monkeypatch.setitem(__import__("sys").modules, "rffpsr_ros.psr.runtime.compiled_step", None)
    served = model.inference_model()
    assert not served.compiled
    state = [state for _, state in followed(served, run.slice(0, 20))][-1]
    slow = model.inference_model(compiled=False)
    expected = [state for _, state in followed(slow, run.slice(0, 20))][-1]
    plan = run.actions[:HORIZON]
    np.testing.assert_array_equal(served.predict(state, plan), slow.predict(expected, plan))


def test_what_stands_twice_is_the_same() -> None:
    assert packed_ensemble.NIS_MEMORY == NIS_MEMORY
