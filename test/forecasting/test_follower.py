"""The follower against the sampler and the model, called by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.drift import APART, ENOUGH
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.follower import Follower, Step
from rffpsr_ros.forecasting.live_error import LiveError
from rffpsr_ros.models.bands import conformal_bands
from rffpsr_ros.models.contract import PredictiveModel, Signature, TrainingRecord
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.signals.events import SegmentEnd
from rffpsr_ros.signals.sampler import Sampler
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import simulate

PERIOD_NS = 50_000_000
CHANNELS = ChannelConfiguration.from_mapping(
    {
        "rate": 20.0,
        "observation": {"inputs": ["seen"], "seen": {"topic": "/seen", "fields": ["data"]}},
        "action": {"inputs": ["told"], "told": {"topic": "/told", "fields": ["data"]}},
    }
)
HORIZON = 5

Fed = tuple[str, int, float]


@pytest.fixture(scope="module")
def model() -> RFFPSRModel:
    runs = [run(seed, 100) for seed in range(3)]
    model = SingleRFFPSR(iterations=2, features=20, past=6, future=HORIZON, arx_past=6).fit(runs)
    signature = replace(Signature.of(runs[0]), channels=CHANNELS.to_mapping())
    return model.replaced(signature=signature)


def run(seed: int, ticks: int) -> Trajectory:
    actions = np.random.default_rng(seed).uniform(-0.5, 0.5, (ticks, 1))
    plain = simulate(SyntheticSystem(), actions, seed=seed)
    return Trajectory(plain.observations, actions, 0.05, ["seen.data"], ["told.data"])


def sequence(seed: int, ticks: int, start_ns: int = 10**12) -> list[Fed]:
    """Return topics, stamps and values in the order of arrival; the grid starts a tick early."""
    recorded = run(seed, ticks)
    fed: list[Fed] = []
    for tick in range(ticks):
        now = start_ns + tick * PERIOD_NS
        fed.append(("/told", now, float(recorded.actions[tick, 0])))
        fed.append(("/seen", now + PERIOD_NS, float(recorded.observations[tick, 0])))
    return fed


def follow(follower: Follower, fed: list[Fed]) -> list[Any]:
    outcomes = []
    for topic, stamp_ns, value in fed:
        outcomes += follower.feed(topic, stamp_ns, SimpleNamespace(data=value))
    return outcomes


def by_hand(
    model: PredictiveModel[Any], fed: list[Fed], start: str
) -> list[tuple[int, np.ndarray[Any, Any]]]:
    """Return the forecasts that hold the command in force, without the follower."""
    sampler, state, history = Sampler(CHANNELS), None, []
    forecasts = []
    for topic, stamp_ns, value in fed:
        for event in sampler.feed(topic, stamp_ns, SimpleNamespace(data=value)):
            assert not isinstance(event, SegmentEnd)
            state = model.initial_state() if state is None else state
            state = model.update(state, event.action, event.observation)
            history.append(event)
            if start == "running" and len(history) == model.history_length:
                state = model.state_from_history(
                    np.array([one.observation for one in history]),
                    np.array([one.action for one in history]),
                )
            held = np.full((HORIZON, 1), event.action)
            forecasts.append((event.stamp_ns, model.predict(state, held)))
    return forecasts


@pytest.mark.parametrize("start", ["running", "episode"])
def test_forecasts_are_those_of_sampler_and_model(model: RFFPSRModel, start: str) -> None:
    fed = sequence(5, 40)
    follower = Follower(model, FollowOptions(HORIZON, start=start))
    steps = [step for step in follow(follower, fed) if isinstance(step, Step)]
    expected = by_hand(model.inference_model(), fed, start)
    assert len(steps) == len(expected) > 30
    for step, (stamp_ns, values) in zip(steps, expected, strict=True):
        assert step.forecast is not None
        assert step.forecast.origin_ns == stamp_ns
        assert step.forecast.assumes == "hold"
        np.testing.assert_array_equal(step.forecast.values, values)


def test_a_command_that_has_come_already_is_held_instead_of_the_last_tick_s(
    model: RFFPSRModel,
) -> None:
    follower = Follower(model, FollowOptions(HORIZON))
    fed = sequence(5, 10)
    for first in range(3, len(fed) - 1, 2):  # the command before the sample of the same stamp
        fed[first], fed[first + 1] = fed[first + 1], fed[first]
    forecasts = [s.forecast for s in follow(follower, fed) if isinstance(s, Step)]
    told = [value for topic, _, value in fed if topic == "/told"]
    held = [forecast.actions[0, 0] for forecast in forecasts if forecast is not None]
    assert held[:6] == told[2:8]


def test_thinning_and_not_listening_change_no_belief(model: RFFPSRModel) -> None:
    fed = sequence(5, 40)
    every = Follower(model, FollowOptions(HORIZON))
    third = Follower(model, FollowOptions(HORIZON, publish_every=3))
    deaf = Follower(model, FollowOptions(HORIZON))
    all_steps = [step for step in follow(every, fed) if isinstance(step, Step)]
    thinned = [step for step in follow(third, fed) if isinstance(step, Step)]
    for topic, stamp_ns, value in fed:
        for step in deaf.feed(topic, stamp_ns, SimpleNamespace(data=value), wanted=False):
            assert isinstance(step, Step)
            assert step.due
            assert step.forecast is None
    assert every.state is not None
    for one in (third, deaf):
        for part, other in zip(every.state, one.state, strict=True):
            np.testing.assert_array_equal(part, other)
    made = [step.forecast for step in thinned if step.forecast is not None]
    assert len(made) == len(thinned) // 3 == sum(step.due for step in thinned)
    for forecast in made:
        (full,) = [s.forecast for s in all_steps if s.tick.stamp_ns == forecast.origin_ns]
        assert full is not None
        np.testing.assert_array_equal(full.values, forecast.values)


def test_after_a_gap_the_history_counts_and_after_a_jump_back_the_initial_state(
    model: RFFPSRModel,
) -> None:
    first = sequence(5, 20)
    later = sequence(6, 20, 10**12 + 200 * PERIOD_NS)
    gap = Follower(model, FollowOptions(HORIZON, start="episode"))
    outcomes = follow(gap, first + later)
    assert [o.cause for o in outcomes if isinstance(o, SegmentEnd)] == ["gap"]
    # The sample after the silence starts no tick by itself: the grid starts there.
    again = Follower(model, FollowOptions(HORIZON, start="running"))
    follow(again, later)
    np.testing.assert_allclose(gap.state.belief, again.state.belief)

    jump = Follower(model, FollowOptions(HORIZON, start="running"))
    outcomes = follow(jump, first + first)
    assert [o.cause for o in outcomes if isinstance(o, SegmentEnd)] == ["time_jump"]
    anew = Follower(model, FollowOptions(HORIZON, start="episode"))
    follow(anew, first)
    np.testing.assert_array_equal(jump.state.belief, anew.state.belief)
    assert jump.resets == {"time_jump": 1}


def test_without_reset_on_time_jump_the_belief_is_carried_over(model: RFFPSRModel) -> None:
    fed = sequence(5, 20)
    carrying = Follower(model, FollowOptions(HORIZON, reset_on_time_jump=False))
    follow(carrying, fed + fed)
    assert carrying.state.age == 2 * (len(fed) // 2 - 1)  # a segment starts with its 2nd sample
    assert carrying.resets == {}


def test_options_that_come_before_the_first_message_say_how_to_start(model: RFFPSRModel) -> None:
    """As those do that a log begins with."""
    fed = sequence(5, 40)
    running, episode = FollowOptions(HORIZON), FollowOptions(HORIZON, start="episode")
    for first, second in ((running, episode), (episode, running)):
        told = Follower(model, first)
        told.change(second)
        steps = [step for step in follow(told, fed) if isinstance(step, Step)]
        for step, (_, values) in zip(
            steps, by_hand(model.inference_model(), fed, second.start), strict=True
        ):
            assert step.forecast is not None
            np.testing.assert_array_equal(step.forecast.values, values)
        told.change(first)  # too late: the belief goes on
        assert told.state is not None


def test_a_log_made_without_compiled_code_is_followed_without_it(model: RFFPSRModel) -> None:
    fed, plain = sequence(5, 40), FollowOptions(HORIZON, compiled=False)
    told = Follower(model)
    told.change(plain)
    expected = by_hand(model.inference_model(compiled=False), fed, plain.start)
    steps = [step for step in follow(told, fed) if isinstance(step, Step)]
    assert len(steps) == len(expected)
    for step, (_, values) in zip(steps, expected, strict=True):
        assert step.forecast is not None
        np.testing.assert_array_equal(step.forecast.values, values)


def test_a_reset_starts_like_the_first_time(model: RFFPSRModel) -> None:
    fed = sequence(5, 20)
    follower = Follower(model, FollowOptions(HORIZON))
    before = follow(follower, fed)
    follower.reset("a test")
    after = follow(follower, fed)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one.forecast.values, other.forecast.values)
    assert follower.resets == {"reset: a test": 1}


def test_events_are_counted_over_segments(model: RFFPSRModel) -> None:
    fed = sequence(5, 20)
    outside = [(t, s, 50.0 if n == 21 else v) for n, (t, s, v) in enumerate(fed)]
    follower = Follower(model, FollowOptions(HORIZON))
    follow(follower, outside)
    count = follower.events["limited_observations"]
    assert count >= 1
    follow(follower, outside)
    assert follower.events["limited_observations"] == 2 * count


def test_other_columns_than_those_trained_on_are_refused(model: RFFPSRModel) -> None:
    other = replace(model.signature, observation_names=("elbow",))
    stranger = RFFPSRModel(other, model.record, model.parts)
    with pytest.raises(InputError, match=r"are now \(seen.data\) but .* trained on \(elbow\)"):
        follow(Follower(stranger), sequence(5, 5))


def test_after_a_first_message_of_another_length_the_good_ones_are_followed() -> None:
    configuration = ChannelConfiguration.from_mapping(
        {
            "rate": 20.0,
            "observation": {"inputs": ["seen"], "seen": {"topic": "/seen", "fields": ["data"]}},
            "action": {"inputs": ["told"], "told": {"topic": "/told", "fields": ["data"]}},
        }
    )
    runs = []
    for seed in range(3):
        plain = run(seed, 100)
        seen = np.hstack([plain.observations, 2 * plain.observations])
        names = ["seen.data[0]", "seen.data[1]"]
        runs.append(Trajectory(seen, plain.actions, 0.05, names, ["told.data"]))
    model = SingleRFFPSR(iterations=1, features=20, past=6, future=HORIZON, arx_past=6).fit(runs)
    signature = replace(Signature.of(runs[0]), channels=configuration.to_mapping())
    follower = Follower(model.replaced(signature=signature), FollowOptions(HORIZON))
    forecasts = 0
    for number, (topic, stamp_ns, value) in enumerate(sequence(5, 101)):
        wrong = number < 2
        data: Any = value if topic == "/told" else [value] * 3 if wrong else [value, 2 * value]
        outcomes = follower.feed(topic, stamp_ns, SimpleNamespace(data=data))
        forecasts += sum(isinstance(one, Step) and one.forecast is not None for one in outcomes)
    ((sentence, left_out),) = follower.sampler.misfits.items()
    assert "does not give channel 'seen' the 2 columns" in sentence
    assert left_out == 1
    assert forecasts >= 96


def test_a_model_learned_from_arrays_is_refused(model: RFFPSRModel) -> None:
    bare = RFFPSRModel(replace(model.signature, channels=None), model.record, model.parts)
    with pytest.raises(InputError, match="learned from arrays and knows no topics"):
        Follower(bare)


class Wrong(RFFPSRModel):
    """A model whose forecasts are off by a known amount."""

    offset = 0.0

    def forecast(self, state: Any, actions: Any) -> Any:
        return np.zeros((len(actions), 1)) + self.offset


@pytest.mark.parametrize("factor", [1.0, 9.0])
def test_the_live_error_is_that_of_forecasts_in_hindsight(
    model: RFFPSRModel, factor: float
) -> None:
    record = TrainingRecord(metrics={"validation_mse_by_observation": [[0.04]] * HORIZON})
    wrong = Wrong(model.signature, record, model.parts)._varied(offset=0.2 * factor**0.5)
    live = LiveError(wrong, HORIZON, settled=0)
    for _ in range(APART * (ENOUGH - 1) + HORIZON):
        live.step(object(), np.zeros(1), np.zeros(1))
        assert live.drift.ratio is None
    live.step(object(), np.zeros(1), np.zeros(1))
    assert live.by_horizon is not None
    np.testing.assert_allclose(live.by_horizon, np.full((HORIZON, 1), 0.04 * factor))
    assert live.drift.ratio == pytest.approx(factor)
    assert live.drift.drifted(4.0) == (factor > 4.0)


def test_nothing_is_concluded_while_commands_hold_no_number(model: RFFPSRModel) -> None:
    """What acts on the robot is not known then, nor what the state is worth right after."""
    follower = Follower(model, FollowOptions(horizon=HORIZON))
    fed = sequence(4, 160)
    follow(follower, fed[:160])
    settled = follower.live_error.count
    assert settled
    forecasts = len(
        follow(follower, [(t, s, np.nan if t == "/told" else v) for t, s, v in fed[160:240]])
    )
    assert forecasts == 40
    assert follower.live_error.count == settled
    follow(follower, fed[240:])
    assert follower.live_error.count > settled


def test_bands_follow_the_error_in_hindsight(model: RFFPSRModel) -> None:
    wrong = Wrong(model.signature, TrainingRecord(), model.parts)
    assert LiveError(wrong, 2).half_width is None
    wrong = wrong.replaced(bands=conformal_bands(np.ones((30, 1, 1))))._varied(offset=3.0)
    live = LiveError(wrong, 2, coverage=0.8)
    for _ in range(2 * 40 + 1):
        live.step(object(), np.zeros(1), np.zeros(1))
    assert live.half_width is not None
    assert 3.0 <= live.half_width[0, 0] < 3.5
    assert np.isnan(live.half_width[1, 0])


def test_missing_targets_do_not_count(model: RFFPSRModel) -> None:
    wrong = Wrong(model.signature, TrainingRecord(), model.parts)
    live = LiveError(wrong, 2, settled=0)
    live.step(object(), np.zeros(1), np.zeros(1))
    live.step(object(), np.zeros(1), np.array([np.nan]))
    live.step(object(), np.zeros(1), np.array([1.0]))
    assert live.by_horizon is not None
    np.testing.assert_array_equal(live.by_horizon, [[np.nan], [1.0]])
    assert live.drift.ratio is None


def test_in_silence_the_forecast_goes_on_where_the_last_one_was(model: RFFPSRModel) -> None:
    follower = Follower(model, FollowOptions(HORIZON))
    assert follower.in_silence(1) is None
    last = [step for step in follow(follower, sequence(5, 40)) if isinstance(step, Step)][-1]
    assert last.forecast is not None
    before = follower.state
    for late in (1, HORIZON):
        stale = follower.in_silence(late)
        assert stale is not None
        assert stale.origin_ns == last.forecast.origin_ns + late * PERIOD_NS
        assert stale.assumes == f"hold, stale by {late} ticks"
        assert stale.half_width is None
        assert len(stale.values) == len(stale.actions) == HORIZON
        overlap = HORIZON - late
        np.testing.assert_array_equal(stale.values[:overlap], last.forecast.values[late:])
    assert follower.state is before
    assert follower.in_silence(0) is None
    assert follower.in_silence(HORIZON + 1) is None
    follower.reset("asked for")
    assert follower.in_silence(1) is None


def test_compiled_code_takes_over_in_mid_run(model: RFFPSRModel) -> None:
    """In no forecast beyond rounding, and each time in the same bits."""
    fed = sequence(5, 60)
    numpy_alone = Follower(model, FollowOptions(HORIZON, compiled=False))
    expected = [step.forecast for step in follow(numpy_alone, fed)]
    runs = []
    for _ in range(2):
        follower = Follower(model, FollowOptions(HORIZON, compiled=False))
        outcomes = follow(follower, fed[:50])
        before = follower.live_error.count
        follower.change(FollowOptions(HORIZON, compiled=True))
        outcomes += follow(follower, fed[50:])
        assert follower.live_error.count > before
        assert follower.live_error._model is follower.model
        runs.append([step.forecast.values for step in outcomes])
    for one, other, slow in zip(*runs, expected, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, slow.values, rtol=0, atol=1e-5)
    difference = [np.abs(a - b.values).max() for a, b in zip(runs[0], expected, strict=True)]
    assert not any(difference[:20])


def forecasts_with_plans(model: RFFPSRModel, fed: list[tuple[Any, ...]]) -> dict[int, list[float]]:
    """Return the actions assumed, by origin; what is fed on /plan is a plan and when it came."""
    follower = Follower(model, FollowOptions(HORIZON, "topic", start="episode"))
    assumed = {}
    for topic, stamp_ns, value in fed:
        if topic == "/plan":
            follower.take_plan(value, stamp_ns)
            continue
        for outcome in follower.feed(topic, stamp_ns, SimpleNamespace(data=value)):
            if isinstance(outcome, Step) and outcome.forecast is not None:
                assumed[outcome.forecast.origin_ns] = outcome.forecast.actions[:, 0].tolist()
    return assumed


def answered(ticks: int, overtakes: bool, plan_lead_ns: int = 0) -> tuple[list[Any], Array]:
    """Return what a robot sends that plays announced actions, each plan just after what was seen.

    Where it ``overtakes``, the plan arrives before the observation that it answers.
    """
    recorded = run(5, ticks + HORIZON)
    fed: list[Any] = []
    for tick in range(ticks):
        now = 10**12 + tick * PERIOD_NS
        answer = (
            ("/plan", now + 1 + plan_lead_ns, recorded.actions[tick : tick + HORIZON]),
            ("/told", now + 2, float(recorded.actions[tick, 0])),
        )
        seen = ("/seen", now, float(recorded.observations[tick, 0]))
        fed += [*answer, seen] if overtakes else [seen, *answer]
    return fed, recorded.actions[:, 0]


@pytest.mark.parametrize("overtakes", [False, True])
def test_a_plan_belongs_to_the_ticks_in_which_its_commands_act(
    model: RFFPSRModel, overtakes: bool
) -> None:
    """The forecast after an observation begins with what was announced after the one before it."""
    fed, actions = answered(30, overtakes)
    assumed = forecasts_with_plans(model, fed)
    for tick in range(3, 30):
        expected = actions[tick - 1 : tick - 1 + HORIZON].tolist()
        assert assumed[10**12 + tick * PERIOD_NS] == expected, tick


def test_plans_of_another_clock_count_by_their_place_in_line(model: RFFPSRModel) -> None:
    """A bag is played: its stamps are of another year than the time of receipt of a plan."""
    fed, _ = answered(30, False)
    strange, _ = answered(30, False, 10**17)
    assert forecasts_with_plans(model, strange) == forecasts_with_plans(model, fed)


def test_a_plan_from_before_the_segment_is_good_for_it_but_not_for_the_next(
    model: RFFPSRModel,
) -> None:
    fed = sequence(1, 8)
    plan = ("/plan", fed[0][1] + 1, np.array([[7.0], [8.0], [9.0], [9.5], [9.9], [9.95]]))
    later = sequence(2, 8, fed[-1][1] + 10**11)
    assumed = forecasts_with_plans(model, [plan, *fed, *later])
    by_origin = [actions[0] for _, actions in sorted(assumed.items())]
    assert by_origin[:4] == [8.0, 9.0, 9.5, 9.9]
    assert len(by_origin) > 8
    assert max(by_origin[6:]) <= 0.5
