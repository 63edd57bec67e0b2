"""Both steps that serve models, NumPy's and the compiled one, are `filter_step` and the predictor.

On random beliefs and random weights, so that nothing that training happens to make small is hidden.
"""

from typing import NamedTuple

import numpy as np
import pytest

from rffpsr_ros.data.preparation import Start
from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import khatri_rao, unpack_symmetric
from rffpsr_ros.psr.filter_step import Conditioning, filter_step
from rffpsr_ros.psr.fourier_features import FeatureMap
from rffpsr_ros.psr.predictor import (
    FixedStructure,
    Limits,
    TrainableParameters,
    predict_observation,
)
from rffpsr_ros.psr.runtime.prepared_step import UNPACKED, PreparedStep
from rffpsr_ros.psr.sigmoid_features import SigmoidMap

OBSERVED, ACTED, STATE, TICKS, HORIZON = 3, 2, 5, 6, 4
BELIEFS = 24
FEW, MANY = 4, UNPACKED + 3


class Served(NamedTuple):
    """A predictor that nobody trained, and what is taken where nothing was seen."""

    parameters: TrainableParameters
    structure: FixedStructure
    expected: Array | None


def served(
    size: int = FEW,
    arx_past: int = 4,
    narx_past: int = 2,
    full: bool = False,
    cap: float = np.inf,
    limits: bool = False,
    bounds: bool = False,
    stand_in: bool = False,
    sigmoids: bool = False,
    told: bool = True,
) -> Served:
    draw = np.random.default_rng(7)
    tick = OBSERVED + ACTED

    def features(inputs: int, rank: int) -> FeatureMap:
        projection = np.linalg.qr(draw.normal(size=(60, rank)))[0]
        return FeatureMap(draw.normal(size=(30, inputs)) / 2, projection)

    def bends(inputs: int, rank: int) -> SigmoidMap:
        directions, offsets = draw.normal(size=(12, inputs)) / 2, draw.normal(size=12)
        return SigmoidMap(directions, offsets, draw.normal(size=(12, rank)))

    narx = bends if sigmoids else features
    structure = FixedStructure(
        features(OBSERVED, size),
        features(ACTED, 3),
        narx(narx_past * tick + ACTED, 5) if narx_past else None,
        arx_past,
        narx_past,
        Conditioning(0.02, cap),
        Start(np.zeros(OBSERVED), np.zeros(ACTED)),
        Limits(*box(OBSERVED, 1.2), *box(ACTED, 1.5)) if limits else None,
        Bounds(np.array([-np.inf, -0.3, -0.2]), np.array([0.4, np.inf, 0.3])) if bounds else None,
    )
    rows, half = STATE * 3, size * (size + 1) // 2
    covariance = draw.normal(size=(rows, half)) / 4
    if full:
        covariance = unpack_symmetric(covariance, size).reshape(rows, -1)
    shapes = {
        "extended": (rows, STATE * size),
        "initial": (STATE,),
        "prediction": (rows, OBSERVED),
        "arx": (arx_past * tick + ACTED + 1 if arx_past else 0, OBSERVED),
        "narx": (5 if narx_past else 0, OBSERVED),
    }
    weights = {name: draw.normal(size=shape) / 3 for name, shape in shapes.items()}
    weights["prediction"] *= told
    expected = draw.normal(size=(rows, size)) / 3 if stand_in else None
    return Served(TrainableParameters(covariance, **weights), structure, expected)


def box(size: int, limit: float) -> tuple[Array, Array]:
    return np.full(size, -limit), np.full(size, limit)


CASES = {
    "every term": served(),
    "many features": served(MANY),
    "full covariance": served(full=True),
    "many features, full covariance": served(MANY, full=True),
    "no NARX term": served(narx_past=0),
    "NARX term alone": served(arx_past=0),
    "the state alone": served(arx_past=0, narx_past=0),
    "capped": served(cap=0.1),
    "many features, capped": served(MANY, cap=0.1),
    "limited": served(limits=True),
    "bounded": served(bounds=True),
    "expected features": served(stand_in=True),
    "many expected features": served(MANY, stand_in=True),
    "sigmoids": served(sigmoids=True),
    "limited sigmoids": served(sigmoids=True, limits=True),
    "a state without weight": served(told=False),
    "many features, a state without weight": served(MANY, told=False, bounds=True),
}
COMPILABLE = [name for name in CASES if "full covariance" not in name]


def beliefs_and_pasts() -> tuple[Array, Array]:
    """Return beliefs (N, p) and ticks (N, T, d_a + d_o) with gaps in the newest ones."""
    draw = np.random.default_rng(1)
    pasts = draw.normal(size=(BELIEFS, TICKS, ACTED + OBSERVED))
    pasts[::4, -1, ACTED] = np.nan
    pasts[1::4, -1, ACTED:] = np.nan
    return draw.normal(size=(BELIEFS, STATE)), pasts


def step_by_definition(given: Served, belief: Array, past: Array) -> tuple[Array, Array, Array]:
    """Return next beliefs (N, p), errors (N, d_o) and ticks with their gaps filled."""
    parameters, structure, expected = given
    limits = structure.limits or Limits(*box(OBSERVED, np.inf), *box(ACTED, np.inf))
    seen, acted = past[:, :, ACTED:], past[:, :, :ACTED]
    joined = khatri_rao(belief, structure.action(np.clip(acted[:, -1], *limits[2:])))
    first = TICKS - 1 - structure.past
    predicted = predict_observation(
        parameters, structure, joined, seen[:, first:-1], acted[:, first:]
    ).value
    missing = np.isnan(seen[:, -1])
    taken = np.where(missing, predicted, seen[:, -1])
    features = structure.observation(np.clip(taken, *limits[:2]))
    if expected is not None:
        features = np.where(missing.all(1, keepdims=True), joined @ expected, features)
    following, _ = filter_step(parameters, structure.conditioning, joined, features)
    filled = np.concatenate([past[:, :-1], np.c_[acted[:, -1], taken][:, None]], axis=1)
    return following, seen[:, -1] - predicted, filled


def forecast_by_definition(given: Served, belief: Array, past: Array, plan: Array) -> Array:
    """Return forecasts (N, H, d_o): a tick in which nothing is seen is one step ahead."""
    forecast = []
    given = given._replace(expected=None)
    for h in range(plan.shape[1]):
        nothing = np.full((len(past), OBSERVED), np.nan)
        past = np.concatenate([past[:, 1:], np.c_[plan[:, h], nothing][:, None]], axis=1)
        belief, _, past = step_by_definition(given, belief, past)
        forecast.append(past[:, -1, ACTED:])
    return np.stack(forecast, axis=1)


@pytest.mark.parametrize("case", CASES)
def test_the_numpy_step_is_the_filters(case: str) -> None:
    given, (belief, past) = CASES[case], beliefs_and_pasts()
    step = PreparedStep(*given)
    following, errors, filled = step_by_definition(given, belief, past)
    for n in range(BELIEFS):
        newest = past[n].copy()
        advance = step.advance(belief[n], newest)
        np.testing.assert_allclose(advance.belief, following[n], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(advance.error, errors[n], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(newest, filled[n], rtol=1e-9, atol=1e-11)
    together = past.copy()
    advance = step.advance(belief, together)
    np.testing.assert_allclose(advance.belief, following, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(advance.error, errors, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(together, filled, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("case", CASES)
def test_numpy_forecasts_are_ticks_in_which_nothing_is_seen(case: str) -> None:
    given, (belief, past) = CASES[case], beliefs_and_pasts()
    step, past = PreparedStep(*given), np.nan_to_num(past)
    plan = np.random.default_rng(2).normal(size=(BELIEFS, HORIZON, ACTED))
    expected = forecast_by_definition(given, belief, past, plan)
    together, _, _ = step.roll_out(belief, past, plan)
    np.testing.assert_allclose(together, expected, rtol=1e-9, atol=1e-11)
    for n in range(BELIEFS):
        alone, _, _ = step.roll_out(belief[n], past[n], plan[n])
        np.testing.assert_allclose(alone, expected[n], rtol=1e-9, atol=1e-11)


SCALING = np.array([0.3, -0.2, 1.0, 0.0, -4.0]), np.array([0.5, 2.0, 3.0, 1.0, 0.1])
WEIGHTS = np.array([0.5, 1.0, 2.0])


@pytest.mark.parametrize("case", COMPILABLE)
def test_the_compiled_step_is_the_filters(case: str) -> None:
    pytest.importorskip("numba")
    from rffpsr_ros.psr.runtime.compiled_step import CompiledStep
    from rffpsr_ros.psr.runtime.packed_parts import compilable

    given, (belief, past) = CASES[case], beliefs_and_pasts()
    parameters, structure, expected = given
    assert compilable(parameters, structure)
    step = CompiledStep(parameters, structure, *SCALING, WEIGHTS, (0.0, np.inf), expected)
    ticks = max(structure.past, 1) + 1
    following, errors, filled = step_by_definition(given, belief, past)
    newest = past[:, -1] * SCALING[1] + SCALING[0]
    for n in range(BELIEFS):
        before = past[n, -ticks - 1 : -1]
        done = step.tick(belief[n], before, newest[n, :ACTED], newest[n, ACTED:])
        assert done is not None
        after, own, innovation, _ = done
        np.testing.assert_allclose(after, following[n], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(own, filled[n, -ticks:], rtol=1e-5, atol=1e-5)
        weighed = WEIGHTS * errors[n] ** 2
        mean = np.nan if np.isnan(weighed).all() else OBSERVED * np.nanmean(weighed)
        assert innovation == pytest.approx(mean, rel=1e-5, nan_ok=True)


@pytest.mark.parametrize("case", COMPILABLE)
def test_compiled_forecasts_are_ticks_in_which_nothing_is_seen(case: str) -> None:
    pytest.importorskip("numba")
    from rffpsr_ros.psr.runtime.compiled_step import CompiledStep

    given, (belief, past) = CASES[case], beliefs_and_pasts()
    parameters, structure, expected = given
    step = CompiledStep(parameters, structure, *SCALING, WEIGHTS, (0.0, np.inf), expected)
    past = np.nan_to_num(past)
    plan = np.random.default_rng(2).normal(size=(BELIEFS, HORIZON, ACTED))
    wanted = forecast_by_definition(given, belief, past, plan)
    plans = plan * SCALING[1][:ACTED] + SCALING[0][:ACTED]
    together = step.roll_out(belief, past, plans)
    alone = [step.roll_out(*one) for one in zip(belief, past, plans, strict=True)]
    for forecast in (together, np.array(alone)):
        standardised = (forecast - SCALING[0][ACTED:]) / SCALING[1][ACTED:]
        np.testing.assert_allclose(standardised, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("case", "like"),
    [
        ("capped", "every term"),
        ("limited", "every term"),
        ("bounded", "every term"),
        ("expected features", "every term"),
        ("many features, capped", "many features"),
        ("many expected features", "many features"),
    ],
)
def test_what_the_cases_differ_in_is_in_force(case: str, like: str) -> None:
    one, other = (step_by_definition(CASES[name], *beliefs_and_pasts())[0] for name in (case, like))
    assert np.abs(one - other).max() > 1e-2


def test_a_covariance_in_full_is_its_half() -> None:
    half, full = CASES["every term"], CASES["full covariance"]
    assert half.parameters.covariance.shape[1] < full.parameters.covariance.shape[1] == FEW**2
    one, other = (step_by_definition(given, *beliefs_and_pasts())[0] for given in (half, full))
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)  # states are about 1e-2


def test_commands_in_any_order_give_the_bits_of_each_alone() -> None:
    """Two are remembered, of which the one used longer ago is forgotten for a third."""
    pytest.importorskip("numba")
    from rffpsr_ros.psr.runtime.compiled_step import CompiledStep

    given, (belief, past) = CASES["every term"], beliefs_and_pasts()
    parameters, structure, expected = given
    made = (parameters, structure, *SCALING, WEIGHTS, (0.0, np.inf), expected)
    before = np.nan_to_num(past[0, -max(structure.past, 1) - 1 :])
    commands = np.random.default_rng(3).normal(size=(4, ACTED))
    alone = [CompiledStep(*made).roll_out(belief[0], before, command[None]) for command in commands]
    together = CompiledStep(*made)
    for number in np.random.default_rng(4).integers(4, size=60):
        forecast = together.roll_out(belief[0], before, commands[[number]])
        np.testing.assert_array_equal(forecast, alone[number])
