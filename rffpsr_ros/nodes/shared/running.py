"""From ``main`` to the end of a node: start, spin, and an orderly end on SIGINT or SIGTERM.

Signals only ask for the end; nothing is interrupted halfway. They are seen between two callbacks,
of which there is one at least every tenth of a second.
"""

from __future__ import annotations

import gc
import re
import signal
import traceback
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Protocol

import numpy as np
import rclpy
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException
from rclpy.logging import get_logger
from rclpy.signals import SignalHandlerOptions

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.shared.callback_guard import Ending, described
from rffpsr_ros.nodes.shared.executors import EVENTS, executor_name, make_executor
from rffpsr_ros.nodes.shared.rclpy_internals import leave_executor
from rffpsr_ros.nodes.shared.surroundings import Surroundings

WAKE_SECONDS = 0.1
LOOK_SECONDS = 1.0
"""How often a node looks around."""


class Runnable(Protocol):
    """What can be run: a node that starts by itself and closes what it has open."""

    def begin(self) -> None:
        """Start, after construction and before spinning."""
        ...

    def close(self) -> None:
        """Complete what was begun; called once, at the end."""
        ...


class Finished(Ending):
    """Raised by a node that has done all it was started for."""


class Failed(Ending):
    """Raised by a node that cannot do what it was started for: why, in one sentence."""


class _Stop:
    """Notes that a signal asked for the end."""

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True


def run(make: Callable[[], Any], name: str, arguments: Sequence[str] | None = None) -> int:
    """Run a node until it is asked to end; return the exit code.

    ``make`` returns a `GuardedNode` that is `Runnable` and has the parameter ``executor``. An
    `InputError` at the start, arguments that ROS refuses among them, or `Failed` later, is logged
    in one line and makes the code 2; anything else that keeps it from starting makes it 1.
    """
    stop = _Stop()
    # Numbers are checked where they are used; numpy would print lines that no log can hold.
    np.seterr(all="ignore")
    node = None
    code = 0
    try:
        _begin(arguments)
        node = make()
        node.begin()
        gc.freeze()  # looking through all that is there by now would take a tenth of a second
        _spin(node, stop)
    except (ExternalShutdownException, Finished):
        pass
    except Exception as problem:
        get_logger(name).error(described(problem))
        get_logger(name).debug(traceback.format_exc())
        code = 2 if isinstance(problem, InputError | Failed | ParameterException) else 1
    finally:
        if node is not None:
            node.guard.around(node.close, "the end")()
            node.destroy_node()
        rclpy.try_shutdown()
    return code


def _begin(arguments: Sequence[str] | None) -> None:
    """Initialise ROS with what stands on the command line.

    Raises
    ------
    InputError
        If it holds something that ROS cannot make sense of, as a file of parameters that is none.
    """
    try:
        rclpy.init(
            args=None if arguments is None else list(arguments),
            signal_handler_options=SignalHandlerOptions.NO,
        )
    except RuntimeError as problem:  # all that rcl says is one
        said = re.sub(r", at \S+:\d+", "", " ".join(str(problem).split()))
        unknown = "unknown ROS arguments: " if said.startswith("[") else ""
        raise InputError(unknown + said) from problem


def _spin(node: Any, stop: _Stop) -> None:
    executor = make_executor(node, lambda: not stop.asked)
    steady = Clock(clock_type=ClockType.STEADY_TIME)
    timers = [
        node.create_timer(WAKE_SECONDS, _nothing, clock=steady),
        node.create_timer(LOOK_SECONDS, Surroundings(node).look, clock=steady),
    ]
    executor.add_node(node)
    # For every wait that has a limit rclpy makes a timer; only the events executor needs one.
    limit = WAKE_SECONDS if executor_name(node) == EVENTS else None
    try:
        while rclpy.ok() and not stop.asked:
            try:
                executor.spin_once(timeout_sec=limit)
            except (Ending, ExternalShutdownException):
                raise
            except Exception as problem:  # of rclpy itself: all callbacks are guarded
                node.guard.note("taking what arrived", problem)
    finally:
        for timer in timers:
            timer.cancel()
        leave_executor(node)
        executor.shutdown()


def _nothing() -> None:
    """Let a waiting executor return, so that signals are seen."""
