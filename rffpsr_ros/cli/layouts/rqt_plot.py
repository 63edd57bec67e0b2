"""Lines for rqt_plot: each opens a window with a measured and a predicted curve."""

from __future__ import annotations

from collections.abc import Sequence

from rffpsr_ros.cli.layouts.curves import PREDICTED, Observed, dotted

HEADER = """\
# Each line opens a window. rqt_plot draws what arrives when it arrives, whatever its stamp, so the
# predicted curve runs ahead of the measured one by the lead. Arrays are read by place: correct the
# number where your joints come in another order.
"""


def rqt_plot(observations: Sequence[Observed]) -> str:
    """Return the lines."""
    lines = []
    for column, one in enumerate(observations):
        measured = measured_words(one)
        words = ["rqt_plot", *([measured] if measured else []), f"{PREDICTED}/position[{column}]"]
        lines.append(" ".join(words))
    return HEADER + "\n".join(lines) + "\n"


def measured_words(one: Observed) -> str | None:
    """Return an observation's own number as rqt_plot names it; None if it is computed."""
    if one.path is None:
        return None
    if one.joint is not None:
        return f"{one.topic}/{one.joint[0]}[{one.place}]"
    return one.topic + dotted(one.path, "/")
