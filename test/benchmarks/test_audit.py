"""Nothing that arrives ends a process: the first cases of each group."""

import pytest

from benchmarks.audit import self_check
from benchmarks.audit.groups import GROUPS
from benchmarks.audit.runner import outcomes

CASES = {
    "bags": 120,
    "cdr": 28,
    "command_line": 70,
    "csv": 400,
    "images": 300,
    "models": 300,
    "models_compiled": 50,
    "filter_live": 6,
    "learner_live": 4,
    "replay": 70,
    "yaml": 150,
}
"""How many cases of each group are tried here."""


@pytest.mark.parametrize("name", GROUPS)
def test_every_promise_is_kept(name: str) -> None:
    broken = [one for one in outcomes(GROUPS[name], 0, 0, CASES[name]) if not one.good]
    assert not broken, "\n".join(f"{one.case}: {one.verdict}: {one.sentence}" for one in broken)


def test_each_kind_of_broken_promise_is_seen() -> None:
    group = self_check.GROUP
    seen = {one.case: one.verdict for one in outcomes(group, 0, 0, group.size)}
    assert seen == self_check.VERDICTS
