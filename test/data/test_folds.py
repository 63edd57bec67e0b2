"""Folds of recordings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffpsr_ros.data.folds import folds
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


@given(st.lists(st.integers(1, 40), min_size=1, max_size=7), st.integers(2, 5))
def test_every_tick_is_held_out_at_most_once_and_learned_from_otherwise(
    lengths: list[int], count: int
) -> None:
    data = recordings(lengths)
    cut = len(data) < count
    if cut and max(lengths) < count * SHORTEST:
        with pytest.raises(InputError, match="folds need"):
            folds(data, count, SHORTEST)
        return
    parts = folds(data, count, SHORTEST)
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
