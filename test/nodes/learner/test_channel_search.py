"""Channels that are written, or mended, after their learner has started."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rffpsr_ros.errors import InputError

CONFIG = Path(__file__).resolve().parents[3] / "config"


@pytest.mark.parametrize("autostart", [True, False])
def test_a_file_that_is_missing_at_first_is_looked_for(tmp_path: Path, autostart: bool) -> None:
    pytest.importorskip("rclpy", reason="needs ROS 2: rclpy is not installed")
    from rffpsr_ros.nodes.learner.channel_search import ChannelSearch

    file = tmp_path / "channels.yaml"
    given = {"autostart": autostart, "channels_file": str(file)}
    node: Any = SimpleNamespace(get_parameter=lambda name: SimpleNamespace(value=given[name]))
    search = ChannelSearch(node, given.__getitem__)
    with pytest.raises(InputError, match="cannot be read") as refused:
        search.find()
    assert ("goes on once the file is in order" in str(refused.value)) == autostart
    said: list[str] = []
    file.write_text("rate: 10", encoding="utf-8")
    assert not search.ends(said.append)
    assert len(said) == int(autostart)
    file.write_text((CONFIG / "synthetic.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    assert search.ends(said.append) == autostart
    assert len(said) == int(autostart)
    assert not search.ends(said.append)  # found is found


def test_a_learner_begins_once_its_channels_are_there(ros: Any) -> None:
    file = ros.folder / "channels.yaml"
    node = ros.start("learner_node", channels_file=file)
    node.wait_for("cannot be read")
    file.write_text((CONFIG / "synthetic.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    node.wait_for("listening to joint_states")
    assert node.count("cannot be read") == 1
    assert node.end() == 0
