"""A model learned from arrays is given channels, and a node can then follow a robot with it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rffpsr_ros import InputError, Trajectory, load_model, read_bags, with_channels
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.follower import Follower, Step
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.signals.channels import ChannelConfiguration

PERIOD = 0.05
TICKS = 120


def channels(observed: dict[str, Any], acted: dict[str, Any], rate: float = 20.0) -> dict[str, Any]:
    """Return a configuration of channels that are called like their topics."""

    def group(fields: dict[str, Any]) -> dict[str, Any]:
        named = {name: {"topic": f"/{name}", **channel} for name, channel in fields.items()}
        return {"inputs": list(fields), **named}

    return {"rate": rate, "observation": group(observed), "action": group(acted)}


ARM = channels(
    {"arm": {"fields": ["angle", "speed"], "units": ["rad", "rad/s"]}},
    {"motor": {"fields": ["data"], "units": ["V"]}},
)


def swing(seed: int) -> tuple[Any, Any]:
    """Return angles and speeds (T, 2) under voltages (T, 1)."""
    voltage = np.random.default_rng(seed).uniform(-1, 1, (TICKS, 1))
    state, rows = np.zeros(2), []
    for volts in voltage[:, 0]:
        state = state + PERIOD * np.array([state[1], volts - 4 * np.sin(state[0])])
        rows.append(state)
    return np.array(rows), voltage


def learned(observed: tuple[str, ...] = (), acted: tuple[str, ...] = ()) -> PredictiveModel[Any]:
    """Return a model of two observations and one action."""
    return LinearARX(past=3, future=3).fit(
        [Trajectory(*swing(seed), PERIOD, observed, acted) for seed in range(2)]
    )


def test_a_model_of_arrays_follows_a_robot_once_it_has_channels(tmp_path: Path) -> None:
    runs = [Trajectory(*swing(seed), PERIOD) for seed in range(3)]
    bare = RFFPSR(iterations=2, features=20, past=6, future=5, arx_past=6, folds=1).fit(runs)
    with pytest.raises(InputError, match="learned from arrays"):
        Follower(bare)
    with_channels(bare, ARM).save(tmp_path / "m")
    model = load_model(tmp_path / "m")
    assert model.signature.observation_names == ("arm.angle", "arm.speed")
    assert model.signature.observation_units == ("rad", "rad/s")
    assert model.signature.action_names == ("motor.data",)
    assert bare.signature.channels is None

    follower = Follower(model, FollowOptions(5, start="episode", compiled=False))
    by_hand, state = bare.inference_model(False), bare.inference_model(False).initial_state()
    seen, acted = swing(7)
    tick_ns, start_ns, steps = round(PERIOD * 1e9), 10**12, 0
    for k in range(TICKS):
        command = SimpleNamespace(data=acted[k, 0])
        follower.feed("/motor", start_ns + k * tick_ns, command)
        measured = SimpleNamespace(angle=seen[k, 0], speed=seen[k, 1])
        for step in follower.feed("/arm", start_ns + (k + 1) * tick_ns, measured):
            assert isinstance(step, Step)
            assert step.forecast is not None
            state = by_hand.update(state, step.tick.action, step.tick.observation)
            expected = by_hand.predict(state, step.forecast.actions)
            np.testing.assert_array_equal(step.forecast.values, expected)
            steps += 1
    assert steps > TICKS - 3


def test_columns_read_from_bags_keep_their_names(robot: Path, workshop: Any, here: Path) -> None:
    (here / "robot.yaml").write_text(workshop.configuration)
    configuration = ChannelConfiguration.from_mapping(
        channels(
            {"arm": {"topic": "/encoder", "fields": ["position.elbow"]}},
            {"motor": {"fields": ["data"]}},
            50.0,
        )
    )
    bare = LinearARX(past=3, future=3).fit(read_bags(robot, configuration))
    model = with_channels(bare, "robot.yaml")
    assert model.signature.observation_names == bare.signature.observation_names
    assert model.signature.observation_units == ("rad",)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (["data"], ("seen.data[0]", "seen.data[1]")),
        (["data[0:2]"], ("seen.data[0]", "seen.data[1]")),
        (["data[-2:]"], ("seen.data[-2]", "seen.data[-1]")),
        (["sin(data[3:5])"], ("seen.sin(data[3])", "seen.sin(data[4])")),
        (["image(2x1)"], ("seen.image[0,0]", "seen.image[0,1]")),
        (["x", "y"], ("seen.x", "seen.y")),
        (["x", "data[1:2]"], ("seen.x", "seen.data[1]")),
    ],
)
def test_names_of_arrays_are_those_that_messages_would_give(
    fields: list[str], expected: tuple[str, ...]
) -> None:
    configuration = channels({"seen": {"fields": fields}}, {"told": {"fields": ["data"]}})
    signature = with_channels(learned(), configuration).signature
    assert signature.observation_names == expected
    assert signature.observation_units == ()
    again = with_channels(learned(expected, ("told.data",)), configuration).signature
    assert again == signature


MOTOR = {"motor": {"fields": ["data"]}}
THREE = {"arm": {"fields": ["angle"]}, "far": {"fields": ["x", "y"]}}


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        (channels(THREE, MOTOR), "has 3 observation columns, but the model was trained on 2"),
        (channels({"arm": {"fields": ["data[0:3]"]}}, MOTOR), "has 3 observation columns"),
        (channels({"arm": {"fields": ["angle", "speed"]}}, THREE), "has 3 action columns"),
        (ARM | {"rate": 10.0}, r"10 ticks per second, .* ticks of 0.05 s; set 'rate' to 20"),
        (ARM | {"rates": 20.0}, "unknown key 'rates'"),
    ],
)
def test_columns_and_period_must_be_the_models(configuration: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        with_channels(learned(), configuration)
    assert "\n" not in str(refused.value)


def test_names_that_the_columns_have_must_be_the_configurations() -> None:
    model = learned(("arm.speed", "arm.angle"), ("motor.data",))
    with pytest.raises(InputError, match=r"observation 0 .* is 'arm.angle', .* on 'arm.speed'"):
        with_channels(model, ARM)
    with pytest.raises(InputError, match="has 1 observation columns"):
        with_channels(model, channels({"arm": {"fields": ["speed"]}}, MOTOR))


def test_the_channel_of_a_known_policy_is_no_column() -> None:
    told = {"motor": {"fields": ["data"]}, "chance": {"fields": ["data"]}}
    configuration = channels({"arm": {"fields": ["angle", "speed"]}}, told)
    configuration["dataset"] = {"policy": {"log_probability": "chance"}}
    model = with_channels(learned(), configuration)
    assert model.signature.action_names == ("motor.data",)
