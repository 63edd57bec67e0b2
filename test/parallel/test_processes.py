"""Tasks side by side in processes: their results, their problems, and their end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.parallel.processes import Processes, checked_processes, workers_for
from rffpsr_ros.parallel.workers import MAYBE_WANTED, THIS_PROCESS
from rffpsr_ros.progress import Progress, silent

# Tasks travel by their module's name; the processes do not know this one, so these are of others.
SOURCE = '''
import os, signal, sys, time, warnings
from dataclasses import dataclass
from pathlib import Path
from rffpsr_ros.errors import InputError

@dataclass
class Meet:
    """Waits until another process is at the same task."""
    folder: str
    number: int
    def __call__(self, progress):
        Path(self.folder, f"{self.number}").write_text(str(os.getpid()))
        other = Path(self.folder, f"{1 - self.number}")
        while not (other.exists() and other.read_text()):
            time.sleep(0.001)
        progress("met", 1.0)
        return os.getpid()

@dataclass
class Elsewhere:
    """Does something in another process than the one given; there it waits for the flag."""
    here: int
    deed: str
    flag: str = ""
    def __call__(self, progress):
        if os.getpid() == self.here:
            return "here"
        if self.flag:
            beside = Path(self.flag + ".part")
            beside.write_text(str(os.getpid()))
            beside.replace(self.flag)
        if self.deed == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.deed == "refuse":
            raise InputError("it is so")
        if self.deed == "fail":
            raise KeyError("unforeseen")
        if self.deed == "warn":
            warnings.warn("odd", UserWarning, stacklevel=1)
        if self.deed == "print":
            print("noise")
        while self.deed == "tell":
            progress("still", 0.5)
            time.sleep(0.001)
        if self.deed == "stay":
            time.sleep(600)
        return "elsewhere"

@dataclass
class Wait:
    """Waits for a flag that the process elsewhere sets."""
    flag: str
    def __call__(self, progress):
        while not Path(self.flag).exists():
            time.sleep(0.001)
'''


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a module of tasks that other processes find too."""
    (tmp_path / "some_tasks.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))
    monkeypatch.delitem(sys.modules, "some_tasks", raising=False)
    import some_tasks  # type: ignore[import-not-found]

    return some_tasks


def gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{process}/stat").read_text().rsplit(") ")[1].startswith("Z")


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def elsewhere(tasks: Any, together: Processes, tmp_path: Path, deed: str) -> Any:
    """Return the pending result of a deed that another process is at by now."""
    flag = tmp_path / deed
    pending = together.submit(tasks.Elsewhere(os.getpid(), deed, str(flag)), silent)
    until(flag.exists)
    return pending


def test_tasks_are_computed_side_by_side_and_what_they_tell_comes_through(
    tasks: Any, tmp_path: Path
) -> None:
    told: list[tuple[str, Any]] = []

    def progress(name: str, stage: str, fraction: float, error: float | None = None) -> None:
        assert threading.current_thread() is threading.main_thread()
        told.append((name, stage))

    with Processes(2) as together:
        first = together.submit(tasks.Meet(str(tmp_path), 0), partial(progress, "0"))
        until((tmp_path / "0").exists)  # else this process might wait for a task that waits for it
        second = together.submit(tasks.Meet(str(tmp_path), 1), partial(progress, "1"))
        at = [second.result(), first.result()]
    assert len(set(at)) == 2
    assert ("1", "met") in told or ("0", "met") in told
    assert all(gone(one) for one in at if one != os.getpid())


@pytest.mark.parametrize("deed", ["die", "fail"])
def test_what_fails_elsewhere_is_computed_here(tasks: Any, tmp_path: Path, deed: str) -> None:
    with Processes(2) as together:
        assert elsewhere(tasks, together, tmp_path, deed).result() == "here"
        assert together.submit(tasks.Elsewhere(0, "do"), silent).result() == "elsewhere"


def test_an_input_error_elsewhere_is_raised_where_the_result_is_asked_for(
    tasks: Any, tmp_path: Path
) -> None:
    with Processes(2) as together:
        pending = elsewhere(tasks, together, tmp_path, "refuse")
        with pytest.raises(InputError, match=r"^it is so$"):
            pending.result()


def test_a_warning_elsewhere_is_one_here(tasks: Any, tmp_path: Path) -> None:
    with Processes(2) as together:
        pending = elsewhere(tasks, together, tmp_path, "warn")
        with pytest.warns(UserWarning, match="odd"):
            assert pending.result() == "elsewhere"


def test_what_a_library_prints_elsewhere_disturbs_nothing(tasks: Any, tmp_path: Path) -> None:
    with Processes(2) as together, warnings.catch_warnings():
        assert elsewhere(tasks, together, tmp_path, "print").result() == "elsewhere"


def test_a_task_that_cannot_travel_is_computed_here() -> None:
    with Processes(2) as together:
        pending = [together.submit(lambda _: os.getpid(), silent) for _ in range(3)]
        assert {one.result() for one in pending} == {os.getpid()}


def told_number(number: int, progress: Progress) -> int:
    return number


def test_the_most_urgent_task_is_begun_first() -> None:
    with Processes(1) as alone:
        for number, urgency in enumerate((2, 0, 1, 0)):
            alone.submit(partial(told_number, number), silent, urgency)
        taken = [alone.take(patient) for patient in (False, False, True, True)]
    assert [one.task(silent) for one in taken if one and one.task] == [1, 3, 2, 0]


def test_what_is_not_wanted_yet_leaves_the_processor_to_others(tasks: Any, tmp_path: Path) -> None:
    with Processes(2) as together:
        at = []
        for name, urgency in (("now", 0), ("later", MAYBE_WANTED)):
            flag = tmp_path / name
            together.submit(tasks.Elsewhere(os.getpid(), "stay", str(flag)), silent, urgency)
            until(flag.exists)
            at.append(os.getpriority(os.PRIO_PROCESS, int(flag.read_text())))
    assert at[0] == os.getpriority(os.PRIO_PROCESS, 0)
    assert at[1] > at[0]


def test_a_task_that_nobody_wants_any_more_is_not_begun() -> None:
    with Processes(1) as alone:
        first, second = (alone.submit(partial(told_number, number), silent) for number in range(2))
        first.cancel()
        assert alone.take(patient=False) is second


def test_a_task_that_nobody_wants_any_more_ends_elsewhere(tasks: Any, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    with Processes(2) as together:
        vain = together.submit(tasks.Elsewhere(os.getpid(), "tell", str(flag)), silent, 1)
        other = together.submit(tasks.Elsewhere(os.getpid(), "tell", f"{flag} 2"), silent, 1)
        until(flag.exists)  # both patient processes are at it for good
        until((tmp_path / "flag 2").exists)
        other.cancel()
        vain.cancel()
        next_one = tmp_path / "next"
        together.submit(tasks.Elsewhere(os.getpid(), "do", str(next_one)), silent, 1)
        until(next_one.exists)
        assert next_one.read_text() in {flag.read_text(), (tmp_path / "flag 2").read_text()}


def test_a_task_can_be_hastened() -> None:
    with Processes(1) as alone:
        pending = [alone.submit(partial(told_number, number), silent, 2) for number in range(3)]
        pending[2].hasten(1)
        pending[2].hasten(4)  # which is no sooner
        taken = [alone.take(patient=True) for _ in range(3)]
    assert [one.task(silent) for one in taken if one and one.task] == [2, 0, 1]


def test_who_waits_begins_nothing_but_what_it_waits_for() -> None:
    begun: list[str] = []
    with Processes(1) as alone:
        wanted = alone.submit(partial(told_number, 0), silent)
        held = alone.take(patient=False)  # as another process would
        assert held is wanted
        other = alone.submit(lambda _: begun.append("other"), silent)

        def finish() -> None:
            held.computed(7, None, ())
            alone.look_again()

        threading.Timer(0.05, finish).start()
        assert wanted.result() == 7
        assert begun == []
        other.result()
    assert begun == ["other"]


@pytest.mark.parametrize("problem", [KeyboardInterrupt, InputError("enough")])
def test_no_process_is_left_when_the_work_is_interrupted(
    tasks: Any, tmp_path: Path, problem: Any
) -> None:
    kind = type(problem) if isinstance(problem, Exception) else problem
    with pytest.raises(kind), Processes(3) as together:
        elsewhere(tasks, together, tmp_path, "stay")
        raise problem
    assert gone(int((tmp_path / "stay").read_text()))


INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
from rffpsr_ros.parallel.processes import Processes
from rffpsr_ros.progress import silent
import some_tasks
with Processes(2) as together:
    stay = together.submit(some_tasks.Elsewhere(os.getpid(), "stay", sys.argv[1]), silent)
    together.submit(some_tasks.Wait(sys.argv[1]), silent).result()
    print("ready", flush=True)
    stay.result()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_one_that_learns(
    tasks: Any, tmp_path: Path, number: signal.Signals
) -> None:
    flag = tmp_path / "flag"
    learner = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(flag)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert learner.stdout is not None
    assert learner.stdout.readline() == "ready\n"
    other = int(flag.read_text())
    assert not gone(other)
    learner.send_signal(number)
    assert learner.wait(60) != 0
    until(lambda: gone(other))


def test_workers_are_this_process_where_one_is_wanted() -> None:
    with workers_for(None, 1) as alone, workers_for(None, 2) as two:
        assert alone is THIS_PROCESS
        assert isinstance(two, Processes)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "two", True, 10_000])
def test_a_number_of_processes_that_makes_no_sense_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match=r"processes is .*; it must be an integer from 1 to 1024"):
        checked_processes(wrong)
