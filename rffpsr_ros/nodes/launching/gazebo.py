"""What the launch files that start Gazebo share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launch import LaunchContext
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import Node

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.launching.common import argument, flag, share_folder
from rffpsr_ros.nodes.simulator.world import CAMERA_WORLD, bridge_file, world_file

PACE: Mapping[str, Any] = {"pace": "observations", "ahead": 0.2}
"""Of an excitation: Gazebo waits for no command, so it is sent before the tick that it is for."""


def gazebo_installed() -> bool:
    """Tell whether Gazebo can be started here."""
    return share_folder("ros_gz_sim") is not None and share_folder("ros_gz_bridge") is not None


def gazebo(context: LaunchContext) -> list[Any]:
    """Return the actions that start Gazebo with ``world``, and the bridge to it.

    Raises
    ------
    InputError
        If Gazebo's ROS packages are not installed.
    """
    if not gazebo_installed():
        raise InputError(
            "Gazebo's ROS packages (ros_gz_sim, ros_gz_bridge) are not installed: apt install"
            " ros-$ROS_DISTRO-ros-gz, or simulate the world without it: simulation.launch.py"
            f" world:={argument(context, 'world')}"
        )
    world = world_file(argument(context, "world"))
    share = share_folder("ros_gz_sim")
    assert share is not None
    start = PythonLaunchDescriptionSource(str(share / "launch" / "gz_sim.launch.py"))
    options = {"gz_args": " ".join(_options(context, world)), "on_exit_shutdown": "true"}
    return [IncludeLaunchDescription(start, launch_arguments=options.items()), _bridge(world)]


def _options(context: LaunchContext, world: Path) -> list[str]:
    """Return what the command line of Gazebo gets."""
    options = ["-r"]
    if flag(context, "headless"):
        options.append("-s")
        if world.stem == CAMERA_WORLD:
            options.append("--headless-rendering")
    return [*options, str(world)]


def _bridge(world: Path) -> Any:
    """Return the bridge of a world's topics, and of the service that resets it."""
    control = f"/world/{world.stem}/control@ros_gz_interfaces/srv/ControlWorld"
    return Node(
        package="ros_gz_bridge",
        executable="parameter_bridge",
        arguments=[control],
        parameters=[{"config_file": str(bridge_file(world))}],
        output="screen",
    )
