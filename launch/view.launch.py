"""RViz with a robot as it is, and as a ghost how the filter expects it to be.

By default the arm of this package; with ``urdf`` and ``rviz_config`` any robot whose joints'
positions are observations of the model. It needs robot_state_publisher, tf2_ros and rviz2.
"""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch_ros.actions import Node

from rffpsr_ros.nodes.launching.common import (
    argument,
    checked,
    common_arguments,
    flag,
    require_packages,
)
from rffpsr_ros.nodes.launching.ghost import ghost, robot_description, root_link
from rffpsr_ros.nodes.shared.package_files import package_folder

PREFIX = "predicted"
NEEDED = ("robot_state_publisher", "tf2_ros", "rviz2")


def view(context):
    """Return the publishers of both robots' poses, what joins them, and RViz."""
    layouts = package_folder("layouts")
    require_packages(*NEEDED)
    text = robot_description(Path(argument(context, "urdf") or layouts / "arm.urdf"))
    time = {"use_sim_time": bool(flag(context, "use_sim_time"))}
    shadow = ghost(text, argument(context, "channel"))
    base = root_link(text)
    publisher = {"package": "robot_state_publisher", "executable": "robot_state_publisher"}
    shown = {"robot_description": shadow, "frame_prefix": f"{PREFIX}/", **time}
    still = ["--frame-id", base, "--child-frame-id", f"{PREFIX}/{base}"]
    return [
        Node(**publisher, parameters=[{"robot_description": text, **time}]),
        Node(
            **publisher,
            namespace=PREFIX,
            parameters=[shown],
            remappings=[("joint_states", argument(context, "predicted"))],
        ),
        Node(package="tf2_ros", executable="static_transform_publisher", arguments=still),
        Node(
            package="rviz2",
            executable="rviz2",
            arguments=["-d", argument(context, "rviz_config") or str(layouts / "arm.rviz")],
            parameters=[time],
        ),
    ]


def generate_launch_description():
    """Return the arguments and everything that is started."""
    return LaunchDescription(
        [
            *checked(
                DeclareLaunchArgument(
                    "urdf", default_value="", description="a URDF; empty: the arm's"
                ),
                DeclareLaunchArgument(
                    "rviz_config", default_value="", description="of RViz; empty: the arm's"
                ),
                DeclareLaunchArgument(
                    "channel",
                    default_value="joints",
                    description="the observation channel that holds the joints' positions",
                ),
                DeclareLaunchArgument(
                    "predicted",
                    default_value="/rffpsr_filter/predicted",
                    description="the filter's forecast; its parameter lead says how far ahead",
                ),
                *common_arguments("use_sim_time"),
            ),
            OpaqueFunction(function=view),
        ]
    )
