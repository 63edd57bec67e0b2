"""Configuration files: plain, as ROS parameters, and as anything else."""

from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rffpsr_ros.errors import InputError
from rffpsr_ros.signals import ChannelConfiguration, load_channels

PLAIN = """
rate: 20.0
observation:
  inputs: [imu]
  imu: {topic: /imu, fields: ["data[0]", angular_velocity.z]}
action:
  inputs: [cmd]
  cmd: {topic: /cmd, fields: ["data[0]"], initial: [0.0]}
"""


@pytest.fixture
def expected() -> ChannelConfiguration:
    return ChannelConfiguration.from_mapping(yaml.safe_load(PLAIN))


def load(folder: Path, text: str | bytes) -> ChannelConfiguration:
    path = folder / "channels.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_channels(path)


def indented(text: str, spaces: int) -> str:
    return "".join(" " * spaces + line for line in text.strip().splitlines(keepends=True)) + "\n"


def test_plain(tmp_path: Path, expected: ChannelConfiguration) -> None:
    assert load(tmp_path, PLAIN) == expected


@pytest.mark.parametrize("node", ["/**", "rffpsr_learner", "/robot/rffpsr_filter"])
def test_as_parameters_of_a_node(tmp_path: Path, expected: ChannelConfiguration, node: str) -> None:
    text = f"{node}:\n  ros__parameters:\n    model_path: x.psr\n{indented(PLAIN, 4)}"
    assert load(tmp_path, text) == expected


def test_in_a_namespace(tmp_path: Path, expected: ChannelConfiguration) -> None:
    text = f"robot:\n  learner:\n    ros__parameters:\n{indented(PLAIN, 6)}"
    assert load(tmp_path, text) == expected


def test_a_later_node_overrides(tmp_path: Path, expected: ChannelConfiguration) -> None:
    text = f"/**:\n  ros__parameters:\n{indented(PLAIN, 4)}"
    text += "filter:\n  ros__parameters:\n    observation: {imu: {max_age: 1.5}}\n"
    assert load(tmp_path, text).observations[0].max_age == 1.5
    assert expected.observations[0].max_age == 0.2


def test_dotted_keys(tmp_path: Path, expected: ChannelConfiguration) -> None:
    text = """
    /**:
      ros__parameters:
        rate: 20.0
        observation.inputs: [imu]
        observation.imu.topic: /imu
        observation.imu.fields: ["data[0]", angular_velocity.z]
        action: {inputs: [cmd], cmd.topic: /cmd}
        action.cmd.fields: ["data[0]"]
        action.cmd.initial: [0.0]
    """
    assert load(tmp_path, text) == expected


def test_a_misspelt_key_among_the_parameters_of_a_node(tmp_path: Path) -> None:
    text = f"/**:\n  ros__parameters:\n    max_gaps: 1.0\n{indented(PLAIN, 4)}"
    with pytest.raises(InputError, match=r"unknown key 'max_gaps' .* did you mean 'max_gap'"):
        load(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rate: [", "channels.yaml is no YAML: .* at line 1, column 8"),
        ("rate: 20\n\tobservation: x", "channels.yaml is no YAML: .* at line 2"),
        (b"\xff\xfe\x00", "channels.yaml is no YAML"),
        ("- 1", "channels.yaml holds no mapping"),
        ("", "channels.yaml holds no mapping"),
        ("rate: 20", "'observation' is missing in channels.yaml"),
        ("/**: {ros__parameters: {}}", "'rate' is missing in channels.yaml"),
        ("rate: !!python/object:os.system {}", "channels.yaml is no YAML"),
        ("rate: 2024-99-99", "channels.yaml is no YAML"),
        ("rate: !!timestamp x", "channels.yaml is no YAML: malformed value"),
        ("rate: !!bool x", "channels.yaml is no YAML: malformed value"),
        ("a: &a {b: *a}", "the configuration is nested more than 16 deep"),
        (".".join(["a"] * 99) + ": 1", "the configuration is nested more than 16 deep"),
        pytest.param("[" * 2000, "channels.yaml is nested more than 32 deep", id="deep"),
        (PLAIN.replace('"data[0]", ', "data[0], "), "no YAML"),
    ],
)
def test_anything_else_gets_one_sentence(tmp_path: Path, text: str | bytes, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        load(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.yaml cannot be read: No such file"):
        load_channels(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        load_channels(tmp_path)


pieces = st.sampled_from(
    [
        *("rate", "observation", "action", "inputs", "imu", "topic", "/imu", "fields", "data[0]"),
        *("type", "max_age", "initial", "ros__parameters", "/**", ":", ": ", "\n", "\n  ", "- "),
        *("!!timestamp ", "!!bool ", "!!int ", "!!set ", "!!omap ", "&a {a: *a}"),
        *("{", "}", "[", "]", ",", '"', "'", "&a", "*a", "!!", "1", "-1.5", ".nan", "null", "~"),
        *("<<", "?", "#", "|", ">", "%", "@", "`", "\t", "\0", "é", "2024-01-01", "0x1F", "1e999"),
    ]
)


@settings(max_examples=1000)
@given(st.lists(pieces, max_size=25).map("".join))
def test_no_text_gives_a_traceback(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    with suppress(InputError):
        load(tmp_path_factory.getbasetemp(), text)


@settings(max_examples=1000)
@given(st.integers(0, len(PLAIN) - 1), st.integers(0, 30), st.lists(pieces, max_size=3))
def test_no_damage_to_a_file_gives_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, start: int, length: int, inserted: list[str]
) -> None:
    text = PLAIN[:start] + "".join(inserted) + PLAIN[start + length :]
    with suppress(InputError):
        configuration = load(tmp_path_factory.getbasetemp(), text)
        assert ChannelConfiguration.from_mapping(configuration.to_mapping()) == configuration


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
            + "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 9)),
            "more than 100000 values, counted with its aliases",
        ),
        (
            "b0: &b0 {k: v}\n"
            + "".join(
                f"b{k}: &b{k} {{<<: [{', '.join([f'*b{k - 1}'] * 10)}]}}\n" for k in range(1, 9)
            ),
            "more than 100000 values, counted with its aliases",
        ),
        ("x: " + "9" * 100_000, "a value of more than 65536 characters"),
        ("# x\n" * 600_000, "more than 2097152 characters"),
    ],
    ids=["laughs", "merges", "a long number", "long"],
)
def test_a_text_without_end_gets_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "channels.yaml"
    path.write_text(text + PLAIN, encoding="utf-8")
    with pytest.raises(InputError, match=sentence):
        load_channels(path)


def test_aliases_that_share_a_setting_are_read(tmp_path: Path) -> None:
    path = tmp_path / "channels.yaml"
    path.write_text("learning: &l {rank: 3}\ndataset: *l\n" + PLAIN, encoding="utf-8")
    channels = load_channels(path)
    assert channels.learning == channels.dataset == {"rank": 3}
