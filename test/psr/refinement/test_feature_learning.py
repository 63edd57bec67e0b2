"""Exact sensitivities of rolled-out predictions, and learning of features by them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given as given_any
from hypothesis import strategies as st

from rffpsr_ros.data.change_coordinates import change_map, changes_alone, usual_changes
from rffpsr_ros.data.preparation import Start
from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.filter_step import Conditioning
from rffpsr_ros.psr.fourier_features import FeatureMap
from rffpsr_ros.psr.predictor import FixedStructure, Limits, TrainableParameters
from rffpsr_ros.psr.refinement.feature_learning import LearnedFeatures, learn_features
from rffpsr_ros.psr.refinement.learned_units import UNITS, learned_as
from rffpsr_ros.psr.refinement.learning_effort import FeatureLearningOptions
from rffpsr_ros.psr.refinement.learning_objective import Objective, random_mixtures
from rffpsr_ros.psr.refinement.rolling import FeedbackModel, Learnable, Rollouts, predictions
from rffpsr_ros.psr.refinement.rollout_refinement import validation_score
from rffpsr_ros.psr.refinement.segments import Segments, cut_segments
from rffpsr_ros.psr.refinement.sensitivities import adjoints, gradient, jacobian, rolled

HORIZON, PAST = 6, 4


def random_features(generator: np.random.Generator, columns: int, size: int) -> FeatureMap:
    return FeatureMap(generator.standard_normal((4, columns)), generator.standard_normal((8, size)))


def predictor(
    generator: np.random.Generator,
    observed: int,
    acted: int,
    state: int,
    past: int = 3,
    limits: Limits | None = None,
    bounds: Bounds | None = None,
    kind: str = "waves",
) -> FeedbackModel:
    phi_o, phi_a = random_features(generator, observed, 3), random_features(generator, acted, 2)
    structure = FixedStructure(
        phi_o,
        phi_a,
        None,
        PAST,
        past,
        Conditioning(0.1),
        Start(np.zeros(observed), np.zeros(acted)),
        limits,
        bounds,
    )
    tensors = TrainableParameters(
        0.3 * generator.standard_normal((2 * state, 6)),
        0.3 * generator.standard_normal((2 * state, 3 * state)),
        np.zeros(state),
        *(np.zeros((0, observed)),) * 3,
    )
    linear = np.eye(PAST * observed + (PAST + 1) * acted + 1)
    linear[:-1, :-1] = change_map(PAST, np.full(observed, 0.7), acted)
    window = change_map(past, np.full(observed, 0.5), acted)
    return FeedbackModel(structure, tensors, UNITS[kind], window, linear)


def learnable(generator: np.random.Generator, known: FeedbackModel, columns: int) -> Learnable:
    joint = len(known.tensors.covariance)
    units = 0.3 * generator.standard_normal((3, len(known.window_map) + known.units.offset))
    size = 3 * known.units.each + len(known.arx_map) + joint
    return Learnable(units, 0.15 * generator.standard_normal((size, columns)))


def rollouts(
    generator: np.random.Generator, known: FeedbackModel, observed: int, acted: int, count: int = 5
) -> Rollouts:
    actions = generator.standard_normal((count, PAST + HORIZON, acted))
    return Rollouts(
        generator.standard_normal((count, PAST + HORIZON, observed)),
        actions,
        generator.standard_normal((count, HORIZON, observed)),
        known.structure.action(actions[:, PAST:]),
        generator.standard_normal((count, len(known.tensors.initial))),
    )


def derivatives(known: FeedbackModel, at: Learnable, given: Rollouts) -> Array:
    """Every prediction's derivatives (B, H, d_o, P), by the passes that are tested."""
    alone = random_mixtures(given, 10**6, np.random.default_rng(0))
    found = rolled(known, at, given)
    rows = jacobian(known, at, found, adjoints(known, found, alone), together=2)
    return np.concatenate(list(rows)).reshape(*given.target.shape, -1)


def by_differences(known: FeedbackModel, at: Learnable, given: Rollouts) -> Any:
    """Fourth-order central differences (B, H, d_o, P)."""
    point, step = at.flat(), 1e-4
    columns = []
    for place in range(len(point)):
        moved = np.zeros_like(point)
        moved[place] = step
        near, far = (
            predictions(known, at.at(point + k * moved), given)
            - predictions(known, at.at(point - k * moved), given)
            for k in (1, 2)
        )
        columns.append((8 * near - far) / (12 * step))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("kind", UNITS)
@pytest.mark.parametrize(
    ("observed", "acted", "state", "past"), [(1, 1, 0, 3), (2, 1, 0, 4), (1, 2, 2, 1), (2, 2, 2, 3)]
)
def test_sensitivities_are_those_of_finite_differences(
    observed: int, acted: int, state: int, past: int, kind: str
) -> None:
    generator = np.random.default_rng(1)
    known = predictor(generator, observed, acted, state, past, kind=kind)
    at = learnable(generator, known, observed)
    given = rollouts(generator, known, observed, acted)
    exact, expected = derivatives(known, at, given), by_differences(known, at, given)
    assert np.abs(exact - expected).max() < 1e-6 * np.abs(expected).max()
    found = rolled(known, at, given)
    assert np.array_equal(found.values, predictions(known, at, given))
    weights = generator.standard_normal((*given.target.shape[:2], 3, observed))
    back = adjoints(known, found, weights)
    mixed = np.einsum("bhro,bhop->brp", weights, exact)
    rows = np.concatenate(list(jacobian(known, at, found, back)))
    assert np.allclose(rows, mixed, rtol=1e-9, atol=1e-9)
    of_one = gradient(known, found, back.of(slice(1, 2)))
    assert np.allclose(of_one, mixed[:, 1].sum(axis=0), rtol=1e-9, atol=1e-9)


def test_what_is_held_at_a_limit_or_a_bound_does_not_depend_on_what_is_fed_back() -> None:
    generator = np.random.default_rng(2)
    limits = Limits(*(np.full(1, value) for value in (-0.5, 0.5, -0.8, 0.8)))
    bounds = Bounds(np.full(1, -1.0), np.full(1, 1.0))
    known = predictor(generator, 1, 1, 2, limits=limits, bounds=bounds)
    at = learnable(generator, known, 1)
    given = rollouts(generator, known, 1, 1)
    exact = derivatives(known, at, given)
    assert np.abs(predictions(known, at, given)).max() == 1.0
    assert np.abs(exact - by_differences(known, at, given)).max() < 1e-6 * np.abs(exact).max()


def test_single_precision_is_close() -> None:
    generator = np.random.default_rng(3)
    known = predictor(generator, 2, 1, 2)
    at = learnable(generator, known, 2)
    given = rollouts(generator, known, 2, 1)
    double, single = (
        derivatives(known._replace(precision=precision), at, given)
        for precision in (np.float64, np.float32)
    )
    assert single.dtype == np.float32
    assert np.abs(single - double).max() < 1e-5 * np.abs(double).max()


def test_curvature_of_mixtures_is_on_average_that_of_predictions() -> None:
    """With every prediction alone exactly, and by many draws of few mixtures nearly so."""
    generator = np.random.default_rng(6)
    known = predictor(generator, 2, 1, 0)
    at = learnable(generator, known, 2)
    given = rollouts(generator, known, 2, 1, count=8)
    point = at.flat()

    def curvature(wanted: int) -> Array:
        mixtures = random_mixtures(given, wanted, generator)
        objective = Objective(known, given, at, np.zeros(len(point)), point, mixtures)
        return np.triu(objective.equations(point)[2])

    exact = curvature(10**6)
    errors = predictions(known, at, given) - given.target
    weights = 1 / np.sqrt((errors**2).sum(axis=0) * errors[0].size)
    rows = (derivatives(known, at, given) * weights[..., None]).reshape(-1, len(point))
    assert np.allclose(exact, np.triu(rows.T @ rows), rtol=1e-4, atol=1e-5 * exact.max())
    drawn = np.array([curvature(16) for _ in range(400)])
    spread = drawn.std(axis=0, ddof=1) / np.sqrt(len(drawn))
    away = np.abs(drawn.mean(axis=0) - exact)
    assert away.max() < 0.1 * exact.max()
    assert np.mean(away < 3 * spread + 1e-6 * exact.max()) > 0.97


@given_any(
    count=st.integers(1, 60),
    horizon=st.integers(1, 12),
    columns=st.integers(1, 4),
    wanted=st.integers(1, 3000),
)
def test_mixtures_are_about_as_many_as_wanted_or_each_prediction_alone(
    count: int, horizon: int, columns: int, wanted: int
) -> None:
    """Of too few J^T J is singular, and damping alone would tell how far a step may go."""
    empty = np.zeros((count, 0, 0))
    some = Rollouts(empty, empty, np.zeros((count, horizon, columns)), empty, np.zeros((count, 0)))
    mixtures = random_mixtures(some, wanted, np.random.default_rng(0))
    of_each = mixtures.shape[2]
    assert mixtures.shape == (count, horizon, of_each, columns)
    assert of_each == horizon * columns or of_each * count >= 2 / 3 * wanted
    assert of_each <= horizon * columns
    # Mixtures' squares add up to those of the predictions.
    assert np.allclose((mixtures**2).sum(axis=2), 1)


def bumpy(generator: np.random.Generator, ticks: int, gap: bool = False) -> tuple[Run, Any]:
    """A recording of a map that no linear model follows, and what was seen of it."""
    actions = generator.uniform(-1, 1, (ticks, 1))
    observations = np.zeros((ticks, 1))
    before = generator.uniform(-1, 1)
    for tick in range(ticks):
        before = 0.8 * np.sin(3 * before) + 0.3 * actions[tick, 0]
        observations[tick] = before
    seen = np.ones((ticks, 1), bool)
    if gap:
        seen[ticks // 2 : ticks // 2 + 3] = False
        observations[ticks // 2 : ticks // 2 + 3] = 0.0
    return Run(observations, actions), seen


def learn(
    options: FeatureLearningOptions, seed: int = 0, before: LearnedFeatures | None = None
) -> tuple[LearnedFeatures, Segments]:
    """Learn from the same recordings, on from what was learned before if anything was."""
    generator = np.random.default_rng(7)
    train = [bumpy(generator, ticks, gap) for ticks, gap in ((90, False), (140, True), (60, False))]
    held = [bumpy(generator, 80)]
    structure = FixedStructure(
        random_features(generator, 1, 3),
        random_features(generator, 1, 2),
        None,
        PAST,
        2,
        Conditioning(0.1, 50.0),
        Start(np.zeros(1), np.zeros(1)),
    )
    tensors = TrainableParameters(
        0.3 * generator.standard_normal((4, 6)),
        0.3 * generator.standard_normal((4, 6)),
        np.ones(2),
        np.zeros((4, 1)),
        np.zeros((2 * PAST + 2, 1)),
        np.zeros((0, 1)),
    )
    first, second = (
        cut_segments([run for run, _ in part], [seen for _, seen in part], structure, 60, PAST, 5)
        for part in (train, held)
    )
    validation = second.astype(np.float32)
    changes = usual_changes([run for run, _ in train])
    drawing = np.random.default_rng(seed)
    if before is not None:
        structure, tensors = before.structure, before.parameters
    found = learn_features(
        tensors, structure, changes, first, validation, np.ones(PAST), options, drawing
    )
    return found, validation


SMALL = FeatureLearningOptions(units=8, horizon=5, rollouts=200, steps=30)


@pytest.mark.parametrize("state", [False, True])
def test_learning_betters_the_held_out_score_and_tells_it(state: bool) -> None:
    options = FeatureLearningOptions(**{**vars(SMALL), "state": state})
    found, validation = learn(options)
    single = found.structure.astype(np.float32)
    told = validation_score(found.parameters.astype(np.float32), single, validation, 5)
    assert told == found.score
    assert found.score < 0.3 * found.initial_score
    assert found.steps > 3


@pytest.mark.parametrize("kind", UNITS)
@pytest.mark.parametrize("state", [False, True])
def test_learning_goes_on_from_what_was_learned(kind: str, state: bool) -> None:
    options = replace(SMALL, kind=kind, state=state, steps=6)
    first, _ = learn(options)
    nothing, _ = learn(replace(options, steps=0), before=first)
    # Read anew, what was learned may do better still, before any step.
    assert nothing.initial_score == nothing.score <= first.score * (1 + 1e-5)
    assert type(nothing.structure.narx) is type(first.structure.narx)
    further, _ = learn(replace(options, penalties=(1e-4,), patience=(10,), steps=20), 1, first)
    assert further.initial_score == nothing.score
    assert further.score < 0.9 * first.score
    assert further.parameters.narx.shape == first.parameters.narx.shape


@pytest.mark.parametrize("kind", UNITS)
def test_units_are_found_again_in_their_features(kind: str) -> None:
    generator, units = np.random.default_rng(2), UNITS[kind]
    changes, columns = np.array([0.5, 2.0]), 11
    given = change_map(3, changes, 1)[:columns, :columns]
    learned = generator.standard_normal((6, len(given) + units.offset))
    features = units.features(learned, given)
    found = units.found_in(features, given)
    assert found is not None
    np.testing.assert_allclose(found, learned, rtol=0, atol=1e-12)
    known = learned_as(features)
    assert known is not None
    assert known[0] == kind
    size = len(given)
    np.testing.assert_allclose(known[1][:, :size], learned[:, :size] @ given, atol=1e-12)
    others = (units.found_in(features, given) for name, units in UNITS.items() if name != kind)
    assert all(other is None for other in others)


@pytest.mark.parametrize("kind", UNITS)
def test_units_that_see_changes_only_do_so_and_are_told(kind: str) -> None:
    """Windows [last 3 observations of 2 columns, last 4 actions]; the second column is moved."""
    generator, units = np.random.default_rng(3), UNITS[kind]
    given = change_map(3, np.array([0.5, 2.0]), 1, [1])
    learned = generator.standard_normal((6, len(given) + units.offset))
    features = units.features(learned, given)
    windows = generator.standard_normal((5, len(given)))
    moved = windows + 3.0 * (np.arange(len(given)) % 2 == 1) * (np.arange(len(given)) < 6)
    np.testing.assert_allclose(features(moved), features(windows), atol=1e-12)
    assert changes_alone(learned[:, : len(given)] @ given, 3, 2) == (1,)
    found = units.found_in(features, given)
    assert found is not None
    again = units.features(found, given)
    np.testing.assert_allclose(again(windows), features(windows), atol=1e-12)
    other = units.features(learned, change_map(3, np.array([0.5, 2.0]), 1))
    assert changes_alone(learned[:, : len(given)] @ change_map(3, np.ones(2), 1), 3, 2) == ()
    assert not np.allclose(other(moved), other(windows))


def test_drawn_features_are_no_learned_units() -> None:
    assert learned_as(random_features(np.random.default_rng(0), 2, 8)) is None
    assert learned_as(random_features(np.random.default_rng(0), 2, 3)) is None


def test_learning_without_a_step_that_helps_keeps_its_start() -> None:
    """A penalty this strong pulls every weight of a wave to zero."""
    options = FeatureLearningOptions(**{**vars(SMALL), "penalties": (1e9,), "patience": (5,)})
    found, _ = learn(options)
    assert found.score == found.initial_score
    assert found.steps == 0


def test_learning_is_repeatable() -> None:
    one, other = (learn(SMALL)[0] for _ in range(2))
    assert one.score == other.score
    assert np.array_equal(one.parameters.narx, other.parameters.narx)
    assert learn(SMALL, seed=1)[0].score != one.score


def test_a_curvature_that_is_no_number_spoils_one_step_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As of rollouts that overflow: those of the next step are others."""
    equations, calls = Objective.equations, []

    def bad_at_first(self: Objective, point: Array) -> tuple[float, Array, Array]:
        loss, slope, curvature = equations(self, point)
        calls.append(loss)
        return loss, slope, curvature * np.nan if len(calls) == 1 else curvature

    monkeypatch.setattr(Objective, "equations", bad_at_first)
    found, _ = learn(replace(SMALL, penalties=(3e-3,), patience=(10,)))
    assert found.score < found.initial_score
    assert found.steps > 1


def test_missing_observations_do_not_count() -> None:
    """What stands in for them is anything."""
    generator = np.random.default_rng(4)
    known = predictor(generator, 1, 1, 0)
    at = learnable(generator, known, 1)
    given = rollouts(generator, known, 1, 1)
    given.target[0, 2] = np.nan
    point = at.flat()
    mixtures = random_mixtures(given, 10**6, generator)
    objective = Objective(known, given, at, np.zeros(len(point)), point, mixtures)
    loss, slope, curvature = objective.equations(point)
    errors = predictions(known, at, given) - given.target
    assert np.isfinite(slope).all()
    assert np.isfinite(curvature).all()
    assert loss == pytest.approx(np.log(np.nanmean(errors**2, axis=0)).mean())
    assert loss == pytest.approx(objective.loss(point))
    along = np.random.default_rng(5).standard_normal(len(point))
    ahead, behind = (objective.loss(point + step * along) for step in (1e-6, -1e-6))
    assert (ahead - behind) / 4e-6 == pytest.approx(slope @ along, rel=1e-4)
