"""From findings in plain words to the messages of /diagnostics, and complaints said only once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, Protocol

from rffpsr_ros.nodes.shared.message_classes import make
from rffpsr_ros.signals.sampler import Sampler

Level = Literal["ok", "warn", "error", "stale"]

_LEVELS: Mapping[Level, bytes] = {
    "ok": b"\x00",
    "warn": b"\x01",
    "error": b"\x02",
    "stale": b"\x03",
}
_ORDER: tuple[Level, ...] = ("ok", "warn", "stale", "error")


class NodeFinding(NamedTuple):
    """What is to be said of one aspect of a node."""

    aspect: str
    level: Level
    message: str
    values: Mapping[str, Any]


class Resolved(Protocol):
    """What is told of a topic."""

    resolved: str


def waiting_sentence(sampler: Sampler, inputs: Mapping[str, Resolved]) -> str:
    """Return what no segment can start without, by the names remapped; empty if nothing is."""
    topics = dict.fromkeys(inputs[channel.topic].resolved for channel in sampler.waiting_for)
    return "waiting for a first sample of " + ", ".join(topics) if topics else ""


def worst(levels: Iterable[Level]) -> Level:
    """Return the worst of several levels; ok if there are none."""
    return max(levels, key=_ORDER.index, default="ok")


def status(node_name: str, finding: NodeFinding) -> Any:
    """Return a diagnostic_msgs/msg/DiagnosticStatus."""
    return make(
        "diagnostic_msgs/msg/DiagnosticStatus",
        level=_LEVELS[finding.level],
        name=f"{node_name}: {finding.aspect}",
        message=on_one_line(finding.message),
        hardware_id="",
        values=[
            make("diagnostic_msgs/msg/KeyValue", key=key, value=_text(value))
            for key, value in finding.values.items()
        ],
    )


def diagnostic_array(node_name: str, stamp: Any, findings: Iterable[NodeFinding]) -> Any:
    """Return a diagnostic_msgs/msg/DiagnosticArray."""
    return make(
        "diagnostic_msgs/msg/DiagnosticArray",
        header=make("std_msgs/msg/Header", stamp=stamp, frame_id=""),
        status=[status(node_name, finding) for finding in findings],
    )


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else on_one_line(str(value), 4000)


def on_one_line(text: str, most: int = 600) -> str:
    """Return text of which parts may be foreign as a log can take it: one line, not too long.

    What cannot be printed is written as Python writes it, so that nobody can forge a line.
    """
    cut = text if len(text) <= most else text[: most - 3] + "..."
    return cut if cut.isprintable() else "".join(map(_printable, cut))


def _printable(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]


AGAIN_SECONDS = 60.0
"""How often at most it is said that something has happened again."""

QUIET_SECONDS = 2.0
"""How long nothing must be wrong with something that was complained of until it is in order."""


class _Complaint:
    """What was said of something, when there was reason to last, and if it was in order since."""

    def __init__(self, sentence: str, now: float) -> None:
        self.sentence = sentence
        self.newest = now
        self.in_order = False


class _Happening:
    """When it was said last that something had happened, and how often it has since."""

    def __init__(self, told: float) -> None:
        self.told = told
        self.untold = 0


class Complaints:
    """Logs a sentence when it becomes true, not as long as it stays so.

    What is in order and out of order in turn stays out of order. What only happens, and is over at
    once, is logged the first time and counted from then on.

    Parameters
    ----------
    logger
        What sentences are logged by.
    now
        A steady clock.
    """

    def __init__(self, logger: Any, now: Callable[[], float] = time.monotonic) -> None:
        self._logger, self._now = logger, now
        self._said: dict[str, _Complaint] = {}
        self._happened: dict[str, _Happening] = {}

    def error(self, about: str, sentence: str) -> None:
        """Log an error about something, unless it is what was said of it last."""
        if self._is_new(about, sentence):
            self._logger.error(on_one_line(sentence))

    def errors(self, sentences: Iterable[str]) -> None:
        """Log errors, each once."""
        for sentence in sentences:
            self.error(sentence, sentence)

    def warn(self, about: str, sentence: str) -> None:
        """Log a warning about something, unless it is what was said of it last."""
        if self._is_new(about, sentence):
            self._logger.warning(on_one_line(sentence))

    def happened(self, about: str, sentence: str) -> None:
        """Log a warning of something that may happen often: now, or as a count some time later."""
        now = self._now()
        before = self._happened.get(about)
        if before is not None and now - before.told < AGAIN_SECONDS:
            before.untold += 1
            return
        more = ""
        if before is not None and before.untold:
            seconds = now - before.told
            more = f" ({before.untold} times more in the {seconds:.0f} s before)"
        self._happened[about] = _Happening(now)
        self._logger.warning(on_one_line(sentence + more))

    def topic(self, topic: str, problem: str | None, about: str = "") -> None:
        """Log an error about a topic if there is a problem, else that it is in order again."""
        about = about or topic
        if problem:
            self.error(about, problem)
        else:
            self.over(about, f"topic {topic} is in order again")

    def follow(self, findings: Iterable[NodeFinding]) -> None:
        """Log what findings say that are not in order, each under its aspect."""
        for finding in findings:
            if finding.level == "ok":
                self.over(finding.aspect)
            elif finding.level == "error":
                self.error(finding.aspect, finding.message)
            else:
                self.warn(finding.aspect, finding.message)

    def over(self, about: str, sentence: str = "", at_once: bool = False) -> None:
        """Note that there is nothing to complain of any more; say so if there was.

        Where that is noted again and again it counts once nothing was complained of for a while,
        unless it counts ``at_once``.
        """
        complaint = self._said.get(about)
        if complaint is None:
            return
        complaint.in_order = True
        if at_once or self._now() - complaint.newest >= QUIET_SECONDS:
            del self._said[about]
            if sentence:
                self._logger.info(on_one_line(sentence))

    def _is_new(self, about: str, sentence: str) -> bool:
        """Take note of a complaint, and tell whether it is to be said."""
        before, now = self._said.get(about), self._now()
        self._said[about] = _Complaint(sentence, now)
        if before is None or before.sentence != sentence:
            return True
        return before.in_order and now - before.newest >= QUIET_SECONDS
