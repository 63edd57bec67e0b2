"""Putting a simulated robot back to its start, whichever simulator moves it."""

from __future__ import annotations

import importlib
from typing import Any, Protocol

from std_srvs.srv import Trigger

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.simulator.interface import SIMULATOR


class EpisodeReset(Protocol):
    """A service that resets: its type and name, and what to ask of it."""

    type: Any
    service: str

    def request(self) -> Any:
        """Return the request."""
        ...

    def succeeded(self, answer: Any) -> bool:
        """Tell whether the service did it."""
        ...


class SimulatorReset:
    """Resets this package's simulator; its time goes on."""

    type: Any = Trigger
    service = f"{SIMULATOR.name}/reset"

    def request(self) -> Any:
        """Return the request."""
        return Trigger.Request()

    def succeeded(self, answer: Any) -> bool:
        """Tell whether the service did it."""
        return bool(answer.success)


class GazeboReset:
    """Resets a world of Gazebo through ros_gz_bridge; its time begins at zero again.

    Gazebo resets models only together with time.

    Raises
    ------
    InputError
        If ``ros_gz_interfaces`` is not installed.
    """

    def __init__(self, world: str) -> None:
        try:
            services = importlib.import_module("ros_gz_interfaces.srv")
        except ImportError:
            raise InputError(
                "resetting Gazebo needs ros_gz_interfaces, which is not installed; set the"
                " parameter reset to none, so that episodes follow each other after a pause"
            ) from None
        self.type = services.ControlWorld
        self.service = f"/world/{world}/control"

    def request(self) -> Any:
        """Return the request."""
        request = self.type.Request()
        request.world_control.reset.all = True
        return request

    def succeeded(self, answer: Any) -> bool:
        """Tell whether the service did it."""
        return bool(answer.success)


def reset_of(kind: str, world: str) -> EpisodeReset | None:
    """Return how to reset: ``simulator``, ``gazebo`` or ``none``.

    Raises
    ------
    InputError
        If what it needs is not installed, or Gazebo's world has no name.
    """
    if kind == "none":
        return None
    if kind == "simulator":
        return SimulatorReset()
    if not world:
        raise InputError("to reset Gazebo the parameter world must name the world, such as arm")
    return GazeboReset(world)
