"""The channel configuration that a node is given: as a file, or among its own parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.shared.rclpy_internals import parameter_overrides
from rffpsr_ros.signals.channel_file import channels_from_overrides, load_channels
from rffpsr_ros.signals.channels import ChannelConfiguration


def channels_given_to(node: Any) -> ChannelConfiguration:
    """Return the configuration in the file that ``channels_file`` names, else the parameters'.

    Raises
    ------
    InputError
        If there is none, or it is wrong.
    """
    file = node.get_parameter("channels_file").value
    if file:
        return load_channels(Path(file).expanduser())
    given = parameter_overrides(node)
    if not any(name.partition(".")[0] in ("observation", "action") for name in given):
        raise InputError(
            f"node {node.get_name()} has no channels: start it with params_file:=robot.yaml (ros2"
            " launch) or --ros-args --params-file robot.yaml (ros2 run); 'rffpsr inspect BAG"
            " --write-config robot.yaml' writes one"
        )
    return channels_from_overrides(given, f"the parameters of node {node.get_name()}")
