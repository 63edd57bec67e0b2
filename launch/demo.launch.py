"""All of it at once: a simulated robot, the learner recording it, the filter awaiting a model.

When some episodes are kept, call ``ros2 service call /rffpsr_learner/train std_srvs/srv/Trigger``;
the filter serves the model as soon as it is written.
"""

from launch import LaunchDescription
from launch.actions import OpaqueFunction

from rffpsr_ros.nodes.launching.common import checked, common_arguments, node
from rffpsr_ros.nodes.launching.simulation import (
    follows_simulation,
    simulated,
    simulated_robot,
    simulation_arguments,
)


def learner_and_filter(context):
    """Return both nodes, on the simulation's time."""
    time = follows_simulation(context)
    episodes = {"episode.auto_start": True, "episode.max_duration": 10.0}
    return [
        node(context, "learner_node", {**episodes, **time}, simulated(context)),
        node(context, "filter_node", time),
    ]


def generate_launch_description():
    """Return the arguments and the nodes."""
    return LaunchDescription(
        [
            *checked(
                *simulation_arguments("system", "world", "speed", "seed"),
                *common_arguments(),
            ),
            OpaqueFunction(function=simulated_robot),
            OpaqueFunction(function=learner_and_filter),
        ]
    )
