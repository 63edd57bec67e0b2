"""A simulation waits for commands, but not for ever."""

from __future__ import annotations

from rffpsr_ros.nodes.simulator.command_wait import PATIENCE_SECONDS, CommandWait


def test_without_commands_time_goes_by() -> None:
    wait = CommandWait(0.1)
    wait.shown(5.0)
    assert not wait.may_go_on(5.05)
    assert wait.may_go_on(5.1)


def test_a_prompt_command_delays_nothing() -> None:
    wait = CommandWait(0.1)
    wait.shown(5.0)
    wait.answered(5.01)
    assert wait.may_go_on(5.1)


def test_a_late_command_has_half_a_period_to_reach_everyone() -> None:
    wait = CommandWait(0.1)
    wait.answered(4.9)
    wait.shown(5.0)
    assert not wait.may_go_on(5.2)
    wait.answered(5.21)
    wait.answered(5.25)  # only the first counts
    assert not wait.may_go_on(5.25)
    assert wait.may_go_on(5.2601)


def test_when_commands_cease_it_waits_once_and_never_again_until_they_come_back() -> None:
    wait = CommandWait(0.1)
    wait.answered(4.9)
    wait.shown(5.0)
    assert not wait.may_go_on(5.0 + 0.99 * PATIENCE_SECONDS)
    assert wait.may_go_on(5.0 + 1.01 * PATIENCE_SECONDS)
    assert not wait.may_go_on(5.0 + 0.99 * PATIENCE_SECONDS)  # to ask changes nothing
    wait.shown(6.0)
    assert wait.may_go_on(6.1)
    wait.answered(6.15)
    wait.shown(6.2)
    assert not wait.may_go_on(6.4)
