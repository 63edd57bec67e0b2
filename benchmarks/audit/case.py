"""One hostile or odd input, and what may come of it."""

from __future__ import annotations

import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.audit.mutations import damaged
from rffpsr_ros.errors import InputError

LONGEST_SENTENCE = 600
"""Characters; a refusal longer than this is no sentence."""

SERVED = "served"
REFUSED = "refused"
GOOD = (SERVED, REFUSED)


class Broken(Exception):
    """A promise was broken without an exception: the verdict says which."""

    def __init__(self, verdict: str, what: str) -> None:
        super().__init__(what)
        self.verdict = verdict


def non_finite(what: str) -> Broken:
    """Return what to raise where a published number is no number."""
    return Broken("non-finite", what)


def lost_data(what: str) -> Broken:
    """Return what to raise where something recorded is gone."""
    return Broken("lost data", what)


def untrue_state(what: str) -> Broken:
    """Return what to raise where a node says of itself what is not so."""
    return Broken("untrue state", what)


@dataclass(frozen=True)
class Case:
    """An input by name, and the act that tries it.

    The act returns if the input was served, raises `InputError` if it was refused, `Broken` if a
    promise was broken; whatever else it raises is a defect.
    """

    name: str
    act: Callable[[], object]


def by_hand_and_damaged(
    by_hand: Mapping[str, bytes], good: bytes, act: Callable[[bytes], object], seed: int
) -> Iterator[Case]:
    """Yield what was made by hand, then damaged copies of something good without end."""
    for name, data in by_hand.items():
        yield Case(name, partial(act, data))
    rng = np.random.default_rng(seed)
    for number in range(10**9):
        yield Case(f"damaged {number}", partial(act, damaged(good, rng)))


@dataclass(frozen=True)
class Outcome:
    """What came of a case: a verdict and a sentence."""

    case: str
    verdict: str
    sentence: str = ""

    @property
    def good(self) -> bool:
        """Whether the package kept its promise."""
        return self.verdict in GOOD


def outcome_of(case: Case, seconds: float) -> Outcome:
    """Try a case in this process, for at most ``seconds`` of wall time."""
    try:
        with _at_most(seconds):
            case.act()
    except InputError as refusal:
        return _refused(case.name, str(refusal))
    except Broken as broken:
        return Outcome(case.name, broken.verdict, str(broken))
    except TimeoutError as hang:
        return Outcome(case.name, "hang", str(hang))
    except MemoryError:
        return Outcome(case.name, "memory", traceback.format_exc(limit=-3))
    except Exception:
        return Outcome(case.name, "traceback", traceback.format_exc(limit=-4))
    return Outcome(case.name, SERVED)


def _refused(name: str, sentence: str) -> Outcome:
    if "\n" in sentence or not sentence.strip() or len(sentence) > LONGEST_SENTENCE:
        return Outcome(name, "no sentence", repr(sentence[:LONGEST_SENTENCE]))
    return Outcome(name, REFUSED, sentence)


class _Hang(BaseException):
    """Not an `Exception`, so that nothing under test takes it for one."""


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    def ring(signum: int, frame: Any) -> None:
        raise _Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _Hang:
        raise TimeoutError(f"no answer within {seconds:g} s") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def limit_memory(gigabytes: float) -> None:
    """Let this process hold so much of its own beside what it holds now."""
    limit = _held_bytes() + int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _held_bytes() -> int:
    if sys.platform != "linux":  # pragma: no cover
        return 0
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmData:"))
    return int(line.split()[1]) * 1024
