"""Field paths: what they mean, and what is said of those that mean nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rffpsr_ros.errors import InputError
from rffpsr_ros.signals.fields.grammar import (
    Element,
    Expression,
    Function,
    Member,
    Path,
    Range,
    column_names,
    known_width,
    parse_field,
    unparse,
)


def path(*steps: Member | Element | Range) -> Path:
    return Path(steps)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("data", path(Member("data"))),
        ("angular_velocity.z", path(Member("angular_velocity"), Member("z"))),
        ("data[3]", path(Member("data"), Element(3))),
        ("data[-1]", path(Member("data"), Element(-1))),
        ("data[0:3]", path(Member("data"), Range(0, 3))),
        ("data[:]", path(Member("data"), Range(None, None))),
        ("data[-3:]", path(Member("data"), Range(-3, None))),
        ("points[0].x", path(Member("points"), Element(0), Member("x"))),
        ("position.arm/elbow-1", path(Member("position"), Member("arm/elbow-1"))),
        ("position['left elbow']", path(Member("position"), Member("left elbow"))),
        ('position["it\'s"]', path(Member("position"), Member("it's"))),
        ("sin(position.elbow)", Function("sin", path(Member("position"), Member("elbow")))),
        ("yaw(pose.orientation)", Function("yaw", path(Member("pose"), Member("orientation")))),
        ("unwrap(yaw(q))", Function("unwrap", Function("yaw", path(Member("q"))))),
        ("equals(mode, -2)", Function("equals", path(Member("mode")), (-2.0,))),
        ("clip(ranges, 0, 1.5e1)", Function("clip", path(Member("ranges")), (0.0, 15.0))),
        ("image(64x48)", Function("image", None, (64.0, 48.0))),
        (" sin ( data [ 0 ] ) ", Function("sin", path(Member("data"), Element(0)))),
        ("sin", path(Member("sin"))),  # without brackets it is a field like any other
    ],
)
def test_text_becomes_a_tree(text: str, tree: Expression) -> None:
    assert parse_field(text) == tree


@pytest.mark.parametrize(
    ("text", "character", "expected"),
    [
        ("", 1, "a field name"),
        ("angular_velocity..z", 18, "a field name"),
        ("angular_velocity.", 18, "a field name"),
        ("data[3", 7, "expected ']'"),
        ("data[]", 6, "an index, a range or a quoted name"),
        ("data[1.5]", 7, "expected ']'"),
        ("data[3:3]", 6, "at least one element"),
        ("data[-1:-2]", 6, "at least one element"),
        ("data[0:3].x", 10, "the end"),
        ("data)", 5, "the end"),
        ("sine(x)", 1, "did you mean 'sin'"),
        ("sin(x", 6, "expected ')'"),
        ("sin()", 5, "a field name"),
        ("yaw(sin(x))", 5, "quaternion"),
        ("clip(x, 3, 2)", 12, "above the lower one"),
        ("clip(x, 3)", 10, "expected ','"),
        ("equals(x)", 9, "expected ','"),
        ("equals(x, 1, 2)", 12, "expected ')'"),
        ("clip(x, a, 2)", 9, "a number"),
        ("image(64)", 7, "a size such as 64x64"),
        ("image(0x64)", 7, "between 1 and 4096"),
        ("3", 1, "a field name"),
        ("a.b; import os", 4, "the end"),
    ],
)
def test_errors_point_at_the_character(text: str, character: int, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_field(text)
    message = str(caught.value)
    assert f"field path {text!r} is malformed at character {character}: " in message
    assert expected in message
    assert "\n" not in message


def test_functions_nest_only_so_deep() -> None:
    parse_field("sin(" * 16 + "x" + ")" * 16)
    with pytest.raises(InputError, match="nested more than 16 deep"):
        parse_field("sin(" * 10_000)


@pytest.mark.parametrize(
    ("text", "width", "names"),
    [
        ("imu.z", None, ["imu.z"]),
        ("data", 2, ["data[0]", "data[1]"]),
        ("data[3:5]", 2, ["data[3]", "data[4]"]),
        ("data[-2:]", 2, ["data[-2]", "data[-1]"]),
        ("sin(data[1:])", 2, ["sin(data[1])", "sin(data[2])"]),
        ("clip(r[0:1], 0, 2)", 1, ["clip(r[0], 0.0, 2.0)"]),
        ("image(2x1)", 2, ["image[0,0]", "image[0,1]"]),
    ],
)
def test_every_value_has_a_name(text: str, width: int | None, names: list[str]) -> None:
    assert list(column_names(parse_field(text), width)) == names


@pytest.mark.parametrize(
    ("start", "stop", "width"),
    [(0, 3, 3), (None, 3, 3), (-3, None, 3), (-3, -1, 2), (2, None, None), (0, -1, None)],
)
def test_a_range_knows_its_width_where_its_bounds_tell(
    start: int | None, stop: int | None, width: int | None
) -> None:
    assert Range(start, stop).width == width


names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True)
quoted = st.text(st.characters(blacklist_characters="'\"", codec="utf-8"), min_size=1, max_size=5)
indices = st.integers(-99, 99)
steps = st.one_of(names.map(Member), quoted.map(Member), indices.map(Element))


@st.composite
def paths(draw: st.DrawFn) -> Path:
    taken: list[Member | Element | Range] = [
        Member(draw(names)),
        *draw(st.lists(steps, max_size=4)),
    ]
    bounds = draw(st.tuples(indices, indices) | st.none())
    if bounds:
        chosen = Range(*bounds)
        if chosen.width is None or chosen.width > 0:
            taken.append(chosen)
    return Path(tuple(taken))


def functions(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    numbers = st.floats(-1e6, 1e6)
    ordered = st.tuples(numbers, numbers).filter(lambda pair: pair[0] < pair[1])
    return st.one_of(
        st.builds(Function, st.sampled_from(["sin", "cos", "unwrap"]), inner),
        st.builds(Function, st.just("clip"), inner, ordered),
    )


sides = st.integers(1, 4096).map(float)
expressions = st.recursive(
    paths()
    | st.builds(Function, st.just("image"), st.none(), st.tuples(sides, sides))
    | st.builds(Function, st.just("yaw"), paths()),
    functions,
    max_leaves=4,
)


@given(expressions)
def test_every_tree_can_be_written_and_read_again(tree: Expression) -> None:
    assert parse_field(unparse(tree)) == tree


@settings(max_examples=3000)
@given(st.text(alphabet="ax0-9.[]:'\"(),sincoimgeyawp x\t\n\0é", max_size=30) | st.text())
def test_any_text_is_a_path_or_one_sentence(text: str) -> None:
    tree, sentence = None, ""
    try:
        tree = parse_field(text)
    except InputError as problem:
        sentence = str(problem)
    if tree is None:
        assert "is malformed at character" in sentence
        assert "\n" not in sentence
    else:
        assert parse_field(unparse(tree)) == tree


def test_a_range_has_a_most() -> None:
    """Its columns are made before a message shows whether they are there."""
    with pytest.raises(InputError, match="a range of at most 1048576 elements"):
        parse_field("data[0:999999999]")
    assert known_width(parse_field("data[0:1048576]")) == 1048576
