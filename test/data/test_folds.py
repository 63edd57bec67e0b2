"""Folds of recordings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffpsr_ros.data.folds import Fold, folds, with_every_column
from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings.trajectory import Trajectory

SHORTEST = 5


def recordings(lengths: list[int]) -> list[Trajectory]:
    """Return trajectories whose observations number all ticks."""
    starts = np.cumsum([0, *lengths])
    return [
        Trajectory(np.arange(first, first + length, dtype=float), np.zeros(length), 0.1)
        for first, length in zip(starts, lengths, strict=False)
    ]


def ticks(trajectories: list[Trajectory]) -> list[float]:
    return [float(tick) for t in trajectories for tick in t.observations[:, 0]]


@given(
    st.lists(st.integers(1, 90), min_size=1, max_size=7),
    st.integers(2, 5),
    st.integers(1, 4),
    st.booleans(),
)
def test_every_tick_is_held_out_at_most_once_and_learned_from_otherwise(
    lengths: list[int], count: int, rounds: int, changing: bool
) -> None:
    data = recordings(lengths)
    cut = len(data) < count
    if cut and max(lengths) < count * SHORTEST:
        with pytest.raises(InputError, match="folds need"):
            folds(data, count, SHORTEST, rounds=rounds, changing=changing)
        return
    parts = folds(data, count, SHORTEST, rounds=rounds, changing=changing)
    assert len(parts) == count
    everything = ticks(data)
    for train, held_out in parts:
        assert sorted(ticks(train) + ticks(held_out)) == everything
        assert held_out
        # Nothing spans what was left out.
        assert all((np.diff(t.observations[:, 0]) == 1).all() for t in [*train, *held_out])
        assert not cut or min(map(len, held_out)) >= SHORTEST
    judged = [tick for part in parts for tick in ticks(part.held_out)]
    assert len(judged) == len(set(judged))
    if not cut:
        assert sorted(judged) == everything


def test_of_what_is_repeated_each_fold_holds_out_all_once() -> None:
    (run,) = recordings([9 * SHORTEST])
    for _, held_out in folds([run], 3, SHORTEST, rounds=3, changing=True):
        in_round = np.array(ticks(held_out)) % (3 * SHORTEST)
        assert sorted(in_round) == list(range(3 * SHORTEST))


def test_only_what_a_column_needs_in_order_to_vary_is_no_longer_held_out() -> None:
    def run(load: float, ticks: int) -> Trajectory:
        return Trajectory(
            np.column_stack([np.arange(ticks), np.full(ticks, load)]), np.arange(ticks), 1
        )

    part = Fold([run(0, 5)], [run(0, 6), run(1, 7), run(1, 8)])
    found = with_every_column(part)
    assert [len(one) for one in found.train] == [5, 7]
    assert [len(one) for one in found.held_out] == [6, 8]
    alone = Fold([run(0, 5)], [run(1, 7)])
    assert with_every_column(alone) == alone, "nothing would be left to judge by"
