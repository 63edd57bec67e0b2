"""A simulated robot and its excitation, in real time or faster."""

from launch import LaunchDescription
from launch.actions import OpaqueFunction

from rffpsr_ros.nodes.launching.common import checked, common_arguments
from rffpsr_ros.nodes.launching.simulation import simulated_robot, simulation_arguments


def generate_launch_description():
    """Return the arguments and the nodes."""
    return LaunchDescription(
        [
            *checked(
                *simulation_arguments(),
                *common_arguments("params_file", "namespace", "use_sim_time", "log_level"),
            ),
            OpaqueFunction(function=simulated_robot),
        ]
    )
