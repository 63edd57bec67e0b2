"""Record and train: the learner node on the channels of a parameter file."""

from launch import LaunchDescription
from launch.actions import OpaqueFunction

from rffpsr_ros.nodes.launching.common import common_arguments, node


def generate_launch_description():
    """Return the arguments and the node."""
    start = OpaqueFunction(function=lambda context: [node(context, "learner_node")])
    return LaunchDescription([*common_arguments(), start])
