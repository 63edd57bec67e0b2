"""The arm in RViz: its description is that of its world, its ghost is moved by forecasts."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as Xml

import numpy as np
import pytest
import yaml

from rffpsr_ros.cli.layouts.curves import observed
from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.launching.ghost import ghost, robot_description, root_link
from rffpsr_ros.signals.channel_file import load_channels

CHECKOUT = Path(__file__).resolve().parents[3]
URDF = (CHECKOUT / "layouts" / "arm.urdf").read_text(encoding="utf-8")
LAUNCH = (CHECKOUT / "launch" / "view.launch.py").read_text(encoding="utf-8")


def joints(description: str) -> list[str]:
    return [
        str(joint.get("name"))
        for joint in Xml.fromstring(description).findall("joint")
        if joint.get("type") != "fixed"
    ]


def test_the_ghosts_joints_are_called_as_the_arms_forecasts() -> None:
    forecast = [one.name for one in observed(load_channels(CHECKOUT / "config" / "arm.yaml"))]
    assert set(joints(ghost(URDF, "joints"))) == {name for name in forecast if "position" in name}


def test_the_ghost_is_the_robot_but_for_the_names() -> None:
    back = ghost(URDF, "joints").replace("joints.position.", "")
    assert Xml.canonicalize(back) == Xml.canonicalize(URDF)


def test_names_that_are_no_words_are_written_as_in_field_paths() -> None:
    text = (
        "<robot name='r'><link name='a'/><link name='b'/>"
        "<joint name='left-1' type='prismatic'><parent link='a'/><child link='b'/></joint>"
        "<joint name='other' type='continuous'><parent link='a'/><child link='b'/>"
        "<mimic joint='left-1'/></joint></robot>"
    )
    shadow = Xml.fromstring(ghost(text, "arm"))
    assert joints(ghost(text, "arm")) == ["arm.position['left-1']", "arm.position.other"]
    (mimic,) = shadow.iter("mimic")
    assert mimic.get("joint") == "arm.position['left-1']"


@pytest.mark.parametrize("text", ["", "<sdf/>", "<robot name='r'/>", "<robot"])
def test_what_is_no_description_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="the robot's description"):
        ghost(text, "joints")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"robot's description .*nowhere\.urdf.*No such file"):
        robot_description(tmp_path / "nowhere.urdf")
    (tmp_path / "picture.urdf").write_bytes(b"\x89PNG\xff")
    with pytest.raises(InputError, match=r"picture\.urdf"):
        robot_description(tmp_path / "picture.urdf")


def test_the_description_moves_as_the_world_does() -> None:
    pydrake = pytest.importorskip("pydrake.all", reason="needs Drake (extra sdf)")

    def places(file: Path) -> list[np.ndarray]:
        plant = pydrake.MultibodyPlant(0.0)
        pydrake.Parser(plant).AddModels(str(file))
        plant.Finalize()
        context = plant.CreateDefaultContext()
        plant.GetJointByName("shoulder").set_angle(context, 0.7)
        plant.GetJointByName("elbow").set_angle(context, -1.1)
        links = [plant.GetBodyByName(name) for name in ("base", "upper_arm", "forearm")]
        return [plant.EvalBodyPoseInWorld(context, link).GetAsMatrix4() for link in links]

    urdf = places(CHECKOUT / "layouts" / "arm.urdf")
    sdf = places(CHECKOUT / "worlds" / "arm.sdf")
    for described, simulated in zip(urdf, sdf, strict=True):
        np.testing.assert_allclose(described, simulated, atol=1e-12)


def test_rviz_shows_what_the_launch_file_publishes() -> None:
    root = yaml.safe_load((CHECKOUT / "layouts" / "arm.rviz").read_text(encoding="utf-8"))
    manager = root["Visualization Manager"]
    assert manager["Global Options"]["Fixed Frame"] == root_link(URDF) == "world"
    robots = {
        one["Name"]: one
        for one in manager["Displays"]
        if one["Class"] == "rviz_default_plugins/RobotModel"
    }
    topics = {name: one["Description Topic"]["Value"] for name, one in robots.items()}
    assert 'PREFIX = "predicted"' in LAUNCH
    assert topics == {
        "Measured": "/robot_description",
        "Predicted": "/predicted/robot_description",
    }
    assert robots["Measured"]["TF Prefix"] == ""
    assert robots["Predicted"]["TF Prefix"] == "predicted"
    assert robots["Predicted"]["Alpha"] < robots["Measured"]["Alpha"]
    # A description is published once, and kept for those who come later.
    for one in robots.values():
        assert one["Description Topic"]["Durability Policy"] == "Transient Local"
