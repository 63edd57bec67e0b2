"""The learner node: records episodes of a running robot and trains a model on them.

See docs/nodes.md for its topics, services and parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.learner.channel_search import ChannelSearch
from rffpsr_ros.nodes.learner.episode_keeper import EpisodeKeeper
from rffpsr_ros.nodes.learner.episode_watch import EpisodeWatch
from rffpsr_ros.nodes.learner.interface import LEARNER
from rffpsr_ros.nodes.learner.recovery import Recovery
from rffpsr_ros.nodes.learner.status_output import StatusOutput
from rffpsr_ros.nodes.learner.trainings import Trainings
from rffpsr_ros.nodes.shared.callback_guard import GuardedNode
from rffpsr_ros.nodes.shared.default_places import ModelPlaces, episodes_folder
from rffpsr_ros.nodes.shared.diagnostics import Complaints, NodeFinding, on_one_line
from rffpsr_ros.nodes.shared.message_classes import typestore_of
from rffpsr_ros.nodes.shared.parameters import DeclaredParameters
from rffpsr_ros.nodes.shared.receive_times import ReceiveTimes, arrival_time, node_time
from rffpsr_ros.nodes.shared.running import run
from rffpsr_ros.nodes.shared.surroundings import clock_finding
from rffpsr_ros.nodes.shared.topic_inputs import TopicInput, make_inputs
from rffpsr_ros.nodes.shared.trigger_services import offer
from rffpsr_ros.recordings.episode_store import EpisodeStore
from rffpsr_ros.signals.channels import ChannelConfiguration

NAME = LEARNER.name
HOUSEKEEPING_SECONDS = 0.25
READY = NodeFinding("learner", "ok", "ready", {})


class LearnerNode(GuardedNode, LifecycleNode):
    """Lifecycle node: configured it listens, active it records and trains."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self._places: ModelPlaces | None = None
        self._value = DeclaredParameters(self, LEARNER.parameters, refuses=self._refuses)
        self._complaints = Complaints(self.get_logger())
        self._search = ChannelSearch(self, self._value)
        self._configuration: ChannelConfiguration | None = None
        self._keeper: EpisodeKeeper | None = None
        self._watch: EpisodeWatch | None = None
        self._inputs: dict[str, TopicInput] = {}
        self._recovery: Recovery | None = None
        self._trainings = Trainings(self._value, self.get_logger())
        self._outcome = NodeFinding("learner", "ok", "not configured yet", {})
        self._active = False
        self._receive_times = ReceiveTimes(arrival_time(self))
        self._output = StatusOutput(self)
        offer(
            self,
            {
                "start_episode": self._start_episode,
                "end_episode": self._end_episode,
                "discard_episode": self._discard_episode,
                "train": self._train,
                "cancel_training": self._cancel_training,
            },
        )
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(HOUSEKEEPING_SECONDS, self._keep_house, clock=steady)

    # Lifecycle. Exceptions in these callbacks would vanish without a trace.

    def begin(self) -> None:
        """Configure and activate by oneself, if that is wanted."""
        succeeded = TransitionCallbackReturn.SUCCESS
        if self._value("autostart") and self.trigger_configure() == succeeded:
            self.trigger_activate()

    def close(self) -> None:
        """End what is under way, and see to it that listeners have the last status."""
        self._end_work()
        self._output.arrived()

    def _end_work(self) -> None:
        """End the episode, which is kept, and the training, which leaves nothing."""
        try:
            if self._keeper is not None:
                self._keeper.end()
        finally:
            if self._trainings.current is not None:
                self._outcome = self._trainings.cancel()
            self._tell()

    def give_up(self) -> str:
        """End what is under way."""
        self.trigger_deactivate()
        return (
            "the learner deactivates itself; mend the cause, then activate it (ros2 lifecycle set"
            f" {self.get_fully_qualified_name()} activate)"
        )

    def tell_faults(self) -> None:
        """Publish what the guard finds, in the status too."""
        super().tell_faults()
        self._tell()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Find out what to record and where to."""
        return self._guarded(self._configure)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Record and train when asked, from now on."""
        self._active = True
        self.guard.forgive()
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End what is under way."""
        self._active = False
        self._guarded(self._end_work)
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let go of the topics."""
        return self._guarded(self._let_go)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End what is under way and let go of the topics."""
        self._active = False
        self._search.give_up()
        self._guarded(self._end_work)
        return self._guarded(self._let_go)

    def _guarded(self, act: Callable[[], None]) -> TransitionCallbackReturn:
        try:
            return self.guard.transition(act, self._fail)
        finally:
            self._tell()

    def _configure(self) -> None:
        configuration = self._search.find()
        store = EpisodeStore(episodes_folder(self._value("dataset_directory")))
        self._let_go()
        self._recovery = Recovery(store)
        self._configuration = configuration
        self._keeper = EpisodeKeeper(
            store,
            configuration,
            self.get_logger().info,
            self._value("reset_on_time_jump"),
            warn=lambda said: self.get_logger().warning(on_one_line(said)),
            clock=node_time(self),
        )
        pace = configuration.observations[0].topic
        self._watch = EpisodeWatch(self._keeper, self._value, pace)
        self._trainings.know(self._keeper.kept)
        self._inputs = make_inputs(self, configuration.topics, configuration.stamps, self._receive)
        self._outcome = READY
        self.get_logger().info(
            f"listening to {', '.join(configuration.topics)}; {len(self._keeper.kept)} episodes in"
            f" {store.folder}"
        )
        self._listen()

    def _let_go(self) -> None:
        for one in self._inputs.values():
            one.unsubscribe()
        self._inputs = {}

    def _listen(self) -> None:
        """Subscribe as strongly as the publishers that are there allow; again if that changes.

        Not in the middle of an episode, which would lose messages, or get latched ones twice.
        """
        recording = self._keeper is not None and self._keeper.episode is not None
        depth = self._value("queue_depth")
        for one in self._inputs.values():
            one.look_around()
            self._complaints.topic(one.resolved, one.problem)
            if one.problem or not one.type or not one.publishers():
                continue
            if recording and one.hears_somebody():
                continue
            profile = one.follows(depth)
            if not one.subscribed or one.asks_other_than(profile):
                one.subscribe(profile, self._receive_times, overridable=False)

    # Episodes

    def _receive(self, source: TopicInput, receive_ns: int, data: bytes) -> None:
        keeper = self._keeper
        if keeper is None or self._watch is None:
            return
        if keeper.episode is None:
            self._watch.take_between(source.topic)
            return
        try:
            stamp_ns = source.read_stamp(data, receive_ns)
            keeper.take(source.topic, receive_ns, stamp_ns, data)
        except InputError as problem:
            self._fail(str(problem))

    def _start_episode(self) -> str:
        keeper = self._ready()
        if (clock := clock_finding(self)).level != "ok":
            raise InputError(clock.message)
        keeper.ensure_folder()
        assert self._watch is not None
        self._watch.check_disk()
        self._listen()
        unknown = [one.resolved for one in self._inputs.values() if not one.type]
        if unknown:
            raise InputError(f"the type of {', '.join(unknown)} is unknown: nobody publishes it")
        types = {one.topic: one.type for one in self._inputs.values()}
        label = self._value("episode.label")
        episode = keeper.start(types, typestore_of(types.values()), label)
        self._complaints.over("learner", at_once=True)
        if self._outcome.level == "error":
            self._outcome = READY
        silent = [one.resolved for one in self._inputs.values() if not one.subscribed]
        return f"recording {episode.name}" + (
            f"; nobody publishes {', '.join(silent)} yet" if silent else ""
        )

    def _end_episode(self) -> str:
        keeper = self._ready()
        if keeper.episode is None:
            raise InputError("no episode is being recorded")
        bag = keeper.end()
        self._tell()
        if bag is None:
            raise InputError("the episode was not kept; see the log")
        found = ([f"it lacks: {keeper.lacks}"] if keeper.lacks else []) + keeper.quiet
        return f"kept as {bag}" + (f", but {'; '.join(found)}" if found else "")

    def _discard_episode(self) -> str:
        name = self._ready().discard()
        if name is None:
            raise InputError("no episode is being recorded")
        self._tell()
        return f"{name} discarded"

    def _ready(self) -> EpisodeKeeper:
        if self._keeper is None or not self._active:
            raise InputError("the learner is not active")
        return self._keeper

    def _refuses(self, values: Mapping[str, Any]) -> str:
        """Return why parameters cannot have these values; empty if they can."""
        if self._places is None:
            self._places = ModelPlaces(values["model_path"], values["model_folders"])
        if values["retrain_after"] == 1:
            return "retrain_after is 1; it must be 0 or at least 2: one episode is held out"
        return self._places.refusal(values["model_path"])

    def _fail(self, sentence: str) -> None:
        self._outcome = NodeFinding("learner", "error", sentence, {})
        self._complaints.error("learner", sentence)
        self._tell()

    def _watch_episode(self) -> None:
        """See after the episode, and start the next one by oneself if it is time."""
        assert self._watch is not None
        try:
            if self._watch.look() and all(one.count for one in self._inputs.values()):
                self._start_episode()
        except InputError as problem:
            self._watch.pause()
            self._fail(str(problem))

    # Training

    def _train(self) -> str:
        keeper = self._ready()
        assert self._configuration is not None
        if self._trainings.current is not None:
            raise InputError("a training is under way; cancel it first")
        if self._recovery is not None:
            raise InputError("an episode that a kill cut short is being recovered; ask again")
        bags = keeper.look()
        if not bags:
            raise InputError(f"there is no episode in {keeper.store.folder} to train on")
        self._outcome = self._trainings.begin(self._configuration, bags, automatic=False)
        self._tell()
        return f"training on {len(bags)} episodes; see ~/status"

    def _cancel_training(self) -> str:
        self._outcome = self._trainings.cancel()
        self._tell()
        return "cancelled"

    def _watch_count(self, keeper: EpisodeKeeper) -> None:
        """Train by oneself once there are enough new episodes."""
        if self._recovery is not None or not self._trainings.due(keeper.kept):
            return
        assert self._configuration is not None
        if self._trainings.due(bags := keeper.look()):  # none of them was removed meanwhile
            self._outcome = self._trainings.begin(self._configuration, bags, automatic=True)

    def _watch_recovery(self, recovery: Recovery, keeper: EpisodeKeeper) -> None:
        if recovery.is_over(self.get_logger()):
            self._recovery = None
            keeper.look()

    # Every now and then

    def _keep_house(self) -> None:
        if self._search.ends(self._fail):
            self.begin()
        if self._keeper is None:
            return
        self._listen()
        if self._recovery is not None:
            self._watch_recovery(self._recovery, self._keeper)
        if self._active:
            self._watch_episode()
        try:
            if self._active:
                self._watch_count(self._keeper)
            self._outcome = self._trainings.watch() or self._outcome
        except InputError as problem:
            self._fail(str(problem))
        self._tell()

    def _tell(self) -> None:
        self._output.tell(self._outcome, self._keeper, self._trainings.current)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the learner node."""
    return run(LearnerNode, NAME, arguments)
