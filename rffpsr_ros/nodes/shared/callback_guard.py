"""One guard around every callback of a node: what fails in one of them does not end the node.

A fault is one ERROR line (its traceback is logged at level debug), what arrived is dropped, the
diagnostics say ERROR, and the node goes on. A node in which faults repeat gives up its work, and
says so: see `MOST_FAULTS`.
"""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock

from rffpsr_ros.errors import InputError, shown
from rffpsr_ros.nodes.shared.diagnostics import NodeFinding, diagnostic_array, on_one_line

MOST_FAULTS = 20
WITHIN_SECONDS = 10.0
"""After so many faults within this time a node gives up its work."""
REMEMBERED_SECONDS = 10.0
"""So long after a fault the diagnostics say ERROR."""
TELL_SECONDS = 0.5

Callback = Callable[..., Any]

_TYPES = {one.value for one in Parameter.Type}


class Ending(Exception):
    """Raised where a node shall end: the one exception that the guard lets pass."""


class CallbackGuard:
    """Takes note of what fails in the callbacks of a node.

    Parameters
    ----------
    log
        Returns the node's logger.
    give_up
        Called once when faults repeat; it returns what the node does about it, for the log.
    tell
        Called after faults, every `TELL_SECONDS` at most: publishes what `finding` returns.
    now
        Seconds of a steady clock.

    Attributes
    ----------
    count
        Faults so far.
    gave_up
        Whether faults repeated; `forgive` begins anew.
    """

    def __init__(
        self,
        log: Callable[[], Any],
        give_up: Callable[[], str],
        tell: Callable[[], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.count = 0
        self.gave_up = False
        self._log, self._give_up, self._tell, self._now = log, give_up, tell, now
        self._told = -TELL_SECONDS
        self._recent: deque[float] = deque(maxlen=MOST_FAULTS)
        self._said: set[tuple[str, ...]] = set()
        self._newest = ""

    def around(self, callback: Callback, what: str, instead: Callback | None = None) -> Callback:
        """Return a callback that never raises; after a fault it returns what ``instead`` does.

        ``what`` is what the callback is called for, such as "a message on /command".
        """

        @wraps(callback)
        def guarded(*arguments: Any) -> Any:
            try:
                return callback(*arguments)
            except Ending:
                raise
            except Exception as problem:
                self.note(what, problem)
            return None if instead is None else instead(*arguments)

        return guarded

    def note(self, what: str, problem: Exception) -> None:
        """Take note of a fault: log it once for each place it comes from, and count it."""
        self.count += 1
        self._recent.append(self._now())
        self._newest = f"{what} failed: {described(problem)}"
        place = (what, *_place(problem))
        if place not in self._said:
            self._said.add(place)
            self._log().error(f"{self._newest}; it is left out, and the node goes on")
            self._log().debug("".join(traceback.format_exception(problem)))
        if not self.gave_up and self._repeats():
            self.gave_up = True
            self._told = -TELL_SECONDS
            sentence = f"{MOST_FAULTS} faults within {WITHIN_SECONDS:g} s"
            try:
                self._log().error(f"{sentence}: {self._give_up()}")
            except Ending:
                raise
            except Exception as further:
                self._log().error(f"{sentence}; giving up failed, too: {described(further)}")
        if self._recent[-1] - self._told >= TELL_SECONDS:
            self._told = self._recent[-1]
            with suppress(Exception):  # a node that ends can publish no more
                self._tell()

    def drop(self, sentence: str) -> None:
        """Say once that something was left out for which nobody here is to blame."""
        if (sentence,) not in self._said:
            self._said.add((sentence,))
            self._log().error(on_one_line(sentence))

    def forgive(self) -> None:
        """Begin anew: whoever is responsible has started the node's work again."""
        self.gave_up = False
        self._recent.clear()
        self._said.clear()

    def finding(self) -> NodeFinding:
        """Return what the diagnostics say of the callbacks."""
        values = {"faults": self.count}
        if self.gave_up:
            message = f"faults repeated, and the node gave up its work; the last: {self._newest}"
            return NodeFinding("callbacks", "error", message, values)
        if self._recent and self._now() - self._recent[-1] < REMEMBERED_SECONDS:
            return NodeFinding("callbacks", "error", self._newest, values)
        return NodeFinding("callbacks", "ok", "no callback failed lately", values)

    def transition(
        self, act: Callable[[], Any], refused: Callable[[str], Any]
    ) -> TransitionCallbackReturn:
        """Return how a transition of the life cycle went; rclpy would swallow what it raises.

        ``refused`` is told the sentence of an `InputError`, which is no fault.
        """
        try:
            act()
        except InputError as problem:
            refused(str(problem))
            return TransitionCallbackReturn.FAILURE
        except Exception as problem:
            self.note("a transition of the life cycle", problem)
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def _repeats(self) -> bool:
        recent = self._recent
        return len(recent) == MOST_FAULTS and recent[-1] - recent[0] < WITHIN_SECONDS


class GuardedNode:
    """Put before a node class of rclpy: all callbacks that it is given are guarded, rclpy's too."""

    _guard: CallbackGuard | None = None
    _of_faults: Any = None

    @property
    def guard(self) -> CallbackGuard:
        """The node's guard; it is there before all else, as rclpy itself makes callbacks."""
        if self._guard is None:
            node: Any = self
            self._guard = CallbackGuard(node.get_logger, self.give_up, self.tell_faults)
        return self._guard

    def give_up(self) -> str:
        """Do what a node does when faults repeat, and say it."""
        return "what fails is left out from now on"

    def tell_faults(self) -> None:
        """Publish what the guard finds, on /diagnostics."""
        node: Any = self
        if self._of_faults is None:
            self._of_faults = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        stamp = node.get_clock().now().to_msg()
        array = diagnostic_array(node.get_name(), stamp, [self.guard.finding()])
        self._of_faults.publish(array)

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Callback, *arguments: Any, **options: Any
    ) -> Any:
        """As rclpy does; messages are decoded here, where damaged ones can be dropped."""
        if not options.get("raw"):
            options["raw"] = True
            callback = self._decoding(msg_type, callback, topic)
        guarded = self.guard.around(callback, f"a message on {topic}")
        return super().create_subscription(msg_type, topic, guarded, *arguments, **options)  # type: ignore[misc]

    def _decoding(self, msg_type: Any, callback: Callback, topic: str) -> Callback:
        @wraps(callback)  # rclpy looks whether it takes the message's times, too
        def take(data: bytes, *info: Any) -> None:
            try:
                message = deserialize_message(data, msg_type)
            except Exception:  # Damaged bytes fail in many ways.
                self.guard.drop(f"damaged bytes on {topic} are left out")
                return
            if msg_type is Clock and message.clock.sec < 0:  # rclpy knows no such time
                self.guard.drop(f"a time before 1970 on {topic} is left out")
                return
            callback(message, *info)

        return take

    def create_timer(
        self, timer_period_sec: float, callback: Any, *arguments: Any, **options: Any
    ) -> Any:
        """As rclpy does."""
        guarded = self.guard.around(callback, _name(callback))
        return super().create_timer(timer_period_sec, guarded, *arguments, **options)  # type: ignore[misc]

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callback, *arguments: Any, **options: Any
    ) -> Any:
        """As rclpy does; a call that fails is answered by a refusal."""
        if srv_type in (SetParameters, SetParametersAtomically):
            callback = _of_known_types(callback)
        guarded = self.guard.around(callback, f"a call of {srv_name}", _refused)
        return super().create_service(srv_type, srv_name, guarded, *arguments, **options)  # type: ignore[misc]

    def add_on_set_parameters_callback(self, callback: Callback) -> None:
        """As rclpy does; what cannot be checked is refused."""
        guarded = self.guard.around(callback, "a change of parameters", _unchecked)
        super().add_on_set_parameters_callback(guarded)  # type: ignore[misc]

    def add_post_set_parameters_callback(self, callback: Callback) -> None:
        """As rclpy does."""
        guarded = self.guard.around(callback, "a change of parameters")
        super().add_post_set_parameters_callback(guarded)  # type: ignore[misc]


def described(problem: Exception) -> str:
    """Return an exception in one line: an `InputError` is a sentence, all else is quoted."""
    if isinstance(problem, InputError | Ending):
        return on_one_line(str(problem))
    return f"{type(problem).__name__} {shown(problem, 200)}"


def _place(problem: Exception) -> tuple[str, ...]:
    """Return what an exception is and where it was raised; its words may differ every time."""
    frames = traceback.extract_tb(problem.__traceback__)
    last = frames[-1] if frames else None
    where = (last.filename, str(last.lineno)) if last is not None else ()
    return (type(problem).__name__, *where)


def _name(callback: Callback) -> str:
    name = getattr(callback, "__name__", "")
    return "the timer's turn" + (f" '{name.strip('_').replace('_', ' ')}'" if name else "")


def _refused(request: Any, response: Any) -> Any:
    """Answer a call that failed, as far as the service's type can tell it."""
    if hasattr(response, "success") and hasattr(response, "message"):
        response.success, response.message = False, "the call failed; see the node's log"
    results = getattr(response, "results", None)
    missing = 0 if results is None else len(getattr(request, "parameters", ())) - len(results)
    if missing > 0:  # of parameters that were to be set; those before it are
        response.results.extend(_unchecked() for _ in range(missing))
    return response


def _unchecked(*_: Any) -> SetParametersResult:
    return SetParametersResult(successful=False, reason="it could not be checked; see the log")


def _of_known_types(callback: Callback) -> Callback:
    """Return rclpy's own service, which fails where a value is of a type that does not exist."""

    def answer(request: Any, response: Any) -> Any:
        if all(one.value.type in _TYPES for one in request.parameters):
            return callback(request, response)
        refusal = SetParametersResult(successful=False, reason="there is no such type of value")
        if isinstance(request, SetParameters.Request):
            response.results = [refusal] * len(request.parameters)
        else:
            response.result = refusal
        return response

    return answer
