"""Limits for message definitions: a line of text can define a message of endless size or depth."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat, Nodetype

from rffpsr_ros.errors import InputError, shown

LONGEST = 2**20
"""Characters of a definition, with those of the types that it uses."""
LARGEST = 2**24
"""Values in a message, arrays of a fixed length counted with all that their elements hold."""
DEEPEST = 32
"""Messages within each other."""
DEEPEST_BRACKETS = 16
"""Brackets of an IDL text within each other."""
MOST_CONSTANTS = 10_000
"""Fields and constants of a type."""

_TEXTS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
_SHIFT = re.compile(r"<<(?!\s*\d{1,2}\b)")
_PRODUCT = re.compile(r"\*(?!\s*[-+]?[\d.]{1,20}\b)")
_SIGNS = re.compile(r"(?:[-+~]\s*){17}")


def check_text(definition: MessageDefinition, type_name: str, where: str) -> None:
    """Refuse a definition that would take long to parse.

    Raises
    ------
    InputError
        If it is too long, nested too deeply, or computes with numbers that could become endless.
    """
    text = definition.data
    what = f"the definition of {shown(type_name)} in {where}"
    if len(text) > LONGEST:
        raise InputError(f"{what} has more than {LONGEST} characters")
    if definition.format is not MessageDefinitionFormat.IDL:
        return
    code = _TEXTS.sub(" ", text)
    if _SHIFT.search(code) or _PRODUCT.search(code) or _SIGNS.search(code):
        raise InputError(f"{what} computes with more than plain numbers, which is not read")
    depth = 0
    for bracket in re.findall(r"[(){}<>]", code.replace("<<", "").replace(">>", "")):
        depth += 1 if bracket in "({<" else -1
        if depth > DEEPEST_BRACKETS:
            raise InputError(f"{what} has brackets more than {DEEPEST_BRACKETS} deep")


def check_types(types: Mapping[str, Any], type_name: str, where: str) -> None:
    """Refuse a type whose messages are endless: types that hold themselves, arrays beyond bounds.

    Raises
    ------
    InputError
        If it is one.
    """
    _Sizes(types, f"{shown(type_name)} in {where}").of(type_name, ())


class _Sizes:
    """How many values a message of each type has at least."""

    def __init__(self, types: Mapping[str, Any], what: str) -> None:
        self._types = types
        self._what = what
        self._known: dict[str, int] = {}

    def of(self, name: str, outer: tuple[str, ...]) -> int:
        if name in outer:
            raise InputError(f"{self._what} is endless: {shown(name)} holds itself")
        if len(outer) > DEEPEST:
            raise InputError(f"{self._what} has messages more than {DEEPEST} deep")
        if name not in self._types:
            return 1  # whoever needs it says that it is missing
        if name not in self._known:
            constants, fields = self._types[name]
            if len(constants) + len(fields) > MOST_CONSTANTS:
                raise InputError(f"{self._what} has more than {MOST_CONSTANTS} fields")
            self._known[name] = sum(self._field(kind, (*outer, name)) for _, kind in fields)
            if self._known[name] > LARGEST:
                raise InputError(f"a message of {self._what} has more than {LARGEST} values")
        return self._known[name]

    def _field(self, kind: Any, outer: tuple[str, ...]) -> int:
        node, detail = kind
        if node == Nodetype.BASE:
            return 1
        if node == Nodetype.NAME:
            return self.of(detail, outer)
        inner, count = detail
        held = self._field(inner, outer)
        if node == Nodetype.SEQUENCE:
            return 1
        if not isinstance(count, int) or count < 1:
            raise InputError(f"{self._what} has an array of {shown(count)} elements")
        return count * held
