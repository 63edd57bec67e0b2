"""Command line parsing whose every fault is one sentence."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import NoReturn

from rffpsr_ros.errors import InputError, did_you_mean, plain, shown

ALIKE = 0.7
"""So much is alike of an option and the one that was meant: their dashes are in any case."""


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `InputError` instead of printing its usage and exiting."""

    def __init__(self, prog: str, description: str, epilog: str = "") -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        """Raise the fault as an `InputError`."""
        raise InputError(f"{message}; see '{self.prog} --help'")

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Return the parsed arguments; options and bags may come in any order.

        Raises
        ------
        InputError
            If an argument is unknown, missing or malformed.
        """
        # A misspelled option comes before what is missing for want of it.
        options = list(takewhile(lambda word: word != "--", words))
        self._check_known(word for word in options if word.startswith("--"))
        arguments, unknown = self.parse_known_intermixed_args(list(words))
        self._check_known(word for word in unknown if word.startswith("-"))
        if unknown:
            raise InputError(f"{self.prog} does not know what to do with '{plain(unknown[0])}'")
        return arguments

    def _check_known(self, options: Iterable[str]) -> None:
        known = self.long_options()
        for option in options:
            name = option.partition("=")[0]
            if name not in known:
                nearest = did_you_mean(name, known, alike=ALIKE)
                raise InputError(f"unknown option '{plain(name)}' of {self.prog}{nearest}")

    def long_options(self) -> list[str]:
        """Return the names of all options that begin with two dashes."""
        return [
            name
            for action in self._actions  # argparse offers no other way to list them
            for name in action.option_strings
            if name.startswith("--")
        ]


def whole_number(least: int) -> Callable[[str], int]:
    """Return an argument type: whole numbers from ``least`` on."""

    def convert(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(
                f"{shown(text)} is given; it must be a whole number of at least {least}"
            )
        return number

    return convert


def fraction(text: str) -> float:
    """Return a number between 0 and 1; an argument type."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"{shown(text)} is given; it must lie between 0 and 1")
    return number
