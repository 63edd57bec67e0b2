"""The prepared step computes what predictor and filter say, in either precision."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.parts import StandIn
from rffpsr_ros.models.rff_psr.state import RFFPSRState
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import khatri_rao
from rffpsr_ros.psr.filter_step import filter_step
from rffpsr_ros.psr.predictor import predict_observation
from rffpsr_ros.recordings.trajectory import Trajectory
from test.models.rff_psr.test_rff_psr import QUICK, two_channel_runs

HORIZON = 8


def straight(model: RFFPSRModel, run: Trajectory) -> tuple[Array, Array]:
    """Return beliefs and forecasts after every tick, from the equations as they stand."""
    structure, parameters = model.parts.structure, model.parts.parameters
    limits = structure.limits
    assert limits is not None
    observations = np.tile(structure.start.observation, (1, structure.past, 1))
    actions = np.tile(structure.start.action, (1, structure.past, 1))
    belief = parameters.initial[None]
    acted = model.parts.action_scaling.apply(run.actions)
    seen = model.parts.observation_scaling.apply(run.observations)

    def tick(
        belief: Array, observations: Array, actions: Array, action: Array, observation: Array
    ) -> tuple[Array, Array, Array, Array]:
        joined = khatri_rao(belief, structure.action(np.clip(action, *limits[2:])[None]))
        actions = np.concatenate([actions, action[None, None]], axis=1)
        expected = predict_observation(parameters, structure, joined, observations, actions).value
        taken = np.where(np.isnan(observation), expected, observation)
        features = structure.observation(np.clip(taken, *limits[:2]))
        belief, _ = filter_step(parameters, structure.conditioning, joined, features)
        observations = np.concatenate([observations[:, 1:], taken[:, None]], axis=1)
        return belief, observations, actions[:, 1:], expected[0]

    beliefs, forecasts = [], []
    for t in range(len(run) - HORIZON):
        belief, observations, actions, _ = tick(belief, observations, actions, acted[t], seen[t])
        if t == 0:
            observations = np.repeat(observations[:, -1:], structure.past, axis=1)
            actions = np.repeat(actions[:, -1:], structure.past, axis=1)
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


def saturated(run: Trajectory) -> Trajectory:
    """Return a run as sensors would show it whose scales end below the highest values."""
    return Trajectory(np.minimum(run.observations, [0.2, 0.1]), run.actions, run.period)


def bent(run: Trajectory) -> Trajectory:
    """Return a run as sensors would show it that are not linear, so that every term has a part."""
    return Trajectory(np.tanh(2 * run.observations), run.actions, run.period)


@pytest.fixture(scope="module", params=["every part", "no NARX term", "the state alone", "bounded"])
def model(request: pytest.FixtureRequest) -> RFFPSRModel:
    without: dict[str, dict[str, Any]] = {
        "every part": {},
        "no NARX term": {"narx_features": 0},
        "the state alone": {"narx_features": 0, "arx_past": 0, "regularisation": 1e-2},
        "bounded": {"regularisation": 1e-2},
    }
    runs = two_channel_runs()
    if request.param != "the state alone":
        seen = saturated if request.param == "bounded" else bent
        runs = [seen(run) for run in runs]
    short = {"arx_past": 1, "narx_past": 1}  # so that there is something left for the state
    model = SingleRFFPSR(**{**QUICK, **short, **without[request.param]}).fit(runs)
    assert (model.parts.structure.bounds is not None) == (request.param == "bounded")
    parameters = model.parts.parameters
    assert parameters.prediction.any()
    assert parameters.arx.any() == (request.param != "the state alone")
    assert parameters.narx.any() == (request.param in {"every part", "bounded"})
    return model


@pytest.fixture(scope="module")
def run() -> Trajectory:
    """Return a run with gaps, and with a value out of range."""
    (run,) = two_channel_runs(1, ticks=120, seed=9)
    observations, actions = run.observations.copy(), run.actions.copy()
    observations[30:33, 0] = np.nan
    observations[50:52] = np.nan
    actions[70] = 3.0
    observations[80, 1] += 1.0
    return Trajectory(observations, actions, run.period)


@pytest.mark.parametrize(
    ("inference", "tolerance"), [("as learned", 1e-11), ("numpy", 1e-5), ("compiled", 1e-5)]
)
def test_the_prepared_step_is_the_method(
    model: RFFPSRModel, run: Trajectory, inference: str, tolerance: float
) -> None:
    unwatched = model.parts._replace(monitor=model.parts.monitor._replace(nis=np.inf))
    model = RFFPSRModel(model.signature, model.record, unwatched)
    expected = straight(model, run)
    if inference == "compiled":
        pytest.importorskip("numba")
    if inference != "as learned":
        model = model.inference_model(compiled=inference == "compiled")
        assert model.compiled == (inference == "compiled")
    for one, other in zip(followed(model, run), expected, strict=True):
        scale = np.abs(other).max()
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * scale)


def test_events_are_those_of_numpy(model: RFFPSRModel, run: Trajectory) -> None:
    counted = []
    for inference in (model.inference_model(compiled=False), model.inference_model()):
        state = inference.initial_state()
        for action, observation in zip(run.actions, run.observations, strict=True):
            state = inference.update(state, action, observation)
        counted.append(state.events)
    assert counted[0][1] > 0
    assert counted[0][2] > 0
    np.testing.assert_array_equal(counted[0], counted[1])


@pytest.mark.parametrize("stand_in", get_args(StandIn))
def test_missing_observations_need_nothing_but_compiled_code(
    model: RFFPSRModel, run: Trajectory, stand_in: StandIn
) -> None:
    """A lost message must not cost more time than one that came: there would be more to come."""
    pytest.importorskip("numba")
    monitor = model.parts.monitor._replace(nis=np.inf)
    parts = model.parts._replace(stand_in=stand_in, monitor=monitor)
    model = RFFPSRModel(model.signature, model.record, parts)
    ticks = list(zip(run.actions, run.observations, strict=True))
    ended = []
    for inference in (model.inference_model(compiled=False), model.inference_model()):
        state = inference.update(inference.initial_state(), *ticks[0])
        rest = inference._varied(_step=None) if inference.compiled else inference
        states = [state := rest.update(state, *tick) for tick in ticks[1:]]
        ended.append([np.array(part) for part in zip(*states, strict=True)])
    assert ended[0][6][-1, 0] == 5
    for one, other in zip(*ended, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5 * np.abs(one).max())


@pytest.mark.parametrize("compiled", [False, True])
def test_plans_side_by_side_are_plans_one_by_one(
    model: RFFPSRModel, run: Trajectory, compiled: bool
) -> None:
    plans = np.stack([run.actions[t : t + HORIZON] for t in range(20)])
    plans[3:6] = plans[3, 0]  # held
    inference = model.inference_model(compiled)
    state = inference.update(inference.initial_state(), run.actions[0], run.observations[0])
    together = inference.predict(state, plans)
    for plan, forecast in zip(plans, together, strict=True):
        np.testing.assert_allclose(inference.predict(state, plan), forecast, atol=1e-6)


@pytest.mark.parametrize("compiled", [False, True])
def test_states_side_by_side_each_have_their_forecast(
    model: RFFPSRModel, run: Trajectory, compiled: bool
) -> None:
    inference = model.inference_model(compiled)
    states = [inference.initial_state()]
    for action, observation in zip(run.actions[:20], run.observations[:20], strict=True):
        states.append(inference.update(states[-1], action, observation))
    side_by_side = RFFPSRState(*(np.stack(part) for part in zip(*states, strict=True)))
    plan = run.actions[20 : 20 + HORIZON]
    together = inference.predict(side_by_side, np.stack([plan] * len(states)))
    for state, forecast in zip(states, together, strict=True):
        np.testing.assert_allclose(inference.predict(state, plan), forecast, atol=1e-5)


def test_a_command_looked_at_before_gives_the_same_bits_as_one_that_was_not(
    model: RFFPSRModel, run: Trajectory
) -> None:
    """What a replay was asked for in between must not show in its forecasts."""
    other, held = run.actions[10:18], np.tile(run.actions[20], (HORIZON, 1))

    def step(inference: RFFPSRModel, distracted: bool) -> list[Array]:
        state = inference.initial_state()
        for action, observation in zip(run.actions[:20], run.observations[:20], strict=True):
            state = inference.update(state, action, observation)
        forecasts = [inference.predict(state, held)]
        if distracted:
            inference.predict(state, other)
        after = inference.update(state, held[0], run.observations[20])
        return [*forecasts, inference.predict(after, held), after.belief]

    direct, distracted = (step(model.inference_model(), distracted) for distracted in (False, True))
    for one, two in zip(direct, distracted, strict=True):
        np.testing.assert_array_equal(one, two)


def test_states_followed_in_turns_give_the_bits_of_each_alone(
    model: RFFPSRModel, run: Trajectory
) -> None:
    """What compiled code remembers of one state's command must not show in another's belief."""
    inference = model.inference_model()
    ticks = list(zip(run.actions[:30], run.observations[:30], strict=True))
    orders = ticks, ticks[::-1], [(run.actions[3], observation) for _, observation in ticks]

    def step(state: RFFPSRState, tick: tuple[Array, Array]) -> tuple[RFFPSRState, Array]:
        after = inference.update(state, *tick)
        return after, inference.predict(after, np.stack([tick[0]] * HORIZON))

    alone = []
    for order in orders:
        state, made = inference.initial_state(), []
        for tick in order:
            state, forecast = step(state, tick)
            made.append(forecast)
        alone.append((state.belief, np.stack(made)))
    states = [inference.initial_state() for _ in orders]
    in_turns: list[list[Array]] = [[] for _ in orders]
    for t in range(len(ticks)):
        for number, order in enumerate(orders):
            states[number], forecast = step(states[number], order[t])
            in_turns[number].append(forecast)
    for (belief, forecasts), state, made in zip(alone, states, in_turns, strict=True):
        np.testing.assert_array_equal(state.belief, belief)
        np.testing.assert_array_equal(np.stack(made), forecasts)


def test_without_numba_a_model_is_served_by_numpy(
    model: RFFPSRModel, run: Trajectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    for name, module in list(sys.modules.items()):
        if name.startswith("rffpsr_ros.") and "numba" in getattr(module, "__dict__", ()):
            monkeypatch.delitem(sys.modules, name)
    for name in ("compiled_step", "compiled_kernels", "tick_kernels", "lanes"):
        monkeypatch.delitem(sys.modules, f"rffpsr_ros.psr.runtime.{name}", raising=False)
    inference = model.inference_model()
    assert not inference.compiled
    for one, other in zip(
        followed(inference, run), followed(model.inference_model(compiled=False), run), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_compiled_steps_need_no_place_to_be_kept() -> None:
    """Neither beside the package nor in a home: compiled anew, and said by nobody."""
    pytest.importorskip("numba")
    program = (
        "import numba.core.caching as caching\n"
        "class Nowhere(caching._CacheLocator):\n"
        "    from_function = classmethod(lambda *_: None)\n"
        "caching.CacheImpl._locator_classes = [Nowhere]\n"
        "from rffpsr_ros.psr.runtime.compiled_kernels import eliminate\n"
        "import numpy as np\n"
        "solution = np.array([6.0, 4.0])\n"
        "eliminate(np.diag([2.0, 4.0]), solution)\n"
        "assert solution.tolist() == [3.0, 1.0]\n"
    )
    root = Path(__file__).resolve().parents[3]
    subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=root, check=True)


def test_a_copied_or_sent_model_is_the_same_model(model: RFFPSRModel, run: Trajectory) -> None:
    short = run.slice(0, 20)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        for one, two in zip(followed(model, short), followed(other, short), strict=True):
            np.testing.assert_array_equal(one, two)
