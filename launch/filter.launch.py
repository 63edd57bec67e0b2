"""Predict live: the filter node on a model file, by default on the newest one of the learner."""

from launch import LaunchDescription
from launch.actions import OpaqueFunction

from rffpsr_ros.nodes.launching.common import common_arguments, node


def generate_launch_description():
    """Return the arguments and the node."""
    start = OpaqueFunction(function=lambda context: [node(context, "filter_node")])
    return LaunchDescription([*common_arguments(), start])
