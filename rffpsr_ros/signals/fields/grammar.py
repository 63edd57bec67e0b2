"""The grammar of field paths: text to a small syntax tree, with errors that point at the character.

::

    field    = function | path
    function = name "(" ( field | path | width "x" height ) { "," number } ")"
    path     = name { "." name | "[" index "]" | "[" [index] ":" [index] "]" | "['" name "']" }

Which functions there are, and what stands in the parentheses of each, is said by
`rffpsr_ros.signals.fields.functions`. Indices and ranges are Python's: they start at 0, may be
negative, and a range is half-open.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import product
from typing import NoReturn, TypeAlias

from rffpsr_ros.errors import InputError, did_you_mean
from rffpsr_ros.signals.fields.functions import FUNCTIONS, FieldFunction, Numbers, Takes

MAX_DEPTH = 16
MAX_RANGE = 2**20


@dataclass(frozen=True)
class Member:
    """A field of a message, or an element of an array picked by the name parallel to it."""

    name: str


@dataclass(frozen=True)
class Element:
    """One element of an array."""

    index: int


@dataclass(frozen=True)
class Range:
    """A half-open range of an array's elements; always the last step of a path."""

    start: int | None
    stop: int | None

    @property
    def width(self) -> int | None:
        """Number of elements where the bounds alone tell it, else None."""
        start = 0 if self.start is None else self.start
        if self.stop is None:
            return -start if start < 0 else None
        return self.stop - start if (start < 0) == (self.stop < 0) else None


Step: TypeAlias = "Member | Element | Range"


@dataclass(frozen=True)
class Path:
    """The steps from a message to a value inside it."""

    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Function:
    """A function of one field, or (``argument`` None) of the message itself, and its numbers."""

    name: str
    argument: Expression | None
    numbers: Numbers = ()

    @property
    def entry(self) -> FieldFunction:
        """What there is to know of the function."""
        return FUNCTIONS[self.name]


Expression: TypeAlias = "Path | Function"


def parse_field(text: str) -> Expression:
    """Parse a field path.

    Raises
    ------
    InputError
        If the text is malformed; the message says at which character and what was expected there.
    """
    parser = _Parser(text)
    expression = parser.expression(0)
    if parser.position < len(text):
        parser.fail("expected the end")
    return expression


def unparse(expression: Expression) -> str:
    """Return the canonical text of an expression; `parse_field` of it gives the same tree."""
    if isinstance(expression, Function):
        return f"{expression.name}({_in_parentheses(expression)})"
    text = ""
    for step in expression.steps:
        if isinstance(step, Element):
            text += f"[{step.index}]"
        elif isinstance(step, Range):
            start = "" if step.start is None else step.start
            stop = "" if step.stop is None else step.stop
            text += f"[{start}:{stop}]"
        elif _MEMBER.fullmatch(step.name):
            text += f".{step.name}" if text else step.name
        else:
            quote = '"' if "'" in step.name else "'"
            text += f"[{quote}{step.name}{quote}]"
    return text


def column_names(expression: Expression, width: int | None) -> tuple[str, ...]:
    """Return one name per value of a field; ``width`` None means a single number."""
    if isinstance(expression, Function):
        return _columns_of_function(expression, width)
    if width is None:
        return (unparse(expression),)
    last = expression.steps[-1]
    start = (last.start or 0) if isinstance(last, Range) else 0
    stem = expression.steps[:-1] if isinstance(last, Range) else expression.steps
    text = unparse(Path(stem))
    return tuple(f"{text}[{start + i}]" for i in range(width))


def known_width(expression: Expression) -> int | None:
    """Return how many values a field has where its path alone tells; None: a message must."""
    if isinstance(expression, Path):
        last = expression.steps[-1]
        return last.width if isinstance(last, Range) else None
    if expression.entry.shape is not None:
        return math.prod(int(side) for side in expression.entry.shape(expression.numbers))
    assert expression.argument is not None
    return known_width(expression.argument)


def _columns_of_function(function: Function, width: int | None) -> tuple[str, ...]:
    if function.entry.shape is not None:
        stem = function.name if function.argument is None else unparse(function)
        indices = product(*map(range, function.entry.shape(function.numbers)))
        return tuple(f"{stem}[{','.join(map(str, i))}]" if i else stem for i in indices)
    assert function.argument is not None
    inner = column_names(function.argument, width)
    return tuple(f"{function.name}({name}{_numbers(function)})" for name in inner)


def _in_parentheses(function: Function) -> str:
    if function.argument is None:
        return "x".join(f"{side:.0f}" for side in function.numbers)
    return unparse(function.argument) + _numbers(function)


def _numbers(function: Function) -> str:
    return "".join(f", {number!r}" for number in function.numbers)


_FIRST_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_MEMBER = re.compile(r"[A-Za-z_][\w/-]*", re.ASCII)
_INDEX = re.compile(r"-?[0-9]{1,9}", re.ASCII)
_NUMBER = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?", re.ASCII)
_SIZE = re.compile(r"([0-9]{1,5})\s*x\s*([0-9]{1,5})", re.ASCII)
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")
_SPACE = re.compile(r"[ \t]*")


class _Parser:
    """Recursive descent; every method stands at ``position`` and moves it on."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def fail(self, expected: str) -> NoReturn:
        found = self.text[self.position : self.position + 12]
        text = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        raise InputError(
            f"field path {text!r} is malformed at character {self.position + 1}:"
            f" {expected}, found {repr(found) if found else 'the end'}"
        )

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self.position = _SPACE.match(self.text, self.position).end()  # type: ignore[union-attr]
        found = pattern.match(self.text, self.position)
        if found:
            self.position = found.end()
            self.position = _SPACE.match(self.text, self.position).end()  # type: ignore[union-attr]
        return found

    def accept(self, symbol: str) -> bool:
        return self.match(re.compile(re.escape(symbol))) is not None

    def expect(self, symbol: str) -> None:
        if not self.accept(symbol):
            self.fail(f"expected '{symbol}'")

    def expression(self, depth: int) -> Expression:
        start = self.position
        name = self.match(_FIRST_NAME)
        if name is None:
            self.fail("expected a field name")
        if not self.accept("("):
            return self.path(name[0])
        if name[0] not in FUNCTIONS:
            self.position = start
            self.fail(f"'{name[0]}' is no function{did_you_mean(name[0], FUNCTIONS)}")
        if depth >= MAX_DEPTH:
            self.fail(f"functions are nested more than {MAX_DEPTH} deep")
        function = self.function(FUNCTIONS[name[0]], depth)
        self.expect(")")
        return function

    def function(self, entry: FieldFunction, depth: int) -> Function:
        if entry.takes is Takes.IMAGE:
            start, argument, numbers = self.position, None, self.size()
        else:
            argument = self.argument(entry, depth)
            start, numbers = self.position, ()
            for _ in range(entry.numbers):
                self.expect(",")
                start, numbers = self.position, (*numbers, self.number())
        fault = entry.fault(numbers)
        if fault:
            self.position = start
            self.fail(fault)
        return Function(entry.name, argument, numbers)

    def argument(self, entry: FieldFunction, depth: int) -> Expression:
        start = self.position
        argument = self.expression(depth + 1)
        if entry.takes is Takes.QUATERNION and not isinstance(argument, Path):
            self.position = start
            self.fail(f"{entry.name} takes the path of a quaternion")
        return argument

    def number(self) -> float:
        start = self.position
        found = self.match(_NUMBER)
        if found is None or not math.isfinite(float(found[0])):
            self.position = start
            self.fail("expected a number")
        return float(found[0])

    def size(self) -> Numbers:
        found = self.match(_SIZE)
        if found is None:
            self.fail("expected a size such as 64x64")
        return float(found[1]), float(found[2])

    def path(self, first: str) -> Path:
        steps: list[Step] = [Member(first)]
        while True:
            if self.accept("."):
                name = self.match(_MEMBER)
                if name is None:
                    self.fail("expected a field name")
                steps.append(Member(name[0]))
            elif self.accept("["):
                steps.append(self.bracket())
                self.expect("]")
                if isinstance(steps[-1], Range):
                    return Path(tuple(steps))
            else:
                return Path(tuple(steps))

    def bracket(self) -> Step:
        quoted = self.match(_QUOTED)
        if quoted is not None:
            return Member(quoted[1] or quoted[2])
        begin = self.position
        start = self.index()
        if not self.accept(":"):
            if start is None:
                self.fail("expected an index, a range or a quoted name")
            return Element(start)
        found = Range(start, self.index())
        if found.width is not None and found.width < 1:
            self.position = begin
            self.fail("expected a range with at least one element")
        if found.width is not None and found.width > MAX_RANGE:
            self.position = begin
            self.fail(f"expected a range of at most {MAX_RANGE} elements")
        return found

    def index(self) -> int | None:
        found = self.match(_INDEX)
        return None if found is None else int(found[0])
