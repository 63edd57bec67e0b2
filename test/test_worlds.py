"""Worlds, bridges and configurations fit each other, and Gazebo's own checker finds no fault."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from rffpsr_ros.signals.channel_file import load_channels

CHECKOUT = Path(__file__).resolve().parents[1]
WORLDS = sorted((CHECKOUT / "worlds").glob("*.sdf"))

PLUGINS = {
    "gz-sim-physics-system": "gz::sim::systems::Physics",
    "gz-sim-scene-broadcaster-system": "gz::sim::systems::SceneBroadcaster",
    "gz-sim-user-commands-system": "gz::sim::systems::UserCommands",
    "gz-sim-sensors-system": "gz::sim::systems::Sensors",
    "gz-sim-apply-joint-force-system": "gz::sim::systems::ApplyJointForce",
    "gz-sim-joint-state-publisher-system": "gz::sim::systems::JointStatePublisher",
}
"""Filename -> name, as gz-sim 8 to 10 have them."""

TYPE_PAIRS = {
    ("rosgraph_msgs/msg/Clock", "gz.msgs.Clock", "GZ_TO_ROS"),
    ("sensor_msgs/msg/JointState", "gz.msgs.Model", "GZ_TO_ROS"),
    ("sensor_msgs/msg/Image", "gz.msgs.Image", "GZ_TO_ROS"),
    ("std_msgs/msg/Float64", "gz.msgs.Double", "ROS_TO_GZ"),
}
"""What ros_gz_bridge can carry, in the direction that makes sense."""

every_world = pytest.mark.parametrize("path", WORLDS, ids=lambda path: path.stem)


class World:
    """What a world file says."""

    def __init__(self, path: Path) -> None:
        root = ElementTree.parse(path).getroot()
        self.version = root.get("version")
        (self.world,) = root.findall("world")
        self.name = self.world.get("name")
        models = {model.get("name"): model for model in self.world.findall("model")}
        self.robot = next(
            name for name, model in models.items() if model.find("plugin") is not None
        )
        self.joints = {
            joint.get("name"): joint
            for joint in models[self.robot].findall("joint")
            if joint.get("type") == "revolute"
        }
        self.plugins = list(root.iter("plugin"))
        self.cameras = [topic.text for topic in root.iterfind(".//sensor/topic")]

    def joints_of(self, filename: str) -> list[str]:
        """Return the joints that the plugins of a file concern."""
        return [
            str(joint.text)
            for plugin in self.plugins
            if plugin.get("filename") == filename
            for joint in plugin.findall("joint_name")
        ]

    @property
    def topics(self) -> set[str]:
        """Return the Gazebo topics that there are."""
        forces = self.joints_of("gz-sim-apply-joint-force-system")
        return {
            "/clock",
            f"/world/{self.name}/model/{self.robot}/joint_state",
            *(f"/model/{self.robot}/joint/{joint}/cmd_force" for joint in forces),
            *(f"/{topic}" for topic in self.cameras),
        }


def bridge(path: Path) -> list[dict[str, str]]:
    file = CHECKOUT / "config" / f"gazebo_bridge_{path.stem}.yaml"
    entries: list[dict[str, str]] = yaml.safe_load(file.read_text())
    return entries


@every_world
def test_gazebos_checker_passes_it(path: Path, tmp_path: Path) -> None:
    ign = shutil.which("ign")
    if ign is None:
        pytest.skip("needs 'ign sdf': apt install ignition-tools libsdformat-dev")
    environment = {**os.environ, "HOME": str(tmp_path)}

    def check(file: Path) -> tuple[str, str]:
        done = subprocess.run(
            [ign, "sdf", "-k", str(file)],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        log = tmp_path / ".sdformat" / "sdformat.log"
        return done.stdout, log.read_text() if log.is_file() else ""

    said, log = check(path)
    assert "Valid." in said
    assert "not defined in SDF" not in log
    # The checker passes misspelt elements; only its log tells of them.
    misspelt = tmp_path / "misspelt.sdf"
    misspelt.write_text(path.read_text().replace("damping>", "dampin>"))
    assert "dampin" in check(misspelt)[1]


@every_world
def test_it_is_for_every_supported_gazebo(path: Path) -> None:
    world = World(path)
    assert world.version == "1.9"
    assert world.name == path.stem
    assert world.world.findtext("physics/max_step_size") == "0.004"
    assert not list(world.world.iter("include"))
    assert not list(world.world.iter("uri"))
    found = {plugin.get("filename"): plugin.get("name") for plugin in world.plugins}
    assert found.items() <= PLUGINS.items()
    needed = set(PLUGINS) - (set() if world.cameras else {"gz-sim-sensors-system"})
    assert found.keys() == needed


@every_world
def test_every_joint_has_torque_state_limits_and_damping(path: Path) -> None:
    world = World(path)
    assert world.joints
    assert world.joints_of("gz-sim-apply-joint-force-system") == list(world.joints)
    assert world.joints_of("gz-sim-joint-state-publisher-system") == list(world.joints)
    for joint in world.joints.values():
        assert float(joint.findtext("axis/limit/lower") or 0) < 0
        assert float(joint.findtext("axis/limit/upper") or 0) > 0
        assert float(joint.findtext("axis/limit/effort") or 0) > 0
        assert float(joint.findtext("axis/dynamics/damping") or 0) > 0
        assert joint.find("axis/dynamics/friction") is None


@pytest.mark.parametrize("path", [one for one in WORLDS if "camera" not in one.stem])
def test_inertias_are_those_of_solid_rods(path: Path) -> None:
    robot = World(path).robot
    model = ElementTree.parse(path).find(f".//model[@name='{robot}']")
    assert model is not None
    rods = [link for link in model.findall("link") if link.find(".//cylinder") is not None]
    assert rods
    for link in rods:
        mass = float(link.findtext("inertial/mass") or 0)
        radius = float(link.findtext(".//cylinder/radius") or 0)
        length = float(link.findtext(".//cylinder/length") or 0)
        across = mass * (3 * radius**2 + length**2) / 12
        along = mass * radius**2 / 2
        inertia = {
            axis: float(link.findtext(f"inertial/inertia/{axis}") or 0)
            for axis in ("ixx", "iyy", "izz")
        }
        assert inertia["ixx"] == pytest.approx(across, rel=0.01)
        assert inertia["iyy"] == pytest.approx(across, rel=0.01)
        assert inertia["izz"] == pytest.approx(along, rel=0.01)
        assert link.findtext("inertial/pose") == link.findtext("visual/pose")


def test_the_camera_changes_nothing_but_looks() -> None:
    physics = []
    for name in ("arm", "arm_camera"):
        model = ElementTree.parse(CHECKOUT / "worlds" / f"{name}.sdf").find(".//model[@name='arm']")
        assert model is not None
        for link in model.findall("link"):
            for visual in link.findall("visual"):
                link.remove(visual)
        physics.append("".join(ElementTree.tostring(model, encoding="unicode").split()))
    assert physics[0] == physics[1]


@every_world
def test_the_bridge_carries_every_topic_of_the_world_and_no_other(path: Path) -> None:
    entries = bridge(path)
    assert {entry["gz_topic_name"] for entry in entries} == World(path).topics
    for entry in entries:
        assert (entry["ros_type_name"], entry["gz_type_name"], entry["direction"]) in TYPE_PAIRS
    names = [entry["ros_topic_name"] for entry in entries]
    assert len(set(names)) == len(names)


@every_world
def test_the_configuration_fits_the_bridge_and_the_joints(path: Path) -> None:
    world = World(path)
    file = CHECKOUT / "config" / f"{path.stem}.yaml"
    channels = load_channels(file)
    types = {entry["ros_topic_name"]: entry["ros_type_name"] for entry in bridge(path)}
    for channel in channels.channels:
        assert channel.type == types[channel.topic]
    commands = {
        entry["ros_topic_name"]: entry["gz_topic_name"]
        for entry in bridge(path)
        if entry["direction"] == "ROS_TO_GZ"
    }
    acted = [re.findall(r"/joint/(\w+)/", commands[one.topic])[0] for one in channels.actions]
    assert acted == list(world.joints)
    named = {
        field.split(".")[-1].rstrip(")")
        for one in channels.observations
        if one.type.endswith("JointState")
        for field in one.fields
    }
    assert named <= world.joints.keys()
    parameters = yaml.safe_load(file.read_text())["/**"]["ros__parameters"]
    efforts = [float(joint.findtext("axis/limit/effort") or 0) for joint in world.joints.values()]
    assert parameters["limits.high"] == efforts
    assert parameters["limits.low"] == [-effort for effort in efforts]
