"""Who joins the ensemble, and who forecasts far ahead: a robot whose state no window tells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.recipe.blend import blend
from rffpsr_ros.recipe.candidates import Candidate
from rffpsr_ros.recipe.long_horizons import blend_long_horizons
from rffpsr_ros.recipe.prepare import Preparation, prepare
from rffpsr_ros.recipe.state_spaces.trials import StateSpaceTrials
from rffpsr_ros.recordings.trajectory import Trajectory
from test.memories import SETTINGS, amplifier, known

pytestmark = pytest.mark.long


def late_error(model: PredictiveModel[Any], run: Trajectory) -> float:
    return float(errors_by_origin(model, run, 100, 20)[:, 50:].std())


def test_a_state_space_joins_where_it_is_best(ready: Preparation, joined: Candidate) -> None:
    linear, found = known(ready), joined
    assert found.name == "state_space"
    assert len(found.by_fold) == len(ready.folds) == 3
    everyone = [*found.members, *found.by_fold]
    assert len({model.record.options["stages"] for model in everyone}) == 1
    assert not any(model.record.options["integrating"] for model in everyone)
    usual = late_error(linear[1].members[0], amplifier(99))
    assert all(late_error(one, amplifier(99)) < 0.1 * usual for one in found.members)
    # To a rival that is as good it is near enough, to a much better one not.
    assert StateSpaceTrials(ready, SETTINGS).best([found]) is not None
    strict = replace(SETTINGS, close=0.9)
    assert StateSpaceTrials(ready, strict).best([found]) is None


def test_judged_by_parts_held_out_it_has_nearly_all_the_weight(
    ready: Preparation, joined: Candidate
) -> None:
    everyone = [joined, *known(ready)]
    within = blend(everyone, 1, ready, SETTINGS)
    assert within.weights[:, 0, 0].min() > 0.8
    beyond = blend_long_horizons(everyone, within.weights, within.limits, ready, SETTINGS)
    assert beyond is not None
    assert not beyond.joining  # output-error models are far behind it
    assert list(beyond.scores) == [one.name for one in everyone]
    assert min(beyond.scores, key=lambda name: beyond.scores[name]) == "state_space"
    assert beyond.weights[..., 0].min() > 0.8
    np.testing.assert_allclose(beyond.weights.sum(axis=2), 1.0)
    assert not beyond.far_scores  # recordings are too short for these
    assert len(beyond.weights) == beyond.told + 1  # the last one holds ever after


def test_output_error_models_that_are_far_behind_are_not_learned_on_all_folds(
    ready: Preparation, joined: Candidate
) -> None:
    everyone = [joined, *known(ready)]
    within = blend(everyone, 1, ready, SETTINGS)
    found = {}
    for behind in (np.inf, SETTINGS.simulation_behind):
        settings = replace(SETTINGS, simulation_behind=behind)
        beyond = blend_long_horizons(everyone, within.weights, within.limits, ready, settings)
        assert beyond is not None
        found[behind] = beyond
    lenient, usual = found.values()
    assert [one.name for one in lenient.joining] == ["output_error"]
    assert list(lenient.scores) == [*(one.name for one in everyone), "output_error"]
    np.testing.assert_allclose(lenient.weights.sum(axis=2), 1.0)
    # All else is the same.
    assert not usual.joining
    assert {name: lenient.scores[name] for name in usual.scores} == usual.scores
    np.testing.assert_allclose(usual.weights, lenient.weights[..., :-1], atol=0.1)


@pytest.mark.parametrize(("ticks", "told"), [(200, False), (300, True)])
def test_parts_of_a_hundred_ticks_tell_who_simulates_best(ticks: int, told: bool) -> None:
    runs = [amplifier(seed, ticks) for seed in range(3)]
    cut = prepare(runs, None, RFFPSROptions(), SETTINGS)
    assert {len(part) // 10 for fold in cut.folds for part in fold.held_out} == {ticks // 30}
    candidates = known(cut)
    within = blend(candidates, 0, cut, SETTINGS)
    beyond = blend_long_horizons(candidates, within.weights, None, cut, SETTINGS)
    assert (beyond is not None) is told
    assert beyond is None or not beyond.joining  # output-error models learn of longer ones


@pytest.mark.parametrize(("count", "few"), [(6, True), (9, False)])
def test_only_of_few_data_short_recordings_do_not_tell_who_simulates_best(
    count: int, few: bool
) -> None:
    runs = [amplifier(seed, 150) for seed in range(count)]
    assert SETTINGS.are_few(sum(map(len, runs))) is few
    settings = SETTINGS.following(few, RFFPSROptions().rollout_horizon)
    short = prepare(runs, None, RFFPSROptions(), settings)
    candidates = known(short)
    within = blend(candidates, 0, short, settings).weights
    assert (blend_long_horizons(candidates, within, None, short, settings) is None) is few


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
