"""The road from topics to a belief, for every node that follows a robot with a learned model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.follower import Follower, Outcome
from rffpsr_ros.forecasting.model_channels import channels_of
from rffpsr_ros.nodes.filter.code_preparation import CodePreparation
from rffpsr_ros.nodes.filter.input_report import command_sentences
from rffpsr_ros.nodes.filter.model_source import ServedModel, same_topics
from rffpsr_ros.nodes.shared.diagnostics import Complaints
from rffpsr_ros.nodes.shared.receive_times import ReceiveTimes, arrival_time
from rffpsr_ros.nodes.shared.topic_inputs import Receive, TopicInput, make_inputs, sensor_profile


class ReadyToFollow(NamedTuple):
    """A follower that is fed nothing until ``start`` is called."""

    follower: Follower
    start: Callable[[], None]


def code_of_forecasts(served: ServedModel, wanted: bool) -> CodePreparation:
    """Prepare the code that a model follows and forecasts by."""
    return CodePreparation(served.model.compiled_form, wanted)


class RobotFollowing:
    """The model that a node serves, the topics it is fed by, and the follower between them.

    Parameters
    ----------
    node
        Whose topics and parameters (``model_path``, ``compiled``, ``queue_depth``) these are.
    value
        From the name of a parameter to its value.
    complaints
        What is wrong with an input or a message is told there.
    receive
        Called with every message; it hands it to `feed`.
    prepare_code
        Makes sure that there is compiled code for a model, if it is wanted.

    Attributes
    ----------
    follower, served
        None while nothing is served.
    inputs
        By topic.
    code
        Compiled code for the model, see `CodePreparation`.
    receive_times
        Gives everything that arrives its time of receipt.
    """

    def __init__(
        self,
        node: Any,
        value: Callable[[str], Any],
        complaints: Complaints,
        receive: Receive,
        prepare_code: Callable[[ServedModel, bool], CodePreparation] = code_of_forecasts,
    ) -> None:
        self.follower: Follower | None = None
        self.served: ServedModel | None = None
        self.inputs: dict[str, TopicInput] = {}
        self.code = CodePreparation(None, wanted=False)
        self._node, self._value, self._complaints = node, value, complaints
        self._receive, self._prepare_code = receive, prepare_code
        self.receive_times = ReceiveTimes(arrival_time(node))

    def prepare(
        self, served: ServedModel, options: Callable[[CodePreparation], FollowOptions]
    ) -> ReadyToFollow:
        """Make all that it takes to serve a model, in place of the one before.

        Raises
        ------
        InputError
            If it cannot be served.
        """
        configuration = channels_of(served.model)
        goes_on = same_topics(self.served, served)  # what arrives meanwhile waits
        topics, stamps = configuration.topics, configuration.stamps
        inputs = self.inputs if goes_on else make_inputs(self._node, topics, stamps, self._receive)
        decode = {topic: one.decode for topic, one in inputs.items()}
        code = self._prepare_code(served, self._value("compiled"))
        follower = Follower(served.model, options(code), decode)

        def start() -> None:
            self.stop(goes_on)
            self.code, self.served, self.follower, self.inputs = code, served, follower, inputs
            self.subscribe()
            self._complaints.over("model", at_once=True)

        return ReadyToFollow(follower, start)

    def stop(self, goes_on: bool = False) -> None:
        """Serve nothing; if another model ``goes_on`` with the same topics, keep these."""
        self.code.close()
        for one in () if goes_on else self.inputs.values():
            one.unsubscribe()
        self.inputs, self.follower, self.served = {}, None, None

    def subscribe(self) -> None:
        """Subscribe to every topic whose type is known by now."""
        profile = sensor_profile(self._value("queue_depth"))
        for one in self.inputs.values():
            one.look_around()
            if one.type and not one.subscribed:
                one.subscribe(profile, self.receive_times, overridable=True)
            self._complaints.topic(one.resolved, one.problem)

    def feed(
        self, source: TopicInput, stamp_ns: int, data: bytes, wanted: bool
    ) -> list[Outcome] | None:
        """Hand a message to the follower; None if it does not fit, which is complained of."""
        assert self.follower is not None
        try:
            outcomes = self.follower.feed(source.topic, stamp_ns, data, wanted)
        except InputError as problem:
            self._complaints.error("feed", str(problem))
            return None
        self._complaints.errors(self.follower.sampler.misfits)
        if empty := command_sentences(self.inputs, self.follower.sampler):
            self._complaints.warn("commands", "; ".join(empty))
        else:
            self._complaints.over("commands", "commands hold finite numbers again")
        return outcomes

    def renew_code(self) -> None:
        """Run compiled or not, as the parameter says now."""
        if self.served is not None and self._value("compiled") != self.code.wanted:
            self.code.close()
            self.code = self._prepare_code(self.served, self._value("compiled"))

    def use_code(self, change: Callable[[Follower], None]) -> None:
        """Let the follower ``change`` as soon as compiled code is ready."""
        if self.follower is not None:
            self.code.change_over(partial(change, self.follower), self._node.get_logger())
