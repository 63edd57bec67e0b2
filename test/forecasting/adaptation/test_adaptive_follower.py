"""What is learned while a robot is followed can be computed again, and outlasts a silence."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.adaptation.adaptive_model import AdaptiveState
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.follower import Follower, Forecast, Step
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import simulate

PERIOD_NS = 50_000_000
HORIZON = 5
CHANNELS = ChannelConfiguration.from_mapping(
    {
        "rate": 20.0,
        "observation": {"inputs": ["seen"], "seen": {"topic": "/seen", "fields": ["data"]}},
        "action": {"inputs": ["told"], "told": {"topic": "/told", "fields": ["data"]}},
    }
)
PLAIN, ADAPTS = FollowOptions(HORIZON), FollowOptions(HORIZON, adapt=True)
Fed = tuple[str, int, float]


def run(seed: int, ticks: int, gain: float = 1.0) -> Trajectory:
    actions = np.random.default_rng(seed).uniform(-0.5, 0.5, (ticks, 1))
    seen = simulate(SyntheticSystem(), gain * actions, seed=seed).observations
    return Trajectory(seen, actions, 0.05, ["seen.data"], ["told.data"])


@pytest.fixture(scope="module")
def model() -> PredictiveModel[Any]:
    runs = [run(seed, 200) for seed in range(5)]
    model = LinearARX(past=6, future=HORIZON).fit(runs)
    return model.replaced(signature=replace(model.signature, channels=CHANNELS.to_mapping()))


def fed(recorded: Trajectory, start_ns: int = 10**12) -> list[Fed]:
    """Return topics, stamps and values in the order of arrival."""
    fed: list[Fed] = []
    for tick, (told, seen) in enumerate(
        zip(recorded.actions[:, 0].tolist(), recorded.observations[:, 0].tolist(), strict=True)
    ):
        now = start_ns + tick * PERIOD_NS
        fed += [("/told", now, told), ("/seen", now + PERIOD_NS, seen)]
    return fed


def follow(follower: Follower, fed: list[Fed]) -> list[Forecast]:
    """Return the forecasts along what is fed."""
    forecasts = []
    for topic, stamp_ns, value in fed:
        for outcome in follower.feed(topic, stamp_ns, SimpleNamespace(data=value)):
            if isinstance(outcome, Step):
                assert outcome.forecast is not None
                forecasts.append(outcome.forecast)
    return forecasts


def weak(ticks: int = 600) -> Trajectory:
    """Return a run of a robot whose motor gives a third of what is asked."""
    return run(11, ticks, 0.3)


def correction(follower: Follower) -> Any:
    assert isinstance(follower.state, AdaptiveState)
    return follower.state.memory.correction


def test_the_published_forecasts_are_better_and_can_be_computed_again(
    model: PredictiveModel[Any],
) -> None:
    recorded = weak()
    made = {}
    for name, options in (("plain", PLAIN), ("live", ADAPTS), ("replayed", ADAPTS)):
        made[name] = np.stack(
            [one.values for one in follow(Follower(model, options), fed(recorded))]
        )
    np.testing.assert_array_equal(made["live"], made["replayed"])
    np.testing.assert_array_equal(made["live"][:25], made["plain"][:25])
    follower = Follower(model, ADAPTS)
    follow(follower, fed(recorded))
    assert correction(follower).used
    assert correction(follower).error_ratio < 0.7


def test_what_was_learned_outlasts_a_silence_but_no_reset_and_no_jump_back(
    model: PredictiveModel[Any],
) -> None:
    first, later = fed(weak()), fed(weak(40), 10**12 + 10**6 * PERIOD_NS)
    silent = Follower(model, ADAPTS)
    follow(silent, first)
    learned = correction(silent)
    assert learned.used
    follow(silent, later[:4])
    assert silent.resets == {"gap": 1}
    assert correction(silent) is learned
    follow(silent, later[4:])
    assert correction(silent).counts.learned >= learned.counts.learned
    silent.reset("a test")
    follow(silent, first[:4])
    assert not correction(silent).used

    back = Follower(model, ADAPTS)
    follow(back, first)
    follow(back, first[:6])
    assert back.resets == {"time_jump": 1}
    assert not correction(back).used


def test_it_can_be_switched_on_and_off_while_the_belief_goes_on(
    model: PredictiveModel[Any],
) -> None:
    messages = fed(weak())
    always, switched = Follower(model, PLAIN), Follower(model, PLAIN)
    follow(always, messages[:400])
    follow(switched, messages[:400])
    switched.change(ADAPTS)
    follow(always, messages[400:1000])
    follow(switched, messages[400:1000])
    assert correction(switched).used
    for changed in (replace(ADAPTS, coverage=0.8), replace(ADAPTS, compiled=False, coverage=0.8)):
        learned = correction(switched)
        switched.change(changed)
        assert correction(switched) is learned
    switched.change(replace(ADAPTS, horizon=HORIZON + 1))
    assert not correction(switched).used
    switched.change(PLAIN)
    one, other = (follow(follower, messages[1000:]) for follower in (always, switched))
    for plain, again in zip(one, other, strict=True):
        np.testing.assert_allclose(plain.values, again.values, atol=1e-12)


def test_a_model_that_cannot_adapt_goes_on_as_it_was() -> None:
    runs = [run(0, 60)]
    plain = LastObservation().fit(runs)
    plain = plain.replaced(signature=replace(plain.signature, channels=CHANNELS.to_mapping()))
    with pytest.raises(InputError, match="adapt needs a model that knows the range"):
        Follower(plain, ADAPTS)
    follower = Follower(plain, PLAIN)
    follow(follower, fed(runs[0])[:60])
    with pytest.raises(InputError, match="adapt needs a model that knows the range"):
        follower.change(replace(ADAPTS, horizon=HORIZON + 1))
    assert follower.options == PLAIN
    assert len(follow(follower, fed(runs[0])[60:])[-1].values) == HORIZON


def test_in_silence_forecasts_are_corrected_too(model: PredictiveModel[Any]) -> None:
    followers = Follower(model, PLAIN), Follower(model, ADAPTS)
    for follower in followers:
        follow(follower, fed(weak()))
    plain, corrected = (follower.in_silence(2) for follower in followers)
    assert plain is not None
    assert corrected is not None
    assert not np.allclose(plain.values, corrected.values)
