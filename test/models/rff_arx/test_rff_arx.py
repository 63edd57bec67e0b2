"""RFF-ARX against the exact kernel, and what each of its two forms may see."""

import numpy as np
import pytest

from benchmarks.datasets import synth
from rffpsr_ros.data.scaling import forgiving_scaling, standardise
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.horizon_error import horizon_errors, observation_range
from rffpsr_ros.models.rff_arx.learner import RFFARX
from rffpsr_ros.models.rff_arx.regression import all_rows
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory


def recordings(count: int, ticks: int = 40, seed: int = 0) -> list[Trajectory]:
    """Simulate a nonlinear system of one observation and one action."""
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        actions = generator.uniform(-1, 1, ticks)
        observations, now = [], 0.0
        for action in actions:
            now = np.sin(0.8 * now + action) + 0.01 * generator.normal()
            observations.append(now)
        found.append(Trajectory(observations, actions))
    return found


def kernel(left: Array, right: Array, bandwidth: float) -> Array:
    squares = np.sum((left[:, None] - right) ** 2, axis=2)
    return np.asarray(np.exp(-squares / (2 * bandwidth**2)))


def test_with_many_features_it_is_kernel_ridge_regression() -> None:
    ridge, past, future = 1e-3, 2, 2
    train, test = recordings(4), recordings(1, seed=1)
    model = RFFARX(past, future, 10_000, rank=100, ridge=ridge).fit(train, train)
    scalings = (
        forgiving_scaling([t.observations for t in train]),
        forgiving_scaling([t.actions for t in train]),
    )
    rows = all_rows(standardise(train, *scalings), past, future)
    assert rows is not None
    states = [
        model.state_from_history(test[0].observations[:t], test[0].actions[:t])
        for t in range(2, 30)
    ]
    for h in range(future):
        points = np.hstack([rows.history, rows.plan[:, : h + 1, 0]])
        bandwidth = float(model.parts.features.bandwidths[h])
        dual = np.linalg.solve(
            kernel(points, points, bandwidth) + ridge * len(points) * np.eye(len(points)),
            rows.target[:, h],
        )
        for t, state in zip(range(2, 30), states, strict=True):
            plan = test[0].actions[t : t + future]
            here = np.concatenate(
                [
                    state.observations.ravel(),
                    state.actions.ravel(),
                    scalings[1].apply(plan).ravel()[: h + 1],
                ]
            )
            exact = scalings[0].invert(kernel(here[None], points, bandwidth) @ dual)[0]
            assert model.predict(state, plan)[h] == pytest.approx(exact, abs=0.03)


def test_the_authors_form_sees_later_actions_and_ours_does_not() -> None:
    train = recordings(6)
    plan = np.array([[0.1], [0.2], [0.3]])
    other = np.array([[0.1], [0.2], [-0.9]])
    for one_shot in (False, True):
        model = RFFARX(3, 3, 200, one_shot=one_shot).fit(train)
        state = model.initial_state()
        seen = model.predict(state, plan)[0] != model.predict(state, other)[0]
        assert bool(seen) == one_shot


def test_the_first_tick_stands_for_the_past_before_it() -> None:
    model = RFFARX(3, 2, 50).fit(recordings(6))
    state = model.update(model.initial_state(), np.array([0.5]), np.array([0.25]))
    assert len(np.unique(state.observations)) == len(np.unique(state.actions)) == 1
    after = model.update(state, np.array([0.1]), np.array([0.5]))
    assert len(np.unique(after.observations)) == 2


def test_one_seed_one_model() -> None:
    first, again, other = (RFFARX(3, 2, 50, seed=s).fit(recordings(6)) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.parts.weights, again.parts.weights)
    assert not np.array_equal(first.parts.weights, other.parts.weights)


def test_recordings_too_short_are_said() -> None:
    with pytest.raises(InputError, match="no stretch of the recordings has 11 ticks"):
        RFFARX(features=20).fit(recordings(2, 10))


@pytest.mark.parametrize(
    "options", [{"past": 0}, {"rank": 0}, {"ridge": 0.0}, {"bandwidth": -1.0}, {"features": 1.5}]
)
def test_impossible_options_are_said(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=f"option '{next(iter(options))}'"):
        RFFARX(**options)  # type: ignore[arg-type]


@pytest.mark.usefixtures("shared")
def test_the_authors_data_is_forecast_better_than_by_their_rff_arx() -> None:
    # Their figures: mean .1065 over ten horizons, .0286 at the first.
    data = synth()
    errors = horizon_errors(
        RFFARX(features=300).fit([*data.train, *data.validation]),
        data.test,
        clip=observation_range(data.train),
    )
    assert errors.mse[0] < 0.0286
    assert errors.mse.mean() < 0.1065
