"""What every node is that serves a learned model: its life cycle, reloads, jumps of time, health.

A node of this kind says by `_serve`, `_stop_serving`, `_reset` and `_found` what serving is to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, JumpThreshold
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.filter.code_preparation import CodePreparation
from rffpsr_ros.nodes.filter.memory import give_back
from rffpsr_ros.nodes.filter.model_source import ModelSource, ServedModel
from rffpsr_ros.nodes.filter.report import NOTHING_SERVED
from rffpsr_ros.nodes.filter.robot_following import RobotFollowing, code_of_forecasts
from rffpsr_ros.nodes.shared.callback_guard import GuardedNode, described
from rffpsr_ros.nodes.shared.diagnostics import Complaints, NodeFinding, diagnostic_array
from rffpsr_ros.nodes.shared.interface import Interface
from rffpsr_ros.nodes.shared.parameters import DeclaredParameters
from rffpsr_ros.nodes.shared.surroundings import clock_finding
from rffpsr_ros.nodes.shared.topic_inputs import TopicInput

HOUSEKEEPING_SECONDS = 0.4
DIAGNOSTICS_EVERY = 2
DEPTH = 10


class ModelNode(GuardedNode, LifecycleNode):
    """Lifecycle node that follows a robot with a model while it is configured."""

    interface: ClassVar[Interface]
    kept: ClassVar[str] = "the old model stays"
    """What is said of the model that a reload did not replace."""
    none: ClassVar[str] = "no model can be served; see the log"
    """What is said where there was none either."""

    def __init__(self) -> None:
        super().__init__(self.interface.name)
        self._source = ModelSource()
        self._complaints = Complaints(self.get_logger())
        self._robot = RobotFollowing(
            self,
            self._parameter,
            self._complaints,
            self._receive,
            self._prepare_code,
        )
        self._value = DeclaredParameters(
            self, self.interface.parameters, self._on_parameters_set, self._refuses
        )
        self._source.look_for(self._value("model_path"))
        self._active = self._told_to_wait = self._finalized = False
        self._newest_ns = self._rounds = 0
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", DEPTH)

    def begin_rounds(self) -> None:
        """Look after everything every now and then, and at jumps of time; once all is made."""
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(HOUSEKEEPING_SECONDS, self._make_a_round, clock=steady)
        # The handle must be kept: without it the clock forgets the callback.
        self._jumps = self.get_clock().create_jump_callback(
            JumpThreshold(
                min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=False
            ),
            post_callback=self.guard.around(self._on_time_jump, "a jump of time"),
        )

    # What serving is to a node

    def _serve(self, served: ServedModel) -> None:
        """Follow the topics of a model; on an error everything stays as it was."""
        raise NotImplementedError

    def _stop_serving(self) -> None:
        """Let go of the model and its topics."""
        raise NotImplementedError

    def _receive(self, source: TopicInput, receive_ns: int, data: bytes) -> None:
        """Take a message."""
        raise NotImplementedError

    def _reset(self, reason: str, start: str) -> None:
        """Let the belief begin anew; refused where nothing is served."""
        raise NotImplementedError

    def _refuses(self, values: Mapping[str, Any]) -> str:
        """Return why parameters cannot have these values; empty if they can."""
        raise NotImplementedError

    def _on_parameters_set(self) -> None:
        """Go on with the parameters' new values."""
        raise NotImplementedError

    def _look_after(self) -> None:
        """Do what is to be done every now and then while a model is served."""
        raise NotImplementedError

    def _found(self) -> list[NodeFinding]:
        """Return what the diagnostics say while a model is served."""
        raise NotImplementedError

    @property
    def _serving(self) -> bool:
        return self._robot.follower is not None

    def _prepare_code(self, served: ServedModel, wanted: bool) -> CodePreparation:
        return code_of_forecasts(served, wanted)

    def _parameter(self, name: str) -> Any:
        return self._value(name)

    # Lifecycle. Exceptions in these callbacks would vanish without a trace.

    def begin(self) -> None:
        """Configure and activate by oneself, if that is wanted."""
        if self._value("autostart"):
            self._start()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the model and follow its topics."""
        self._told_to_wait = False
        return self._guarded(lambda: self._serve(self._source.load()))

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Do the node's work from now on."""
        self._active = True
        self.guard.forgive()
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Do the node's work no longer, but go on following."""
        self._active = False
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let go of the model and its topics, until it is told to configure again."""
        self._told_to_wait = True
        return self._guarded(self._stop_serving)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let go of everything, for good."""
        self._told_to_wait = self._finalized = True
        return self._guarded(self._stop_serving)

    def _guarded(self, act: Any) -> TransitionCallbackReturn:
        return self.guard.transition(act, lambda said: self._complaints.error("model", said))

    def _start(self) -> bool:
        if self.trigger_configure() != TransitionCallbackReturn.SUCCESS:
            return False
        return bool(self.trigger_activate() == TransitionCallbackReturn.SUCCESS)

    # What others ask for

    def _load_anew(self) -> None:
        """Serve the newest model; if that cannot be, the old one stays, and the refusal is told."""
        if self._finalized:
            raise InputError("the node was shut down; start it anew")
        if self._robot.follower is None:
            if not self._start():
                raise InputError(self.none)
            return
        try:
            self._serve(self._source.load())
        except Exception as problem:
            if not isinstance(problem, InputError):
                self.guard.note("loading the model", problem)
            sentence = f"{described(problem)}; {self.kept}"
            self._complaints.error("reload", sentence)  # once, however slowly a file is copied
            raise InputError(sentence) from None
        else:
            self._complaints.over("reload", at_once=True)
        finally:
            give_back()

    def _on_reset(self) -> str:
        if self._robot.follower is None:
            raise InputError("there is no model yet")
        self._reset("asked for by a service call", self._value("start"))
        return "the belief begins anew with the next samples"

    def _on_time_jump(self, jump: Any) -> None:
        """Begin anew when ROS time went back, unless the stamps did so before."""
        if self._robot.follower is None or not self._value("reset_on_time_jump"):
            return
        if self._newest_ns > self.get_clock().now().nanoseconds:
            self._reset("ROS time went back", "episode")

    # Every now and then

    def _make_a_round(self) -> None:
        self._rounds += 1
        if self._serving:
            self._look_after()
        elif self._value("autostart") and not self._told_to_wait and self._source.written():
            self._start()
        if self._rounds % DIAGNOSTICS_EVERY == 0:
            findings = [*(self._found() if self._serving else [NOTHING_SERVED])]
            findings += [clock_finding(self), self.guard.finding()]
            stamp = self.get_clock().now().to_msg()
            self._diagnostics.publish(diagnostic_array(self.get_name(), stamp, findings))
