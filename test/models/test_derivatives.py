"""Derivatives of forecasts by actions are those that finite differences approach."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.compressed.learner import Compressed
from rffpsr_ros.models.contract import PredictiveModel, TrainingRecord
from rffpsr_ros.models.ensemble.model import EnsembleModel, EnsembleParts, OutputLimits
from rffpsr_ros.models.ensemble.reach import Reach
from rffpsr_ros.models.hse_psr.learner import HSEPSR
from rffpsr_ros.models.io_hmm.learner import IOHMM
from rffpsr_ros.models.kalman.learner import Kalman
from rffpsr_ros.models.low_passed.learner import LowPassed
from rffpsr_ros.models.moving_origin.learner import MovingOrigin
from rffpsr_ros.models.n4sid.learner import N4SID
from rffpsr_ros.models.output_error.learner import OutputError
from rffpsr_ros.models.registry import kinds
from rffpsr_ros.models.rff_arx.learner import RFFARX
from rffpsr_ros.models.rff_psr.derivatives import ForecastDerivatives
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.state_batches import stack_states
from rffpsr_ros.models.state_space.learner import NonlinearStateSpace
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.prepared_step import PreparedStep
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory
from test.nonlinear_runs import nonlinear_runs

HORIZON, STEP = 7, 1e-5
SMALL: dict[str, Any] = {"past": 3, "future": 3, "features": 20, "rank": 6, "iterations": 5}


def recordings(count: int = 3, ticks: int = 150) -> list[Trajectory]:
    return nonlinear_runs(count, ticks)


def limited() -> EnsembleModel:
    """Return an ensemble whose forecasts are replaced at times, and held at times."""
    runs = recordings()
    linear, nonlinear = LinearARX(past=3, future=4).fit(runs), SingleRFFPSR(**SMALL).fit(runs)
    seen = np.concatenate([run.observations for run in runs])
    low, high = np.quantile(seen, [0.25, 0.75], axis=0)
    parts = EnsembleParts(
        (nonlinear, linear),
        np.tile([0.7, 0.3], (4, 2, 1)),
        OutputLimits(low, high, 1),
        Bounds(np.quantile(seen, 0.15, axis=0), np.quantile(seen, 0.85, axis=0)),
    )
    return EnsembleModel(linear.signature, TrainingRecord(), parts)


def within_reach() -> EnsembleModel:
    """Return an ensemble whose members hold each other back at times."""
    runs = recordings()
    members = (
        SingleRFFPSR(**SMALL).fit(runs),
        LinearARX(past=3, future=4).fit(runs),
        N4SID(past=3, future=4, order=2).fit(runs),
    )
    weights = np.tile([0.4, 0.35, 0.25], (4, 2, 1))
    parts = EnsembleParts(members, weights, reach=Reach(np.full(weights.shape, 0.01)))
    return EnsembleModel(members[0].signature, TrainingRecord(), parts)


MODELS: dict[str, Callable[[], PredictiveModel[Any]]] = {
    "last_observation": lambda: LastObservation().fit(recordings()),
    "mean": lambda: Mean().fit(recordings()),
    "linear_arx": lambda: LinearARX(past=4, future=3).fit(recordings()),
    "rff_arx": lambda: RFFARX(past=3, future=3, features=30).fit(recordings()),
    "rff_arx in one shot": lambda: RFFARX(past=3, future=4, features=30, one_shot=True).fit(
        recordings()
    ),
    "kalman": lambda: Kalman(past=3, future=4).fit(recordings()),
    "n4sid": lambda: N4SID(past=3, future=4, order=2).fit(recordings()),
    "output_error": lambda: OutputError(past=2, features=15).fit(recordings()),
    "state_space": lambda: NonlinearStateSpace(3, past=4, stages=1).fit(recordings()),
    "state_space of positions": lambda: NonlinearStateSpace(
        2, saturating=False, integrating=True, past=4, stages=1
    ).fit(recordings()),
    "rff_psr": lambda: SingleRFFPSR(**SMALL, arx_past=3, narx_features=10).fit(recordings()),
    "rff_psr of sigmoids": lambda: SingleRFFPSR(
        **SMALL, arx_past=3, narx_past=2, narx_learning="on", narx_units="sigmoids"
    ).fit(recordings()),
    "rff_psr without terms": lambda: SingleRFFPSR(**SMALL, arx_past=0, narx_past=0).fit(
        recordings()
    ),
    "rff_psr with a window head": lambda: SingleRFFPSR(**SMALL, forecast="window").fit(
        recordings()
    ),
    "hse_psr": lambda: HSEPSR(past=3, future=3, rank=8).fit(recordings(3, 120)),
    "ensemble": lambda: RFFPSR(**SMALL, folds=2, narx_affine="off").fit(recordings(4)),
    "ensemble with limits": limited,
    "ensemble within reach": within_reach,
    "compressed": lambda: Compressed(SingleRFFPSR(**SMALL), 1).fit(recordings()),
    "moving_origin": lambda: MovingOrigin(SingleRFFPSR(**SMALL), [0]).fit(recordings()),
    "low_passed": lambda: LowPassed(SingleRFFPSR(**SMALL), (5, 20), True).fit(recordings()),
}
ONE_SHOT = {"rff_arx in one shot", "rff_psr with a window head"}
_LEARNED: dict[str, PredictiveModel[Any]] = {}


@pytest.fixture(params=MODELS, scope="module")
def name(request: pytest.FixtureRequest) -> str:
    """Return the name of each model in turn."""
    return str(request.param)


def learned(name: str) -> PredictiveModel[Any]:
    if name not in _LEARNED:
        _LEARNED[name] = MODELS[name]()
    return _LEARNED[name]


def states(model: PredictiveModel[Any]) -> list[Any]:
    """Return the initial state, one after a few ticks, and one in a gap after many."""
    run = recordings()[1]
    state = model.initial_state()
    found = [state]
    for tick in range(40):
        seen = run.observations[tick].copy()
        if tick in (11, 12) or tick > 37:
            seen[:] = np.nan
        elif tick % 9 == 4:
            seen[0] = np.nan
        state = model.update(state, run.actions[tick], seen)
        if tick in (1, 12, 30, 39):
            found.append(state)
    return found


def plans(count: int) -> Array:
    return np.random.default_rng(8).uniform(-0.95, 0.95, (count, HORIZON, 2))


def differences(model: PredictiveModel[Any], state: Any, plan: Array) -> Array:
    """Return the derivatives (H, d_o, H, d_a) by central differences of fourth order."""
    found = np.empty((HORIZON, 2, *plan.shape))
    for place in np.ndindex(plan.shape):
        moved = np.repeat(plan[None], 4, axis=0)
        moved[(slice(None), *place)] += STEP * np.array([-2, -1, 1, 2])
        two_less, less, more, two_more = model.predict(state, moved)
        found[(..., *place)] = (two_less - 8 * less + 8 * more - two_more) / (12 * STEP)
    return found


def test_every_kind_has_a_case() -> None:
    named = {name.partition(" ")[0] for name in MODELS}
    assert named | {"io_hmm"} == set(kinds())


def test_derivatives_are_those_of_finite_differences(name: str) -> None:
    model = learned(name)
    for state, plan in zip(states(model), plans(5), strict=True):
        expected = differences(model, state, plan)
        scale = max(np.abs(expected).max(), 1e-3)
        np.testing.assert_allclose(model.jacobian(state, plan), expected, 1e-6, 1e-7 * scale)


def test_no_forecast_depends_on_a_later_action(name: str) -> None:
    model = learned(name)
    jacobian = model.jacobian(states(model)[2], plans(1)[0])
    later = np.triu_indices(HORIZON, 1)
    assert jacobian[later[0], :, later[1]].any() == (name in ONE_SHOT)


def test_batches_are_plan_by_plan_and_state_by_state(name: str) -> None:
    model = learned(name)
    found, several = states(model), plans(5)
    shared = model.jacobian(found[3], several)
    each = model.jacobian(stack_states(found), several)
    for i, plan in enumerate(several):
        one = model.jacobian(found[3], plan)
        np.testing.assert_allclose(shared[i], one, 1e-9, 1e-10)
        np.testing.assert_allclose(each[i], model.jacobian(found[i], plan), 1e-9, 1e-10)


def test_gradients_are_products_with_the_derivatives(name: str) -> None:
    model = learned(name)
    found, several = states(model), plans(5)
    weights = np.random.default_rng(2).normal(size=(5, HORIZON, 2))
    forecast, gradient = model.predict_with_gradient(found[2], several[0], weights[0])
    np.testing.assert_array_equal(forecast, model.predict(found[2], several[0]))
    jacobian = model.jacobian(found[2], several[0])
    expected = np.einsum("ho,hoka->ka", weights[0], jacobian)
    np.testing.assert_allclose(gradient, expected, 1e-9, 1e-12)
    batch = stack_states(found)
    for given in (weights, weights[0]):
        forecasts, gradients = model.predict_with_gradient(batch, several, given)
        np.testing.assert_array_equal(forecasts, model.predict(batch, several))
        jacobians = model.jacobian(batch, several)
        expected = np.einsum("bho,bhoka->bka", np.broadcast_to(given, (5, HORIZON, 2)), jacobians)
        np.testing.assert_allclose(gradients, expected, 1e-9, 1e-12)


def test_the_live_form_has_the_same_derivatives(name: str) -> None:
    model = learned(name)
    live = model.inference_model()
    state, plan = states(model)[2], plans(1)[0]
    expected = model.jacobian(state, plan)
    scale = max(float(np.abs(expected).max()), 1e-3)
    np.testing.assert_allclose(live.jacobian(state, plan), expected, 0, 1e-4 * scale)


@pytest.mark.parametrize("name", ["rff_psr", "rff_psr without terms"])
def test_compiled_code_finds_the_same_derivatives(name: str) -> None:
    pytest.importorskip("numba")
    model = learned(name)
    assert isinstance(model, RFFPSRModel)
    structure = model.parts.structure
    seen = np.concatenate([run.observations for run in recordings()])
    standard = model.parts.observation_scaling.apply(np.quantile(seen, [0.2, 0.8], axis=0))
    bounded = structure._replace(
        bounds=Bounds(*standard), conditioning=structure.conditioning._replace(cap=0.5)
    )
    for used, cap in ((structure, np.inf), (bounded, 0.5)):
        parts = model.parts._replace(structure=used)
        by_numpy, live = ForecastDerivatives(parts), ForecastDerivatives(parts, live=True)
        assert live._compiled is not None
        assert by_numpy._compiled is None
        step = PreparedStep(parts.parameters, used, None)
        for state in states(model)[1:]:
            belief = state.belief * min(1, cap / np.linalg.norm(state.belief))
            standard_plans = parts.action_scaling.apply(plans(3))
            forecasts = np.array(
                [step.roll_out(belief, state.past, plan)[0] for plan in standard_plans]
            )
            given = belief, state.past, plans(3), parts.observation_scaling.invert(forecasts)
            expected = by_numpy.jacobian(*given)
            scale = float(np.abs(expected).max())
            np.testing.assert_allclose(live.jacobian(*given), expected, 0, 1e-5 * scale)
            weights = np.random.default_rng(0).normal(size=forecasts.shape)
            gradient = by_numpy.gradient(*given, weights)
            size = float(np.abs(gradient).max())
            np.testing.assert_allclose(live.gradient(*given, weights), gradient, 0, 1e-5 * size)


def test_what_is_held_does_not_move() -> None:
    model = learned("ensemble with limits")
    assert isinstance(model, EnsembleModel)
    assert model.parts.bounds is not None
    plan = np.full((HORIZON, 2), 0.9)
    state = states(model)[2]
    held = ~model.parts.bounds.strictly_inside(model.predict(state, plan))
    assert held.any()
    assert not held.all()
    jacobian = model.jacobian(state, plan)
    assert not jacobian[held].any()
    assert jacobian[~held].any(axis=(1, 2)).all()


def test_features_at_their_limits_do_not_move() -> None:
    """Only what is linear still depends on an action far outside of the training's range."""
    model = learned("rff_psr without terms")
    plan = plans(1)[0]
    plan[2, 1] = 50.0
    jacobian = model.jacobian(states(model)[2], plan)
    assert not jacobian[:, :, 2, 1].any()
    assert jacobian[2:, :, 2, 0].any()
    expected = differences(model, states(model)[2], plan)
    np.testing.assert_allclose(jacobian, expected, 1e-6, 1e-8)


def test_what_goes_in_steps_has_no_derivatives() -> None:
    generator = np.random.default_rng(1)
    observations, actions = (generator.integers(2, size=(60, n)).astype(float) for n in (2, 1))
    run = Trajectory(observations, actions, 0.1)
    model = IOHMM(past=2).fit([run])
    with pytest.raises(InputError, match="'io_hmm' models have no derivatives"):
        model.jacobian(model.initial_state(), np.zeros((3, 1)))
