"""Show what is in bags: topics, types, rates, jitter, gaps, and numeric fields with their ranges.

From that a configuration is proposed: what to observe, what to take as actions, at which rate.
--observation and --action choose topics (and fields), as in
  rffpsr inspect run.bag --observation /imu/data:angular_velocity.z --action /cmd_vel
and --write-config writes the configuration, commented, ready for 'rffpsr train'.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rffpsr_ros.cli.console import ProgressBar, aligned, say, say_json, warn
from rffpsr_ros.cli.outputs import check_writable
from rffpsr_ros.cli.parser import Parser
from rffpsr_ros.cli.settings import add_reading_arguments
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.storage import write_atomically
from rffpsr_ros.recordings.bags.files import find_bags
from rffpsr_ros.recordings.bags.message_types import MessageTypes
from rffpsr_ros.signals.channel import Channel
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.training.proposal.bag_contents import BagContents, TopicContents, read_contents
from rffpsr_ros.training.proposal.configuration_text import configuration_text
from rffpsr_ros.training.proposal.propose import Proposal, parse_choice, propose


def add_arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bags", metavar="BAG", nargs="+", help="bags, folders of bags, patterns")
    for name, what in (("--observation", "a topic to observe"), ("--action", "a command topic")):
        parser.add_argument(
            name,
            metavar="TOPIC[:FIELD,...]",
            action="append",
            default=[],
            help=f"{what}, perhaps only these fields of it; may be given several times",
        )
    parser.add_argument("--write-config", metavar="FILE", help="write the configuration")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print what is in the bags and propose a configuration."""
    observed = [parse_choice(text) for text in arguments.observation]
    commanded = [parse_choice(text) for text in arguments.action]
    target = None
    if arguments.write_config is not None:
        target = check_writable(arguments.write_config)
        if target.exists():
            raise InputError(f"'{target}' exists already; choose another name or remove it")
    bags = find_bags(arguments.bags)
    types = MessageTypes(arguments.ros_distro, arguments.msg_path)
    with ProgressBar(quiet=arguments.quiet) as progress:
        asked: dict[str, list[str]] = {}
        for choice in (*observed, *commanded):
            asked.setdefault(choice.topic, []).extend(choice.fields)
        contents = read_contents(bags, types, progress, asked)
    for loss in contents.losses:
        warn(loss)
    proposal, why_none = _proposal(contents, observed, commanded, target)
    names = [bag.name for bag in bags]
    if proposal is not None and target is not None:
        with write_atomically(target) as file:
            file.write(configuration_text(proposal, contents, names).encode())
    if arguments.json:
        say_json(_as_json(names, contents, proposal))
        return
    say(*_topics(contents), *_fields(contents), "", *_proposed(proposal, why_none))
    if target is not None:
        say(
            f"configuration written to {target}; next:",
            f"  rffpsr train --config {target} --out MODEL {' '.join(arguments.bags)}",
        )


def _proposal(
    contents: BagContents, observed: Sequence[Any], commanded: Sequence[Any], target: Path | None
) -> tuple[Proposal | None, str]:
    """Return the proposal; where nobody insists on one, None and the reason is as good."""
    try:
        return propose(contents, observed, commanded), ""
    except InputError as problem:
        if target is not None or observed or commanded:
            raise
        return None, str(problem)


def _topics(contents: BagContents) -> list[str]:
    rows = [["topic", "type", "messages", "rate (Hz)", "jitter", "gaps"]]
    for topic in contents.topics.values():
        timing = topic.timing
        rate = f"{timing.rate:.4g}" if timing.rate else "-"
        jitter = f"{100 * timing.jitter:.1f} %" if timing.rate else "-"
        rows.append([topic.name, topic.type, str(topic.count), rate, jitter, _gaps(topic)])
    return aligned(rows, (2, 3, 4))


def _gaps(topic: TopicContents) -> str:
    timing = topic.timing
    words = f"{timing.gaps}, longest {timing.longest_gap:.3g} s" if timing.gaps else "none"
    return words + (f"; time goes back {timing.jumps_back} x" if timing.jumps_back else "")


def _fields(contents: BagContents) -> list[str]:
    lines = []
    for topic in contents.topics.values():
        if topic.problem:
            lines += ["", f"{topic.name}: {topic.problem}"]
        if not topic.fields:
            continue
        rows = []
        for field in topic.fields:
            missing = f"{100 * field.missing:.0f} % missing" if 0 < field.missing < 1 else ""
            rows.append([f"  {field.path}", field.span(), missing])
        lines += ["", topic.name, *aligned(rows)]
    return lines


def _proposed(proposal: Proposal | None, why_none: str) -> list[str]:
    if proposal is None:
        return [f"no configuration is proposed: {why_none}"]
    lines = [f"proposed (--write-config FILE writes it), at {proposal.rate:g} Hz:"]
    for what, channels in (
        ("observation", proposal.observations),
        ("action", proposal.actions),
    ):
        lines += [f"  {what}  {_described(channel)}" for channel in channels]
    return [*lines, *(f"  note: {remark}" for remark in proposal.remarks)]


def _described(channel: Channel) -> str:
    return f"{channel.topic}: {', '.join(channel.fields)}"


def _as_json(
    bags: Sequence[str], contents: BagContents, proposal: Proposal | None
) -> dict[str, Any]:
    return {
        "bags": list(bags),
        "losses": contents.losses,
        "topics": {
            topic.name: {
                "type": topic.type,
                "messages": topic.count,
                "bytes": topic.bytes,
                "problem": topic.problem or None,
                **topic.timing._asdict(),
                "fields": {
                    field.path: {"low": field.low, "high": field.high, "missing": field.missing}
                    for field in topic.fields
                },
            }
            for topic in contents.topics.values()
        },
        "proposal": None if proposal is None else _configuration(proposal).to_mapping(),
    }


def _configuration(proposal: Proposal) -> ChannelConfiguration:
    return ChannelConfiguration(
        proposal.rate, proposal.max_gap, proposal.observations, proposal.actions
    )
