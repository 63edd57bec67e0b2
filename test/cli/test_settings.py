"""Settings of the command line are values as YAML has them, at the place they name."""

from pathlib import Path
from typing import Any

import pytest

from rffpsr_ros.cli.settings import load_configuration, parse_setting
from rffpsr_ros.errors import InputError, did_you_mean


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("k=20", 20),
        ("k=1e-3", 1e-3),
        ("k=1.5E+2", 150.0),
        ("k=.5", 0.5),
        ("k=joint", "joint"),
        ("k='1e-3'", "1e-3"),
        ("k=[a, 2]", ["a", 2]),
        ("k={a: 1}", {"a": 1}),
        ("k=true", True),
        ("k=", None),
        ("k=a=b", "a=b"),
    ],
)
def test_values_have_the_types_of_yaml(text: str, value: Any) -> None:
    assert parse_setting(text) == ("k", value)
    assert type(parse_setting(text)[1]) is type(value)


def test_a_configuration_of_this_package_goes_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    brought = load_configuration("synthetic", ["learning.rank=7"])
    assert brought.rate == 20.0
    assert brought.learning["rank"] == 7
    with pytest.raises(InputError, match="synthetik cannot be read"):
        load_configuration("synthetik", [])
    (tmp_path / "synthetic").write_text("rate: 3.0")  # one's own file goes first
    with pytest.raises(InputError, match="'observation' is missing"):
        load_configuration("synthetic", [])


@pytest.mark.parametrize(
    ("setting", "meant"),
    [
        ("rank=3", "'learning.rank'"),
        ("order=3", "'learning.order'"),
        ("state.rank=3", "'learning.state_rank'"),
        ("learning.state.rank=3", "'learning.state_rank'"),
        ("learning.rate=3", "'learning.learning_rate'"),
        ("split=0.5", "'dataset.split'"),
        ("observation.topic=/t", "'observation.joints.topic'"),
        ("inputs=[a]", "'observation.inputs' or 'action.inputs'"),
    ],
)
def test_a_key_at_the_wrong_place_is_answered_with_the_right_one(setting: str, meant: str) -> None:
    key = setting.partition("=")[0]
    with pytest.raises(InputError) as refusal:
        load_configuration("synthetic", [setting])
    assert str(refusal.value) == f"unknown key '{key}'; did you mean {meant}?"


def test_what_is_hardly_alike_is_not_suggested() -> None:
    assert "did you mean" not in did_you_mean("rank", ["rate", "max_gap"])
    assert did_you_mean("gap", ["rate", "max_gap"]).endswith("'max_gap'?")  # a word of it
    assert did_you_mean("x", ["b", "a"], else_listed=["b"]) == "; known are b"


def test_a_new_channel_and_a_group_as_a_whole_are_no_wrong_places() -> None:
    channel = "{topic: /t, fields: [data]}"
    settings = ["observation.inputs=[rank]", f"observation={{inputs: [rank], rank: {channel}}}"]
    made = load_configuration("synthetic", [*settings, "observation.rank.max_age=3"])
    assert [one.max_age for one in made.observations] == [3.0]
