"""Record and train: the learner node on the channels of a parameter file."""

from launch import LaunchDescription
from launch.actions import OpaqueFunction

from rffpsr_ros.nodes.launching.common import checked, common_arguments, node
from rffpsr_ros.nodes.launching.node_parameters import given_parameters, parameter_arguments
from rffpsr_ros.nodes.learner.interface import LEARNER


def start(context):
    """Return the node."""
    return [node(context, "learner_node", given_parameters(context, LEARNER))]


def generate_launch_description():
    """Return the arguments, each of the node's parameters among them, and the node."""
    arguments = checked(*common_arguments(), *parameter_arguments(LEARNER))
    return LaunchDescription([*arguments, OpaqueFunction(function=start)])
