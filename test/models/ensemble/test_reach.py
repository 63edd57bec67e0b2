"""Members whose forecasts lie far outside those of the others are held back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.contract import TrainingRecord
from rffpsr_ros.models.ensemble.model import EnsembleModel, EnsembleParts
from rffpsr_ros.models.ensemble.reach import FURTHER, Reach, held_back
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.numerics.arrays import Array
from test.nonlinear_runs import nonlinear_runs

HORIZON, OBSERVED = 4, 2


@given(st.integers(3, 6), st.booleans(), st.integers(0, 10_000))
def test_each_is_held_within_its_distance_of_those_with_a_weight(
    count: int, ties: bool, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    forecasts = draw.normal(size=(count, 3, 2, 2))
    if ties:
        forecasts = np.round(forecasts)
    weights = draw.random((count, 1, 2, 2)) * (draw.random((count, 1, 2, 2)) < 0.7)
    weights[:3] += 0.1
    distance = draw.exponential(size=weights.shape)
    distance[draw.random(weights.shape) < 0.3] = np.inf
    found = held_back(forecasts, weights, distance)
    for place in np.ndindex(forecasts.shape):
        m, _, *row = place
        others = [
            forecasts[(one, *place[1:])]
            for one in range(count)
            if one != m and weights[(one, 0, *row)] > 0
        ]
        far = distance[(m, 0, *row)]
        expected = np.clip(forecasts[place], min(others) - far, max(others) + far)
        assert found.forecasts[place] == pytest.approx(expected, abs=1e-12)
        leader = found.follows[place]
        moved = abs(found.forecasts[place] - forecasts[(leader, *place[1:])])
        assert moved == pytest.approx(0 if leader == m else far)
        assert (leader == m) == (found.forecasts[place] == forecasts[place])


def ensemble(distance: Array | None, weights: Array) -> EnsembleModel:
    runs = nonlinear_runs(3, 100)
    members = (
        LinearARX(past=3, future=HORIZON).fit(runs),
        LastObservation().fit(runs),
        Mean().fit(runs),
        LinearARX(past=1, future=HORIZON).fit(runs),
    )[: weights.shape[-1]]
    reach = None if distance is None else Reach(distance)
    parts = EnsembleParts(members, weights, reach=reach)
    return EnsembleModel(members[0].signature, TrainingRecord(), parts)


def test_a_longer_plan_changes_nothing_and_beyond_the_last_row_nothing_is_held() -> None:
    weights = np.full((HORIZON, OBSERVED, 4), 1 / 4)
    weights[:2] = 0.4, 0.3, 0.3, 0.0  # the fourth takes part in longer forecasts only
    free, held = (ensemble(distance, weights) for distance in (None, np.full(weights.shape, 0.01)))
    run = nonlinear_runs(1, 60, 5)[0]
    state = held.state_from_history(run.observations[:40], run.actions[:40])
    plan = run.actions[40:50]
    whole = held.predict(state, plan)
    for horizon in range(1, len(plan)):
        shorter = held.predict(state, plan[:horizon])
        np.testing.assert_allclose(shorter, whole[:horizon], rtol=0, atol=1e-12)
    unheld = free.predict(state, plan)
    assert (np.abs(whole - unheld)[:HORIZON].max(axis=1) > 1e-3).all()
    np.testing.assert_array_equal(whole[HORIZON:], unheld[HORIZON:])
    pair = np.array([plan, plan[::-1]])
    np.testing.assert_allclose(held.predict(state, pair)[0], whole, atol=1e-12)


@pytest.mark.parametrize("weights", [[1.0, 0.0, 0.0], [0.5, 0.0, 0.5]])
def test_of_one_or_two_nobody_is_held(weights: list[float]) -> None:
    given = np.tile(weights, (HORIZON, OBSERVED, 1))
    run = nonlinear_runs(1, 60, 5)[0]

    def forecast(distance: Array | None) -> Array:
        model = ensemble(distance, given)
        state = model.state_from_history(run.observations[:40], run.actions[:40])
        return model.predict(state, run.actions[40:50])

    np.testing.assert_array_equal(forecast(np.zeros(given.shape)), forecast(None))


def test_who_has_a_majority_is_held_far_outside_only() -> None:
    distance = Reach(np.ones((1, 1, 3))).beside(np.array([[[0.6, 0.3, 0.1]]]))
    np.testing.assert_array_equal(distance, [[[FURTHER, 1.0, 1.0]]])


def test_the_model_file_keeps_it(tmp_path: Path) -> None:
    weights = np.full((HORIZON, OBSERVED, 3), 1 / 3)
    distance = np.full(weights.shape, 0.3)
    distance[0, 0, 0] = np.inf
    ensemble(distance, weights).save(tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert isinstance(loaded, EnsembleModel)
    assert loaded.parts.reach is not None
    np.testing.assert_array_equal(loaded.parts.reach.distance, distance)


def test_nothing_holds_those_who_come_later_nor_anyone_at_horizons_that_do() -> None:
    known = Reach(np.arange(12.0).reshape(2, 2, 3))
    more = known.over(4, others=1)
    assert more.distance.shape == (4, 2, 4)
    np.testing.assert_array_equal(more.distance[:2, :, :3], known.distance)
    assert np.isinf(more.distance[2:]).all()
    assert np.isinf(more.distance[..., 3]).all()
    np.testing.assert_array_equal(more.of([3, 1]).distance, more.distance[..., [3, 1]])
