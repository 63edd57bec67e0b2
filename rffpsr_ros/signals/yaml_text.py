"""YAML texts with limits: an alias costs few characters and can stand for all that is before it."""

from __future__ import annotations

import re
from typing import Any

import yaml

from rffpsr_ros.errors import InputError

LONGEST = 2**21
"""Characters of a text."""
LONGEST_VALUE = 2**16
"""Characters of a value that is no text in quotes: long numbers take long to read."""
MOST_VALUES = 100_000
"""Values in a text, with those that its aliases stand for."""
DEEPEST = 32
"""Levels of lists and mappings within each other."""

_TOO_DEEP = f"is nested more than {DEEPEST} deep"
_PARSERS_OWN_LIMIT = "maximum nesting depth"
"""The parser of PyYAML 6.0.4 reads so far ahead that it may come to a limit of its own first."""

_PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(yaml.SafeLoader):
    """Takes 1e-3 for a number, as ROS does and YAML 1.2 says; PyYAML asks for 1.0e-3."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+\Z"),
    list("-+.0123456789"),
)


def load_yaml(text: str) -> Any:
    """Return what a YAML text holds, in plain types.

    Raises
    ------
    yaml.YAMLError
        If it is malformed.
    InputError
        If it is beyond a limit; meant to follow the name of what the text is of.
    """
    check_yaml(text, yaml.SafeLoader)
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError:
        raise
    except Exception as problem:  # What its converters stumble over gets through.
        raise yaml.MarkedYAMLError(problem=f"malformed value ({problem})") from None


def check_yaml(text: str, parser: Any = _PARSER) -> None:
    """Refuse a text that would take long or much to read; ``parser`` is one of PyYAML's loaders.

    Raises
    ------
    yaml.YAMLError
        If it is malformed.
    InputError
        If it is beyond a limit.
    """
    if len(text) > LONGEST:
        raise InputError(f"has more than {LONGEST} characters")
    _Expanded().check(text, parser)


class _Expanded:
    """Counts the values of a text as if its aliases were written out."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._open: list[tuple[str | None, int]] = []
        self._count = 0

    def check(self, text: str, parser: Any) -> None:
        try:
            for event in yaml.parse(text, Loader=parser):
                self._take(event)
        except yaml.MarkedYAMLError as problem:
            if _PARSERS_OWN_LIMIT in (problem.problem or ""):
                raise InputError(_TOO_DEEP) from None
            raise
        except (RecursionError, ValueError) as problem:
            if isinstance(problem, (InputError, yaml.YAMLError)):
                raise
            raise yaml.MarkedYAMLError(problem=f"malformed value ({problem})") from None

    def _take(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._add(self._sizes.get(str(event.anchor), 1))
        elif isinstance(event, yaml.ScalarEvent):
            if len(event.value) > LONGEST_VALUE and not event.style:
                raise InputError(f"has a value of more than {LONGEST_VALUE} characters")
            self._add(1)
            if event.anchor:
                self._sizes[event.anchor] = 1
        elif isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
            self._add(1)
            self._open.append((event.anchor, self._count))
            if len(self._open) > DEEPEST:
                raise InputError(_TOO_DEEP)
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            anchor, before = self._open.pop()
            if anchor:
                self._sizes[anchor] = self._count - before + 1

    def _add(self, values: int) -> None:
        self._count += values
        if self._count > MOST_VALUES:
            raise InputError(f"has more than {MOST_VALUES} values, counted with its aliases")
