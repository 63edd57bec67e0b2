"""The controller node (docs/nodes.md): makes a robot follow a reference by a learned model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from subprocess import Popen
from typing import Any

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from std_msgs.msg import Bool, Float64MultiArray

from rffpsr_ros.control import compile_ahead
from rffpsr_ros.control.settings import task_of
from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.adaptation.adaptive_model import cannot_adapt
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.follower import Follower
from rffpsr_ros.forecasting.future_actions import plan_in
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.trial import inference_model_tried
from rffpsr_ros.nodes.controller.choices import control_loop, control_settings, follow_options
from rffpsr_ros.nodes.controller.commanding import Commanding
from rffpsr_ros.nodes.controller.interface import CONTROLLER
from rffpsr_ros.nodes.controller.plan_output import PlanOutput
from rffpsr_ros.nodes.controller.report import control_finding
from rffpsr_ros.nodes.controller.silence_clock import SilenceClock
from rffpsr_ros.nodes.filter.code_preparation import CodePreparation, in_the_background
from rffpsr_ros.nodes.filter.input_report import inputs_finding
from rffpsr_ros.nodes.filter.model_node import ModelNode
from rffpsr_ros.nodes.filter.model_source import ServedModel
from rffpsr_ros.nodes.filter.report import model_finding
from rffpsr_ros.nodes.shared.diagnostics import NodeFinding
from rffpsr_ros.nodes.shared.running import run
from rffpsr_ros.nodes.shared.topic_inputs import TopicInput
from rffpsr_ros.nodes.shared.trigger_services import offer

LOOKS_PER_TICK = 4
DEPTH = 10


class ControllerNode(ModelNode):
    """Lifecycle node: configured it follows the robot, active it can be enabled."""

    interface = CONTROLLER
    none = "no model can be loaded; see the log"

    def __init__(self) -> None:
        self._commanding: Commanding | None = None
        super().__init__()
        self._watch: Any = None
        self._time = SilenceClock(self)
        self._outputs = PlanOutput(self)
        self.create_subscription(Float64MultiArray, "~/reference", self._on_reference, DEPTH)
        self.create_subscription(Bool, "~/enabling", self._on_enabling, DEPTH)
        acts = {"enable": self._on_enable, "disable": self._on_disable}
        offer(self, {**acts, "reset": self._on_reset, "reload": self._on_reload})
        self.begin_rounds()

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

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Leave the robot with the safe command, but go on following."""
        self._end("the node was deactivated")
        return super().on_deactivate(state)

    @property
    def _serving(self) -> bool:
        return self._commanding is not None

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

    def _prepare_code(self, served: ServedModel, wanted: bool) -> CodePreparation:
        """Compile, beside this process, what planning needs beyond forecasts."""
        horizon = self._value("horizon")

        def compile_in_process(form: str) -> Popen[bytes]:
            return in_the_background(compile_ahead.__name__, str(served.path), str(horizon))

        def make_ready() -> PredictiveModel[Any]:
            model = inference_model_tried(served.model, compiled=True)
            compile_ahead.warm_up(model, horizon)  # from what was kept
            return model

        form = served.model.compiled_form
        return CodePreparation(form, wanted, compile_in_process, make_ready)

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
            self._complaints.warn(
                "reference", "a ~/reference that arrived before there is a model is left out"
            )
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

    def _on_reload(self) -> str:
        self._load_anew()
        assert self._robot.served is not None
        return f"ready to control by {self._robot.served.path}; call ~/enable"

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

    def _look_after(self) -> None:
        assert self._commanding is not None
        self._robot.subscribe()
        self._robot.use_code(self._change)

    def _change(self, follower: Follower) -> None:
        """Go on with the model in its other form."""
        follower.change(self._options(), self._robot.code.made)
        self._on_parameters_set()

    def _found(self) -> list[NodeFinding]:
        commanding = self._commanding
        assert self._robot.served is not None
        assert commanding is not None
        now_ns = self.get_clock().now().nanoseconds
        code = self._robot.code.told
        loop, newest = commanding.loop, commanding.newest
        return [
            control_finding(loop, newest, commanding.others(), self._value("dry_run")),
            inputs_finding(self._robot.inputs.values(), loop.follower, now_ns),
            model_finding(self._robot.served, self._source, code),
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the controller node."""
    return run(ControllerNode, CONTROLLER.name, arguments)
