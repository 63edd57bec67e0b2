"""What is to be said of channels that were taken: what teaches nothing, what most ticks lack."""

from __future__ import annotations

from collections.abc import Sequence

from rffpsr_ros.errors import plain
from rffpsr_ros.training.proposal.bag_contents import Picked

_MOST = 0.5
"""Share from which on it is the greater part."""

_LISTED = 8
"""Stretches of an array are listed up to so many."""


def idle_fields(picked: Sequence[Picked]) -> list[str]:
    """Return a remark on every field that was taken though nothing can be learned about it."""
    remarks = []
    for topic, fields in picked:
        idle = {path: "is never a number" for path in fields if path in topic.misfits}
        for one in topic.fields:
            if one.path in fields and one.constant:
                never = one.missing == 1
                idle[one.path] = "is never a number" if never else f"is always {one.low:.4g}"
            if one.path in fields and one.changing:
                remarks.append(
                    f"elements of '{plain(one.path)}' of {topic.name} never change, and are refused"
                    f" in training; those that do: {_some(one.changing)}"
                )
        for path, what in idle.items():
            remarks.append(f"'{plain(path)}' of {topic.name} {what}, so it teaches nothing")
    return remarks


def _some(stretches: Sequence[str]) -> str:
    more = ", ..." if len(stretches) > _LISTED else ""
    return ", ".join(stretches[:_LISTED]) + more


def rare_fields(observations: Sequence[Picked], rate: float, max_gap: float) -> list[str]:
    """Return remarks on what most ticks would not hold."""
    remarks = []
    pace = observations[0][0]
    if (share := pace.filled(rate, max_gap)) < _MOST:
        remarks.append(
            f"about {100 * share:.0f} % of the ticks would hold a message of {pace.name}, which"
            f" comes irregularly; a lower rate than {rate:g} makes longer ticks"
        )
    for topic, fields in observations:
        for one in topic.fields:
            if one.path in fields and _MOST < one.missing < 1:
                seldom = min(rate, topic.timing.rate) * (1 - one.missing)
                remarks.append(
                    f"about {100 * (1 - one.missing):.0f} % of the ticks would hold"
                    f" '{plain(one.path)}' of {topic.name}, which most of its messages lack; longer"
                    f" ticks would (rate: {seldom:.3g})"
                )
    return remarks
