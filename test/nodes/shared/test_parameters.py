"""The tables of parameters, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rffpsr_ros.nodes.collector.interface import COLLECTOR
from rffpsr_ros.nodes.excitation.interface import EXCITATION
from rffpsr_ros.nodes.filter.interface import FILTER
from rffpsr_ros.nodes.learner.interface import LEARNER
from rffpsr_ros.nodes.shared.interface import Interface
from rffpsr_ros.nodes.shared.parameters import misspelt, refusal
from rffpsr_ros.nodes.simulator.interface import SIMULATOR


def test_choices_are_enforced_and_misspelt_names_are_told() -> None:
    change = SimpleNamespace(name="future_actions", value="hodl")
    assert "one of hold, zero, topic" in refusal(FILTER.parameters, [change])
    assert refusal(FILTER.parameters, [SimpleNamespace(name="future_actions", value="zero")]) == ""
    names = [one.name for one in FILTER.parameters]
    assert misspelt(["horizn", "horizon", "someone_elses"], names) == [
        "parameter 'horizn' is unknown; did you mean 'horizon'?"
    ]


@pytest.mark.parametrize(
    "node", [FILTER, LEARNER, SIMULATOR, EXCITATION, COLLECTOR], ids=lambda node: node.name
)
def test_every_parameter_has_a_description_and_a_default_in_its_range(node: Interface) -> None:
    table = node.parameters
    assert len({one.name for one in table}) == len(table)
    for one in table:
        assert one.description.endswith((".", ")"))
        assert not one.choices or one.default in one.choices
        if isinstance(one.default, int | float) and not isinstance(one.default, bool):
            assert one.lowest is not None
            assert one.highest is not None
            assert one.lowest <= one.default <= one.highest
