"""Trajectories on disk are the ones in memory, in every slice and in another process."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings.bags.read_report import ReadReport
from rffpsr_ros.recordings.bags.reader import read_bags
from rffpsr_ros.recordings.stored_trajectory import Scratch, StoredTrajectory, store_bags
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channels import ChannelConfiguration


@given(st.lists(st.integers(0, 40), max_size=5), st.data())
def test_scratch_gives_back_what_was_put_there(counts: list[int], data: st.DataObject) -> None:
    scratch, rows, columns = Scratch(), [np.empty((0, 3))], 3
    for count in counts:
        rows.append(np.random.default_rng(count).standard_normal((count, columns)))
        scratch.append(rows[-1])
    everything = np.concatenate(rows)
    assert scratch.end == everything.nbytes
    start = data.draw(st.integers(0, len(everything)))
    stop = data.draw(st.integers(start, len(everything)))
    np.testing.assert_array_equal(scratch.read(0, start, stop, columns), everything[start:stop])


def stored_and_held(paths: list[Path], arm: Any) -> tuple[list[StoredTrajectory], list[Trajectory]]:
    configuration = ChannelConfiguration.from_mapping(arm)
    bags = store_bags(paths, configuration, report=ReadReport())
    return [t for bag in bags for t in bag.trajectories()], read_bags(paths, configuration)


def same(stored: Trajectory, held: Trajectory) -> None:
    np.testing.assert_array_equal(stored.observations, held.observations)
    np.testing.assert_array_equal(stored.actions, held.actions)
    assert len(stored) == len(held)
    for name in ("period", "observation_names", "action_names", "label"):
        assert getattr(stored, name) == getattr(held, name)


@pytest.fixture
def two_bags(tmp_path: Path, bags: Any) -> list[Path]:
    # The second is interrupted, and its first part is longer than what is written at once.
    with_gap = bags.recording(ticks=5000) + bags.recording(start_ns=600_000_000_000, ticks=60)
    return [
        bags.ros2(tmp_path / "a", bags.recording(ticks=30)),
        bags.ros2(tmp_path / "b", with_gap),
    ]


def test_stored_trajectories_are_those_in_memory(two_bags: list[Path], arm: Any) -> None:
    stored, held = stored_and_held(two_bags, arm)
    assert len(stored) == len(held) == 3
    for one, other in zip(stored, held, strict=True):
        same(one, other)
        same(one.loaded(), other)
        same(one.slice(7, 19), other.slice(7, 19))
        same(one.slice(3, 25).slice(4, 99), other.slice(3, 25).slice(4, 99))
        assert not one.observations.flags.writeable


def test_another_process_reads_the_bag_for_itself(
    two_bags: list[Path], arm: Any, tmp_path: Path
) -> None:
    stored, held = stored_and_held(two_bags, arm)
    parcel = tmp_path / "parcel"
    parcel.write_bytes(pickle.dumps(stored[2].slice(5, 9)))
    assert parcel.stat().st_size < 5000  # where ticks come from, not the ticks
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).observations.tolist())"
    words = [sys.executable, "-c", code, str(parcel)]
    printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert printed.strip() == str(held[2].slice(5, 9).observations.tolist())


def test_what_a_bag_lacks_is_said_as_when_it_is_read_into_memory(
    two_bags: list[Path], arm: Any
) -> None:
    arm["observation"]["arm"]["fields"] = ["position.knee"]
    with pytest.raises(InputError) as expected:
        read_bags(two_bags, ChannelConfiguration.from_mapping(arm))
    with pytest.raises(InputError) as found:
        list(store_bags(two_bags, ChannelConfiguration.from_mapping(arm)))
    assert str(found.value) == str(expected.value)
