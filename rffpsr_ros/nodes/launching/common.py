"""What the launch files share: their common arguments, and nodes started with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from launch import LaunchContext
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.logging import get_logger
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from rffpsr_ros.errors import InputError, did_you_mean
from rffpsr_ros.nodes.shared.package_files import package_folder
from rffpsr_ros.nodes.shared.parameters import misspelt

PACKAGE = "rffpsr_ros"
BRIDGE = "gazebo_bridge_"
"""How the names of files in ``config`` begin that are for ros_gz_bridge, not for nodes."""

UNSET = "empty: as in params_file, else the node's default"
COMMON = {
    "params_file": "a parameter file, or the name of one that this package brings, such as jackal",
    "model_path": "the model file; empty: as in params_file, else the learner writes a new one and"
    " the filter serves the newest",
    "namespace": "the namespace of the nodes and of their relative topics",
    "use_sim_time": f"true: time is that of /clock; {UNSET}",
    "autostart": f"true: lifecycle nodes configure and activate by themselves; {UNSET}",
    "log_level": "debug, info, warn, error or fatal",
    "respawn": "whether filter, learner and controller are started again when they have ended; a"
    " controller waits to be enabled then",
    "respawn_delay": "s until then",
}
_DEFAULTS = {"log_level": "info", "respawn": "true", "respawn_delay": "2.0"}
RESPAWNED = ("filter_node", "learner_node", "controller_node")
"""What others rely on for as long as the robot runs."""


def common_arguments(*names: str, **defaults: str) -> list[Any]:
    """Return the declarations of common arguments (by default of all of them)."""
    defaults = {**_DEFAULTS, **defaults}
    return [
        DeclareLaunchArgument(name, default_value=defaults.get(name, ""), description=COMMON[name])
        for name in names or COMMON
    ]


def checked(*arguments: Any) -> list[Any]:
    """Return declarations of arguments, and the check of what is given.

    Launch passes over an argument that nobody declares; one that looks misspelt is warned of.
    """
    names = [one.name for one in arguments]

    def check(context: LaunchContext) -> None:
        for sentence in misspelt(context.launch_configurations, names):
            get_logger().warning(sentence.replace("parameter", "launch argument", 1))

    return [*arguments, OpaqueFunction(function=check)]


def argument(context: LaunchContext, name: str) -> str:
    """Return the value of a launch argument; empty if it is not declared."""
    return str(LaunchConfiguration(name, default="").perform(context))


def flag(context: LaunchContext, name: str) -> bool | None:
    """Return a launch argument as true or false; None if it is empty.

    Raises
    ------
    InputError
        If it is anything else.
    """
    value = argument(context, name).strip().lower()
    if value not in ("", "true", "false"):
        raise InputError(f"launch argument {name} is '{value}'; it must be true or false")
    return None if not value else value == "true"


def number(context: LaunchContext, name: str) -> float:
    """Return a launch argument as a number.

    Raises
    ------
    InputError
        If it is none.
    """
    value = argument(context, name)
    try:
        return float(value)
    except ValueError:
        raise InputError(f"launch argument {name} is '{value}'; it must be a number") from None


def choice(context: LaunchContext, name: str, choices: Iterable[str]) -> str:
    """Return a launch argument that must be one of a few words.

    Raises
    ------
    InputError
        If it is another one.
    """
    value, known = argument(context, name), list(choices)
    if value not in known:
        raise InputError(f"launch argument {name} is '{value}'{did_you_mean(value, known)}")
    return value


def parameter_file(given: str) -> Path:
    """Return a parameter file: a path, or the name of one in ``config``.

    Raises
    ------
    InputError
        If there is no such file.
    """
    path = Path(given).expanduser()
    brought = {one.stem: one for one in package_folder("config").glob("*.yaml")}
    brought = {name: one for name, one in brought.items() if not name.startswith(BRIDGE)}
    if path.is_file():
        return path
    if given in brought:
        return brought[given]
    raise InputError(
        f"there is no parameter file '{given}'; give a path, or one of {', '.join(sorted(brought))}"
    )


def share_folder(package: str) -> Path | None:
    """Return where an installed ROS package keeps what it shares; None if it is not installed."""
    from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

    try:
        return Path(get_package_share_directory(package))
    except PackageNotFoundError:
        return None


def require_packages(*packages: str) -> None:
    """Check that ROS packages of others are installed.

    Raises
    ------
    InputError
        If one is not; all that are missing are named, and how they are installed.
    """
    missing = [one for one in packages if share_folder(one) is None]
    if missing:
        debs = " ".join(f"ros-$ROS_DISTRO-{one.replace('_', '-')}" for one in missing)
        raise InputError(f"not installed: {', '.join(missing)}; apt install {debs}")


def node(
    context: LaunchContext,
    executable: str,
    overrides: Mapping[str, Any] | None = None,
    params_file: str = "",
) -> Any:
    """Return the action that starts a node as the common arguments say.

    ``overrides`` win over everything, ``params_file`` stands in where the argument is empty.
    """
    parameters: list[Any] = []
    if file := argument(context, "params_file") or params_file:
        parameters.append(str(parameter_file(file)))
    given: dict[str, Any] = {"model_path": argument(context, "model_path")}
    given |= {name: flag(context, name) for name in ("use_sim_time", "autostart")}
    given = {name: value for name, value in given.items() if value not in ("", None)}
    if given := given | dict(overrides or {}):
        parameters.append(given)
    return Node(
        package=PACKAGE,
        executable=executable,
        namespace=argument(context, "namespace"),
        parameters=parameters,
        arguments=["--ros-args", "--log-level", argument(context, "log_level") or "info"],
        output="screen",
        emulate_tty=True,
        **_again(context, executable),
    )


def _again(context: LaunchContext, executable: str) -> dict[str, Any]:
    """Return whether, and after how long, a node is started again that has ended."""
    if executable not in RESPAWNED or not flag(context, "respawn"):
        return {}
    return {"respawn": True, "respawn_delay": number(context, "respawn_delay")}
