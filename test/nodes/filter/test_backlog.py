"""What a node leaves out that cannot keep up."""

from __future__ import annotations

from rffpsr_ros.nodes.filter.backlog import Backlog

S = 1_000_000_000


def test_forecasts_are_left_out_from_far_behind_until_nearly_caught_up() -> None:
    backlog = Backlog()
    backlog.expect(period=0.01)
    made = []
    for waited in (0.0, 0.9, 1.1, 0.98, 0.95, 0.89, 0.95):
        backlog.note(round(waited * S))
        made.append(not backlog.behind)
        if backlog.behind:
            backlog.note_left_out()
    assert made == [True, True, False, False, False, True, True]
    assert (backlog.newly_left_out, backlog.newly_left_out, backlog.left_out) == (3, 3, 3)
    backlog.note_told()
    assert (backlog.newly_left_out, backlog.left_out) == (0, 3)
