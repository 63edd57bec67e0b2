"""Following a robot: messages in, beliefs and forecasts out; one code for live topics and bags.

The outcome is a pure function of the sequence that was fed, so a bag of what a node was fed
gives what the node published.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.adaptation.adaptive_model import AdaptiveModel, taken_over
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.future_actions import FutureActions, check_plan
from rffpsr_ros.forecasting.live_error import LiveError
from rffpsr_ros.forecasting.model_channels import channels_of, other_columns
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.guard import Guard
from rffpsr_ros.models.trial import inference_model_tried
from rffpsr_ros.models.usable import usable
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.signals.events import SegmentEnd, Tick
from rffpsr_ros.signals.sampler import Sampler
from rffpsr_ros.signals.tracks import Decode

SILENCES = ("gap", "missing", "expired")
"""Causes of a segment's end that leave the robot what it was."""


class Forecast(NamedTuple):
    """What is expected next.

    ``values`` (H, d_o): row h - 1 is for ``origin_ns`` plus h ticks. ``actions`` (H, d_a) were
    assumed, and ``assumes`` says why these. ``half_width`` (H, d_o) of the band around the values
    is None for a model without bands; it holds if the assumed actions are taken.
    """

    origin_ns: int
    values: Array
    actions: Array
    assumes: str
    half_width: Array | None = None


class Step(NamedTuple):
    """A tick that the belief has followed, and the forecast after it.

    ``due`` says whether it was the turn of a forecast (`FollowOptions.publish_every`); there is one
    if it was wanted, too.
    """

    tick: Tick
    due: bool
    forecast: Forecast | None


Outcome: TypeAlias = "Step | SegmentEnd"


class Follower:
    """Feeds messages to the sampler, ticks to the model, and asks it for forecasts.

    Parameters
    ----------
    model
        As loaded; its signature must hold the channel configuration.
    options
        See `FollowOptions`; `change` replaces them.
    decode
        As `Sampler` takes it.

    Attributes
    ----------
    model
        The inference model, see `PredictiveModel.inference_model`.
    state
        The belief; None between segments.
    live_error
        How well the model predicts now.
    resets
        How often a belief began anew, by cause.
    ended_by
        The cause of the newest segment's end; empty while one is under way.
    guard
        What keeps absurd inputs from the model, and how often it had to.
    ticks_since_outlier
        Ticks since an input was absurd; None if none ever was.
    withheld
        How many forecasts were not given because they were no numbers that anyone could use.
    withholds
        Whether the newest one was among them.

    Raises
    ------
    InputError
        If the model was learned from arrays, so that it knows no topics, or the thresholds of
        rejection do not fit its columns.
    """

    def __init__(
        self,
        model: PredictiveModel[Any],
        options: FollowOptions | None = None,
        decode: Mapping[str, Decode] | None = None,
    ) -> None:
        self.options = options or FollowOptions()
        self._loaded = model
        self.model = self._as_it_runs(self.options)
        self.configuration = channels_of(model)
        self.guard = Guard(self.model, self.options.rejection_threshold)
        self.ticks_since_outlier: int | None = None
        self.withheld = 0
        self.withholds = False
        self.resets: dict[str, int] = {}
        self.ended_by = ""
        self.state: Any = None
        self._decode = decode
        self._sampler = Sampler(self.configuration, decode)
        self._columns = len(model.signature.action_names)
        self._future = FutureActions(self.options.future_actions)
        self.live_error = self._live_error()
        self._carried: Any = None
        self._before: Any = None
        self._from_history = self.options.start == "running"
        self._start_is_settled = False
        self._history: list[Tick] | None = None
        self._past_events: dict[str, int] = {}
        self._newest: Tick | None = None

    @property
    def sampler(self) -> Sampler:
        """The sampler; new after `reset`."""
        return self._sampler

    @property
    def events(self) -> dict[str, int]:
        """What happened to the beliefs so far, counted by kind, as far as the model tells."""
        count = getattr(self.model, "events", None)
        if count is None or self.state is None:
            return dict(self._past_events)
        now = count(self.state)._asdict()
        return {name: int(n) + self._past_events.get(name, 0) for name, n in now.items()}

    @property
    def next_action(self) -> Array | None:
        """The action (d_a,) of the tick under way, by what has arrived; None between segments."""
        return None if self._newest is None else self._last_command(self._newest)

    def feed(self, topic: str, stamp_ns: int, message: Any, wanted: bool = True) -> list[Outcome]:
        """Take one message and return what it completes, in order; mostly nothing.

        Whether forecasts are ``wanted`` changes nothing but whether those that are due are made.

        Raises
        ------
        InputError
            If the message does not hold what the channels name, or the columns are not those
            the model was trained on. The message is then ignored.
        """
        outcomes: list[Outcome] = []
        for event in self._sampler.feed(topic, stamp_ns, message):
            if isinstance(event, SegmentEnd):
                self._end(event)
                outcomes.append(event)
            else:
                outcomes.append(self._step(event, wanted))
        return outcomes

    def take_plan(self, plan: Array, received_ns: int) -> None:
        """Take announced actions (n, d_a); in place of absurd ones those before are assumed.

        Row 0 is for the tick in which a command received at the same time acts. A plan is good for
        the segment under way, or for the next one.

        Raises
        ------
        InputError
            If its shape does not fit, or a value is not finite; the plan before then stays.
        """
        check_plan(plan, self._columns)
        self._future.announce(self.guard.gate.actions(plan), received_ns, self._sampler)

    def in_silence(self, late: int) -> Forecast | None:
        """Return the forecast from ``late`` ticks after the newest one, since when all is silent.

        It says that it is stale, has no band and changes nothing. None between segments, later
        than a forecast looks ahead, and where it would be no usable numbers.
        """
        tick, horizon = self._newest, self.options.horizon
        if self.state is None or tick is None or not 0 < late <= horizon:
            return None
        last = self._last_command(tick)
        actions, words = self._future.ahead(late + horizon, last, tick.number + 1)
        values = self.model.forecast(self.state, actions)[late:]
        if not usable(values):
            return None
        origin_ns = tick.stamp_ns + round(late * self.configuration.period * 1e9)
        return Forecast(origin_ns, values, actions[late:], f"{words}, stale by {late} ticks", None)

    def reset(self, reason: str, start: str | None = None) -> None:
        """Forget everything; the next segment starts as the very first, or as ``start`` says."""
        self._finish("reset: " + reason)
        self._sampler = Sampler(self.configuration, self._decode)
        self._future.forget()
        self._from_history = (start or self.options.start) == "running"
        self._start_is_settled = True
        self._carried = None

    def change(self, options: FollowOptions, made: PredictiveModel[Any] | None = None) -> None:
        """Replace the options; the belief goes on, however it started.

        The model as it runs by these options may have been ``made`` before, and need not be now.

        Raises
        ------
        InputError
            As at the start; nothing is changed then.
        """
        forms = [(o.compiled, o.adapt, o.adapt and o.horizon) for o in (self.options, options)]
        model = self.model if forms[0] == forms[1] else self._as_it_runs(options, made)
        if options.rejection_threshold != self.options.rejection_threshold:
            self.guard = Guard(self.model, options.rejection_threshold)
        if options.future_actions != self.options.future_actions:
            self._future = FutureActions(options.future_actions)
        before, self.options = self.options, options
        if not self._start_is_settled:
            self._from_history = options.start == "running"
        if model is not self.model:
            self.model = self.guard.model = model
            self.state = taken_over(model, self.state, self.state)
            self._carried = taken_over(model, self._carried, self._carried)
        judged = [(o.horizon, o.coverage, o.adapt) for o in (before, options)]
        if judged[0] != judged[1]:
            self.live_error = self._live_error()
        else:
            self.live_error.follow(self.model)

    def _as_it_runs(
        self, options: FollowOptions, made: PredictiveModel[Any] | None = None
    ) -> PredictiveModel[Any]:
        model = inference_model_tried(self._loaded, options.compiled) if made is None else made
        return AdaptiveModel(model, options.horizon) if options.adapt else model

    def _step(self, tick: Tick, wanted: bool) -> Step:
        if self.state is None:
            self._begin()
        tick = self._gated(tick)
        self.state = self.guard.update(self.state, tick.action, tick.observation, tick.number)
        self._newest = tick
        self._learn_from_history(tick)
        self._future.settle(self._sampler)
        if self._sampler.empty_commands:  # nobody knows what acts on the robot
            self.live_error.unsettle()
        self.live_error.step(self.state, tick.action, tick.observation)
        due = (tick.number + 1) % self.options.publish_every == 0
        return Step(tick, due, self._forecast(tick) if due and wanted else None)

    def _gated(self, tick: Tick) -> Tick:
        """Return the tick as the model may see it."""
        gate = self.guard.gate
        observation, action = gate.observations(tick.observation), gate.action(tick.action)
        if observation is tick.observation and action is tick.action:
            if self.ticks_since_outlier is not None:
                self.ticks_since_outlier += 1
            return tick
        self.ticks_since_outlier = 0
        return tick._replace(observation=observation, action=action)

    def _forecast(self, tick: Tick) -> Forecast | None:
        """Return the forecast from the newest tick, which is this one; None if it is no use."""
        last = self._last_command(tick)
        assumed = self._future.ahead(self.options.horizon, last, tick.number + 1)
        values = self.model.forecast(self.state, assumed.actions)
        self.withholds = not usable(values)
        if self.withholds:
            self.withheld += 1
            return None
        half_width = self.live_error.half_width
        return Forecast(tick.stamp_ns, values, assumed.actions, assumed.words, half_width)

    def _last_command(self, tick: Tick) -> Array:
        command = self._sampler.command_of_next_tick
        return tick.action if command is None else self.guard.gate.command(command)

    def _live_error(self) -> LiveError:
        return LiveError(self.model, self.options.horizon, self.options.coverage)

    def _begin(self) -> None:
        """Start a segment; from the history, once there is one, or from the initial state."""
        self._check_columns()
        self._start_is_settled = True
        self.ended_by = ""
        self.guard.gate.begin()
        self.state = self._carried
        if self.state is None:
            self.state = taken_over(self.model, self.model.initial_state(), self._before)
        waits = self._from_history and self._carried is None and self.model.history_length > 0
        self._history = [] if waits else None
        self._carried = None

    def _learn_from_history(self, tick: Tick) -> None:
        """Replace the belief as soon as the ticks of a run joined in its middle suffice."""
        if self._history is None:
            return
        self._history.append(tick)
        if len(self._history) == self.model.history_length:
            state = self.model.state_from_history(
                np.stack([seen.observation for seen in self._history]),
                np.stack([seen.action for seen in self._history]),
            )
            self.state = taken_over(self.model, state, self.state)
            self._history = None

    def _end(self, end: SegmentEnd) -> None:
        state = self.state
        self._future.forget()
        if end.cause == "time_jump" and not self.options.reset_on_time_jump:
            self.live_error.interrupt()
            self._carried, self.state = state, None
            return
        self._finish(end.cause)
        # After a jump back in time a new episode starts; after a silence the robot was moving on.
        self._from_history = end.cause != "time_jump"

    def _finish(self, cause: str) -> None:
        self._past_events = self.events
        self.live_error.interrupt()
        # What was learned outlasts a silence, but neither a reset nor a jump of time.
        self._before = (self.state or self._before) if cause in SILENCES else None
        self.state = self._newest = None
        self.withholds = False
        self._history = None
        self.ended_by = cause
        self.resets[cause] = self.resets.get(cause, 0) + 1

    def _check_columns(self) -> None:
        signature = self.model.signature
        for what, found, trained in (
            ("observations", self._sampler.observation_names, signature.observation_names),
            ("actions", self._sampler.action_names, signature.action_names),
        ):
            if found != trained:
                # What the first messages were like shall not decide on those after them.
                self._sampler = Sampler(self.configuration, self._decode)
                raise InputError(other_columns(what, found, trained))
