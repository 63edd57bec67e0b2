"""The filter node (docs/nodes.md): follows a robot with a learned model, publishes forecasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, JumpThreshold
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.adaptation.adaptive_model import cannot_adapt
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.follower import Follower, Outcome, Step
from rffpsr_ros.nodes.filter.backlog import Backlog
from rffpsr_ros.nodes.filter.code_preparation import CodePreparation
from rffpsr_ros.nodes.filter.forecast_publisher import ForecastPublisher
from rffpsr_ros.nodes.filter.forecast_times import ForecastTimes
from rffpsr_ros.nodes.filter.interface import FILTER
from rffpsr_ros.nodes.filter.model_source import ModelSource, ServedModel
from rffpsr_ros.nodes.filter.plan_input import PlanInput
from rffpsr_ros.nodes.filter.report import (
    BEGIN,
    NOTHING_SERVED,
    forecast_finding,
    inputs_finding,
    model_finding,
    outlier_finding,
    waiting_sentence,
)
from rffpsr_ros.nodes.filter.robot_following import RobotFollowing
from rffpsr_ros.nodes.filter.sequence_logger import SequenceLogger
from rffpsr_ros.nodes.shared.callback_guard import GuardedNode, described
from rffpsr_ros.nodes.shared.diagnostics import Complaints, NodeFinding, diagnostic_array
from rffpsr_ros.nodes.shared.memory import give_back
from rffpsr_ros.nodes.shared.parameters import DeclaredParameters
from rffpsr_ros.nodes.shared.receive_times import node_time
from rffpsr_ros.nodes.shared.running import run
from rffpsr_ros.nodes.shared.topic_inputs import TopicInput
from rffpsr_ros.nodes.shared.trigger_services import offer

NAME = FILTER.name
HOUSEKEEPING_SECONDS = 0.4
DIAGNOSTICS_EVERY = 2


class FilterNode(GuardedNode, LifecycleNode):
    """Lifecycle node: configured it follows the robot, active it publishes."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self._source = ModelSource()
        self._complaints = Complaints(self.get_logger())
        self._robot = RobotFollowing(
            self, self._parameter, self._complaints, self._receive, self._listen_to_plans
        )
        self._value = DeclaredParameters(
            self, FILTER.parameters, self._on_parameters_set, self._refuses
        )
        self._source.look_for(self._value("model_path"))
        self._told_to_wait = False
        self._log = SequenceLogger(self._value("log_sequence"), self._complaints)
        self._active = False
        self._newest_ns = self._heard_ns = 0
        self._backlog = Backlog()
        self._times = ForecastTimes(node_time(self))
        self._outputs = ForecastPublisher(self, self._times.published)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._rounds = 0
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(HOUSEKEEPING_SECONDS, self._keep_house, clock=steady)
        if self._value("stale_after"):
            self.create_timer(self._value("stale_after"), self._on_silence)
        offer(self, {"reset": self._on_reset, "reload": self._on_reload})
        self._plans = PlanInput(self, self._complaints, self._log)
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
        """Complete the log."""
        self._log.close()

    def give_up(self) -> str:
        """Publish no longer."""
        self.trigger_deactivate()
        return (
            "the filter deactivates itself; mend the cause, then activate it (ros2 lifecycle set"
            f" {self.get_fully_qualified_name()} activate) or call ~/reload"
        )

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the model and follow its topics."""
        self._told_to_wait = False
        return self._guarded(lambda: self._serve(self._source.load()))

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Publish from now on."""
        self._active = True
        self.guard.forgive()
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Publish no longer, but go on following."""
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
        follower, start = self._robot.prepare(served, self._options)
        self._log.close()
        self._outputs.forget()
        self._plans.follower = follower
        start()
        configuration = follower.configuration
        self._backlog.expect(configuration.period)
        self._outputs.promise(configuration.period, self._value)
        types = {topic: one.type for topic, one in self._robot.inputs.items()}
        self._log.begin(types, follower.options, served.checksum)
        self.get_logger().info(
            f"serving {served.model.kind} model {served.path} (checksum {served.checksum[:12]}):"
            f" {configuration.rate:g} Hz, {follower.options.horizon} ticks ahead, future actions:"
            f" {follower.options.future_actions}, by {self._robot.code.told}"
        )

    def _stop_serving(self) -> None:
        self._log.close()
        self._robot.stop()
        self._plans.follower = None
        self._outputs.forget()

    def _parameter(self, name: str) -> Any:
        return self._value(name)

    def _listen_to_plans(self) -> None:
        self._plans.listen()

    def _receive(self, source: TopicInput, receive_ns: int, data: bytes) -> None:
        follower = self._robot.follower
        if follower is None:
            return
        self._log.message(source.topic, receive_ns, data)
        stamp_ns = source.read_stamp(data, receive_ns)
        self._newest_ns = stamp_ns
        self._backlog.note(source.waited_ns)
        self._outputs.look()
        asked = self._active and self._outputs.wanted
        wanted = asked and not self._backlog.behind
        began = perf_counter()
        outcomes = self._robot.feed(source, stamp_ns, data, wanted)
        for outcome in outcomes or ():
            missing = isinstance(outcome, Step) and outcome.due and outcome.forecast is None
            if asked and missing and not follower.withholds:
                self._backlog.note_left_out()
            self._tell(outcome, follower)
        if outcomes:
            self._heard_ns = receive_ns
            self._times.took(perf_counter() - began)

    def _on_silence(self) -> None:
        """Publish what is expected now, if nothing has arrived for long."""
        follower = self._robot.follower
        silent = (self.get_clock().now().nanoseconds - self._heard_ns) / 1e9
        if follower is None or silent < self._value("stale_after") or not self._active:
            return
        self._outputs.look()
        if not self._outputs.wanted:
            return
        forecast = follower.in_silence(int(silent / follower.configuration.period))
        if forecast is not None:
            self._outputs.publish_stale(forecast, follower.model.signature, self._value("lead"))

    def _tell(self, outcome: Outcome, follower: Follower) -> None:
        if isinstance(outcome, Step):
            self._complaints.over("feed", "the inputs fit the model again")
            self._complaints.over("waiting", BEGIN[self._active])
            if self._active:
                self._outputs.publish(outcome, follower, self._value("lead"))
        else:
            self._outputs.forget()
            self.get_logger().warning(
                f"segment ended ({outcome.cause}): {outcome.reason}; the belief begins anew"
            )

    # What others ask for

    def _on_reset(self) -> str:
        if self._robot.follower is None:
            raise InputError("there is no model yet")
        self._reset("asked for by a service call", self._value("start"))
        return "the belief begins anew with the next samples"

    def _on_reload(self) -> str:
        if self._robot.follower is None:
            if not self._start():
                raise InputError("no model can be served; see the log")
        else:
            try:
                self._serve(self._source.load())
            except Exception as problem:
                if not isinstance(problem, InputError):
                    self.guard.note("loading the model", problem)
                sentence = f"{described(problem)}; the old model stays in service"
                self.get_logger().error(sentence)
                raise InputError(sentence) from None
            finally:
                give_back()
            if self.guard.gave_up:
                self.trigger_activate()
        assert self._robot.served is not None
        return f"serving {self._robot.served.path}"

    def _on_time_jump(self, jump: Any) -> None:
        """Begin anew when ROS time went back, unless the stamps did so before."""
        if self._robot.follower is None or not self._value("reset_on_time_jump"):
            return
        if self._newest_ns > self.get_clock().now().nanoseconds:
            self._reset("ROS time went back", "episode")

    def _reset(self, reason: str, start: str) -> None:
        assert self._robot.follower is not None
        self._log.reset(reason, start)
        self._robot.follower.reset(reason, start)
        self._outputs.forget()
        self.get_logger().info(f"reset ({reason}); the belief begins anew")

    def _refuses(self, values: Mapping[str, Any]) -> str:
        """Return why parameters cannot have these values; empty if they can."""
        if values["lead"] > values["horizon"]:
            return f"lead is {values['lead']}; it must be at most the horizon {values['horizon']}"
        if (
            values["adapt"]
            and self._robot.served
            and (why := cannot_adapt(self._robot.served.model))
        ):
            return why
        return self._source.refusal(values, self._robot.served is not None)

    def _on_parameters_set(self) -> None:
        self._source.look_for(self._value("model_path"))
        if self._robot.follower is None:
            return
        self._robot.renew_code()
        self._change(self._robot.follower)
        self._outputs.promise(self._robot.follower.configuration.period, self._value)

    # Every now and then

    def _keep_house(self) -> None:
        self._rounds += 1
        self._log.flush()
        if self._robot.follower is None:
            if self._value("autostart") and not self._told_to_wait and self._source.changed:
                self._start()
        elif self._source.changed and self._value("reload_when_newer"):
            with suppress(InputError):  # it is logged, and the old model stays
                self._on_reload()
        else:
            self._robot.subscribe()
            self._robot.use_code(self._change)
        if self._rounds % DIAGNOSTICS_EVERY == 0:
            findings = (
                self._found(self._robot.follower) if self._robot.follower else [NOTHING_SERVED]
            )
            findings.append(self.guard.finding())
            stamp = self.get_clock().now().to_msg()
            self._diagnostics.publish(diagnostic_array(self.get_name(), stamp, findings))

    def _found(self, follower: Follower) -> list[NodeFinding]:
        assert self._robot.served
        now = self.get_clock().now()
        if now.nanoseconds == 0:
            self._complaints.warn("waiting", "waiting for /clock: use_sim_time is set")
        elif waiting := waiting_sentence(follower, self._robot.inputs):
            self._complaints.warn("waiting", waiting)
        findings = [
            inputs_finding(self._robot.inputs.values(), follower, now.nanoseconds),
            forecast_finding(follower, self._times, self._value("drift_warning"), self._backlog),
            model_finding(self._robot.served, self._source.changed, self._robot.code.told),
            outlier_finding(follower),
        ]
        self._complaints.follow(findings[1:])
        self._backlog.note_told()
        return findings

    def _options(self, code: CodePreparation | None = None) -> FollowOptions:
        options = FollowOptions(**{name: self._value(name) for name in vars(FollowOptions())})
        return replace(options, compiled=options.compiled and (code or self._robot.code).ready)

    def _change(self, follower: Follower) -> None:
        follower.change(self._options())
        self._log.options(self._options())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the filter node."""
    return run(FilterNode, NAME, arguments)
