"""Tables become bags that hold every value under its time and name, and train."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.highlevel import AnyReader

from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings.table_file import read_table

Run = Callable[..., Any]


def contents(path: Path) -> dict[str, list[tuple[int, dict[str, float]]]]:
    """Return times and values by name, by topic."""
    found: dict[str, list[tuple[int, dict[str, float]]]] = {}
    with AnyReader([path]) as reader:
        for connection, time_ns, data in reader.messages():
            message: Any = reader.deserialize(data, connection.msgtype)
            stamp = message.header.stamp
            assert stamp.sec * 10**9 + stamp.nanosec == time_ns
            values = dict(zip(message.name, message.position.tolist(), strict=True))
            found.setdefault(connection.topic, []).append((time_ns, values))
    return found


def test_rows_become_messages(run: Run, here: Path) -> None:
    (here / "t.csv").write_text("time,u,y\n0.0,1,2\n0.1,3,\n0.25,5,-6e-1\n")
    assert run("csv2bag", "t.csv", "--out", "bag").code == 0
    rows = contents(here / "bag")["/table"]
    assert [time_ns for time_ns, _ in rows] == [1, 100_000_000, 250_000_000]  # 0 is none
    assert [values["u"] for _, values in rows] == [1, 3, 5]
    np.testing.assert_array_equal([values["y"] for _, values in rows], [2, np.nan, -0.6])


def test_columns_are_shared_out(run: Run, here: Path) -> None:
    (here / "t.csv").write_text("u;ms;y;z\n1;1700000000001;3;4\n5;1700000000002;6;7\n")
    words = ["--time", "ms", "--time-unit", "ms", "--topic", "/motor=u", "--topic", "seen=z,y"]
    assert run("csv2bag", "t.csv", "--out", "bag", *words, "--storage", "sqlite3").code == 0
    first, second = 1_700_000_000_001_000_000, 1_700_000_000_002_000_000
    assert contents(here / "bag") == {
        "/motor": [(first, {"u": 1.0}), (second, {"u": 5.0})],
        "/seen": [(first, {"z": 4.0, "y": 3.0}), (second, {"z": 7.0, "y": 6.0})],
    }


def test_a_topic_may_be_named_again_and_a_column_not(run: Run, here: Path) -> None:
    (here / "t.csv").write_text("time,u,v,y\n0.0,1,inf,3\n0.1,3,4,5\n")
    share = ["--topic", "/motor=u", "--topic", "/seen=y", "--topic", "motor=v"]
    outcome = run("csv2bag", "t.csv", "--out", "bag", *share)
    assert outcome.code == 0
    assert "1 values are missing or not finite" in outcome.out
    assert [values for _, values in contents(here / "bag")["/motor"]] == [
        {"u": 1, "v": np.inf},
        {"u": 3, "v": 4},
    ]
    outcome = run("csv2bag", "t.csv", "--out", "other", *share, "--topic", "/motor=u")
    assert outcome.code == 2
    assert "names column 'u' twice in /motor" in outcome.err


def test_table_of_a_robot_goes_through_to_a_model(run: Run, workshop: Any, here: Path) -> None:
    voltage, angle = workshop.swing(400, 0)
    lines = [f"{k * 0.02},{angle[k]},{voltage[k]}" for k in range(400)]
    (here / "t.csv").write_text("\n".join(["t,angle,voltage", *lines]))
    share = ["--topic", "/encoder=angle", "--topic", "/motor=voltage"]
    assert run("csv2bag", "t.csv", "--out", "bag", *share).code == 0
    assert run("inspect", "bag", "--write-config", "c.yaml").code == 0
    words = ["--config", "c.yaml", "--out", "m", "--model", "linear_arx", "--split", "0.6,0.2,0.2"]
    assert run("train", "bag", *words).code == 0


@pytest.mark.parametrize(
    ("word", "chosen", "rest"),
    [("action", "voltage", "observation"), ("observation", "angle", "action")],
)
def test_of_one_topic_the_columns_that_were_not_chosen_are_the_rest(
    run: Run, here: Path, word: str, chosen: str, rest: str
) -> None:
    (here / "t.csv").write_text("t,angle,voltage\n0,1,2\n0.1,3,4\n0.2,4,2\n")
    told = run("csv2bag", "t.csv", "--out", "bag").out
    assert "rffpsr inspect bag --action /table:position.COLUMN" in told
    found = json.loads(
        run("inspect", "bag", f"--{word}", f"/table:position.{chosen}", "--json").out
    )
    fields = {name: found["proposal"][name]["table"]["fields"] for name in (word, rest)}
    assert fields[word] == [f"position.{chosen}"]
    assert fields[rest] == [f"position.{'angle' if chosen == 'voltage' else 'voltage'}"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no columns"),
        ("time\n1\n", "names 1 column;"),
        ("1,2\n3,4\n", "'1' in the first row"),
        ("time,a,a\n1,2,3\n", "two columns of t.csv are called 'a'"),
        ("a,b\n1,2\n", "no column called time"),
        ("time,a\n", "no rows"),
        ("time;a\n1;2,5\n", "'2,5' in column 'a', row 2 of t.csv, is no number; decimals are"),
        ("time;a\n1,5;2\n", "before the year 2038; decimals are written with a point"),
        ("time,a\n1700000000000000000,1\n", "2038; did you mean --time-unit ns?"),
        ("time,a\n1700000000000,1\n", "2038; did you mean --time-unit ms?"),
        ("time,a\n1,2\n2\n", "row 3 of t.csv has 1 cell, not 2"),
        ("time,a,\n1,2,\n", "'' in the first row of t.csv names no column (the 3. of 3)"),
        (
            "time a\n1 2\n",
            "names 1 column; it must name a time column and at least one other, with",
        ),
        ("a,Time (s)\n1,2\n", "as in --time 'Time (s)'"),
        ("time,a\n1,N/A\n", "is no number; leave a cell empty where a value is missing"),
        ("time,a\n1,True\n", "'True' in column 'a', row 2 of t.csv, is no number; write 1 for"),
        ("time,a\n1,1_000\n", "'1_000' in column 'a', row 2 of t.csv, is no number; write numbers"),
        ("time,a\n1_0,1\n", "'1_0' in row 2 of t.csv is no time"),
        ("time,a\n1,2,\n", "row 2 of t.csv has 3 cells, not 2; leave out the ',' at its end"),
        (",time,a\n0,1,2\n", "(the 1. of 3); the first row must name every column; if pandas"),
        ("time,a,\n1,2,\n", "every column; leave out what separates cells at the end of rows"),
        ("# of June\ntime,a\n1,2\n", "is a comment, '# of June'; the first row must name the"),
        ("time,a\n1,x\n", "'x' in column 'a', row 2 of t.csv, is no number"),
        ("time,a\n1,2\n1,3\n", "the time 1 in row 3 of t.csv is not after"),
        ("time,a\n2024-01-01 10:00:00,2\n", "dates and hours are not read, write seconds"),
        ("time,a\n-1,2\n", "'-1' in row 2 of t.csv is no time"),
        ("time,a\n1e999999999,2\n", "is no time"),
        ("time,a\nnan,2\n", "'nan' in row 2 of t.csv is no time"),
    ],
)
def test_faults_of_a_table_are_named(text: str, words: str, here: Path) -> None:
    (here / "t.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        read_table("t.csv")
    assert words in str(caught.value)


def test_times_are_exact_to_the_nanosecond(here: Path) -> None:
    (here / "t.csv").write_text("time,a\n1700000000.123456789,1\n1700000000.123456790,2\n")
    times = read_table("t.csv").times_ns.tolist()
    assert times == [1_700_000_000_123_456_789, 1_700_000_000_123_456_790]


@pytest.mark.parametrize(("unit", "odd"), [("s", "0.05 rows"), ("us", "5e+04"), ("ms", "")])
def test_a_rate_that_no_robot_has_makes_one_look_at_the_unit(
    unit: str, odd: str, run: Run, here: Path
) -> None:
    (here / "t.csv").write_text("time,a\n" + "".join(f"{20 * k},{k}\n" for k in range(9)))
    said = run("csv2bag", "t.csv", "--out", "bag", "--time-unit", unit, "--quiet").err
    assert odd in said
    assert bool(odd) == (f"is --time-unit {unit} right?" in said)


def test_a_field_that_teaches_nothing_is_told(run: Run, here: Path) -> None:
    rows = "".join(f"{k / 10},{k % 3},nan,5\n" for k in range(40))
    (here / "t.csv").write_text(f"time,u,blind,stuck\n{rows}")
    assert run("csv2bag", "t.csv", "--out", "bag", "--quiet").code == 0
    chosen = ["--action", "/table:position.u", "--write-config", "c.yaml"]
    seen = ["--observation", "/table:position.blind,position.stuck"]
    said = run("inspect", "bag", *chosen, *seen, "--quiet").out
    assert "note: 'position.blind' of /table is never a number, so it teaches nothing" in said
    assert "note: 'position.stuck' of /table is always 5, so it teaches nothing" in said
    assert "position.blind  # never a number" in (here / "c.yaml").read_text()


def test_other_encodings_are_told_of(here: Path) -> None:
    (here / "t.csv").write_text("time,a\n1,2\n", encoding="utf-16")
    with pytest.raises(InputError, match=r"t.csv is no table of text in UTF-8: byte 1"):
        read_table("t.csv")


def test_columns_are_named_as_a_field_is_written(run: Run, here: Path) -> None:
    (here / "t.csv").write_text('time,"motor, left",y [rad]\n0,1,2\n1,2,3\n')
    words = ["--topic", "/m=motor, left", "--topic", "/y=y [rad]", "--quiet"]
    said = run("csv2bag", "t.csv", "--out", "bag", *words).out
    assert "/m: position['motor, left']\n/y: position['y [rad]']\n" in said
    refused = run("csv2bag", "t.csv", "--out", "b", "--topic", "/t=time")
    assert refused.err == "rffpsr: column 'time' holds the time, which every message has\n"


def test_of_a_single_topic_the_fields_are_offered(run: Run, here: Path) -> None:
    (here / "t.csv").write_text("time,u,y\n" + "".join(f"{k},{k},{-k}\n" for k in range(9)))
    assert run("csv2bag", "t.csv", "--out", "bag", "--quiet").code == 0
    said = run("inspect", "bag", "--quiet").out
    assert said.endswith("; there are /table:position.u, /table:position.y\n")
