"""10 000 faulty inputs: whatever they hold, they are taken or refused, never a traceback."""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rffpsr_ros.cli.main import main
from rffpsr_ros.errors import InputError
from rffpsr_ros.signals.fields.grammar import parse_field
from rffpsr_ros.signals.fields.resolver import FieldResolver

fuzz = settings(suppress_health_check=list(HealthCheck), print_blob=True)

CONFIGURATION = """\
/**:
  ros__parameters:
    rate: 50.0
    max_gap: 0.5
    stamps: header
    observation:
      inputs: [arm]
      arm:
        topic: /encoder
        type: sensor_msgs/msg/JointState
        fields: ["position[0]"]
        units: [rad]
    action:
      inputs: [motor]
      motor: {topic: /motor, fields: [data], initial: 0.0, max_age: 1.0}
    learning: {rank: 10, past: 5, stage_one: joint}
    dataset: {split: [0.7, 0.1, 0.2]}
"""
SNIPPETS = [
    *("[", "]", "{", "}", ":", "- ", "'", '"', "\n", "  ", "#", "&a", "*a", "!!", "|", "\t"),
    *("null", "~", ".nan", "-.inf", "1e999", "-1", "0", "0x10", "9" * 40, "true", "2026-01-01"),
    *("!!python/object:x", "<<: *a", "é", "\x07", "\ud800"),
]  # fmt: skip

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
edits = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 12), st.sampled_from(SNIPPETS) | st.text(max_size=4)),
    min_size=1,
    max_size=4,
)


def edited(text: str, changes: list[tuple[float, int, str]]) -> str:
    """Return a text in which snippets replace a few characters at some places."""
    for where, length, snippet in changes:
        at = int(where * len(text))
        text = text[:at] + snippet + text[at + length :]
    return text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def judged(words: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Run the command line; it ends with 0, or with 2 and one sentence."""
    capsys.readouterr()
    code = main([str(word) for word in words])
    err = capsys.readouterr().err
    assert code in (0, 2)
    if code == 2:
        assert err.startswith("rffpsr: ")
        assert err.count("\n") == 1


@settings(fuzz, max_examples=800)
@given(changes=edits)
def test_text_of_a_configuration(
    changes: list[tuple[float, int, str]], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "c.yaml"
    path.write_bytes(edited(CONFIGURATION, changes).encode("utf-8", "surrogatepass"))
    judged(["train", folder / "no.bag", "--config", path, "--out", folder / "m"], capsys)


PLACES = [
    *("rate", "max_gap", "stamps", "observation", "observation.inputs", "observation.arm"),
    *(f"observation.arm.{key}" for key in ("topic", "type", "fields", "units", "max_age")),
    *("action", "action.inputs", "action.motor", "action.motor.initial", "action.motor.fields"),
    *("learning", "learning.rank", "learning.past", "learning.stage_one", "learning.seed"),
    *("dataset", "dataset.split", "surprise"),
]


@settings(fuzz, max_examples=800)
@given(place=st.sampled_from(PLACES), value=plain)
def test_values_of_a_configuration(
    place: str, value: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = yaml.safe_load(CONFIGURATION)
    *outer, last = place.split(".")
    inner = content["/**"]["ros__parameters"]
    for key in outer:
        inner = inner[key]
    inner[last] = value
    path = folder / "v.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    judged(["train", folder / "no.bag", "--config", path, "--out", folder / "m"], capsys)


@settings(fuzz, max_examples=600)
@given(text=st.text(max_size=30))
def test_settings_on_the_command_line(
    text: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "s.yaml"
    path.write_text(CONFIGURATION, encoding="utf-8")
    words = ["train", folder / "no.bag", "--config", path, "--out", folder / "m", f"--set={text}"]
    judged(words, capsys)


pieces = st.sampled_from(
    [
        *("position", "name", "header", "stamp", "sec", "elbow", "velocity", "x", "_", "é"),
        *(".", "[", "]", "(", ")", ":", ",", "'", '"', " ", "-", "0", "7", "-1", "9" * 12, "1e9"),
        *("sin(", "cos(", "unwrap(", "yaw(", "clip(", "image(", "64x64", "0x0", "99999x1"),
    ]
)


@settings(fuzz, max_examples=3000)
@given(parts=st.lists(pieces | st.text(max_size=3), max_size=12))
def test_field_paths(parts: list[str], encoder_message: Any) -> None:
    text = "".join(parts)
    with suppress(InputError):
        parse_field(text)
        FieldResolver([text]).resolve(encoder_message)


@pytest.fixture(scope="module")
def encoder_message() -> Any:
    from rosbags.typesys import Stores, get_typestore

    types = get_typestore(Stores.ROS2_JAZZY).types
    stamp = types["builtin_interfaces/msg/Time"](sec=1, nanosec=2)
    return types["sensor_msgs/msg/JointState"](
        header=types["std_msgs/msg/Header"](stamp=stamp, frame_id="base"),
        name=["elbow", "x"],
        position=np.array([1.0, 2.0]),
        velocity=np.empty(0),
        effort=np.array([3.0]),
    )


@settings(fuzz, max_examples=2000)
@given(
    changes=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 9), st.binary(max_size=6)), max_size=4
    ),
    keep=st.floats(0, 1) | st.just(1.0),
)
def test_bytes_of_a_model_file(
    changes: list[tuple[float, int, bytes]],
    keep: float,
    arx_model: Path,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    content = arx_model.read_bytes()
    for where, length, snippet in changes:
        at = int(where * len(content))
        content = content[:at] + snippet + content[at + length :]
    path = folder / "damaged.model"
    path.write_bytes(content[: int(keep * len(content)) + (keep == 1.0)])
    judged(["info", path], capsys)


def test_what_is_fuzzed_is_in_order_before(
    folder: Path, arx_model: Path, robot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(arx_model, folder / "whole.model")
    assert main(["info", str(folder / "whole.model")]) == 0
    (folder / "whole.yaml").write_text(CONFIGURATION, encoding="utf-8")
    words = ["--config", str(folder / "whole.yaml"), "--out", str(folder / "m"), "--quiet"]
    assert main(["train", str(robot), *words, "--model", "linear_arx"]) == 0
