"""What fails in a callback is told once, left out and counted; repeated faults end the work."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: rclpy is not installed")

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.shared.callback_guard import (
    MOST_FAULTS,
    REMEMBERED_SECONDS,
    WITHIN_SECONDS,
    CallbackGuard,
    Ending,
)


class Log:
    """A logger that keeps its lines by level."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.debugs: list[str] = []
        self.error, self.debug = self.errors.append, self.debugs.append


class Watch:
    """A guard, its log, and a time that stands until it is moved."""

    def __init__(self, give_up: Callable[[], str] = lambda: "it stops") -> None:
        self.log, self.time, self.told = Log(), 0.0, 0
        self.guard = CallbackGuard(lambda: self.log, give_up, self.tell, lambda: self.time)

    def tell(self) -> None:
        self.told += 1


def failing(*_: Any) -> None:
    raise ValueError("first line\nsecond line")


def test_a_fault_is_one_error_line_and_its_traceback_is_for_debugging() -> None:
    watch = Watch()
    guarded = watch.guard.around(failing, "a message on /joints")
    for _ in range(5):
        assert guarded("message") is None
    (line,) = watch.log.errors
    assert "a message on /joints failed: ValueError" in line
    assert "\n" not in line
    (details,) = watch.log.debugs
    assert "Traceback" in details
    assert watch.guard.count == 5
    assert watch.told == 1


def test_the_diagnostics_say_error_until_nothing_failed_for_a_while() -> None:
    watch = Watch()
    assert watch.guard.finding().level == "ok"
    watch.guard.around(failing, "a turn")()
    assert watch.guard.finding().level == "error"
    watch.time = REMEMBERED_SECONDS + 1
    finding = watch.guard.finding()
    assert (finding.level, finding.values) == ("ok", {"faults": 1})


def test_what_goes_well_is_passed_on() -> None:
    guarded = Watch().guard.around(lambda a, b: a + b, "a sum")
    assert guarded(1, 2) == 3


def test_instead_of_a_failed_answer_there_is_another() -> None:
    assert Watch().guard.around(failing, "a call", lambda *_: "refused")() == "refused"


@pytest.mark.parametrize(("step", "gives_up"), [(0.0, True), (WITHIN_SECONDS / 5, False)])
def test_only_faults_in_quick_succession_end_the_work(step: float, gives_up: bool) -> None:
    watch = Watch()
    guarded = watch.guard.around(failing, "a turn")
    for _ in range(2 * MOST_FAULTS):
        watch.time += step
        guarded()
    assert watch.guard.gave_up == gives_up
    assert sum("it stops" in line for line in watch.log.errors) == gives_up
    watch.time += 2 * REMEMBERED_SECONDS
    assert watch.guard.finding().level == ("error" if gives_up else "ok")
    watch.guard.forgive()
    assert watch.guard.finding().level == "ok"


def test_giving_up_that_fails_is_told_as_well() -> None:
    watch = Watch(failing)  # type: ignore[arg-type]
    for _ in range(MOST_FAULTS):
        watch.guard.around(failing, "a turn")()
    assert "giving up failed, too" in watch.log.errors[-1]


def test_the_end_of_a_node_and_an_interrupt_pass() -> None:
    def ending(kind: type[BaseException]) -> None:
        raise kind

    for kind in (Ending, KeyboardInterrupt):
        with pytest.raises(kind):
            Watch().guard.around(ending, "a turn")(kind)


def test_a_refused_transition_is_no_fault_and_a_failed_one_is() -> None:
    from rclpy.lifecycle import TransitionCallbackReturn

    def refuse() -> None:
        raise InputError("there is no model")

    watch, refusals = Watch(), list[str]()
    transition = watch.guard.transition
    assert transition(refuse, refusals.append) == TransitionCallbackReturn.FAILURE
    assert (refusals, watch.guard.count) == (["there is no model"], 0)
    assert transition(failing, refusals.append) == TransitionCallbackReturn.FAILURE
    assert watch.guard.count == 1
    assert transition(SimpleNamespace, refusals.append) == TransitionCallbackReturn.SUCCESS
