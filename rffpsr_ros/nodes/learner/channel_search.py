"""The channels of a learner, whose file may be written, or mended, after the learner started."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.shared.channel_parameters import channels_given_to
from rffpsr_ros.signals.channels import ChannelConfiguration


class ChannelSearch:
    """Finds the channels that a node is given.

    Parameters
    ----------
    node
        Which node.
    value
        Gives a parameter's value.
    """

    def __init__(self, node: Any, value: Callable[[str], Any]) -> None:
        self._node, self._value = node, value
        self._waits = False

    def find(self) -> ChannelConfiguration:
        """Return the channels.

        Raises
        ------
        InputError
            If there are none, or they are wrong.
        """
        self._waits = bool(self._value("autostart") and self._value("channels_file"))
        try:
            channels = channels_given_to(self._node)
        except InputError as problem:
            later = "; the learner goes on once the file is in order" if self._waits else ""
            raise InputError(f"{problem}{later}") from None
        self._waits = False
        return channels

    def ends(self, say: Callable[[str], None]) -> bool:
        """Return whether channels are there by now that were not; else say what is wrong still."""
        if not self._waits:
            return False
        try:
            self.find()
        except InputError as problem:
            say(str(problem))
            return False
        return True

    def give_up(self) -> None:
        """Look for nothing any more."""
        self._waits = False
