"""The channel configuration: round trips, defaults, and one sentence for every mistake."""

import copy
import json
from fractions import Fraction
from typing import Any

import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.signals import Channel, ChannelConfiguration

MAPPING: dict[str, Any] = {
    "rate": 50,
    "observation": {
        "inputs": ["imu", "arm"],
        "imu": {"topic": "/imu", "type": "sensor_msgs/Imu", "fields": "angular_velocity.z"},
        "arm": {
            "topic": "joint_states",
            "type": "sensor_msgs/msg/JointState",
            "fields": ["position.elbow", "sin(position.wrist)"],
            "units": ["rad", ""],
            "max_age": 0.05,
        },
    },
    "action": {
        "inputs": ["cmd"],
        "cmd": {"topic": "/cmd", "fields": ["data[0:2]"], "initial": 0},
    },
    "learning": {"rank": 20, "past": None, "list": [1, 2.5, "x"]},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the mapping with one value changed; the value `...` removes the key."""
    mapping = copy.deepcopy(MAPPING)
    *outer, last = path.split(".")
    inner = mapping
    for key in outer:
        inner = inner[key]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return mapping


def test_a_mapping_becomes_channels() -> None:
    configuration = ChannelConfiguration.from_mapping(MAPPING)
    assert configuration.rate == 50.0
    assert configuration.period == 0.02
    assert configuration.observations[0] == Channel(
        "imu", "/imu", "sensor_msgs/msg/Imu", ("angular_velocity.z",), max_age=0.2
    )
    assert configuration.observations[1].max_age == 0.05
    assert configuration.actions == (Channel("cmd", "/cmd", "", ("data[0:2]",), initial=(0.0,)),)
    assert configuration.topics == {
        "/imu": "sensor_msgs/msg/Imu",
        "joint_states": "sensor_msgs/msg/JointState",
        "/cmd": "",
    }
    assert configuration.learning["rank"] == 20


@pytest.mark.parametrize(("rate", "max_age", "max_gap"), [(50, 0.2, 0.5), (1, 2.5, 3.0)])
def test_defaults_follow_the_rate(rate: float, max_age: float, max_gap: float) -> None:
    configuration = ChannelConfiguration.from_mapping(changed("rate", rate))
    assert configuration.observations[0].max_age == max_age
    assert configuration.max_gap == max_gap


def test_it_goes_through_json_and_back() -> None:
    configuration = ChannelConfiguration.from_mapping(MAPPING)
    again = ChannelConfiguration.from_mapping(json.loads(json.dumps(configuration.to_mapping())))
    assert again == configuration


def test_the_period_is_exact() -> None:
    configuration = ChannelConfiguration.from_mapping(changed("rate", 0.3))
    assert configuration.exact_period_ns == Fraction(10**10, 3)


def test_types_can_be_filled_in() -> None:
    configuration = ChannelConfiguration.from_mapping(MAPPING)
    completed = configuration.with_types({"/cmd": "std_msgs/msg/Float64MultiArray", "/imu": "x"})
    assert completed.actions[0].type == "std_msgs/msg/Float64MultiArray"
    assert completed.observations == configuration.observations


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("rate", ..., "'rate' is missing"),
        ("rate", -1, "'rate' is -1 in the channel configuration; it must be a positive number"),
        ("rate", 0, "'rate' is 0"),
        ("rate", "50", "'rate' is '50'"),
        ("rate", True, "'rate' is True"),
        ("rate", float("nan"), "'rate' is nan"),
        ("rate", 10**400, "'rate' is 1000"),
        ("max_gap", -0.1, "'max_gap' is -0.1"),
        ("stamps", "log", "'stamps' is 'log' in the channel configuration; it must be 'header'"),
        ("obsevation", {}, "unknown key 'obsevation' in the channel configuration; did you mean"),
        ("observation", ..., "'observation' is missing"),
        ("observation", [1], "'observation' is [1]"),
        ("observation.inputs", ..., "'observation.inputs' is missing"),
        ("observation.inputs", [], "one or more names, each once"),
        ("observation.inputs", ["imu", "imu"], "one or more names, each once"),
        ("observation.inputs", ["imu", 3], "a list of channel names"),
        ("observation.inputs", ["imu", "arm", "a b"], "a name of letters, digits and '_'"),
        ("observation.inputs", ["imu"], "'observation.arm' in the channel configuration is not"),
        ("observation.inputs", ["imu", "arm", "leg"], "has no 'observation.leg'"),
        ("observation.imu.topic", ..., "'observation.imu.topic' is None"),
        ("observation.imu.topic", "/im u", "a topic name such as /imu/data"),
        ("observation.imu.type", "Imu", "a message type such as sensor_msgs/msg/Imu"),
        ("observation.imu.fields", ..., "'observation.imu.fields' is missing"),
        ("observation.imu.fields", [], "one or more field paths"),
        ("observation.imu.fields", ["a", "a"], "each once"),
        ("observation.imu.fields", [["data[0]"]], "a list of field paths"),
        ("observation.imu.fields", ["x", "y."], "field path 'y.' is malformed at character 3"),
        ("observation.imu.max_age", 0, "'observation.imu.max_age' is 0"),
        ("observation.imu.max_ege", 1, "'observation.imu.max_ege'"),
        ("observation.imu.initial", 1, "unknown key 'observation.imu.initial'"),
        ("observation.imu.units", ["rad", "m"], "one unit per field"),
        ("action.cmd.initial", "zero", "a number or one number per column"),
        ("action.cmd.initial", [], "a number or one number per column"),
        ("action.cmd.initial", [0, float("inf")], "a number or one number per column"),
        ("action.cmd.topic", "/imu", None),
        ("learning", 3, "'learning' is 3"),
        ("learning", {"a": object()}, "plain keys, numbers, texts and lists"),
    ],
)
def test_mistakes_get_one_sentence(path: str, value: Any, sentence: str | None) -> None:
    mapping = changed(path, value)
    if sentence is None:
        ChannelConfiguration.from_mapping(mapping)
        return
    with pytest.raises(InputError) as caught:
        ChannelConfiguration.from_mapping(mapping)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_topic_has_one_type() -> None:
    mapping = changed("action.cmd", {"topic": "/imu", "type": "a/msg/B", "fields": ["data"]})
    with pytest.raises(InputError, match=r"/imu has type sensor_msgs/msg/Imu in channel 'imu' but"):
        ChannelConfiguration.from_mapping(mapping)


def test_recursive_options_are_refused() -> None:
    options: dict[str, Any] = {}
    options["self"] = options
    with pytest.raises(InputError, match="plain keys"):
        ChannelConfiguration.from_mapping(changed("learning", options))
