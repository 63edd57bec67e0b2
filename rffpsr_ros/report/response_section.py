"""Dead times: how soon each observation responds to each action, and how long that lasts."""

from __future__ import annotations

from rffpsr_ros.exploration.check import ExplorationCheck
from rffpsr_ros.exploration.response_words import nav2_lines, response_table
from rffpsr_ros.report.markup import Section, element, joined, paragraphs, table


def response_section(check: ExplorationCheck | str) -> Section:
    """Return the section."""
    title, key = "Dead times", "responses"
    found = () if isinstance(check, str) else check.responses or ()
    rows = response_table(found)
    if not rows:
        said = "No observation responds to an action so clearly that its dead time could be told."
        return Section(key, title, "", paragraphs(said), _ADVICE)
    parts = [table(rows[0], rows[1:])]
    if lines := nav2_lines(found):
        delays = "\n".join(lines)
        parts += [element("p", "For Nav2's MPPI controller:"), element("pre", delays)]
    return Section(
        key,
        title,
        "From the impulse response of an ARX regression on the recordings, with one standard error:"
        " the dead time until an observation begins to respond to an action, and the time constant"
        " with which it then does.",
        joined(*parts),
        _ADVICE,
    )


_ADVICE = (
    "A dead time near that of the model's windows (learning.past, in ticks): make them longer."
    " Longer than the robot can have: look at the stamps, and at queues between command and motor."
    " No clear response: the action hardly moved, or moved with others only; excite it more."
)
