"""A model about an origin that moves along: what it forecasts near and far, and after jumps."""

from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.models.guard import Guard
from rffpsr_ros.models.moving_origin.learner import MovingOrigin
from rffpsr_ros.models.moving_origin.model import MovingOriginModel
from rffpsr_ros.models.rff_arx.learner import RFFARX
from rffpsr_ros.models.state_batches import stack_states
from rffpsr_ros.recordings.trajectory import Trajectory
from test.travels import moved, travels

FAR = 1e4
PLAN = np.linspace(-1, 1, 8)[:, None]


@pytest.fixture(scope="module")
def model() -> MovingOriginModel:
    return MovingOrigin(RFFARX(past=4, future=8, features=300), [0]).fit(travels())


def inner_of(model: MovingOriginModel) -> PredictiveModel[Any]:
    return model.parts.inner


def within(model: MovingOriginModel, run: Trajectory) -> Trajectory:
    """Return a run cut off before it leaves what the model was trained on."""
    known = model.trained_range.observations
    assert known is not None
    beyond = (run.observations[:, 0] < known.low[0]) | (run.observations[:, 0] > known.high[0])
    return run.slice(0, int(np.argmax(beyond)) if beyond.any() else len(run))


def followed(model: PredictiveModel[Any], run: Trajectory) -> Any:
    state = model.initial_state()
    for action, observation in zip(run.actions, run.observations, strict=True):
        state = model.update(state, action, observation)
    return state


def missed(model: PredictiveModel[Any], runs: list[Trajectory]) -> float:
    """Return the mean squared error of the speed, eight ticks ahead."""
    errors = [errors_by_origin(model, run, 8, 20)[:, -1, 1] ** 2 for run in runs]
    return float(np.concatenate(errors).mean())


def test_within_the_range_recorded_nothing_changes(model: MovingOriginModel) -> None:
    run = within(model, travels(count=1, seed=5)[0])
    assert len(run) > 30
    ours, theirs = followed(model, run), followed(inner_of(model), run)
    np.testing.assert_array_equal(ours.origin, 0)
    expected = inner_of(model).predict(theirs, PLAN)
    np.testing.assert_array_equal(model.predict(ours, PLAN), expected)


def test_far_away_it_forecasts_as_in_the_midst(model: MovingOriginModel) -> None:
    """What was moved is forecast as what was not, about a robot that is amid the recordings."""
    run = within(model, travels(count=1, seed=6)[0])
    place = float(model.parts.centre[0] - run.observations[0, 0])
    here, there = moved(run, place), moved(run, place + FAR)
    expected = inner_of(model).predict(followed(inner_of(model), here), PLAN)
    expected[:, 0] += FAR
    np.testing.assert_allclose(model.predict(followed(model, there), PLAN), expected, atol=1e-9)


def test_a_vehicle_that_goes_on_and_on_is_forecast_as_well_as_at_home(
    model: MovingOriginModel,
) -> None:
    near, linear = travels(seed=7), LinearARX(past=4, future=8).fit(travels())
    far = [moved(run, FAR) for run in near]
    assert missed(model, far) < 1.2 * missed(model, near) < 0.7 * missed(linear, near)
    farther = [moved(run, 100) for run in near]
    assert missed(inner_of(model), farther) > 3 * missed(model, farther)
    wandering = travels(count=1, seed=8, ticks=1500)[0]
    known = model.trained_range.observations
    assert known is not None
    drift = np.linspace(0, 30 * (known.high[0] - known.low[0]), len(wandering))[:, None]
    speed = np.diff(drift[:2, 0])[0] / wandering.period
    seen = wandering.observations + drift * [1, 0] + [0, speed]
    assert np.isfinite(
        errors_by_origin(model, Trajectory(seen, wandering.actions, 0.1), 8, 20)
    ).all()


def test_history_and_ticks_lead_to_the_same_place(model: MovingOriginModel) -> None:
    run = moved(travels(count=1, seed=9, ticks=30)[0], FAR)
    ticks = followed(model, run)
    history = model.state_from_history(run.observations, run.actions)
    np.testing.assert_array_equal(history.ticks[-20:], ticks.ticks[-20:])
    once = model.predict(history, PLAN)
    np.testing.assert_allclose(once, model.predict(ticks, PLAN), atol=0.2)


def test_what_is_put_elsewhere_does_not_move_there(model: MovingOriginModel) -> None:
    run = travels(count=1, seed=10, ticks=40)[0]
    state, last = followed(model, run), moved(run, 200)
    jumped = model.update(state, last.actions[-1], last.observations[-1])
    anew = model.update(model.initial_state(), last.actions[-1], last.observations[-1])
    np.testing.assert_array_equal(model.predict(jumped, PLAN), model.predict(anew, PLAN))
    assert abs(model.predict(jumped, PLAN)[:, 0] - last.observations[-1, 0]).max() < 10


@pytest.mark.parametrize("absurd", [FAR, -1e30, 1e300])
def test_an_absurd_position_counts_as_missing_until_the_next_one_confirms_it(
    model: MovingOriginModel, absurd: float
) -> None:
    run = travels(count=1, seed=10, ticks=40)[0]
    state, action = followed(model, run), run.actions[-1]
    struck = model.update(state, action, np.array([absurd, 0.1]))
    missing = model.update(state, action, np.array([np.nan, 0.1]))
    np.testing.assert_array_equal(model.predict(struck, PLAN), model.predict(missing, PLAN))
    assert model.sound_state(struck) is struck
    back = model.update(struck, action, run.observations[-1])
    np.testing.assert_array_equal(
        model.predict(back, PLAN),
        model.predict(model.update(missing, action, run.observations[-1]), PLAN),
    )
    there = np.array([FAR + 1.0, 0.1])
    other = model.update(struck, action, there)
    expected = FAR if absurd == FAR else 0.0
    assert abs(model.predict(other, PLAN)[:, 0] - expected).max() < 20


def test_missing_positions_move_nothing(model: MovingOriginModel) -> None:
    run = moved(travels(count=1, seed=11, ticks=60)[0], FAR)
    gap = run.observations.copy()
    gap[30:33, 0] = gap[40:42] = np.nan
    state = followed(model, Trajectory(gap, run.actions, 0.1, ("x", "v"), ("u",)))
    whole = model.predict(followed(model, run), PLAN)
    np.testing.assert_allclose(model.predict(state, PLAN), whole, atol=0.1)


def test_many_at_once_are_the_same_as_one_by_one(model: MovingOriginModel) -> None:
    runs = [moved(run, by) for run, by in zip(travels(seed=12), (0, FAR, -40, 3), strict=True)]
    states = stack_states([model.initial_state()] * len(runs))
    for tick in range(60):
        acted, seen = (
            np.stack([getattr(run, what)[tick] for run in runs])
            for what in ("actions", "observations")
        )
        states = model.update(states, acted, seen)
    together = model.predict(states, np.tile(PLAN, (len(runs), 1, 1)))
    for row, run in zip(together, runs, strict=True):
        alone = model.predict(followed(model, run.slice(0, 60)), PLAN)
        np.testing.assert_allclose(row, alone, atol=1e-9)


def test_every_position_is_known_and_no_speed(model: MovingOriginModel) -> None:
    known, trained = model.known_range.observations, model.trained_range.observations
    assert known is not None
    assert trained is not None
    np.testing.assert_array_equal(known.low[0], -np.inf)
    assert np.isfinite(trained.low).all()
    np.testing.assert_array_equal(known.high[1], trained.high[1])
    gate = Guard(model).gate
    seen = gate.observations(np.array([1e6, 1e6]))
    np.testing.assert_array_equal(np.isnan(seen), [False, True])


def test_a_state_that_cannot_be_used_begins_anew(model: MovingOriginModel) -> None:
    state = followed(model, travels(count=1, ticks=30)[0])
    assert model.sound_state(state) is state
    broken = model.sound_state(state._replace(origin=np.full(2, np.nan)))
    np.testing.assert_array_equal(broken.ticks, 0)


def test_what_is_free_must_be_there() -> None:
    with pytest.raises(InputError, match="there is no observation 2; 0 is x"):
        MovingOrigin(LinearARX(), [2]).fit(travels(count=2))
