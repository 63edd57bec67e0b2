"""Trees of parts are read as they were written, and anything else is refused by its name."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from rffpsr_ros.models.codec import CodecError, decode, encode
from rffpsr_ros.numerics.arrays import Array


class Line(NamedTuple):
    slope: Array
    past: int = 1


class Wave(NamedTuple):
    frequencies: Array
    size: float


class Empty(NamedTuple):
    pass


@dataclass(frozen=True)
class Names:
    columns: tuple[str, ...]
    notes: Mapping[str, Any]


@dataclass(frozen=True)
class Model:
    kind: ClassVar[str] = "plain"
    parts: Line | Wave | None = None

    @classmethod
    def stored_fields(cls) -> dict[str, Any]:
        return {"parts": Line | Wave | None}


@dataclass(frozen=True)
class Other(Model):
    kind: ClassVar[str] = "other"


class Tree(NamedTuple):
    """A field of every type that a tree can have."""

    weights: Array
    structure: Wave
    term: Line | Wave | None
    limits: Line | None
    several: tuple[Line | Wave, ...]
    pair: tuple[int, str]
    members: tuple[Model, ...]
    names: Names
    nothing: Empty
    ticks: int
    number: float
    bound: float | None
    flag: bool
    way: Literal["left", "right"]


KINDS = {"plain": Model, "other": Other}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
ANY_FLOAT = st.floats()  # infinite and not a number too
ARRAYS = arrays_of.arrays(
    st.sampled_from([np.float64, np.float32, np.int64, np.bool_]),
    arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
LINES = st.builds(Line, ARRAYS, st.integers(-(2**62), 2**62))
WAVES = st.builds(Wave, ARRAYS, ANY_FLOAT)
MODELS = st.builds(Model, st.none() | LINES) | st.builds(Other, WAVES)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
TREES = st.builds(
    Tree,
    ARRAYS,
    WAVES,
    st.none() | LINES | WAVES,
    st.none() | LINES,
    st.lists(LINES | WAVES, max_size=3).map(tuple),
    st.tuples(st.integers(), TEXTS),
    st.lists(MODELS, max_size=2).map(tuple),
    st.builds(
        Names, st.lists(TEXTS, max_size=2).map(tuple), st.dictionaries(TEXTS, JSON, max_size=2)
    ),
    st.just(Empty()),
    st.integers(-(2**62), 2**62),
    ANY_FLOAT,
    st.none() | ANY_FLOAT,
    st.booleans(),
    st.sampled_from(["left", "right"]),
)


def any_kind(kind: str) -> None:
    assert kind in KINDS


def decoded(header: Any, arrays: Mapping[str, Any], hint: Any = Tree) -> Any:
    return decode(hint, header, arrays, KINDS.__getitem__)


def assert_same(one: Any, other: Any) -> None:
    """Types and bits are the same; only what is not a number is equal to itself here."""
    assert type(one) is type(other)
    if isinstance(one, tuple):
        assert len(one) == len(other)
        for first, second in zip(one, other, strict=True):
            assert_same(first, second)
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()
    elif isinstance(one, Model):
        assert_same(one.parts, other.parts)
    elif isinstance(one, Names):
        assert_same(one.columns, other.columns)
        assert one.notes == other.notes
    else:
        assert one == other or (one != one and other != other)


def a_tree() -> Tree:
    line, wave = Line(np.ones((2, 1)), 3), Wave(np.arange(2.0), float("inf"))
    return Tree(
        np.zeros(3),
        wave,
        line,
        None,
        (wave, line),
        (1, "x"),
        (Model(), Other(wave)),
        Names(("a", "b"), {"n": [1, None]}),
        Empty(),
        4,
        0.5,
        None,
        True,
        "left",
    )


@given(TREES)
def test_a_tree_is_read_as_it_was_written(tree: Tree) -> None:
    header, arrays = encode(Tree, tree, any_kind)
    told = json.loads(json.dumps(header, allow_nan=False))
    assert_same(decoded(told, arrays), tree)


@given(TREES)
def test_one_tree_gives_one_header(tree: Tree) -> None:
    first, second = encode(Tree, tree, any_kind), encode(Tree, tree, any_kind)
    assert first.header == second.header
    assert [*first.arrays] == [*second.arrays]


def test_arrays_stand_under_dotted_names_and_alternatives_under_their_own() -> None:
    header, arrays = encode(Tree, a_tree(), any_kind)
    assert set(arrays) == {
        "weights",
        "structure.frequencies",
        "term.slope",
        "several.0.frequencies",
        "several.1.slope",
        "members.1.parts.frequencies",
    }
    assert header["weights"] == "float64 (3,)"
    assert header["structure"] == {"frequencies": "float64 (2,)", "size": "inf"}
    assert header["term"] == {"Line": {"slope": "float64 (2, 1)", "past": 3}}
    assert header["limits"] is None
    assert header["members"][0] == {"kind": "plain", "parts": None}
    assert header["names"] == {"columns": ["a", "b"], "notes": {"n": [1, None]}}


def test_arrays_are_written_in_one_order_of_memory_and_bytes() -> None:
    plain = np.arange(6.0).reshape(2, 3)
    for array in (plain, np.asfortranarray(plain), plain.astype(">f8"), plain[:, ::-1][:, ::-1]):
        header, arrays = encode(Line, Line(array), any_kind)
        assert header["slope"] == "float64 (2, 3)"
        assert arrays["slope"].flags.c_contiguous
        assert arrays["slope"].astype("<f8").tobytes() == plain.tobytes()
        assert arrays["slope"].dtype == np.dtype("<f8")


def test_numpy_numbers_are_numbers() -> None:
    numbers: dict[str, Any] = {"ticks": np.int64(4), "number": np.float32(0.5), "flag": np.True_}
    tree = a_tree()._replace(**numbers)
    assert_same(decoded(*encode(Tree, tree, any_kind)), a_tree())


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"ticks": 0.5}, "'ticks' is 0.5, not int"),
        ({"ticks": True}, "'ticks' is True, not int"),
        ({"number": "0.5"}, "'number' is '0.5', not float"),
        ({"number": True}, "'number' is True, not float"),
        ({"flag": 1}, "'flag' is 1, not bool"),
        ({"way": "up"}, "'way' is 'up', not"),
        ({"weights": [1.0]}, "'weights' is \\[1.0\\], not an array of numbers"),
        ({"weights": np.array(["a"])}, "'weights' is array.*, not an array of numbers"),
        ({"weights": np.array([None])}, "'weights' is array.*, not an array of numbers"),
        ({"weights": np.ones(1, complex)}, "'weights' is array.*, not an array of numbers"),
        ({"limits": Wave(np.ones(1), 1.0)}, "'limits' is Wave.*, not Line"),
        ({"term": Empty()}, "'term' is Empty\\(\\), not"),
        ({"structure": None}, "'structure' is None, not Wave"),
        ({"pair": (1,)}, "'pair' has 1 entries, not 2"),
        ({"members": (3,)}, "'members.0' is 3, not Model"),
    ],
)
def test_what_a_tree_cannot_hold_is_not_written(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(CodecError, match=told):
        encode(Tree, a_tree()._replace(**changes), any_kind)


def test_a_kind_that_is_refused_is_not_written() -> None:
    def refuse(kind: str) -> None:
        raise ValueError(f"no {kind}")

    with pytest.raises(ValueError, match="no plain"):
        encode(Tree, a_tree(), refuse)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"ticks": None}, "'ticks' is None, not int"),
        ({"ticks": 1.0}, "'ticks' is 1.0, not int"),
        ({"number": "infinite"}, "'number' is 'infinite', not float"),
        ({"flag": 0}, "'flag' is 0, not bool"),
        ({"way": "up"}, "'way' is 'up'"),
        ({"weights": "float32 (3,)"}, "array 'weights' is float64 \\(3,\\), not float32 \\(3,\\)"),
        ({"weights": "float64 (4,)"}, "array 'weights' is float64 \\(3,\\), not"),
        ({"weights": None}, "array 'weights' is"),
        ({"term": None}, "array 'term.slope' is not part of it"),
        ({"term": {"Wave": {"frequencies": "", "size": 1.0}}}, "'term.frequencies' is missing"),
        ({"term": {"Empty": {}}}, "'term' is {'Empty': {}}, not one of Line, Wave"),
        ({"term": {"Line": {}, "Wave": {}}}, "'term' is .*, not one of Line, Wave"),
        ({"term": {"os.system": {}}}, "'term' is .*, not one of Line, Wave"),
        ({"term": {}}, "'term' is {}, not one of"),
        ({"limits": {"slope": ""}}, "'limits.past' is missing"),
        ({"structure": {"size": 1.0}}, "'structure.frequencies' is missing"),
        ({"nothing": {"more": 1}}, "'nothing.more' is not part of it"),
        ({"pair": [1]}, "'pair' has 1 entries, not 2"),
        ({"pair": {"0": 1}}, "'pair' is .*, not list"),
        ({"members": [{"kind": "plain"}]}, "'members.0.parts' is missing"),
        ({"members": [{"parts": None}]}, "None"),
        ({"names": {"columns": ["a"], "notes": [1]}}, "'names.notes' is \\[1\\], not dict"),
        ({"more": 1}, "'more' is not part of it"),
    ],
)
def test_what_is_not_the_tree_is_said(changes: dict[str, Any], told: str) -> None:
    header, arrays = encode(Tree, a_tree(), any_kind)
    with pytest.raises((CodecError, KeyError), match=told):
        decoded({**header, **changes}, arrays)


def test_missing_and_left_over_arrays_are_said() -> None:
    header, arrays = encode(Tree, a_tree(), any_kind)
    for name in arrays:
        with pytest.raises(CodecError, match=f"array '{name}' is missing"):
            decoded(header, {key: array for key, array in arrays.items() if key != name})
    with pytest.raises(CodecError, match="array 'more' is not part of it"):
        decoded(header, {**arrays, "more": np.ones(1)})


def test_only_a_subclass_of_what_is_declared_is_made() -> None:
    header, arrays = encode(Other, Other(), any_kind)
    assert type(decode(Model, header, arrays, KINDS.__getitem__)) is Other
    with pytest.raises(CodecError, match="is 'plain', not Other"):
        decode(Other, {**header, "kind": "plain"}, arrays, KINDS.__getitem__)


def test_a_union_that_no_tag_can_tell_is_a_defect() -> None:
    with pytest.raises(TypeError, match="no union of NamedTuples"):
        encode(int | str, 3, any_kind)
