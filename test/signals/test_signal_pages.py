"""What the documentation shows is what the package takes."""

import re
from pathlib import Path

import pytest

from rffpsr_ros.signals import load_channels
from rffpsr_ros.signals.fields.functions import FUNCTIONS
from rffpsr_ros.signals.fields.grammar import parse_field


def test_the_configuration_shown_is_read(tmp_path: Path, checkout: Path) -> None:
    text = (checkout / "docs" / "signals.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / "robot.yaml").write_text(shown)
    configuration = load_channels(tmp_path / "robot.yaml")
    assert [channel.name for channel in configuration.channels] == ["imu", "arm", "motors"]
    assert configuration.actions[0].fields == ("data[0:2]",)


def fields_shown(checkout: Path) -> list[str]:
    text = (checkout / "docs" / "signals.md").read_text(encoding="utf-8")
    table = text.split("## Fields")[1].split("\n\n")[1]
    shown = [field for row in table.splitlines()[2:] for field in re.findall(r"`([^`]+)`", row)]
    return [field for field in shown if field not in ("_", "-", "/")]


def test_the_fields_shown_are_fields(checkout: Path) -> None:
    fields = fields_shown(checkout)
    assert len(fields) > 10
    for field in fields:
        parse_field(field.replace("...", "x"))


def test_every_function_is_shown(checkout: Path) -> None:
    shown = {field.partition("(")[0] for field in fields_shown(checkout) if "(" in field}
    assert shown == FUNCTIONS.keys()


CONFIGURATIONS = [
    path
    for path in sorted((Path(__file__).parents[2] / "config").glob("*.yaml"))
    if "observation:" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.name)
def test_the_configurations_that_come_along_are_read(path: Path) -> None:
    assert load_channels(path).observations
