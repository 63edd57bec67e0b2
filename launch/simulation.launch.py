"""A simulated robot and its excitation, in real time or faster."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from rffpsr_ros.nodes.launching import common_arguments
from rffpsr_ros.nodes.launching_simulation import simulated_robot


def generate_launch_description():
    """Return the arguments and the nodes."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "system", default_value="synthetic", description="synthetic or swimmer"
            ),
            DeclareLaunchArgument(
                "speed", default_value="1.0", description="how many times faster than time"
            ),
            DeclareLaunchArgument("seed", default_value="0", description="of all randomness"),
            DeclareLaunchArgument(
                "excite", default_value="true", description="whether to send commands, too"
            ),
            *common_arguments("params_file", "namespace", "use_sim_time", "log_level"),
            OpaqueFunction(function=simulated_robot),
        ]
    )
