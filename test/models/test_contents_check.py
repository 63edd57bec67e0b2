"""Parts of a model hold what their fields are declared to hold, and every field is declared."""

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import numpy as np
import pytest

from rffpsr_ros.models.contents_check import ContentsError, check_contents
from rffpsr_ros.models.contract import Signature
from rffpsr_ros.models.registry import model_class, model_kinds
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import Count, Holds, count, holds, sizes
from rffpsr_ros.numerics.size_equations import SizesError
from rffpsr_ros.numerics.typed_fields import declared_fields, origin_of


class Inner(NamedTuple):
    matrix: Annotated[Array, holds("k", "d")]
    scale: Annotated[float, holds(positive=True)]


class Parts(NamedTuple):
    """A field of every sort."""

    weights: Annotated[Array, holds("n", "d")]
    places: Annotated[Array, holds("l", whole=True, least=0, most="n-1", increasing=True)]
    n: Annotated[int, count("n", least=1, most=9)]
    bounds: Annotated[Array, holds("d", infinite=True)]
    widths: Annotated[Array, holds("d", missing=True)]
    both: tuple[Annotated[Inner, sizes(d="d")], ...]
    term: Annotated[Inner | None, sizes(d="d", k="n")]
    rows: Annotated[Array, holds("0 | n")]


def good() -> Parts:
    two = (Inner(np.ones((7, 2)), 1.0), Inner(np.ones((4, 2)), 2.0))
    inf, nan = float("inf"), float("nan")
    return Parts(
        np.ones((3, 2)),
        np.array([0, 2]),
        3,
        np.array([-inf, inf]),
        np.array([nan, 1.0]),
        two,
        Inner(np.ones((3, 2)), 1.0),
        np.zeros(0),
    )


def check(parts: Parts) -> None:
    check_contents({"parts": Parts}, {"parts": parts}, "")


def test_what_is_declared_passes() -> None:
    check(good())
    check(good()._replace(term=None, rows=np.ones(3)))


ONE = np.ones((3, 2))


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("weights", np.full((3, 2), np.nan), "'parts.weights' holds what is no number"),
        ("weights", np.full((3, 2), -np.inf), "'parts.weights' holds infinite numbers"),
        ("weights", np.ones((3, 2), int), "holds int64, not float64"),
        ("weights", np.ones((3, 2), np.float16), "holds float16"),
        ("weights", np.ones((3, 2), np.longdouble), "not float64"),
        ("weights", np.ones((3, 2), bool), "holds bool"),
        ("weights", np.ones(3), "has 1 axes, not 2"),
        ("weights", np.ones((2, 3)), "is 3, not n = 2"),
        ("weights", np.ones((3, 0)), "is empty"),
        ("places", np.array([0, 3]), "above n-1 = 2"),
        ("places", np.array([-1, 2]), "beyond 0"),
        ("places", np.array([2, 0]), "does not increase"),
        ("places", np.array([0.0, 2.0]), "not integers"),
        ("n", 10, "not from 1 to 9"),
        ("n", -1, "not from 1 to 9"),
        ("bounds", np.array([np.nan, 1]), "no number"),
        ("widths", np.array([np.inf, 1]), "infinite"),
        ("both", (Inner(np.ones((7, 3)), 1.0),), "both.0.matrix"),
        ("both", (Inner(np.ones((7, 2)), 0.0),), "not greater than 0"),
        ("both", (Inner(np.ones((7, 2)), float("nan")),), "no number"),
        ("term", Inner(np.ones((4, 2)), 1.0), "term.matrix"),
        ("rows", np.ones(4), "rows"),
    ],
)
def test_what_is_not_declared_is_told(field: str, value: Any, sentence: str) -> None:
    with pytest.raises((ContentsError, SizesError), match=sentence):
        check(good()._replace(**{field: value}))


def undeclared(hint: Any, name: str, declared: bool = False) -> Iterator[str]:
    """Yield the arrays and numbers in a type of which nothing is declared."""
    if get_origin(hint) is Annotated:
        hint, *marks = get_args(hint)
        declared = any(isinstance(one, Holds | Count) for one in marks)
    origin = origin_of(hint)
    if origin is np.ndarray or hint in (int, float):
        if not declared:
            yield name
    elif (fields := declared_fields(origin)) is not None:
        for field, inner in fields.items():
            yield from undeclared(inner, f"{name}.{field}")
    else:
        for inner in get_args(hint):
            yield from undeclared(inner, name)


def test_of_every_kind_each_array_and_number_is_declared() -> None:
    told = [
        one for kind in model_kinds() for one in undeclared(model_class(kind).parts_class, kind)
    ]
    assert told == []
    assert list(undeclared(Signature, "signature")) == []
    assert list(undeclared(tuple[Array, int | None], "x")) == ["x", "x"]
