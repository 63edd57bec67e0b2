"""Which nonlinear state spaces join the ensemble, learned how far, and what is begun again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.models.low_passed.filters import fit_filters
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.state_space.learner import NonlinearStateSpace, simulation_error_of
from rffpsr_ros.models.state_space.model import StateSpaceModel
from rffpsr_ros.parallel.workers import ThisProcess
from rffpsr_ros.recipe.candidates import Candidate
from rffpsr_ros.recipe.prepare import Preparation, prepare
from rffpsr_ros.recipe.setting import Setting
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.state_spaces.paths import Paths
from rffpsr_ros.recipe.state_spaces.settings import StateSpaceSettings
from rffpsr_ros.recipe.state_spaces.structures import competing
from rffpsr_ros.recipe.state_spaces.trials import Led, StateSpaceTrials, not_caught
from rffpsr_ros.recordings.trajectory import Trajectory
from test.memories import CART_TICKS, SETTINGS, TICKS, amplifier, cart, known

pytestmark = pytest.mark.long


def with_state_spaces(**options: Any) -> RecipeSettings:
    return replace(SETTINGS, state_spaces=StateSpaceSettings(**options))


def test_a_state_space_of_very_many_weights_is_not_learned(ready: Preparation) -> None:
    small = with_state_spaces(most_weights=20)
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
    lenient = StateSpaceTrials(ready, with_state_spaces(better_than_linear=np.inf))
    found = lenient.best(known(ready))
    assert found is not None
    assert found.name == "state_space"


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
    settings = with_state_spaces(finer_from=ticks, most_weights=weights)
    StateSpaceTrials(carted, settings, workers)
    assert workers.tried == tried


@pytest.mark.parametrize(("long", "seen"), [(True, 1), (False, None)])
def test_on_long_recordings_states_remember_without_running_means(
    carted: Preparation, long: bool, seen: int | None
) -> None:
    tried = [one for kind in competing(carted, SETTINGS, long, 1) for one in kind]
    assert tried
    assert {one.actions for one in tried} == {seen}


def test_running_means_are_not_among_the_actions_that_were_given(carted: Preparation) -> None:
    filters = fit_filters(carted.recordings, (5, 50), squares=True)
    seeing = [filters.trajectory(one) for one in carted.recordings]
    assert len(seeing[0].action_names) > 2
    setting = Setting(carted._replace(recordings=seeing), [], [], filters)
    assert setting.given_actions == 1
    assert setting._replace(filters=None).given_actions is None


def test_of_what_is_as_good_the_fewest_weights_are_learned(carted: Preparation) -> None:
    lenient = with_state_spaces(
        finer_from=CART_TICKS, as_good_of_long=1e9, better_than_linear=np.inf
    )
    anything = replace(lenient, close=1e9, hopeless=1e-9)
    found = StateSpaceTrials(carted, anything).best(known(carted))
    assert found is not None
    options = found.members[0].record.options
    assert (options["saturating"], options["features"]) == (False, 4)


def test_learning_ends_where_a_stage_is_hopeless(carted: Preparation) -> None:
    impatient = replace(SETTINGS, hopeless=1e-9)  # as if the first were
    found = StateSpaceTrials(carted, impatient).best(known(carted))
    assert found is not None
    assert found.members[0].record.options["stages"] <= 1


def test_of_linear_systems_as_good_the_one_of_fewer_states_is_the_start() -> None:
    # Its changes are as well forecast by two states, but then position is a third.
    runs = [linear_filter(seed) for seed in range(9)]
    ready = prepare(runs, None, RFFPSROptions(), SETTINGS)
    lenient = replace(with_state_spaces(better_than_linear=np.inf), hopeless=1e-9)
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
    linear_alone = with_state_spaces(orders={True: (), False: ()})
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


def test_those_of_all_recordings_are_those_of_the_folds_led_on(
    ready: Preparation, joined: Candidate
) -> None:
    learner = NonlinearStateSpace(**joined.members[0].record.options)
    before, led = [], []
    for one in joined.by_fold:
        assert isinstance(one, StateSpaceModel)
        before.append(simulation_error_of(one, ready.recordings))
        made = learner.led_on(one, ready.recordings)
        led.append(Led(made, simulation_error_of(made, ready.recordings)))
    expected = not_caught(led, SETTINGS.state_spaces.caught)
    assert len(joined.members) == len(expected) > 1
    for member, one in zip(joined.members, expected, strict=True):
        assert isinstance(member, StateSpaceModel)
        np.testing.assert_equal(member.parts.system, one.parts.system)
    assert min(one.error for one in led) < min(before)


def test_what_was_caught_while_led_on_does_not_serve(joined: Candidate) -> None:
    models = [one for one in joined.by_fold if isinstance(one, StateSpaceModel)]
    first, second, third = models
    led = [Led(first, 1.4), Led(second, 1.0), Led(third, 1.6)]
    assert not_caught(led, 1.5) == [first, second]
    assert not_caught(led, 1.0) == [second]
    lost = [Led(first, np.inf), Led(second, 1.0), Led(third, np.inf)]
    assert not_caught(lost, 1.5) == [second]


class Counting(ThisProcess):
    """Computes everything, and notes the seeds of the learners of each task on a fold."""

    def __init__(self) -> None:
        self.seeds: list[set[int]] = []

    def submit(self, task: Any, progress: Any, urgency: int = 0) -> Any:
        if isinstance(task, Paths):
            self.seeds.append({one.seed for one in task.learners})
        return super().submit(task, progress, urgency)


def begun_again(ready: Preparation, **options: Any) -> tuple[Candidate, list[set[int]]]:
    workers = Counting()
    # Hopeless stages would end a path, and then another stage may be the one that all have.
    patient = replace(with_state_spaces(**options), hopeless=np.inf)
    found = StateSpaceTrials(ready, patient, workers).best(known(ready))
    assert found is not None
    return found, workers.seeds


def training_errors(found: Candidate) -> list[float]:
    return [float(one.record.metrics["simulation_error"]) for one in found.by_fold]


def test_a_descent_that_was_caught_is_begun_again_from_other_directions() -> None:
    runs = [behind_a_curve(seed) for seed in range(6)]
    ready = prepare(runs, None, RFFPSROptions(), SETTINGS)
    once, seeds = begun_again(ready, caught=np.inf)
    assert seeds[-2:] == [{0}, {0}]  # the second fold and the third
    usual = training_errors(once)
    assert max(usual) > 1.3 * min(usual)  # of roots of squares
    best = usual.index(min(usual))
    again, seeds = begun_again(ready, caught=1.5**0.5)
    found = training_errors(again)
    assert {1} in seeds
    assert found[best] == usual[best]
    assert max(found) < 0.9 * max(usual)
    assert all(new <= old for new, old in zip(found, usual, strict=True))
    # However often that is, it ends.
    _, seeds = begun_again(ready, caught=1.0, restarts=1)
    assert seeds[-2:] == [{1}, {1}]  # all but the best
    assert {2} not in seeds
