"""A world in Gazebo: bridge, excitation, learner and, with ``model_path``, the filter."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from rffpsr_ros.nodes.launching.common import argument, checked, common_arguments, flag, node
from rffpsr_ros.nodes.launching.gazebo import PACE, gazebo
from rffpsr_ros.nodes.launching.simulation import excitation, simulated, simulation_arguments


def robot_and_nodes(context):
    """Return Gazebo and all nodes."""
    name = simulated(context)
    actions = gazebo(context)
    if flag(context, "excite") is not False:
        actions.append(excitation(context, **PACE))
    record = {"episode.auto_start": bool(flag(context, "record")), "episode.max_duration": 10.0}
    actions.append(node(context, "learner_node", record, name))
    if argument(context, "model_path"):
        actions.append(node(context, "filter_node"))
    return actions


def generate_launch_description():
    """Return the arguments and everything that is started."""
    return LaunchDescription(
        [
            *checked(
                *simulation_arguments("world", "seed", "excite", world="arm"),
                DeclareLaunchArgument(
                    "speed", default_value="1.0", description="leave it: Gazebo's"
                ),
                DeclareLaunchArgument(
                    "headless", default_value="false", description="whether to start no window"
                ),
                DeclareLaunchArgument(
                    "record",
                    default_value="false",
                    description="whether to record episodes of 10 s by itself",
                ),
                *common_arguments(use_sim_time="true"),
            ),
            OpaqueFunction(function=robot_and_nodes),
        ]
    )
