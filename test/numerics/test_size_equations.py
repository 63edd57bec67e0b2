"""Sizes by name are found from shapes, in any order, and disagreements are told."""

import itertools

import pytest

from rffpsr_ros.numerics.size_equations import Scope, SizeEquations, SizesError


def test_sizes_are_found_in_any_order() -> None:
    statements = [("p*a", 12), ("p", 3), ("n*(o+a)+a+1", 17), ("o", 2), ("0 | n", 2)]
    for order in itertools.permutations(statements):
        equations, scope = SizeEquations(), Scope()
        for expression, size in order:
            equations.add(scope, expression, size, "it")
        equations.solve()
        assert [equations.value(scope, name) for name in "paon"] == [3, 4, 2, 2]


def test_a_part_knows_sizes_under_other_names_and_has_its_own() -> None:
    equations, whole = SizeEquations(), Scope()
    first, second = whole.within({"d": "2*o"}), whole.within({"d": "o+1"})
    for scope, expression, size in [(first, "d", 6), (second, "d", 4), (second, "r", 9)]:
        equations.add(scope, expression, size, "it")
    equations.add(first, "r", 5, "it")
    equations.solve()
    assert equations.value(whole, "o") == 3
    assert (equations.value(first, "r"), equations.value(second, "r")) == (5, 9)


@pytest.mark.parametrize(
    ("statements", "sentence"),
    [
        ([("n", 2), ("n", 3)], "the array is 3, not n = 2"),
        ([("2*n", 5)], r"the array is 5, which is never 2\*n"),
        ([("n+2", 1)], "which is never"),
        ([("n*m", 6)], "does not tell"),
        ([("r", 3), ("r*(r+1)//2 | r*r", 7)], "not .* = 6 or 9"),
    ],
)
def test_what_does_not_agree_is_told(statements: list[tuple[str, int]], sentence: str) -> None:
    equations, scope = SizeEquations(), Scope()
    for expression, size in statements:
        equations.add(scope, expression, size, "the array")
    with pytest.raises(SizesError, match=sentence):
        equations.solve()


def test_nothing_times_a_size_does_not_tell_it() -> None:
    for statements in itertools.permutations([("k*a", 0), ("a", 0), ("k", 3)]):
        equations, scope = SizeEquations(), Scope()
        for expression, size in statements:
            equations.add(scope, expression, size, "it")
        equations.solve()
        assert equations.value(scope, "k") == 3
