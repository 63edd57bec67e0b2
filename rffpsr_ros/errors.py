"""The one error that this package raises for what a user can put right."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches

_MOST_MEANT = 3
"""So many names of which what was written is a part are still told."""


class InputError(ValueError):
    """Something the user supplied is wrong.

    The message is one sentence that says what was wrong, where, and what would be right. The
    command line prints it and exits with code 2; anything else that escapes is a defect.
    """


def did_you_mean(
    name: str,
    known: Iterable[str],
    prefix: str = "",
    alike: float = 0.6,
    else_listed: Iterable[str] = (),
) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known name, else what is known.

    Meant as the end of the one sentence of an `InputError`. ``prefix`` is the group, such as
    ``learning.``, without which a user cannot write the name. The nearest is near if so much is
    ``alike``: two names of nothing in common have 0, the same have 1. Where none is near, those
    ``else_listed`` are all told, in their order, or some of the known ones.
    """
    names = list(known)
    close = _having_the_word(name, names) or get_close_matches(name, names, n=1, cutoff=alike)
    if close:
        meant = " or ".join(f"'{prefix}{plain(one)}'" for one in close)
        return f"; did you mean {meant}?"
    if listed := list(else_listed):
        return f"; known are {', '.join(map(plain, listed))}"
    if not names:
        return ""
    some = ", ".join(map(plain, sorted(names)[:12])) + (", ..." if len(names) > 12 else "")
    return f"; known are {some}"


def _having_the_word(name: str, names: Sequence[str]) -> list[str]:
    """Return the few names, if any, of which the given one is a whole word."""
    found = [one for one in names if name.lower() in re.split(r"[._/]", one.lower())]
    return found if name and len(found) <= _MOST_MEANT else []


def check_known(
    given: Iterable[str],
    known: Collection[str],
    what: str = "key",
    group: str = "",
    else_listed: Iterable[str] = (),
) -> None:
    """Refuse names that nobody knows.

    ``group``, such as ``learning.``, is what a user writes before them.

    Raises
    ------
    InputError
        If there is one; it names the nearest known one, as `did_you_mean` does.
    """
    for name in given:
        if name not in known:
            nearest = did_you_mean(name, known, group, else_listed=else_listed)
            raise InputError(f"{what} '{plain(group + name)}' is unknown{nearest}")


def plain(name: str) -> str:
    """Return a name as it is if it fits into a sentence, else as `shown` quotes it."""
    return name if name.isprintable() and len(name) <= 100 else shown(name)


def counted(number: int, noun: str) -> str:
    """Return ``1 bag``, ``2 bags``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def shown(text: object, most: int = 60) -> str:
    """Return foreign text as a sentence can quote it: on one line, printable, not too long."""
    quoted = repr(str(text)[: most + 1])
    return quoted if len(str(text)) <= most else f"{quoted[: most - 2]}...'"
