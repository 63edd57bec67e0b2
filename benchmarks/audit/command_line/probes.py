"""Words that make no sense, names that nobody chooses: in this process, as `main` is called."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from benchmarks.audit.case import Broken, Case
from benchmarks.audit.command_line.bench import QUICK, bench, template
from benchmarks.audit.command_line.processes import process_cases
from benchmarks.audit.command_line.verdict import check_left, held, judge, run_here
from benchmarks.audit.command_line.words import (
    BY_HAND,
    NUMBERS,
    NUMERIC,
    ODD_NAMES,
    PLACES,
    SETTINGS,
    SPLITS,
    USUAL,
    WAITING,
    WRONG_FILES,
)
from benchmarks.audit.runner import Group
from rffpsr_ros.errors import InputError, shown


def cases(seed: int) -> Iterator[Case]:
    """Return all in an order of the seed, those with a process of their own spread evenly."""
    generator = np.random.default_rng(seed)
    here = [Case(name, partial(try_words, words)) for name, words in dict(_words()).items()]
    processes = list(process_cases())
    generator.shuffle(here)
    generator.shuffle(processes)
    every = -(-len(here) // len(processes))
    for k, case in enumerate(processes):
        yield from here[k * every : (k + 1) * every]
        yield case


def _words() -> Iterator[tuple[str, list[str]]]:
    yield from BY_HAND.items()
    for name, usual in USUAL.items():
        yield f"{name} as usual", usual
        yield f"{name} --json", [*usual, "--json"]
        yield f"{name} --help", [name, "--help"]
        yield f"{name} and no more", [name]
        yield f"{name} and an unknown option", [*usual, "--no-such\noption\x1b"]
        yield f"{name} and a word too many", [*usual, "a\nb\x1b"]
    yield from _named()
    for option, words in NUMERIC.items():
        for number in NUMBERS:
            yield f"{option} {shown(number)}", [*words, number]
    for setting in SETTINGS:
        for command in ("train", "check"):
            yield f"{command} --set {shown(setting)}", [*USUAL[command], "--set", setting]
    for split in SPLITS:
        for command in ("train", "evaluate"):
            yield f"{command} --split {shown(split)}", [*USUAL[command], "--split", split]


def _named() -> Iterator[tuple[str, list[str]]]:
    for place, words in PLACES.items():
        for what, name in {**ODD_NAMES, **WRONG_FILES}.items():
            if name != "pipe" or place not in WAITING:
                yield f"{place}: {what}", [word.replace("NAME", name) for word in words]


def try_words(words: Sequence[str]) -> None:
    """Run words where a bag, a model and much else is, and judge what came of it."""
    spelt = [one for word in words for one in (QUICK if word == "QUICK" else (word,))]
    with bench() as folder:
        os.symlink("loop", "loop")
        os.mkfifo("pipe")
        before = held(folder)
        said = run_here(spelt)
        try:
            judge(said)
        except InputError:
            check_left(before, held(folder))
            raise
        if not (folder / "bag" / "metadata.yaml").is_file():
            raise Broken("lost data", "the bag is gone")


GROUP = Group("command_line", cases, size=2000, seconds=20.0, prepare=template)
