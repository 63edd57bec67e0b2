"""What the launch files of simulations share."""

from __future__ import annotations

from typing import Any

from launch import LaunchContext
from launch.actions import DeclareLaunchArgument

from rffpsr_ros.nodes.launching.common import argument, choice, flag, node, number, parameter_file
from rffpsr_ros.nodes.simulator.world import whole_milliseconds, world_file
from rffpsr_ros.signals.channel_file import load_channels

SYSTEMS = ("synthetic", "swimmer")
"""The systems that can be simulated; each has a parameter file of its name."""

_ARGUMENTS = {
    "system": (
        "",
        f"{' or '.join(SYSTEMS)}; empty: the world, if one is given, else {SYSTEMS[0]}",
    ),
    "world": ("", "pendulum, arm, arm_camera, or an SDF file (needs the extra sdf)"),
    "speed": ("1.0", "how many times faster than time"),
    "seed": ("0", "of all randomness"),
    "excite": ("true", "whether to send commands, too"),
}


def simulation_arguments(*names: str, **defaults: str) -> list[Any]:
    """Return the declarations of the arguments of a simulation (by default of all of them)."""
    return [
        DeclareLaunchArgument(
            name,
            default_value=defaults.get(name, _ARGUMENTS[name][0]),
            description=_ARGUMENTS[name][1],
        )
        for name in names or _ARGUMENTS
    ]


def simulated(context: LaunchContext) -> str:
    """Return the name of what is simulated, which is that of its parameter file too."""
    if world := _world(context):
        return world_file(world).stem
    return choice(context, "system", SYSTEMS) if argument(context, "system") else SYSTEMS[0]


def follows_simulation(context: LaunchContext) -> dict[str, Any]:
    """Return the parameters by which a node follows the time of the simulation.

    The simulation makes the time if ``use_sim_time`` says so, or if it is faster or slower; a world
    does so unless told otherwise, as Gazebo would.
    """
    asked = flag(context, "use_sim_time")
    by_itself = number(context, "speed") != 1.0 or bool(_world(context))
    return {"use_sim_time": True} if asked or (asked is None and by_itself) else {}


def lockstep(context: LaunchContext) -> bool:
    """Tell whether simulator and excitation can wait for each other at every tick."""
    whole = not _world(context) or whole_milliseconds(_rate(context))
    return bool(follows_simulation(context)) and whole


def simulator(context: LaunchContext, in_lockstep: bool = False) -> Any:
    """Return the action that starts the simulator.

    In lockstep with the excitation a command acts from the very tick that it is recorded for,
    however busy the machine is, and a world is shown only as often as it is looked at.
    """
    time = follows_simulation(context)
    world = _world(context)
    name = simulated(context)
    parameters = {
        **({"world": world} if world else {"system": name}),
        "model_path": "",  # the launch argument is for other nodes
        "speed": number(context, "speed"),
        "publish_clock": bool(time),
        "seed": round(number(context, "seed")),
        "use_sim_time": False,
        "wait_for_commands": in_lockstep,
        **({"rate": _rate(context)} if in_lockstep and world else {}),
    }
    return node(context, "simulator_node", parameters)


def excitation(context: LaunchContext, **parameters: Any) -> Any:
    """Return the action that starts the excitation of what is simulated."""
    seed = round(number(context, "seed"))
    given = {"seed": seed, **follows_simulation(context), **parameters}
    return node(context, "excitation_node", given, simulated(context))


def simulated_robot(context: LaunchContext) -> list[Any]:
    """Return the simulator and, unless ``excite`` is false, the excitation."""
    wanted = flag(context, "excite") is not False
    return [simulator(context), *([excitation(context)] if wanted else [])]


def _rate(context: LaunchContext) -> float:
    """Return the ticks per second of the channel configuration."""
    file = parameter_file(argument(context, "params_file") or simulated(context))
    return load_channels(file).rate


def _world(context: LaunchContext) -> str:
    """Return the world that is asked for; empty if a system is."""
    return "" if argument(context, "system") else argument(context, "world")
