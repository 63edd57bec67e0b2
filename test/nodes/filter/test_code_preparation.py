"""A filter serves by NumPy until compiled code is there, which is told once."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.filter import code_preparation
from rffpsr_ros.nodes.filter.code_preparation import (
    FAILED,
    NONE,
    PREPARING,
    READY,
    CodePreparation,
)


class Code:
    """Code that is kept once a process has ended, or was there from the start."""

    def __init__(self, kept: bool) -> None:
        self.kept = kept
        self.made: list[str] = []

    def is_kept(self, form: str) -> bool:
        return self.kept

    def make(self, form: str) -> None:
        self.made.append(form)


class Logger:
    def __init__(self) -> None:
        self.said: list[str] = []

    info = warning = lambda self, sentence: self.said.append(sentence)


class Compiling:
    """A process that ends when it is told to."""

    def __init__(self) -> None:
        self.forms: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, form: str) -> subprocess.Popen[bytes]:
        self.forms.append(form)
        command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE)
        return self._process

    def end(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()

    def wait(self) -> int:
        assert self._process is not None
        return self._process.wait()


@pytest.fixture
def compiling() -> Any:
    compiling = Compiling()
    yield compiling
    if compiling.forms:
        compiling.end()
        compiling.wait()


def given(monkeypatch: pytest.MonkeyPatch, code: Any) -> None:
    monkeypatch.setattr(code_preparation, "_code", lambda: code)


def loaded() -> None:
    """Wait for the threads that load code."""
    for thread in threading.enumerate():
        if thread.name.endswith("(_load)"):
            thread.join()


def test_code_that_was_kept_is_there_at_once(
    monkeypatch: pytest.MonkeyPatch, compiling: Compiling
) -> None:
    given(monkeypatch, Code(kept=True))
    preparation = CodePreparation("single", start=compiling)
    assert preparation.ready
    assert preparation.told == READY
    assert not compiling.forms


@pytest.mark.parametrize(
    ("form", "wanted", "code"),
    [("single", False, Code(False)), (None, True, Code(False)), ("single", True, None)],
    ids=["not wanted", "no such code", "no numba"],
)
def test_nothing_is_compiled_in_vain(
    monkeypatch: pytest.MonkeyPatch, compiling: Compiling, form: str, wanted: bool, code: Any
) -> None:
    given(monkeypatch, code)
    preparation = CodePreparation(form, wanted, compiling)
    assert preparation.told == NONE
    assert preparation.ready
    assert not compiling.forms


def test_the_change_over_happens_once_and_is_told_once(
    monkeypatch: pytest.MonkeyPatch, compiling: Compiling
) -> None:
    code, logger, changes = Code(kept=False), Logger(), []
    given(monkeypatch, code)
    preparation = CodePreparation("ensemble", start=compiling)
    assert compiling.forms == ["ensemble"]
    for _ in range(3):
        preparation.change_over(lambda: changes.append(preparation.ready), logger)
    assert preparation.told == PREPARING
    assert not preparation.ready
    assert not changes
    assert not logger.said
    compiling.end()
    loaded()
    for _ in range(3):
        preparation.change_over(lambda: changes.append(preparation.ready), logger)
    assert code.made == ["ensemble"]
    assert changes == [True]
    assert preparation.told == READY
    assert len(logger.said) == 1


def test_a_model_that_does_not_run_compiled_stays_with_numpy(
    monkeypatch: pytest.MonkeyPatch, compiling: Compiling
) -> None:
    def fails() -> None:
        raise InputError("the model forecasts numbers that are not finite")

    logger = Logger()
    given(monkeypatch, Code(kept=False))
    preparation = CodePreparation("single", start=compiling)
    compiling.end()
    loaded()
    for _ in range(2):
        preparation.change_over(fails, logger)
    assert preparation.told == FAILED
    assert not preparation.ready
    (sentence,) = logger.said
    assert "not finite" in sentence


def test_code_that_cannot_be_made_is_told_once(
    monkeypatch: pytest.MonkeyPatch, compiling: Compiling
) -> None:
    class Broken(Code):
        def make(self, form: str) -> None:
            raise OSError("No space left on device")

    logger = Logger()
    given(monkeypatch, Broken(kept=False))
    preparation = CodePreparation("single", start=compiling)
    compiling.end()
    loaded()
    for _ in range(2):
        preparation.change_over(lambda: pytest.fail("there is nothing to change to"), logger)
    assert preparation.told == FAILED
    assert not preparation.ready
    (sentence,) = logger.said
    assert "No space left" in sentence


def test_what_is_under_way_ends_with_the_filter(
    monkeypatch: pytest.MonkeyPatch, compiling: Compiling
) -> None:
    code = Code(kept=False)
    given(monkeypatch, code)
    preparation = CodePreparation("single", start=compiling)
    preparation.close()
    assert compiling.wait() != 0
    loaded()
    assert not code.made
    preparation.change_over(lambda: pytest.fail("there is no follower any more"), Logger())


def test_the_real_code_is_asked_for_by_its_forms() -> None:
    pytest.importorskip("numba")
    code = code_preparation._code()
    assert code is not None
    assert {"single", "ensemble"} <= set(code.FORMS)
    assert code.__name__ == code_preparation.COMPILES


def test_what_else_is_needed_is_made_in_any_case(
    monkeypatch: pytest.MonkeyPatch, compiling: Compiling
) -> None:
    """A planner's derivatives are not told of by what is kept for forecasts."""
    code, logger, changes = Code(kept=True), Logger(), list[Any]()
    given(monkeypatch, code)
    preparation = CodePreparation("single", start=compiling, more=lambda: "a model")
    assert preparation.told == PREPARING
    assert preparation.made is None
    compiling.end()
    loaded()
    preparation.change_over(lambda: changes.append(preparation.made), logger)
    assert changes == ["a model"]
    assert preparation.ready
