"""Who joins the ensemble, and who forecasts far ahead: a robot whose state no window tells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.state_space.learner import simulation_error_of
from rffpsr_ros.models.state_space.model import StateSpaceModel
from rffpsr_ros.parallel.workers import ThisProcess
from rffpsr_ros.recipe.blend import blend
from rffpsr_ros.recipe.candidates import Candidate, baselines
from rffpsr_ros.recipe.long_horizons import blend_long_horizons
from rffpsr_ros.recipe.prepare import Preparation, prepare
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.state_space_trials import StateSpaceTrials
from rffpsr_ros.recordings.trajectory import Trajectory

pytestmark = pytest.mark.long

SETTINGS = RecipeSettings()
TICKS = 220
CART_TICKS = 1500
NOT_ASKED = np.ones((10, 1, 1))


def amplifier(seed: int, ticks: int = TICKS) -> Trajectory:
    """Return two filters with an amplifier between them that saturates; only the end is seen."""
    draw = np.random.default_rng(seed)
    actions = draw.uniform(-1, 1, ticks)
    before, after = np.zeros(2), np.zeros(2)
    seen = np.empty(ticks)
    for tick, action in enumerate(actions):
        before = np.array([0.7 * before[0] + action, 0.6 * before[1] + before[0]])
        strong = np.tanh(before[1])
        after = np.array([0.8 * after[0] + strong, 0.6 * after[1] - 0.5 * after[0]])
        seen[tick] = after[1] + 0.002 * draw.standard_normal()
    return Trajectory(seen, actions, 0.1)


@pytest.fixture(scope="module")
def ready() -> Preparation:
    return prepare([amplifier(seed) for seed in range(9)], None, RFFPSROptions(), SETTINGS)


@pytest.fixture(scope="module")
def joined(ready: Preparation) -> Candidate:
    found = StateSpaceTrials(ready, SETTINGS).best(known(ready))
    assert found is not None
    return found


def known(ready: Preparation) -> list[Candidate]:
    made = [pending.result() for pending in baselines(ready, SETTINGS)]
    return [one for one in made if one is not None]


def late_error(model: PredictiveModel[Any], run: Trajectory) -> float:
    return float(errors_by_origin(model, run, 100, 20)[:, 50:].std())


def test_a_state_space_joins_where_it_is_best(ready: Preparation, joined: Candidate) -> None:
    linear, found = known(ready), joined
    assert found.name == "state_space"
    assert len(found.by_fold) == len(ready.folds) == 3
    (member,) = found.members
    stages = [model.record.options["stages"] for model in (member, *found.by_fold)]
    assert len(set(stages)) == 1
    assert late_error(member, amplifier(99)) < 0.1 * late_error(linear[1].members[0], amplifier(99))
    # Judged by parts held out it has nearly all the weight, at every horizon and beyond.
    everyone = [found, *linear]
    within = blend(everyone, 1, ready, SETTINGS)
    assert within.weights[:, 0, 0].min() > 0.8
    lenient = replace(SETTINGS, simulation_behind=np.inf)
    beyond = blend_long_horizons(everyone, within.weights, within.limits, ready, lenient)
    assert beyond is not None
    (joining,) = beyond.joining
    assert joining.name == "output_error"
    assert list(beyond.scores) == [one.name for one in (*everyone, joining)]
    assert min(beyond.scores, key=lambda name: beyond.scores[name]) == "state_space"
    assert beyond.weights[..., 0].min() > 0.8
    np.testing.assert_allclose(beyond.weights.sum(axis=2), 1.0)
    assert not beyond.far_scores  # recordings are too short for these
    assert len(beyond.weights) == beyond.told + 1  # the last one holds ever after
    assert not member.record.options["integrating"]
    # So far behind it output-error models are not learned on all folds, and all else is the same.
    usual = blend_long_horizons(everyone, within.weights, within.limits, ready, SETTINGS)
    assert usual is not None
    assert not usual.joining
    assert {name: beyond.scores[name] for name in usual.scores} == usual.scores
    np.testing.assert_allclose(usual.weights, beyond.weights[..., :-1], atol=0.1)
    # To a rival that is as good it is near enough, to a much better one not.
    assert StateSpaceTrials(ready, SETTINGS).best([found]) is not None
    strict = replace(SETTINGS, close=0.9)
    assert StateSpaceTrials(ready, strict).best([found]) is None


def test_a_state_space_of_very_many_weights_is_not_learned(ready: Preparation) -> None:
    small = replace(SETTINGS, state_space_weights=20)
    assert StateSpaceTrials(ready, small).best(known(ready)) is None


def test_nor_where_the_terms_of_the_model_are_unwanted() -> None:
    runs = [amplifier(seed) for seed in range(9)]
    plain = prepare(runs, None, RFFPSROptions(arx_past=0), SETTINGS)
    assert StateSpaceTrials(plain, SETTINGS).best([]) is None


def linear_filter(seed: int) -> Trajectory:
    """Return a recording of a filter of second order, whose model is linear."""
    draw = np.random.default_rng(seed)
    actions = draw.uniform(-1, 1, TICKS)
    seen = lfilter([0.0, 1.0, 0.5], [1.0, -1.3, 0.6], actions)
    return Trajectory(seen + 0.02 * draw.standard_normal(TICKS), actions, 0.1)


def test_what_only_repeats_its_linear_system_is_no_candidate() -> None:
    ready = prepare([linear_filter(seed) for seed in range(9)], None, RFFPSROptions(), SETTINGS)
    trials = StateSpaceTrials(ready, SETTINGS)
    assert trials.best(known(ready)) is None
    # Were anything enough, it would compete: to the linear system's rivals it is near.
    lenient = StateSpaceTrials(ready, replace(SETTINGS, better_than_linear=np.inf))
    found = lenient.best(known(ready))
    assert found is not None
    assert found.name == "state_space"


def test_short_recordings_do_not_tell_who_simulates_best() -> None:
    runs = [amplifier(seed, 150) for seed in range(9)]
    short = prepare(runs, None, RFFPSROptions(), SETTINGS)
    assert blend_long_horizons(known(short), NOT_ASKED, None, short, SETTINGS) is None


def cart(ticks: int, seed: int = 5, spring: float = 0.0005) -> Trajectory:
    """Return a cart under a motor that saturates; its position is the sum of its speeds."""
    draw = np.random.default_rng(seed)
    actions = np.repeat(draw.uniform(-1, 1, ticks // 5), 5)
    speed = position = 0.0
    seen = np.empty(ticks)
    for tick, action in enumerate(actions):
        seen[tick] = position + 0.001 * draw.standard_normal()
        position += speed
        speed = 0.9 * speed + 0.02 * np.tanh(3 * action) - spring * position
    return Trajectory(seen, actions, 0.1)


@pytest.fixture(scope="module")
def carted() -> Preparation:
    return prepare([cart(CART_TICKS)], None, RFFPSROptions(), SETTINGS)


def test_what_adds_up_its_speeds_is_found_by_the_first_fold() -> None:
    free = prepare([cart(CART_TICKS, 7, 0.0)], None, RFFPSROptions(), SETTINGS)
    found = StateSpaceTrials(free, SETTINGS).best(known(free))
    assert found is not None
    options = [one.record.options for one in (*found.members, *found.by_fold)]
    assert [one["integrating"] for one in options] == [True] * 4
    assert len({one["stages"] for one in options}) == 1


class Noting(ThisProcess):
    """Notes which features are tried, and has nothing computed."""

    def __init__(self) -> None:
        self.tried: list[tuple[bool, int]] = []

    def submit(self, task: Any, progress: Any, urgency: int = 0) -> Any:
        self.tried += [(one.saturating, one.features) for one in task.learners[:1]]


@pytest.mark.parametrize(
    ("ticks", "weights", "tried"),
    [
        (CART_TICKS + 1, 400, [(True, 8), (False, 4)]),
        (CART_TICKS, 400, [(True, 8), (False, 4), (True, 16)]),
        (CART_TICKS, 110, [(True, 8), (False, 4)]),
    ],
)
def test_finer_features_are_tried_on_long_recordings_if_these_are_not_too_many(
    carted: Preparation, ticks: int, weights: int, tried: list[tuple[bool, int]]
) -> None:
    workers = Noting()
    settings = replace(SETTINGS, finer_from=ticks, state_space_weights=weights)
    StateSpaceTrials(carted, settings, workers)
    assert workers.tried == tried


def test_of_what_is_as_good_the_fewest_weights_are_learned(carted: Preparation) -> None:
    anything = replace(
        SETTINGS,
        finer_from=CART_TICKS,
        as_good=1e9,
        close=1e9,
        better_than_linear=np.inf,
        hopeless=1e-9,
    )
    found = StateSpaceTrials(carted, anything).best(known(carted))
    assert found is not None
    options = found.members[0].record.options
    assert (options["saturating"], options["features"]) == (False, 4)


def test_learning_ends_where_a_stage_is_hopeless(carted: Preparation) -> None:
    impatient = replace(SETTINGS, hopeless=1e-9)  # as if the first were
    found = StateSpaceTrials(carted, impatient).best(known(carted))
    assert found is not None
    assert found.members[0].record.options["stages"] <= 1


def test_where_recordings_are_far_longer_so_are_simulations(carted: Preparation) -> None:
    linear = known(carted)
    held_out = min(len(run) for fold in carted.folds for run in fold.held_out)
    far = replace(SETTINGS, far_ticks=held_out)
    horizon = carted.options.rollout_horizon
    within = blend(linear, 0, carted, SETTINGS).weights
    found = blend_long_horizons(linear, within, None, carted, far)
    assert found is not None
    names = [*(one.name for one in linear), "output_error"]
    assert list(found.far_scores) == names == list(found.scores)
    assert len(found.weights) == SETTINGS.simulated_beyond - horizon + 1
    assert (found.weights[-1] != found.weights[found.told]).any()
    np.testing.assert_allclose(found.weights.sum(axis=2), 1.0)
    assert all(found.far_scores[name] != score for name, score in found.scores.items())
    # What the shorter ones tell of further ahead does not count then.
    early = blend_long_horizons(linear, within, None, carted, replace(far, simulated_beyond=60))
    assert early is not None
    assert len(early.weights) == 60 - horizon + 1
    assert early.told < len(early.weights) - 1 < found.told
    beyond_all = replace(far, far_ticks=held_out + 1)
    near = blend_long_horizons(linear, within, None, carted, beyond_all)
    assert near is not None
    assert not near.far_scores
    np.testing.assert_allclose(near.weights, found.weights[: found.told + 1])


def test_of_linear_systems_as_good_the_one_of_fewer_states_is_the_start() -> None:
    # Its changes are as well forecast by two states, but then position is a third.
    runs = [linear_filter(seed) for seed in range(9)]
    ready = prepare(runs, None, RFFPSROptions(), SETTINGS)
    lenient = replace(SETTINGS, better_than_linear=np.inf, hopeless=1e-9)
    found = StateSpaceTrials(ready, lenient).best(known(ready))
    assert found is not None
    options = found.members[0].record.options
    assert (options["order"], options["integrating"]) == (2, False)


def behind_a_curve(seed: int) -> Trajectory:
    """Return what follows the square of the action through four lags; no line shows any of it."""
    draw = np.random.default_rng(seed)
    actions = np.repeat(draw.uniform(-1, 1, 200), 2)
    seen = actions**2
    for _ in range(4):
        seen = lfilter([0.0, 0.3], [1.0, -0.7], seen)
    return Trajectory(seen + 0.002 * draw.standard_normal(len(seen)), actions, 0.1)


def test_more_states_are_tried_than_suit_a_linear_system() -> None:
    runs = [behind_a_curve(seed) for seed in range(6)]
    ready = prepare(runs, None, RFFPSROptions(), SETTINGS)
    linear_alone = replace(SETTINGS, state_space_orders={True: (), False: ()})
    found = StateSpaceTrials(ready, SETTINGS).best(known(ready))
    rival = StateSpaceTrials(ready, linear_alone).best(known(ready))
    assert found is not None
    assert found.members[0].record.options["order"] >= 4
    unseen = behind_a_curve(99)
    rivals = [rival.members[0]] if rival is not None else known(ready)[0].members
    error, usual = (
        float(errors_by_origin(one, unseen, 10, 20).std()) for one in (found.members[0], rivals[0])
    )
    assert error < 0.5 * usual


def test_that_of_all_recordings_errs_no_more_on_them_than_the_folds_it_came_from(
    ready: Preparation, joined: Candidate
) -> None:
    errors = []
    for one in (*joined.members, *joined.by_fold):
        assert isinstance(one, StateSpaceModel)
        errors.append(simulation_error_of(one, ready.recordings))
    assert errors[0] < min(errors[1:])


def unstable(seed: int) -> Trajectory:
    """Return a rolling ball that a feedback nobody sees keeps on a beam."""
    draw = np.random.default_rng(seed)
    place = speed = reference = 0.0
    actions, seen = np.empty(400), np.empty(400)
    for tick in range(400):
        if tick % 40 == 0:
            reference = draw.uniform(-1, 1)
        seen[tick] = place + 0.001 * draw.standard_normal()
        actions[tick] = -0.4 * (place - reference) - 1.2 * speed + 0.1 * draw.standard_normal()
        place, speed = place + 0.2 * speed, speed + 0.2 * np.sin(actions[tick]) + 0.03 * place
    return Trajectory(seen, actions, 0.1)


def test_a_tick_beyond_the_horizon_is_forecast_as_well_as_one_within() -> None:
    # In 150 ticks the ball is anywhere, and what then forecasts best is of no use for eleven.
    ready = prepare([unstable(seed) for seed in range(9)], None, RFFPSROptions(), SETTINGS)
    candidates = known(ready)
    within = blend(candidates, 0, ready, SETTINGS)
    beyond = blend_long_horizons(candidates, within.weights, within.limits, ready, SETTINGS)
    assert beyond is not None
    weights = np.concatenate([within.weights, beyond.weights[..., : len(candidates)]])
    models = [one.members[0] for one in candidates]
    errors = [errors_by_origin(one, unstable(99), 20, 20) for one in models]
    squares = np.mean(np.square(errors), axis=(1, 3)).T  # (20, C)
    by_tick = (weights[:20, 0] * squares).sum(axis=1)
    assert by_tick[10] < 1.5 * by_tick[9]
    assert by_tick[19] < 1.1 * squares[19].min()
    assert weights[-1, 0] @ squares[10] > 10 * by_tick[10]  # what forecasts the furthest tick
