"""A configuration proposed from what is in bags: which topics are commands, which are seen."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from rffpsr_ros.errors import InputError, counted, did_you_mean, plain
from rffpsr_ros.signals.channel import Channel
from rffpsr_ros.signals.channels import DEFAULT_MAX_AGE, DEFAULT_MAX_GAP
from rffpsr_ros.signals.fields.grammar import parse_field
from rffpsr_ros.training.proposal.bag_contents import BagContents, Picked, TopicContents
from rffpsr_ros.training.proposal.field_knowledge import default_fields, unit_of
from rffpsr_ros.training.proposal.field_ranges import FieldRange
from rffpsr_ros.training.proposal.remarks import idle_fields, rare_fields

FASTEST = 100.0
"""Hz proposed at most: a model forecasts a few ticks, and these should span some motion."""

_COMMAND_NAME = re.compile(
    r"cmd|command|control(?!ler)|setpoint|set_point|desired|target|torque|throttle|steer"
    r"|action|actuator|motor|(?:^|[/_])u(?:$|[/_])"
)
_COMMAND_TYPES = re.compile(
    r"geometry_msgs/msg/Twist(Stamped)?$|Ackermann|JointJog|Thrust|ActuatorControl|MotorCommand"
)
_JOINT_STATE = "sensor_msgs/msg/JointState"
_OF_JOINTS = ("position", "velocity", "effort")
_ODOMETRY = "nav_msgs/msg/Odometry"
_OBSERVED_TYPES = (_JOINT_STATE, "sensor_msgs/msg/Imu", _ODOMETRY)
_NO_SIGNAL = re.compile(
    r"/(tf|tf_static|rosout|rosout_agg|clock|parameter_events|diagnostics\w*|bond|statistics)$"
)
_GENERIC = ("data", "raw", "data_raw", "state", "states", "status", "filtered", "cmd", "command")


class TopicChoice(NamedTuple):
    """A topic that the user named, and the fields of it; none: those that its type suggests."""

    topic: str
    fields: tuple[str, ...] = ()


class Proposal(NamedTuple):
    """Channels with the rate, and why they were chosen."""

    rate: float
    pace_rate: float
    max_gap: float
    observations: tuple[Channel, ...]
    actions: tuple[Channel, ...]
    remarks: tuple[str, ...]


def parse_choice(text: str) -> TopicChoice:
    """Return what ``TOPIC[:FIELD,FIELD...]`` names.

    Raises
    ------
    InputError
        If there is no topic or a field path is malformed.
    """
    topic, colon, listed = text.partition(":")
    fields = tuple(part.strip() for part in _at_outer_commas(listed)) if colon else ()
    if not topic.strip("/ "):
        raise InputError(f"'{text}' names no topic; write it as /imu/data:angular_velocity.z")
    for path in fields:
        parse_field(path)
    return TopicChoice(topic.strip(), fields)


def propose(
    contents: BagContents,
    observed: Sequence[TopicChoice] = (),
    commanded: Sequence[TopicChoice] = (),
) -> Proposal:
    """Return a configuration for what was found, as far as it was not chosen.

    Raises
    ------
    InputError
        If a chosen topic or field is not there, or nothing fits where nothing was chosen.
    """
    remarks: list[str] = []
    observations, actions = _both_chosen(contents, observed, commanded)
    taken = {topic.name for topic, _ in [*actions, *observations]}
    free = [topic for topic in contents.topics.values() if topic.name not in taken]
    if not actions:
        actions = _commands(free, observations, remarks)
        taken |= {topic.name for topic, _ in actions}
    if not observations:
        observations = _signals([t for t in free if t.name not in taken], actions)
    pace_rate = observations[0][0].timing.rate
    rate = _neat(pace_rate)
    if rate < 0.98 * pace_rate:
        remarks.append(
            f"the pace topic was recorded at {pace_rate:.4g} Hz; {rate:g} Hz are proposed"
        )
    names: set[str] = set()
    seen = tuple(_channel(t, fields, names, rate) for t, fields in observations)
    names = set()
    acted = tuple(_channel(t, fields, names, None) for t, fields in actions)
    max_gap = round(max(DEFAULT_MAX_GAP, 3 / rate), 6)
    remarks += [*idle_fields([*observations, *actions]), *rare_fields(observations, rate, max_gap)]
    return Proposal(rate, pace_rate, max_gap, seen, acted, tuple(remarks))


def _both_chosen(
    contents: BagContents, observed: Sequence[TopicChoice], commanded: Sequence[TopicChoice]
) -> tuple[list[Picked], list[Picked]]:
    """Return what was chosen; of a topic named as a whole the fields that the other side left."""
    observations = [_chosen(contents, choice) for choice in observed]
    actions = [_chosen(contents, choice) for choice in commanded]
    named = _fields_of(one for one, choice in zip(actions, commanded, strict=True) if choice.fields)
    observations = _without(observations, observed, named)
    actions = _without(actions, commanded, _fields_of(observations))
    _check_once(observations, actions)
    return observations, actions


def _without(
    picked: Sequence[Picked], choices: Sequence[TopicChoice], taken: Collection[tuple[str, str]]
) -> list[Picked]:
    """Return topics, those that were named as a whole without taken fields, if others are left."""
    found = []
    for (topic, fields), choice in zip(picked, choices, strict=True):
        left = tuple(path for path in fields if (topic.name, path) not in taken)
        found.append((topic, fields if choice.fields or not left else left))
    return found


def _check_once(observations: Sequence[Picked], actions: Sequence[Picked]) -> None:
    """Refuse a field that is chosen twice."""
    chosen: dict[tuple[str, str], str] = {}
    for role, picked in (("an observation", observations), ("an action", actions)):
        for topic, path in _fields_of(picked):
            before = chosen.setdefault((topic, path), "")
            if before:
                twice = f"{before} twice" if before == role else f"{before} and as {role}"
                raise InputError(
                    f"'{plain(path)}' of {topic} is chosen as {twice}; leave it out once"
                )
            chosen[topic, path] = role


def _fields_of(picked: Iterable[Picked]) -> list[tuple[str, str]]:
    """Return topic and path of every field."""
    return [(topic.name, path) for topic, fields in picked for path in fields]


def _chosen(contents: BagContents, choice: TopicChoice) -> Picked:
    topic = contents.topics.get(choice.topic) or contents.topics.get("/" + choice.topic.lstrip("/"))
    if topic is None:
        raise InputError(f"the bags have no topic {choice.topic}{_meant(contents, choice.topic)}")
    if topic.problem:
        raise InputError(topic.problem)
    if topic.timing.rate == 0:
        raise InputError(f"topic {topic.name} has {counted(topic.count, 'message')}; 2 are needed")
    _check_fields(topic, choice.fields)
    fields = choice.fields or default_fields(topic.type, topic.fields)
    if not fields:
        raise InputError(f"topic {topic.name} ({topic.type}) has no numeric field that varies")
    return topic, fields


def _meant(contents: BagContents, name: str) -> str:
    """Return what may be meant by the name of no topic, as the end of a sentence."""
    fields = [
        f"{topic.name}:{one.path}"
        for topic in contents.topics.values()
        for one in topic.fields
        if name in (one.path, one.path.rpartition(".")[2])
    ]
    if fields:
        return f"; did you mean {fields[0]}?"
    return did_you_mean(name, contents.topics)


def _check_fields(topic: TopicContents, fields: Sequence[str]) -> None:
    """Refuse joints that are in no message of a topic, and names of no field."""
    known = [one.path for one in topic.fields if one.missing < 1 or one.path not in topic.asked]
    kinds = {path.partition(".")[0] for path in known}
    for field in fields:
        kind, dot, _ = field.partition(".")
        joint = bool(dot) and kind in _OF_JOINTS and topic.type == _JOINT_STATE and kind in kinds
        name = not dot and field.isidentifier() and kind not in kinds
        if (joint or name) and field not in known:
            nearest = did_you_mean(field if dot else f".{field}", known)
            raise InputError(f"topic {topic.name} has no field '{plain(field)}'{nearest}")
        if sentence := topic.misfits.get(field):
            raise InputError(f"topic {topic.name}: {sentence}")


def _commands(
    free: Sequence[TopicContents], observations: Sequence[Picked], remarks: list[str]
) -> list[Picked]:
    usable = [topic for topic in free if _is_usable(topic)]
    commands = [topic for topic in usable if _is_command(topic)]
    if not commands and (left := _left(observations)):
        return left
    if not commands:
        odometry = [topic for topic in usable if topic.type == _ODOMETRY]
        if not odometry or not (observations or len(usable) > 1):
            raise InputError(
                "no topic of the bags looks like a command; say which one is by"
                f" --action TOPIC[:FIELDS]{_listed(usable)}"
            )
        commands = odometry[:1]
        remarks.append(
            f"no command was recorded; the velocities of {commands[0].name} stand in for it"
        )
    return [(topic, default_fields(topic.type, topic.fields)) for topic in commands]


def _signals(free: Sequence[TopicContents], actions: Sequence[Picked]) -> list[Picked]:
    usable = [topic for topic in free if _is_usable(topic) and not _is_command(topic)]
    known = [topic for topic in usable if topic.type in _OBSERVED_TYPES]
    known.sort(key=lambda topic: _OBSERVED_TYPES.index(topic.type))
    chosen = known or usable[:1]
    if not chosen and (left := _left(actions)):
        return left
    if not chosen:
        raise InputError(
            "no topic of the bags looks like an observation; say which one is by"
            f" --observation TOPIC[:FIELDS]{_varying([t for t, _ in actions], _fields_of(actions))}"
        )
    return [(topic, default_fields(topic.type, topic.fields)) for topic in chosen]


def _left(chosen: Sequence[Picked]) -> list[Picked]:
    """Return the topics of which some fields were chosen, with the others."""
    found = []
    for topic, fields in chosen:
        others = default_fields(topic.type, topic.fields)
        if left := tuple(path for path in others if path not in fields):
            found.append((topic, left))
    return found


def _is_usable(topic: TopicContents) -> bool:
    if topic.problem or _NO_SIGNAL.search(topic.name) or topic.timing.rate == 0:
        return False
    return bool(default_fields(topic.type, topic.fields))


def _is_command(topic: TopicContents) -> bool:
    if topic.type in _OBSERVED_TYPES and topic.type != _OBSERVED_TYPES[0]:
        return False
    return bool(_COMMAND_TYPES.search(topic.type) or _COMMAND_NAME.search(topic.name.lower()))


def _listed(topics: Sequence[TopicContents]) -> str:
    if len(topics) == 1:
        return _varying(topics, ())
    names = ", ".join(topic.name for topic in topics[:8])
    return f"; there are {names}" if names else ""


def _varying(topics: Sequence[TopicContents], taken: Collection[tuple[str, str]]) -> str:
    """Return what of some topics is left to be chosen, as the end of a sentence."""
    left = [
        f"{topic.name}:{one.path}"
        + (f" ({100 * one.missing:.0f} % missing)" if one.missing >= 0.005 else "")
        for topic in topics
        for one in topic.fields
        if not one.constant and (topic.name, one.path) not in taken
    ]
    more = ", ..." if len(left) > 4 else ""
    are = "is" if len(left) == 1 else "are"
    return f"; there {are} {', '.join(left[:4])}{more}" if left else ""


def _channel(
    topic: TopicContents, fields: tuple[str, ...], names: set[str], rate: float | None
) -> Channel:
    """Return the channel of a topic; ``rate`` None: of an action, which never grows old."""
    units = tuple(unit_of(topic.type, path) for path in fields)
    max_age = None
    if rate is not None:
        slow = 3 / topic.timing.rate if topic.timing.rate else 0.0
        max_age = float(f"{max(DEFAULT_MAX_AGE, 2.5 / rate, slow):.3g}")
    return Channel(
        name=_unused(_short_name(topic.name), names),
        topic=topic.name,
        type=topic.type,
        fields=fields,
        max_age=max_age,
        units=units if all(units) else (),
    )


def _short_name(topic: str) -> str:
    parts = [re.sub(r"\W", "_", part) for part in topic.strip("/").split("/")]
    while len(parts) > 1 and parts[-1] in _GENERIC:
        parts.pop()
    name = parts[-1] or "channel"
    return f"_{name}" if name[0].isdigit() or name == "inputs" else name


def _unused(name: str, names: set[str]) -> str:
    candidate, number = name, 1
    while candidate in names:
        number += 1
        candidate = f"{name}_{number}"
    names.add(candidate)
    return candidate


def _neat(rate: float) -> float:
    """Return a round rate near the measured one; a fraction of it where it is fast."""
    rate /= max(1, math.ceil(rate / (FASTEST * 1.02)))
    whole = float(round(rate))
    return whole if whole and abs(whole - rate) < 0.02 * rate else float(f"{rate:.3g}")


def _at_outer_commas(text: str) -> list[str]:
    """Return the parts between commas that stand in no bracket: clip(x, 0, 1) is one part."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def field_range(contents: BagContents, topic: str, path: str) -> FieldRange | None:
    """Return the range of a field as found; None for one that is computed."""
    return next((f for f in contents.topics[topic].fields if f.path == path), None)
