"""What the nodes that follow a robot tell of its topics, in plain words, without ROS."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from rffpsr_ros.forecasting.follower import Follower
from rffpsr_ros.forecasting.model_channels import listed
from rffpsr_ros.nodes.shared.diagnostics import Level, NodeFinding, waiting_sentence, worst
from rffpsr_ros.signals.sampler import Sampler

SILENT_SECONDS = 1.0

CLOCKS_APART = 1.0
"""Seconds that stamps of two topics differ by, beyond when they arrive, before it is told."""

MANY_JUMPS = 3
"""Times that stamps went back which a bag played in a loop may explain."""


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
    if waiting := awaited(by_topic, follower):
        said.append(("warn", waiting))
    told = [
        *jump_sentences(inputs, follower),
        *clock_sentences(inputs, follower, now_ns),
        *command_sentences(by_topic, follower.sampler),
    ]
    said += [("warn", sentence) for sentence in told]
    for channel, name, seen in follower.sampler.names_never_found:
        if seen:
            names = ", ".join(seen)
            said.append(("warn", f"'{name}' was never in a message of {channel.topic} ({names})"))
    values["times that stamps went back"] = sum(follower.sampler.jumps.values())
    values["late messages"] = follower.sampler.late
    values["duplicate messages"] = follower.sampler.duplicates
    message = "; ".join(sentence for _, sentence in said) or "all inputs arrive"
    return NodeFinding("inputs", worst(level for level, _ in said), message, values)


def awaited(inputs: Mapping[str, Input], follower: Follower) -> str:
    """Return what is waited for; nothing is where stamps that go back are in the way."""
    return "" if _never_follows(follower) else waiting_sentence(follower.sampler, inputs)


def obstacle(inputs: Collection[Input], follower: Follower) -> str:
    """Return why nothing can be followed though messages arrive; empty if stamps are in order."""
    return "; ".join(jump_sentences(inputs, follower)) if _never_follows(follower) else ""


def _never_follows(follower: Follower) -> bool:
    return follower.sampler.jumps_in_a_row >= MANY_JUMPS


def jump_sentences(inputs: Collection[Input], follower: Follower) -> list[str]:
    """Return on which topics stamps go back again and again, and why that may be."""
    said = []
    for one in inputs:
        if follower.sampler.jumps.get(one.topic, 0) < MANY_JUMPS:
            continue
        back = f"stamps on {one.resolved} go back again and again"
        if (senders := len(one.publishers())) > 1:
            said.append(
                f"{back}, and it has {senders} publishers: their clocks differ, or one of them"
                " should not send; let one alone publish it"
            )
        elif _never_follows(follower):
            said.append(f"{back}: mend its publisher's clock, or train with stamps: receive")
    return said


def command_sentences(inputs: Mapping[str, Input], sampler: Sampler) -> list[str]:
    """Return which commands hold nothing that could act."""
    then = (
        "the command before it stays in force"
        if sampler.running
        else "nothing can be followed before a command"
    )
    return [
        f"no finite number for {listed(names)} on {inputs[channel.topic].resolved}; {then}"
        for channel, names in sampler.empty_commands
    ]


def clock_sentences(inputs: Collection[Input], follower: Follower, now_ns: int) -> list[str]:
    """Return which topics' stamps come from clocks that differ."""
    configuration, stamps = follower.configuration, follower.sampler.newest_stamps
    limit = max(CLOCKS_APART, configuration.max_gap)
    said, ahead = [], {}
    for one in inputs:
        age, stamp_ns = one.age(now_ns), stamps.get(one.topic)
        if age is not None and stamp_ns is not None:
            ahead[one.topic] = (stamp_ns - now_ns) / 1e9 + age
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
