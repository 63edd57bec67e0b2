"""The table of the hard classes says what the records say."""

import math

from benchmarks.hard_classes import HARD_CLASSES, reporting
from benchmarks.hard_results import hard_results
from benchmarks.records import Record, Run

TASKS = [reporting(HARD_CLASSES[name]) for name in ("motor", "pendulum")]


def record(method: str, *errors: float) -> Record:
    runs = tuple(Run(n, "", {"test": [error, error]}) for n, error in enumerate(errors))
    return Record(method, "", {}, False, "", "", runs)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_ratios_are_to_each_and_to_the_best_of_every_draw() -> None:
    records = {
        "motor_report": [
            record("RFFPSR()", 1.0, 2.0),
            record("N4SID", 2.0, 1.0),
            record("GRU, 64 units", 4.0, 8.0),
        ],
        "pendulum_report": [record("RFFPSR()", 3.0, 3.0), record("linear ARX", 6.0, 6.0)],
    }
    heading, explanation, table = hard_results(TASKS, records)
    assert heading == "### Hard classes"
    assert "draws that nothing was developed on" in explanation
    names, _, motor, pendulum, overall = map(cells, table.splitlines())
    found = dict(zip(names, motor, strict=True))
    assert found["RFFPSR()"] == "1.50"
    assert found["to GRU, 64 units"] == "0.250"
    assert found["to N4SID"] == "1.00"
    assert found["to linear ARX"] == ""
    assert found["to the best of them"] == "1.00"  # 1/2 in one draw, 2/1 in the other
    assert dict(zip(names, pendulum, strict=True))["to the best of them"] == "0.500"
    assert overall[-1].startswith(f"{math.sqrt(0.5):.3f}")


def test_without_our_figures_there_is_no_table() -> None:
    records = {task.name: [record("N4SID", 1.0)] for task in TASKS}
    assert not list(hard_results(TASKS, records))
