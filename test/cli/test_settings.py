"""Settings of the command line are values as YAML has them, at the place they name."""

from pathlib import Path
from typing import Any

import pytest

from rffpsr_ros.cli.settings import load_configuration, parse_setting
from rffpsr_ros.errors import InputError


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
