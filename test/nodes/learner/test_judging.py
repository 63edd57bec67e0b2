"""Which new episodes are held out, and how far ahead models are judged by them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.learner.judging import held_out, held_out_errors, judged_horizon
from rffpsr_ros.recordings.trajectory import Trajectory

FEWEST = 20


def run(ticks: int, missing: int | None = None) -> Trajectory:
    seen = np.linspace(0.0, 1.0, ticks)[:, None]
    if missing is not None:
        seen[missing] = np.nan
    return Trajectory(seen, np.ones((ticks, 1)), 0.05, ("seen",), ("told",))


def episodes(*ticks: int) -> dict[Path, list[Trajectory]]:
    return {Path(f"{place}"): [run(each)] for place, each in enumerate(ticks)}


@pytest.mark.parametrize(
    ("ticks", "chosen"),
    [
        ((30, 30), ["1"]),
        ((30, 30, 30, 30, 30), ["4", "0"]),
        ((30, 30, 19), ["1"]),
        ((30, 19, 19), []),
        ((19, 30), []),
        ((19,), []),
    ],
)
def test_only_episodes_that_are_long_enough_are_held_out(
    ticks: tuple[int, ...], chosen: list[str]
) -> None:
    found = held_out(episodes(*ticks), FEWEST)
    assert [bag.name for bag in found.bags] == chosen
    short = sum(each < FEWEST for each in ticks)
    if not chosen:
        told = f"{len(ticks) - short} of {len(ticks)} new episodes have {FEWEST} ticks in a row"
        assert told in found.told
    elif short:
        assert f"{short} of {len(ticks)} new episodes are too short to judge by" in found.told
    else:
        assert found.told == ""


def test_a_missing_observation_ends_a_row_and_any_segment_may_be_the_long_one() -> None:
    of_pieces = {
        Path("holed"): [run(30, missing=15)],
        Path("long"): [run(30)],
        Path("pieces"): [run(5), run(25)],
    }
    assert [bag.name for bag in held_out(of_pieces, FEWEST).bags] == ["pieces"]
    assert "1 of 3" in held_out(of_pieces, FEWEST).told


def test_models_are_judged_as_far_ahead_as_they_were_learned_for() -> None:
    for options, horizon in (({"horizon": 7, "future": 3}, 7), ({"future": 3}, 3), ({}, 10)):
        model: Any = SimpleNamespace(record=SimpleNamespace(options=options))
        assert judged_horizon(model) == horizon


def test_recordings_that_are_no_longer_than_the_horizon_judge_nothing() -> None:
    with pytest.raises(InputError, match="no held-out episode is longer than 10 ticks"):
        held_out_errors([], [run(10)], 10)
