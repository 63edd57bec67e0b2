"""Episodes in simulation by one command: reset, excite, record, again and again; then it ends.

In Gazebo where that is installed, else in this package's simulator.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, RegisterEventHandler, Shutdown
from launch.event_handlers import OnProcessExit

from rffpsr_ros.nodes.launching.common import (
    argument,
    checked,
    common_arguments,
    flag,
    node,
    number,
)
from rffpsr_ros.nodes.launching.gazebo import PACE, gazebo, gazebo_installed
from rffpsr_ros.nodes.launching.simulation import (
    SYSTEMS,
    excitation,
    follows_simulation,
    lockstep,
    simulated,
    simulation_arguments,
    simulator,
)


def collection(context):
    """Return the robot, the nodes, and the collector, with which everything ends."""
    name, time = simulated(context), follows_simulation(context)
    given = argument(context, "dataset_directory")
    folder = {"dataset_directory": given} if given else {}
    asked = flag(context, "gazebo")
    in_gazebo = gazebo_installed() and name not in SYSTEMS if asked is None else asked
    collector = node(
        context,
        "collector_node",
        {
            "episodes": round(number(context, "episodes")),
            "duration": number(context, "duration"),
            "reset": "gazebo" if in_gazebo else "simulator",
            "world": name if in_gazebo else "",
            **time,
        },
    )
    waits = not in_gazebo and lockstep(context)
    pace = PACE if in_gazebo else {"pace": "observations"} if waits else {}
    own = [] if in_gazebo else [simulator(context, waits)]
    return [
        *(gazebo(context) if in_gazebo else own),
        *(
            RegisterEventHandler(
                OnProcessExit(target_action=one, on_exit=[Shutdown(reason="the simulator ended")])
            )
            for one in own
        ),
        excitation(context, autostart=False, **pace),
        node(context, "learner_node", {**folder, **time}, name),
        collector,
        RegisterEventHandler(
            OnProcessExit(target_action=collector, on_exit=[Shutdown(reason="all is recorded")])
        ),
    ]


def generate_launch_description():
    """Return the arguments and everything that is started."""
    return LaunchDescription(
        [
            *checked(
                DeclareLaunchArgument("episodes", default_value="25", description="how many"),
                DeclareLaunchArgument("duration", default_value="10.0", description="s of each"),
                DeclareLaunchArgument(
                    "dataset_directory",
                    default_value="",
                    description="the folder of the episodes; empty: as in params_file, else the"
                    " learner's default",
                ),
                DeclareLaunchArgument(
                    "gazebo",
                    default_value="",
                    description="true or false; empty: Gazebo if it is installed",
                ),
                DeclareLaunchArgument(
                    "headless", default_value="true", description="whether to start no window"
                ),
                *simulation_arguments("system", "world", "speed", "seed", world="arm"),
                *common_arguments("params_file", "namespace", "use_sim_time", "log_level"),
            ),
            OpaqueFunction(function=collection),
        ]
    )
