"""Both refinement losses: analytic gradients against central differences, and sums of them."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

from rffpsr_ros.data.preparation import Start
from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.parallel.workers import THIS_PROCESS, merged
from rffpsr_ros.psr.filter_step import Conditioning
from rffpsr_ros.psr.fourier_features import FeatureMap, draw_frequencies
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.refinement.minibatches import (
    GradientData,
    MinibatchSampling,
    draw_minibatches,
    minibatch_gradient,
)
from rffpsr_ros.psr.refinement.rollout_loss import rollout_errors, rollout_loss
from rffpsr_ros.psr.refinement.segments import Origins, Segments, cut_segments, origins
from rffpsr_ros.psr.refinement.window_loss import window_loss, window_targets

OBSERVED, ACTED, STATE, ARX_PAST, NARX_PAST, FUTURE = 2, 2, 4, 3, 2, 4


class Problem(NamedTuple):
    parameters: TrainableParameters
    structure: FixedStructure
    segments: Segments
    head: Array
    future_action: FeatureMap


def feature_map(size: int, rank: int, generator: np.random.Generator) -> FeatureMap:
    frequencies = draw_frequencies(size, 9, 2.0, generator)
    projection = np.linalg.qr(generator.standard_normal((18, rank)))[0]
    return FeatureMap(frequencies, projection)


def problem(
    cap: float, full_covariance: bool = False, parts: bool = True, bounds: Bounds | None = None
) -> Problem:
    """Two runs of unequal length with a gap, cut into segments; random weights of every part."""
    draw = np.random.default_rng(3)
    window = NARX_PAST * (OBSERVED + ACTED) + ACTED
    structure = FixedStructure(
        feature_map(OBSERVED, 3, draw),
        feature_map(ACTED, 3, draw),
        feature_map(window, 5, draw) if parts else None,
        ARX_PAST if parts else 0,
        NARX_PAST if parts else 0,
        Conditioning(0.05, cap),
        Start(np.full(OBSERVED, 0.3), np.full(ACTED, -0.2)),
        bounds=bounds,
    )
    rows = STATE * structure.action.size
    covariance = 9 if full_covariance else 6
    arx = ARX_PAST * (OBSERVED + ACTED) + ACTED + 1 if parts else 0
    parameters = TrainableParameters(
        *(
            0.5 * draw.standard_normal(shape)
            for shape in (
                (rows, covariance),
                (rows, STATE * 3),
                (STATE,),
                (rows, OBSERVED),
                (arx, OBSERVED),
                (5 if parts else 0, OBSERVED),
            )
        )
    )
    runs = [
        Run(draw.standard_normal((ticks, OBSERVED)), draw.standard_normal((ticks, ACTED)))
        for ticks in (23, 14)
    ]
    seen = [np.ones(run.observations.shape, bool) for run in runs]
    seen[0][9:11] = False
    seen[1][5, 1] = False
    segments = cut_segments(runs, seen, structure, 14, 4)
    future_action = feature_map(FUTURE * ACTED, 4, draw)
    head = 0.5 * draw.standard_normal((STATE * 4, FUTURE * OBSERVED))
    return Problem(parameters, structure, segments, head, future_action)


BOUNDS = Bounds(np.array([-0.9, -np.inf]), np.array([1.1, 0.8]))
CASES = {
    "free": problem(float("inf")),
    "capped": problem(0.8),
    "full covariance": problem(float("inf"), full_covariance=True),
    "state alone": problem(float("inf"), parts=False),
    "bounded": problem(
        float("inf"), bounds=Bounds(np.array([-0.9, -np.inf]), np.array([1.1, 0.8]))
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("part", TrainableParameters._fields)
def test_the_rolled_out_loss(case: str, part: str) -> None:
    parameters, structure, segments, _, _ = CASES[case]
    starts = origins(segments, FUTURE, stride=2, offset=1)
    weighing = np.random.default_rng(0).uniform(0.5, 2, (FUTURE, OBSERVED))

    def loss(at: TrainableParameters) -> float:
        return rollout_loss(at, structure, segments, starts, weighing)[0]

    gradient = rollout_loss(parameters, structure, segments, starts, weighing)[1]
    check(loss, parameters, gradient, part)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("part", ["covariance", "extended", "initial"])
def test_the_window_loss(case: str, part: str) -> None:
    parameters, structure, segments, head, future_action = CASES[case]
    targets = window_targets(segments, structure, future_action, FUTURE)
    assert targets.complete.any()
    assert not targets.complete.all()

    def loss(at: TrainableParameters) -> float:
        return window_loss(at, head, structure, segments, targets)[0]

    gradient = window_loss(parameters, head, structure, segments, targets)[1]
    check(loss, parameters, gradient, part)


def test_the_window_loss_at_its_head() -> None:
    parameters, structure, segments, head, future_action = CASES["free"]
    targets = window_targets(segments, structure, future_action, FUTURE)
    gradient = window_loss(parameters, head, structure, segments, targets)[2]
    along = np.random.default_rng(1).standard_normal(head.shape)

    def loss(shift: float) -> float:
        return window_loss(parameters, head + shift * along, structure, segments, targets)[0]

    numeric = (loss(1e-5) - loss(-1e-5)) / 2e-5
    assert numeric == pytest.approx(float(np.sum(gradient * along)), rel=1e-6)


def check(loss, parameters: TrainableParameters, gradient: TrainableParameters, part: str) -> None:  # type: ignore[no-untyped-def]
    """Compare directional derivatives along a random direction of one part."""
    value = getattr(parameters, part)
    if not value.size:
        assert not getattr(gradient, part).size
        return
    along = np.random.default_rng(2).standard_normal(value.shape)

    def moved(shift: float) -> float:
        return float(loss(parameters._replace(**{part: value + shift * along})))

    # Fourth-order central differences: their own error stays below 1e-9 relative.
    step = 1e-3 / float(np.linalg.norm(along))
    numeric = (8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))) / (
        12 * step
    )
    analytic = float(np.sum(getattr(gradient, part) * along))
    assert abs(analytic) > 1e-6
    assert numeric == pytest.approx(analytic, rel=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_errors_are_those_that_the_loss_sums_up(case: str) -> None:
    parameters, structure, segments, _, _ = CASES[case]
    starts = origins(segments, FUTURE)
    weighing = np.random.default_rng(0).uniform(0.5, 2, (FUTURE, OBSERVED))
    errors = rollout_errors(parameters, structure, segments, starts, FUTURE)
    loss, _ = rollout_loss(parameters, structure, segments, starts, weighing)
    assert np.nansum(weighing * errors) / len(errors) == pytest.approx(loss, rel=1e-10)


def test_without_their_weights_state_and_narx_term_are_left_out_of_errors() -> None:
    given = problem(1.5, bounds=BOUNDS)
    starts = origins(given.segments, 4)

    def errors(scale: float) -> Array:
        parameters = given.parameters._replace(
            prediction=scale * given.parameters.prediction, narx=scale * given.parameters.narx
        )
        return rollout_errors(parameters, given.structure, given.segments, starts, 4)

    np.testing.assert_allclose(errors(0.0), errors(1e-13), rtol=1e-9)
    assert np.nanmax(np.abs(errors(0.0) - errors(1.0))) > 0.1


@pytest.mark.parametrize(
    ("count", "minibatches", "looked_at"), [(5, 1, 5), (20, 3, 20), (40, 3, 24)]
)
def test_slopes_of_minibatches_sum_up_to_that_of_all_their_segments(
    count: int, minibatches: int, looked_at: int
) -> None:
    parameters, structure, segments, _, _ = CASES["bounded"]
    segments = segments.pick(np.arange(count) % len(segments.observations))
    draw = np.random.default_rng(0)
    weighing, age = draw.uniform(0.5, 2, (FUTURE, OBSERVED)), np.array([0.3, 0.6, 0.9])
    sampling = MinibatchSampling(8, 3, FUTURE, 2, age)
    drawn = draw_minibatches(segments, sampling, draw)
    assert len(drawn) == sampling.minibatches(count) == minibatches
    places = np.concatenate([minibatch.places for minibatch in drawn])
    assert len(np.unique(places)) == len(places) == looked_at

    data = GradientData(structure, segments, weighing)
    total = merged(THIS_PROCESS.broadcast(data).map(partial(minibatch_gradient, parameters), drawn))

    segment, tick = (
        np.concatenate(parts)
        for parts in zip(
            *((m.places[m.origins.segment], m.origins.tick) for m in drawn), strict=True
        )
    )
    loss, gradient = rollout_loss(parameters, structure, segments, Origins(segment, tick), weighing)
    assert total.loss == pytest.approx(loss, rel=1e-12)
    for part, expected in zip(total.gradient, gradient, strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-9, atol=1e-12)
