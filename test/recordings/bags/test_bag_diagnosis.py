"""A bag that gives nothing says why, by what is in it."""

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings import read_bags
from rffpsr_ros.recordings.bags.read_report import BagWarning
from rffpsr_ros.recordings.bags.writer import BagWriter
from rffpsr_ros.recordings.forecast_messages import PREDICTED_TYPE, predicted_message
from rffpsr_ros.signals import ChannelConfiguration
from rffpsr_ros.training.recordings import read_recordings

NONE = math.nan
Rows = list[tuple[float, float, float]]


def table(path: Path, rows: Rows) -> Path:
    """Write a bag of a table with columns time (s), u and y."""
    with BagWriter(path) as bag:
        bag.add_topic("/table", PREDICTED_TYPE)
        for time, *values in rows:
            now = 1 + round(time * 1e9)
            message = predicted_message(bag.message, np.array(values), ["u", "y"], now)
            bag.write("/table", now, message)
    return path


def configured() -> ChannelConfiguration:
    """Return its channels, with ticks of 0.1 s."""
    sides = {
        side: {"inputs": [name], name: {"topic": "/table", "fields": [f"position.{name}"]}}
        for side, name in (("observation", "y"), ("action", "u"))
    }
    return ChannelConfiguration.from_mapping({"rate": 10.0, **sides})


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(0.1 * k, NONE, 1.0) for k in range(9)], r"'u.position.u' \(/table\) is never a number"),
        ([(0.1 * k, 1.0, NONE) for k in range(9)], r"'y.position.y' \(/table\) is never a number"),
        ([(99.0 * k, 1.0, 1.0) for k in range(9)], "come about 99 s apart, too far for ticks of"),
        ([(1e-6 * k, 1.0, 1.0) for k in range(9)], "9 messages of /table lie within 8e-06 s"),
        ([(0.0, 1.0, NONE), (0.1, 1.0, 1.0)], "not every channel has a value at the same time"),
    ],
)
def test_a_bag_without_a_tick(rows: Rows, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        read_bags(table(tmp_path / "bag", rows), configured())


def test_a_bag_without_two_ticks_in_a_row(tmp_path: Path) -> None:
    pairs = [(9.0 * (k // 2) + 0.1 * (k % 2), 1.0, 1.0) for k in range(8)]
    path = table(tmp_path / "pairs", pairs)
    with pytest.raises(InputError, match=r"one of 4 segments ended because /table was silent for"):
        read_recordings(path, configured())


def test_most_of_a_bag_before_the_first_tick_is_told_of(tmp_path: Path) -> None:
    late = [(0.1 * k, 1.0 if k >= 40 else NONE, 1.0) for k in range(60)]
    with pytest.warns(BagWarning, match=r"the first 4 s of 5\.9 s gave nothing, as not every"):
        assert [len(one) for one in read_bags(table(tmp_path / "late", late), configured())] == [19]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_bags(table(tmp_path / "soon", late[25:]), configured())
