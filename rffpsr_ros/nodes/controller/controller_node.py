"""The controller node (docs/nodes.md): makes a robot follow a reference by a learned model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, JumpThreshold
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from std_msgs.msg import Bool, Float64MultiArray

from rffpsr_ros.control import compile_ahead
from rffpsr_ros.control.settings import task_of
from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.adaptation.adaptive_model import cannot_adapt
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.follower import Follower
from rffpsr_ros.forecasting.future_actions import plan_in
from rffpsr_ros.nodes.controller.choices import control_loop, control_settings, follow_options
from rffpsr_ros.nodes.controller.commanding import Commanding
from rffpsr_ros.nodes.controller.interface import CONTROLLER
from rffpsr_ros.nodes.controller.plan_output import PlanOutput
from rffpsr_ros.nodes.controller.report import control_finding
from rffpsr_ros.nodes.controller.silence_clock import SilenceClock
from rffpsr_ros.nodes.filter.code_preparation import CodePreparation, in_the_background
from rffpsr_ros.nodes.filter.model_source import ModelSource, ServedModel
from rffpsr_ros.nodes.filter.report import NOTHING_SERVED, inputs_finding, model_finding
from rffpsr_ros.nodes.filter.robot_following import RobotFollowing
from rffpsr_ros.nodes.shared.callback_guard import GuardedNode, described
from rffpsr_ros.nodes.shared.diagnostics import Complaints, NodeFinding, diagnostic_array
from rffpsr_ros.nodes.shared.parameters import DeclaredParameters
from rffpsr_ros.nodes.shared.running import run
from rffpsr_ros.nodes.shared.topic_inputs import TopicInput
from rffpsr_ros.nodes.shared.trigger_services import offer

NAME = CONTROLLER.name
HOUSEKEEPING_SECONDS = 0.4
DIAGNOSTICS_EVERY = 2
LOOKS_PER_TICK = 4
DEPTH = 10


class ControllerNode(GuardedNode, LifecycleNode):
    """Lifecycle node: configured it follows the robot, active it can be enabled."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self._source = ModelSource()
        self._complaints = Complaints(self.get_logger())
        self._robot = RobotFollowing(
            self,
            self._parameter,
            self._complaints,
            self._receive,
            prepare_code=self._prepare_code,
        )
        self._commanding: Commanding | None = None
        self._value = DeclaredParameters(
            self, CONTROLLER.parameters, self._on_parameters_set, self._refuses
        )
        self._source.look_for(self._value("model_path"))
        self._active = self._told_to_wait = False
        self._newest_ns = self._rounds = 0
        self._watch: Any = None
        self._time = SilenceClock(self)
        self._outputs = PlanOutput(self)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", DEPTH)
        self.create_subscription(Float64MultiArray, "~/reference", self._on_reference, DEPTH)
        self.create_subscription(Bool, "~/enabling", self._on_enabling, DEPTH)
        acts = {"enable": self._on_enable, "disable": self._on_disable}
        offer(self, {**acts, "reset": self._on_reset, "reload": self._on_reload})
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(HOUSEKEEPING_SECONDS, self._keep_house, clock=steady)
        # The handle must be kept: without it the clock forgets the callback.
        self._jumps = self.get_clock().create_jump_callback(
            JumpThreshold(
                min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=False
            ),
            post_callback=self.guard.around(self._on_time_jump, "a jump of time"),
        )

    # Lifecycle. Exceptions in these callbacks would vanish without a trace.

    def begin(self) -> None:
        """Configure and activate by oneself, if that is wanted."""
        if self._value("autostart"):
            self._start()

    def close(self) -> None:
        """Leave the robot with the safe command."""
        self._end("the node ends")

    def give_up(self) -> str:
        """Leave the robot with the safe command."""
        self.trigger_deactivate()
        return (
            "the controller deactivates itself; mend the cause, then activate it (ros2 lifecycle"
            f" set {self.get_fully_qualified_name()} activate) and call ~/enable"
        )

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the model and follow its topics."""
        self._told_to_wait = False
        return self._guarded(lambda: self._serve(self._source.load()))

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Obey ~/enable from now on."""
        self._active = True
        self.guard.forgive()
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Leave the robot with the safe command, but go on following."""
        self._end("the node was deactivated")
        self._active = False
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let go of the model and its topics, until it is told to configure again."""
        self._told_to_wait = True
        return self._guarded(self._stop_serving)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let go of everything."""
        return self._guarded(self._stop_serving)

    def _guarded(self, act: Any) -> TransitionCallbackReturn:
        return self.guard.transition(act, lambda said: self._complaints.error("model", said))

    def _start(self) -> bool:
        if self.trigger_configure() != TransitionCallbackReturn.SUCCESS:
            return False
        return bool(self.trigger_activate() == TransitionCallbackReturn.SUCCESS)

    # Serving

    def _serve(self, served: ServedModel) -> None:
        """Follow the topics of a model; on an error everything stays as it was."""
        if self._value("adapt") and (why := cannot_adapt(served.model)):
            raise InputError(why)
        follower, start = self._robot.prepare(served, self._options)
        loop = control_loop(self._value, follower)
        commanding = Commanding(self, loop, self._outputs, self._complaints)
        self._end("another model is loaded")
        self._let_go()
        start()
        self._commanding = commanding
        seconds = follower.configuration.period / LOOKS_PER_TICK
        self._watch = self.create_timer(seconds, self._look, clock=self._time.clock())
        self.get_logger().info(
            f"ready to control by {served.model.kind} model {served.path} (checksum"
            f" {served.checksum[:12]}): {follower.configuration.rate:g} Hz, plans of"
            f" {self._value('horizon')} ticks, commands on {', '.join(commanding.topics)}, by"
            f" {self._robot.code.told}; nothing is sent until ~/enable is called"
        )

    def _stop_serving(self) -> None:
        self._let_go()
        self._robot.stop()

    def _let_go(self) -> None:
        if self._watch is not None:
            self.destroy_timer(self._watch)
            self._watch = None
        if self._commanding is not None:
            self._commanding.close()
            self._commanding = None

    def _parameter(self, name: str) -> Any:
        return self._value(name)

    def _prepare_code(self, served: ServedModel, wanted: bool) -> CodePreparation:
        """Compile, beside this process, what planning needs beyond forecasts."""
        words = str(served.path), str(self._value("horizon"))
        return CodePreparation(
            served.model.compiled_form,
            wanted,
            lambda form: in_the_background(compile_ahead.__name__, *words),
            more=True,
        )

    def _options(self, code: CodePreparation | None = None) -> FollowOptions:
        ready = (code or self._robot.code).ready
        return follow_options(self._value, self._value("compiled") and ready)

    # Controlling

    def _receive(self, source: TopicInput, receive_ns: int, data: bytes) -> None:
        commanding = self._commanding
        if commanding is None:
            return
        try:
            stamp_ns = source.read_stamp(data, receive_ns)
            self._newest_ns = stamp_ns
            outcomes = self._robot.feed(source, stamp_ns, data, wanted=False)
            late_ns = 0 if self._time.simulated else source.waited_ns
            commanding.publish(commanding.loop.step(outcomes or (), self._time.now_ns(), late_ns))
        except Exception:
            commanding.publish(commanding.loop.stop("following the robot failed"))
            raise

    def _look(self) -> None:
        """Send the safe command if nothing arrives any more."""
        if self._commanding is not None:
            self._commanding.publish(self._commanding.loop.watch(self._time.now_ns()))

    def _end(self, reason: str) -> None:
        if self._commanding is not None:
            self._commanding.end(reason)

    # What others ask for

    def _on_reference(self, message: Any) -> None:
        if self._commanding is None:
            return
        loop = self._commanding.loop
        columns = len(loop.follower.model.signature.observation_names)
        try:
            loop.reference.take(plan_in(message, columns, "a reference"))
        except InputError as problem:
            self._complaints.error("reference", str(problem))
        else:
            self._complaints.over("reference")

    def _on_enabling(self, message: Any) -> None:
        if self._commanding is None:
            return
        if message.data:
            self._commanding.loop.supervisor.confirm(self._time.now_ns() / 1e9)
        else:
            self._end("~/enabling said false")

    def _on_enable(self) -> str:
        if self._commanding is None:
            raise InputError("no model is loaded; see the log")
        if not self._active:
            raise InputError("the node is not active; activate it first")
        loop = self._commanding.loop
        loop.enable(self._time.now_ns())
        against = "; ".join(loop.against)
        return f"enabled; waiting: {against}" if against else "enabled"

    def _on_disable(self) -> str:
        self._end("asked for by a service call")
        return "disabled: the command is the safe one, and nothing more is sent"

    def _on_reset(self) -> str:
        self._reset("asked for by a service call", self._value("start"))
        return "the belief begins anew with the next samples"

    def _on_reload(self) -> str:
        if self._robot.follower is None:
            if not self._start():
                raise InputError("no model can be loaded; see the log")
        else:
            try:
                self._serve(self._source.load())
            except Exception as problem:
                if not isinstance(problem, InputError):
                    self.guard.note("loading the model", problem)
                sentence = f"{described(problem)}; the old model stays"
                self.get_logger().error(sentence)
                raise InputError(sentence) from None
        assert self._robot.served is not None
        return f"ready to control by {self._robot.served.path}; call ~/enable"

    def _on_time_jump(self, jump: Any) -> None:
        """Begin anew when ROS time went back, unless the stamps did so before."""
        if self._robot.follower is None or not self._value("reset_on_time_jump"):
            return
        if self._newest_ns > self.get_clock().now().nanoseconds:
            self._reset("ROS time went back", "episode")

    def _reset(self, reason: str, start: str) -> None:
        if self._commanding is None:
            raise InputError("there is no model yet")
        self._commanding.publish(self._commanding.loop.reset(reason, start))
        self.get_logger().info(f"reset ({reason}); the belief begins anew")

    def _refuses(self, values: Mapping[str, Any]) -> str:
        """Return why parameters cannot have these values; empty if they can."""
        if self._robot.follower is not None:
            try:
                task_of(control_settings(values.__getitem__), self._robot.follower.model)
            except InputError as problem:
                return str(problem)
        return self._source.refusal(values, self._robot.served is not None)

    def _on_parameters_set(self) -> None:
        self._source.look_for(self._value("model_path"))
        if self._commanding is not None:
            loop = self._commanding.loop
            loop.change(task_of(control_settings(self._value), loop.follower.model))

    # Every now and then

    def _keep_house(self) -> None:
        self._rounds += 1
        if self._commanding is None:
            if self._value("autostart") and not self._told_to_wait and self._source.changed:
                self._start()
        else:
            self._robot.subscribe()
            if self._commanding.loop.supervisor.phase != "controlling":
                self._robot.use_code(self._change)
        if self._rounds % DIAGNOSTICS_EVERY == 0:
            commanding = self._commanding
            findings = self._found(commanding) if commanding else [NOTHING_SERVED]
            findings.append(self.guard.finding())
            stamp = self.get_clock().now().to_msg()
            self._diagnostics.publish(diagnostic_array(self.get_name(), stamp, findings))

    def _change(self, follower: Follower) -> None:
        """Go on with the model in its other form."""
        follower.change(self._options())
        compile_ahead.warm_up(follower.model, self._value("horizon"))  # from what was kept
        self._on_parameters_set()

    def _found(self, commanding: Commanding) -> list[NodeFinding]:
        assert self._robot.served is not None
        now_ns = self.get_clock().now().nanoseconds
        changed, code = self._source.changed, self._robot.code.told
        loop, newest = commanding.loop, commanding.newest
        return [
            control_finding(loop, newest, commanding.others(), self._value("dry_run")),
            inputs_finding(self._robot.inputs.values(), loop.follower, now_ns),
            model_finding(self._robot.served, changed, code),
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the controller node."""
    return run(ControllerNode, NAME, arguments)
