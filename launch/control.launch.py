"""Close the loop: the controller node on a model file, before a real or a simulated robot.

It sends nothing until ``ros2 service call /rffpsr_controller/enable std_srvs/srv/Trigger``. With
``world`` or ``system`` a simulated robot is started with it, with ``learned:=true`` the model
itself plays the robot.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.controller.interface import CONTROLLER
from rffpsr_ros.nodes.launching.common import (
    argument,
    checked,
    common_arguments,
    flag,
    node,
    number,
)
from rffpsr_ros.nodes.launching.node_parameters import given_parameters, parameter_arguments
from rffpsr_ros.nodes.launching.simulation import (
    follows_simulation,
    simulation_arguments,
    simulator,
)


def closed_loop(context):
    """Return the controller, and the robot if it is a simulated one."""
    model = argument(context, "model_path")
    given = given_parameters(context, CONTROLLER, "seed")  # which is the simulation's
    if flag(context, "learned"):
        if not model:
            raise InputError("learned is true; then model_path must name the model that is to play")
        clock = {"publish_clock": True, "use_sim_time": False, "speed": number(context, "speed")}
        robot = [node(context, "simulator_node", {"model_path": model, **clock})]
        return [*robot, node(context, "controller_node", {**given, "use_sim_time": True})]
    simulated = argument(context, "world") or argument(context, "system")
    robot = [simulator(context, in_lockstep=bool(follows_simulation(context)))] if simulated else []
    time = follows_simulation(context) if simulated else {}
    return [*robot, node(context, "controller_node", {**given, **time})]


def generate_launch_description():
    """Return the arguments, each of the controller's parameters among them, and the nodes."""
    return LaunchDescription(
        [
            *checked(
                DeclareLaunchArgument(
                    "learned", default_value="", description="true: the model plays the robot"
                ),
                *simulation_arguments("system", "world", "speed", "seed"),
                *common_arguments(),
                *parameter_arguments(CONTROLLER, "seed"),
            ),
            OpaqueFunction(function=closed_loop),
        ]
    )
