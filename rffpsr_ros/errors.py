"""The one error that this package raises for what a user can put right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any


class InputError(ValueError):
    """Something the user supplied is wrong.

    The message is one sentence that says what was wrong, where, and what would be right. The
    command line prints it and exits with code 2; anything else that escapes is a defect.
    """


def did_you_mean(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known name, else what is known.

    Meant as the end of the one sentence of an `InputError`. ``prefix`` is the group, such as
    ``learning.``, without which a user cannot write the name.
    """
    names = list(known)
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f"; did you mean '{prefix}{close[0]}'?"
    if not names:
        return ""
    listed = ", ".join(sorted(names)[:12]) + (", ..." if len(names) > 12 else "")
    return f"; known are {listed}"


def check_keys(given: Mapping[str, Any], known: Sequence[str], group: str) -> None:
    """Refuse keys of a group of the configuration that nobody knows.

    Raises
    ------
    InputError
        If there is one; it names the nearest known key.
    """
    for key in given:
        if key not in known:
            nearest = did_you_mean(key, known, f"{group}.")
            raise InputError(f"unknown key '{group}.{key}'{nearest}")
