"""Predict live: the filter node on a model file, by default on the newest one of the learner."""

from launch import LaunchDescription
from launch.actions import OpaqueFunction

from rffpsr_ros.nodes.filter.interface import FILTER
from rffpsr_ros.nodes.launching.common import checked, common_arguments, node
from rffpsr_ros.nodes.launching.node_parameters import given_parameters, parameter_arguments


def start(context):
    """Return the node."""
    return [node(context, "filter_node", given_parameters(context, FILTER))]


def generate_launch_description():
    """Return the arguments, each of the node's parameters among them, and the node."""
    arguments = checked(*common_arguments(), *parameter_arguments(FILTER))
    return LaunchDescription([*arguments, OpaqueFunction(function=start)])
