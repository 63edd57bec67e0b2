"""A proposed configuration as a commented file, for people to read and change."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.signals.channel import Channel
from rffpsr_ros.training.proposal.bag_contents import BagContents
from rffpsr_ros.training.proposal.propose import Proposal, field_range

_PLAIN = re.compile(r"[A-Za-z_/][\w./]*\Z", re.ASCII)
_WORDS_OF_YAML = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

_HEAD = """\
# Observations and actions, for 'rffpsr train' and for the nodes.
# Proposed by 'rffpsr inspect' from {bags}.
#
# A field path names a number in a message: angular_velocity.z, position.elbow (a joint by its
# name), "data[3]", "ranges[0:10]" (half-open), yaw(orientation), sin(...), cos(...), unwrap(...).
# Quote paths with brackets: YAML takes them for lists.
/**:
  ros__parameters:
    # Ticks per second. The first observation sets the pace: it was recorded at {pace:.4g} Hz.
    rate: {rate}
    # A silence longer than this (seconds) ends a segment; nothing is learned across it.
    max_gap: {max_gap}
"""

_TAIL = """\

    # Options of the learner; these are the defaults. Any of them can be changed for one training:
    # rffpsr train --set learning.rank=10 ...
    # learning:
{options}
"""

_SHOWN_OPTIONS = ("past", "future", "features", "rank", "state_rank", "refinement", "seed")


def configuration_text(proposal: Proposal, contents: BagContents, bags: Sequence[str]) -> str:
    """Return the configuration file's text, as ROS parameters."""
    lines = _HEAD.format(
        bags=", ".join(bags[:5]) + (", ..." if len(bags) > 5 else ""),
        pace=proposal.pace_rate,
        rate=repr(proposal.rate),
        max_gap=repr(proposal.max_gap),
    ).splitlines()
    lines += [f"    # Note: {remark}." for remark in proposal.remarks]
    lines += ["", "    # What is seen.", *_group("observation", proposal.observations, contents)]
    lines += [
        "",
        "    # What the robot is commanded to do.",
        *_group("action", proposal.actions, contents),
    ]
    late = _lateness(proposal, contents)
    lines += [
        "        # Without this line, learning starts at the first command"
        + (f" ({late:.1f} s after the first observation)." if late > 1 else "."),
        "        # initial: 0.0   # the command in force before it",
    ]
    defaults = RFFPSROptions()
    options = "\n".join(f"    #   {name}: {getattr(defaults, name)}" for name in _SHOWN_OPTIONS)
    return "\n".join(lines) + "\n" + _TAIL.format(options=options)


def _group(name: str, channels: Sequence[Channel], contents: BagContents) -> list[str]:
    inputs = ", ".join(_scalar(channel.name) for channel in channels)
    lines = [f"    {name}:", f"      inputs: [{inputs}]"]
    for channel in channels:
        lines += [
            f"      {_scalar(channel.name)}:",
            f"        topic: {_scalar(channel.topic)}",
            f"        type: {_scalar(channel.type)}",
            "        fields:",
            *_fields(channel, contents),
        ]
        if channel.units:
            lines.append(f"        units: [{', '.join(map(json.dumps, channel.units))}]")
        if channel.max_age is not None:
            lines += [
                "        # An older sample counts as missing (seconds).",
                f"        max_age: {channel.max_age!r}",
            ]
    return lines


def _fields(channel: Channel, contents: BagContents) -> list[str]:
    paths = [_scalar(path) for path in channel.fields]
    width = max(map(len, paths))
    lines = []
    for path, text in zip(channel.fields, paths, strict=True):
        shown = field_range(contents, channel.topic, path)
        remark = "" if shown is None else f"  # {shown.span()}"
        lines.append(f"          - {text:<{width}}{remark}".rstrip())
    return lines


def _lateness(proposal: Proposal, contents: BagContents) -> float:
    """Return by how many seconds the last channel's first command missed the first observation."""
    timings = contents.timings()
    first = max(timings[channel.topic].first for channel in proposal.actions)
    return first - timings[proposal.observations[0].topic].first


def _scalar(text: str) -> str:
    """Return a text as YAML; JSON's quotes are YAML's."""
    plain = _PLAIN.match(text) and text.lower() not in _WORDS_OF_YAML
    return text if plain else json.dumps(text, ensure_ascii=False)
