"""What the launch files of simulations share."""

from __future__ import annotations

from typing import Any

from launch import LaunchContext

from rffpsr_ros.nodes.launching import choice, flag, node, number

SYSTEMS = ("synthetic", "swimmer")
"""The systems that can be simulated; each has a parameter file of its name."""


def follows_simulation(context: LaunchContext) -> dict[str, Any]:
    """Return the parameters by which a node follows the time of the simulation.

    The simulation makes the time if ``use_sim_time`` says so, or if it is faster or slower.
    """
    asked = flag(context, "use_sim_time")
    makes_time = number(context, "speed") != 1.0 if asked is None else asked
    return {"use_sim_time": True} if makes_time else {}


def simulated_robot(context: LaunchContext) -> list[Any]:
    """Return the simulator and, unless ``excite`` is false, the excitation."""
    system = choice(context, "system", SYSTEMS)
    seed = round(number(context, "seed"))
    time = follows_simulation(context)
    simulator = {
        "system": system,
        "speed": number(context, "speed"),
        "publish_clock": bool(time),
        "seed": seed,
        "use_sim_time": False,
    }
    actions = [node(context, "simulator_node", simulator, system)]
    if flag(context, "excite") is not False:
        actions.append(node(context, "excitation_node", {"seed": seed, **time}, system))
    return actions
