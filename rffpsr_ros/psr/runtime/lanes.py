"""Four small symmetric systems side by side: what is done to one number is done to four.

Matrices of twenty rows are too small for libraries, and loops over what is left of a row too short
for compilers to make vectors of. So four systems, of members of an ensemble or of plans, are laid
out with their numbers side by side, and every operation takes the same number of all four at once.
The innermost loops are written for the compiler's back end, which makes one instruction of them.

Rows are of ``width`` columns of four numbers. Systems of different sizes go together: rows and
columns that a smaller one does not have are zero.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.compiling import LOOSE, cgutils, intrinsic, ir, part, types

LANES = 4
_FOUR = ir.VectorType(ir.DoubleType(), LANES)
_PLACE = types.intp


class _Numbers:
    """Reads and writes four numbers at a place of an array."""

    def __init__(self, context: Any, builder: Any, kind: Any, array: Any) -> None:
        self._builder = builder
        self._data = context.make_array(kind)(context, builder, array).data

    def _at(self, place: Any) -> Any:
        pointer = self._builder.gep(self._data, [place])
        return self._builder.bitcast(pointer, _FOUR.as_pointer())

    def read(self, place: Any) -> Any:
        return self._builder.load(self._at(place), align=8)

    def write(self, value: Any, place: Any) -> None:
        self._builder.store(value, self._at(place), align=8)


def _times(builder: Any, total: Any, one: Any, other: Any, sign: str = "fadd") -> Any:
    """Return a total plus, or minus, a product."""
    flags = tuple(LOOSE)
    return getattr(builder, sign)(total, builder.fmul(one, other, flags=flags), flags=flags)


def _each_of(builder: Any, count: Any) -> Any:
    """Loop over the places of ``count`` numbers of four systems."""
    size = ir.Constant(count.type, LANES)
    return cgutils.for_range_slice(
        builder, ir.Constant(count.type, 0), builder.mul(count, size), size, inc=True
    )


@intrinsic
def _subtract(
    context: Any, array: Any, row: Any, count: Any, first: Any, by: Any, second: Any, and_by: Any
) -> Any:
    """Subtract from ``count`` numbers of a row those of two others, times a number each."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        array, row, count, first, by, second, and_by = given
        numbers = _Numbers(context, builder, signature.args[0], array)
        factor, other = numbers.read(by), numbers.read(and_by)
        with _each_of(builder, count) as (place, _):
            value = numbers.read(builder.add(row, place))
            for start, times in ((first, factor), (second, other)):
                read = numbers.read(builder.add(start, place))
                value = _times(builder, value, times, read, "fsub")
            numbers.write(value, builder.add(row, place))
        return context.get_dummy_value()

    return types.void(array, *[_PLACE] * 6), generate


@intrinsic
def _multiply(context: Any, array: Any, to: Any, one: Any, other: Any) -> Any:
    """Write the product of two numbers."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        numbers = _Numbers(context, builder, signature.args[0], given[0])
        numbers.write(builder.fmul(numbers.read(given[2]), numbers.read(given[3])), given[1])
        return context.get_dummy_value()

    return types.void(array, *[_PLACE] * 3), generate


@intrinsic
def _invert(context: Any, array: Any, place: Any) -> Any:
    """Replace a number by its inverse."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        numbers = _Numbers(context, builder, signature.args[0], given[0])
        one = ir.Constant(_FOUR, [1.0] * LANES)
        numbers.write(builder.fdiv(one, numbers.read(given[1])), given[1])
        return context.get_dummy_value()

    return types.void(array, _PLACE), generate


@intrinsic
def _products(
    context: Any, out: Any, to: Any, array: Any, row: Any, other: Any, width: Any, count: Any
) -> Any:
    """Write the inner products of two rows with four others."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        out, to, array, row, other, width, count = given
        numbers = _Numbers(context, builder, signature.args[2], array)
        results = _Numbers(context, builder, signature.args[0], out)
        rows = _rows(builder, row, width, 2)
        columns = _rows(builder, other, width, 4)
        nothing = ir.Constant(_FOUR, [0.0] * LANES)
        totals = [[cgutils.alloca_once(builder, _FOUR) for _ in columns] for _ in rows]
        for total in itertools.chain(*totals):
            builder.store(nothing, total)
        with _each_of(builder, count) as (place, _):
            left = [numbers.read(builder.add(start, place)) for start in rows]
            right = [numbers.read(builder.add(start, place)) for start in columns]
            for of_row, one in zip(totals, left, strict=True):
                for total, two in zip(of_row, right, strict=True):
                    builder.store(_times(builder, builder.load(total), one, two), total)
        for start, of_row in zip(_rows(builder, to, width, 2), totals, strict=True):
            places = _rows(builder, start, ir.Constant(to.type, LANES), 4)
            for place, total in zip(places, of_row, strict=True):
                results.write(builder.load(total), place)
        return context.get_dummy_value()

    return types.void(out, _PLACE, array, *[_PLACE] * 4), generate


@intrinsic
def _substitute(context: Any, array: Any, row: Any, known: Any, size: Any, width: Any) -> Any:
    """Solve for the number ``known`` of a row, given all behind it, in the last column."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        array, row, known, size, width = given
        numbers = _Numbers(context, builder, signature.args[0], array)
        one, lanes = (ir.Constant(known.type, value) for value in (1, LANES))
        last = builder.mul(size, lanes)
        total = cgutils.alloca_once(builder, _FOUR)
        builder.store(numbers.read(builder.add(row, last)), total)
        with cgutils.for_range_slice(builder, builder.add(known, one), size, one, inc=True) as (
            place,
            _,
        ):
            factor = numbers.read(builder.add(row, builder.mul(place, lanes)))
            solved = numbers.read(builder.add(builder.mul(place, width), last))
            builder.store(_times(builder, builder.load(total), factor, solved, "fsub"), total)
        inverse = numbers.read(builder.add(row, builder.mul(known, lanes)))
        numbers.write(builder.fmul(builder.load(total), inverse), builder.add(row, last))
        return context.get_dummy_value()

    return types.void(array, *[_PLACE] * 4), generate


def _rows(builder: Any, start: Any, width: Any, count: int) -> Sequence[Any]:
    """Return the places where rows begin."""
    places = [start]
    for _ in range(count - 1):
        places.append(builder.add(places[-1], width))
    return places


def lanes_and_room(size: int) -> tuple[int, int]:
    """Return the width of rows, and how many numbers four systems of a size take."""
    width = LANES * (size + 5)
    return width, (size + 4) // LANES * LANES * width + 2 * LANES


room_of_lanes = part(lanes_and_room)


@part
def solve_side_by_side(given: Array, ridge: Array, size: int, work: Array) -> None:
    """Write (C^2 + lambda)^-1 C phi of four systems into the column ``size`` of ``work``.

    ``given`` holds the rows of C, and below them phi as one more row, and ``ridge`` lambda.
    """
    width, room = room_of_lanes(size)
    for i in range(0, size, 2):
        for j in range(i // 4 * 4, size + 1, 4):
            _products(work, i * width + LANES * j, given, i * width, j * width, width, size)
    for i in range(size):
        for lane in range(LANES):
            work[i * width + LANES * i + lane] += ridge[lane]
    by, and_by = room - 2 * LANES, room - LANES
    for k in range(0, size - 1, 2):  # two pivots at a time: rows are read and written half as often
        first, second = k * width, (k + 1) * width
        _invert(work, first + LANES * k)
        _multiply(work, by, first + LANES * (k + 1), first + LANES * k)
        for lane in range(LANES):
            work[and_by + lane] = 0
        start = LANES * (k + 1)
        _subtract(work, second + start, size - k, first + start, by, first + start, and_by)
        _invert(work, second + start)
        for i in range(k + 2, size):
            here = LANES * i
            _multiply(work, by, first + here, first + LANES * k)
            _multiply(work, and_by, second + here, second + start)
            row = i * width + here
            _subtract(work, row, size + 1 - i, first + here, by, second + here, and_by)
    if size % 2:
        _invert(work, (size - 1) * (width + LANES))
    for i in range(size - 1, -1, -1):
        _substitute(work, i * width, i, size, width)
