"""Products lose what nobody takes of them, and values stay what they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from rffpsr_ros.export.evaluation import evaluate
from rffpsr_ros.export.graph import bilinear, given, ordered, product, take
from rffpsr_ros.export.trimming import trimmed

GENERATOR = np.random.default_rng(1)
TENSOR, MATRIX = GENERATOR.normal(size=(3, 4, 9)), GENERATOR.normal(size=(8, 3))
GIVEN = {"q": GENERATOR.normal(size=3), "u": GENERATOR.normal(size=4)}


def widths(outputs: list[Any]) -> list[int]:
    found = ordered(outputs)
    return [node.size for node in found if node.operation in ("product", "bilinear")]


def test_only_rows_that_are_taken_are_left() -> None:
    left, right = given("q", 3), given("u", 4)
    read, direct = bilinear(TENSOR, left, right), product(MATRIX, left)
    outputs = [take(read, np.array([7, 1, 1])) + direct[2:5], read[4:6] + direct[6:8]]
    narrow = trimmed(outputs)
    assert sorted(widths(outputs)) == [8, 9]
    assert sorted(widths(narrow)) == [4, 5]
    for one, other in zip(evaluate(outputs, GIVEN), evaluate(narrow, GIVEN), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_what_is_taken_whole_stays() -> None:
    left, right = given("q", 3), given("u", 4)
    read, direct = bilinear(TENSOR, left, right), product(MATRIX, left)
    for outputs in ([read, read[:2]], [read + 1.0, read[:2]], [direct[:4], direct[4:]]):
        assert all(new is old for new, old in zip(trimmed(outputs), outputs, strict=True))
