"""Settings of the command line are values as YAML has them, at the place they name."""

from typing import Any

import pytest

from rffpsr_ros.cli.settings import parse_setting


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
