"""What the filter node tells of itself: inputs, forecasts, model; in plain words, without ROS."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from rffpsr_ros.forecasting.adaptation.adaptive_model import correction_in
from rffpsr_ros.forecasting.drift import COVERAGE, DriftAlarm, DriftTest
from rffpsr_ros.forecasting.follower import Follower
from rffpsr_ros.forecasting.model_channels import listed
from rffpsr_ros.forecasting.novelty import Novelty
from rffpsr_ros.models.contract import Signature
from rffpsr_ros.nodes.filter.backlog import Backlog
from rffpsr_ros.nodes.filter.forecast_times import ForecastTimes
from rffpsr_ros.nodes.filter.model_source import ModelSource, ServedModel
from rffpsr_ros.nodes.shared.diagnostics import Level, NodeFinding, waiting_sentence, worst

SILENT_SECONDS = 1.0
BEGIN = (
    "every input arrives: forecasts begin once the filter is activated",
    "every input arrives: forecasts begin",
)
"""What is said once nothing is waited for any more: inactive, active."""
NOTHING_SERVED = NodeFinding("model", "warn", "no model is served; the log says why", {})
"""Told instead of all else, so that others see that the node lives."""

CLOCKS_APART = 1.0
"""Seconds that stamps of two topics differ by, beyond when they arrive, before it is told."""

MANY_JUMPS = 3
"""Times that stamps went back which a bag played in a loop may explain."""

NAMED = 12
"""Observations whose live error is told one by one, at the most."""
WORST = 5
"""Observations whose errors are told, those that are forecast worst."""

TOLD_SECONDS = 10.0
"""How long an absurd value is told of."""


class Input(Protocol):
    """What is told of a topic."""

    topic: str
    resolved: str
    count: int
    problem: str

    def publishers(self) -> Sequence[Any]:
        """Who publishes the topic."""
        ...

    def rate(self) -> float:
        """Messages per second."""
        ...

    def age(self, now_ns: int) -> float | None:
        """Seconds since the last message."""
        ...


def inputs_finding(inputs: Collection[Input], follower: Follower, now_ns: int) -> NodeFinding:
    """Return rates, ages, gaps and what is still waited for."""
    values: dict[str, Any] = {}
    said: list[tuple[Level, str]] = []
    period = follower.configuration.period
    pace = follower.configuration.observations[0].topic
    by_topic = {one.topic: one for one in inputs}
    for one in by_topic.values():
        age = one.age(now_ns)
        values[f"{one.resolved} rate [Hz]"] = one.rate()
        values[f"{one.resolved} age [s]"] = "never" if age is None else age
        values[f"{one.resolved} messages"] = one.count
        if one.problem:
            said.append(("error", one.problem))
        elif one.topic == pace and age is not None and age > max(SILENT_SECONDS, 5 * period):
            said.append(("stale", f"{one.resolved} has been silent for {age:.1f} s"))
    waiting = waiting_sentence(follower.sampler, by_topic)
    if waiting:
        said.append(("warn", waiting))
    said += [("warn", sentence) for sentence in clock_sentences(inputs, follower, now_ns)]
    for channel, name, seen in follower.sampler.names_never_found:
        if seen:
            names = ", ".join(seen)
            said.append(("warn", f"'{name}' was never in a message of {channel.topic} ({names})"))
    values["late messages"] = follower.sampler.late
    values["duplicate messages"] = follower.sampler.duplicates
    message = "; ".join(sentence for _, sentence in said) or "all inputs arrive"
    return NodeFinding("inputs", worst(level for level, _ in said), message, values)


def clock_sentences(inputs: Collection[Input], follower: Follower, now_ns: int) -> list[str]:
    """Return which topics' stamps come from clocks that differ."""
    configuration, stamps = follower.configuration, follower.sampler.newest_stamps
    limit = max(CLOCKS_APART, configuration.max_gap)
    said, ahead = [], {}
    jumps = follower.resets.get("time_jump", 0)
    for one in inputs:
        age, stamp_ns = one.age(now_ns), stamps.get(one.topic)
        if age is not None and stamp_ns is not None:
            ahead[one.topic] = (stamp_ns - now_ns) / 1e9 + age
        if jumps >= MANY_JUMPS and (senders := len(one.publishers())) > 1:
            said.append(
                f"stamps went back {jumps} times, and {one.resolved} has {senders} publishers:"
                " their clocks differ, or one of them should not send; let one alone publish it"
            )
    pace = configuration.observations[0].topic
    names = {one.topic: one.resolved for one in inputs}
    for topic, seconds in ahead.items():
        apart = seconds - ahead.get(pace, seconds)
        if abs(apart) > limit:
            said.append(
                f"the stamps of {names[topic]} are {abs(apart):.1f} s"
                f" {'ahead of' if apart > 0 else 'behind'} those of {names[pace]}: the clocks of"
                " their publishers differ; synchronise them, or train with stamps: receive"
            )
    return said


def outlier_finding(follower: Follower) -> NodeFinding:
    """Return what was kept from the model, and states that began anew all the same."""
    guard, signature = follower.guard, follower.model.signature
    values: dict[str, Any] = {}
    for names, gate in (
        (signature.observation_names, guard.gate.observed),
        (signature.action_names, guard.gate.acted),
    ):
        for name, count in zip(names, gate.count.tolist(), strict=True):
            if count:
                values[f"rejected: {name}"] = count
    values["states begun anew"] = guard.replaced
    values["forecasts withheld"] = follower.withheld
    recent = follower.ticks_since_outlier
    if recent is None or recent * signature.period > TOLD_SECONDS:
        return NodeFinding("outliers", "ok", "no value lately was absurd", values)
    message = (
        "values absurdly far outside of the trained range arrived lately: observations are taken"
        " for missing, and commands do not replace those before them (rejection_threshold);"
        " look after what sends them"
    )
    return NodeFinding("outliers", "warn", message, values)


def forecast_finding(
    follower: Follower, times: ForecastTimes, drift_warning: float, backlog: Backlog
) -> NodeFinding:
    """Return times and ages, the live error beside that of training, and what upset the belief."""
    values: dict[str, Any] = {"ticks": times.steps, **times.values()}
    values["forecasts left out"] = backlog.left_out
    if backlog.newly_left_out:
        values["forecasts left out lately"] = backlog.newly_left_out
    values["future actions"] = follower.options.future_actions
    live = follower.live_error
    values |= _errors(live.by_horizon, live.reference)
    values |= _by_observation(live.by_horizon, follower.model.signature)
    values |= _adaptation(follower)
    values |= {f"belief resets: {cause}": count for cause, count in follower.resets.items()}
    values |= {kind.replace("_", " "): count for kind, count in follower.events.items()}
    if follower.withholds:
        message = (
            "the forecast is no finite number and is not published: the model runs away over this"
            " horizon, or from this state; shorten the horizon, call ~/reset, or train again"
        )
        return NodeFinding("forecast", "error", message, values)
    values |= _drift(live.drift, follower.model.signature)
    values |= _novelty(live.novelty)
    if live.drift.drifted(drift_warning) and live.drift.alarm is not None:
        message = drift_sentence(live.drift.alarm, follower.model.signature)
        return NodeFinding("forecast", "warn", message, values)
    if live.drift.far:
        message = (
            "the robot works mostly where it was never recorded, so forecasts may be far off;"
            " record there and train again"
        )
        return NodeFinding("forecast", "warn", message, values)
    if backlog.newly_left_out:
        return NodeFinding(
            "forecast",
            "warn",
            "messages arrive faster than forecasts are made, and some are left out: set"
            " publish_every, a shorter horizon, or train with folds: 1",
            values,
        )
    if follower.ended_by == "missing":
        return NodeFinding("forecast", "warn", missing_sentence(follower), values)
    running = "following" if follower.state is not None else "not following: no segment under way"
    return NodeFinding("forecast", "ok", running, values)


def missing_sentence(follower: Follower) -> str:
    """Return what is no longer seen, though messages arrive."""
    names = follower.model.signature.observation_names
    topic = follower.configuration.observations[0].topic
    return (
        f"not following: messages arrive on {topic}, but for longer than max_gap none gave a finite"
        f" number for {listed(names)}; compare names and values with those of training"
    )


def model_finding(served: ServedModel, source: ModelSource, code: str) -> NodeFinding:
    """Return which model is served, and by what ``code``."""
    model = served.model
    values = {
        "file": served.path,
        "checksum": served.checksum,
        "kind": model.kind,
        "runs by": code,
        "period [s]": model.signature.period,
        "observations": ", ".join(model.signature.observation_names),
        "actions": ", ".join(model.signature.action_names),
    }
    if source.gone:
        message = "the model file is gone; the model in memory stays in service"
        return NodeFinding("model", "warn", message, values)
    if source.changed:
        message = "there is a newer model file; call ~/reload to serve it"
        return NodeFinding("model", "warn", message, values)
    return NodeFinding("model", "ok", f"serving {served.path.name}", values)


def _adaptation(follower: Follower) -> Mapping[str, Any]:
    """Return what is to be told of the correction of forecasts, if there is any."""
    learned = correction_in(follower.state)
    if learned is None:
        return {}
    values: dict[str, Any] = {"adaptation": "in use" if learned.used else "learns, not in use"}
    if learned.error_ratio is not None:
        values["error over that without adaptation"] = learned.error_ratio
    counts = learned.counts._asdict()
    return values | {f"adaptation: forecasts {what}": n for what, n in counts.items()}


def drift_sentence(alarm: DriftAlarm, signature: Signature) -> str:
    """Return what an alarm is about, and what to look at."""
    name = signature.observation_names[alarm.observation]
    missed = ""
    if alarm.misses is not None:
        missed = f", and {alarm.misses:.0%} of forecasts missed the {COVERAGE:.0%} band there"
    return (
        f"'{name}' is forecast clearly worse than in training (drift_warning):"
        f" {alarm.horizon * signature.period:.3g} s ahead its typical squared error is"
        f" {alarm.ratio:.3g} times that of training{missed}; look at its sensor, what moves it and"
        " what it carries; if that is to stay, record it and train again, or set adapt"
    )


def _drift(drift: DriftTest, signature: Signature) -> Mapping[str, Any]:
    """Return typical squared errors over those of training: of all, and of the worst."""
    values: dict[str, Any] = {}
    if drift.ratio is not None and drift.ratios is not None:
        title = "typical squared error over training"
        values[title] = drift.ratio
        ratios = np.nan_to_num(drift.ratios, nan=-np.inf)
        for column in np.argsort(-ratios, kind="stable")[:WORST].tolist():
            if np.isfinite(ratios[column]):
                values[f"{title}: {signature.observation_names[column]}"] = float(ratios[column])
    values["forecasts outside the trained range"] = _share(drift.outside)
    return values


def _novelty(novelty: Novelty) -> Mapping[str, Any]:
    """Return the score of novelty, and what it is made of."""
    told = {
        "novelty (0 to 1)": novelty.score,
        "novelty: surprising observations": novelty.surprises,
        "novelty: inputs outside the trained range": novelty.outside,
    }
    return {what: share for what, share in told.items() if share is not None}


def _share(truths: Collection[bool]) -> str:
    return f"{sum(truths)} of {len(truths)} lately"


def _by_observation(live: Any, signature: Signature) -> Mapping[str, float]:
    """Return the live error at the last horizon of the first observations, with their units."""
    if live is None:
        return {}
    units = signature.observation_units or [""] * len(signature.observation_names)
    columns = zip(signature.observation_names, units, live[-1].tolist(), strict=True)
    return {
        f"live error at horizon {len(live)}: {name}{f' [{unit}]' if unit else ''}": square**0.5
        for name, unit, square in list(columns)[:NAMED]
        if np.isfinite(square)
    }


def _errors(live: Any, reference: Any) -> Mapping[str, Any]:
    values = {}
    for what, squares in (("live", live), ("training", reference)):
        if squares is None:
            continue
        for horizon in sorted({1, (len(squares) + 1) // 2, len(squares)}):
            row = squares[horizon - 1]
            if not np.isnan(row).all():
                root = float(np.sqrt(np.nanmean(row)))
                values[f"{what} error at horizon {horizon}"] = root
    return values
