"""The filter node (docs/nodes.md): follows a robot with a learned model, publishes forecasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import Any

from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.adaptation.adaptive_model import cannot_adapt
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.follower import Follower, Outcome, Step
from rffpsr_ros.nodes.filter.backlog import Backlog
from rffpsr_ros.nodes.filter.code_preparation import CodePreparation
from rffpsr_ros.nodes.filter.forecast_publisher import ForecastPublisher
from rffpsr_ros.nodes.filter.forecast_times import ForecastTimes
from rffpsr_ros.nodes.filter.input_report import awaited, inputs_finding, obstacle
from rffpsr_ros.nodes.filter.interface import FILTER
from rffpsr_ros.nodes.filter.model_node import ModelNode
from rffpsr_ros.nodes.filter.model_source import ServedModel
from rffpsr_ros.nodes.filter.plan_input import PlanInput
from rffpsr_ros.nodes.filter.report import (
    BEGIN,
    forecast_finding,
    model_finding,
    outlier_finding,
)
from rffpsr_ros.nodes.filter.sequence_logger import SequenceLogger
from rffpsr_ros.nodes.shared.diagnostics import NodeFinding
from rffpsr_ros.nodes.shared.receive_times import node_time
from rffpsr_ros.nodes.shared.running import run
from rffpsr_ros.nodes.shared.topic_inputs import TopicInput
from rffpsr_ros.nodes.shared.trigger_services import offer


class FilterNode(ModelNode):
    """Lifecycle node: configured it follows the robot, active it publishes."""

    interface = FILTER
    kept = "the old model stays in service"

    def __init__(self) -> None:
        super().__init__()
        self._log = SequenceLogger(self._value("log_sequence"), self._complaints)
        self._heard_ns = 0
        self._backlog = Backlog()
        self._times = ForecastTimes(node_time(self))
        self._outputs = ForecastPublisher(self, self._times.published)
        if self._value("stale_after"):
            self.create_timer(self._value("stale_after"), self._on_silence)
        offer(self, {"reset": self._on_reset, "reload": self._on_reload})
        self._plans = PlanInput(self, self._complaints, self._log, self._robot.receive_times.next)
        self.begin_rounds()

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
            self._complaints.over("waiting", BEGIN[self._active], at_once=True)
            if self._active:
                self._outputs.publish(outcome, follower, self._value("lead"))
        else:
            self._outputs.forget()
            ended = f"segment ended ({outcome.cause})"
            self._complaints.happened(ended, f"{ended}: {outcome.reason}; the belief begins anew")

    # What others ask for

    def _on_reload(self) -> str:
        followed = self._robot.follower is not None
        self._load_anew()
        if followed and self.guard.gave_up:
            self.trigger_activate()
        assert self._robot.served is not None
        return f"serving {self._robot.served.path}"

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

    def _make_a_round(self) -> None:
        self._log.flush()
        super()._make_a_round()

    def _look_after(self) -> None:
        if self._value("reload_when_newer") and self._source.written():
            with suppress(InputError):  # it is logged, and the old model stays
                self._on_reload()
        else:
            self._robot.subscribe()
            self._robot.use_code(self._change)

    def _found(self) -> list[NodeFinding]:
        follower = self._robot.follower
        assert self._robot.served
        assert follower
        now_ns = self.get_clock().now().nanoseconds
        waiting = awaited(self._robot.inputs, follower)
        if waiting and now_ns:  # nothing can arrive before there is a time
            self._complaints.warn("waiting", waiting)
        inputs = self._robot.inputs.values()
        findings = [
            inputs_finding(inputs, follower, now_ns),
            forecast_finding(
                follower,
                self._times,
                self._value("drift_warning"),
                self._backlog,
                obstacle(inputs, follower),
            ),
            model_finding(
                self._robot.served,
                self._source,
                self._robot.code.told,
                self._value("reload_when_newer"),
            ),
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
    return run(FilterNode, FILTER.name, arguments)
