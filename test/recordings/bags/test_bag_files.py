"""Which bags some paths mean."""

from pathlib import Path

import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings.bags.files import find_bags


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_files_are_taken_as_they_are(tmp_path: Path) -> None:
    touch(tmp_path / "a.bag", tmp_path / "b.strange")
    assert find_bags([tmp_path / "b.strange", str(tmp_path / "a.bag")]) == [
        tmp_path / "b.strange",
        tmp_path / "a.bag",
    ]


def test_a_folder_with_metadata_is_one_bag(tmp_path: Path) -> None:
    touch(tmp_path / "run" / "metadata.yaml", tmp_path / "run" / "run_0.mcap")
    assert find_bags([tmp_path]) == [tmp_path / "run"]
    assert find_bags([tmp_path / "run"]) == [tmp_path / "run"]


def test_a_folder_that_lost_its_metadata_is_one_bag(tmp_path: Path) -> None:
    touch(tmp_path / "run" / "run_0.db3", tmp_path / "run" / "run_1.db3")
    assert find_bags([tmp_path]) == [tmp_path / "run"]


def test_a_folder_of_files_is_many_bags(tmp_path: Path) -> None:
    touch(tmp_path / "b_10.mcap", tmp_path / "b_9.mcap", tmp_path / "x.bag", tmp_path / "note.txt")
    touch(tmp_path / "deep" / "er" / "y.bag.active", tmp_path / "deep" / "er" / "z.db3-wal")
    assert find_bags([tmp_path]) == [
        tmp_path / "b_9.mcap",
        tmp_path / "b_10.mcap",
        tmp_path / "deep" / "er" / "y.bag.active",
        tmp_path / "x.bag",
    ]


def test_what_is_hidden_in_a_folder_is_no_recording(tmp_path: Path) -> None:
    """A learner keeps the episode that it is recording in the hidden folder ``.recording``."""
    under_way = tmp_path / ".recording" / "run"
    touch(tmp_path / "kept" / "metadata.yaml", under_way / "run_0.mcap", tmp_path / ".b.mcap")
    assert find_bags([tmp_path]) == [tmp_path / "kept"]
    assert find_bags([under_way]) == [under_way]


def test_patterns_and_repetitions(tmp_path: Path) -> None:
    touch(*(tmp_path / f"run{i}.bag" for i in (1, 2, 10)))
    found = find_bags([tmp_path / "run1.bag", f"{tmp_path}/run*.bag"])
    assert [path.name for path in found] == ["run1.bag", "run2.bag", "run10.bag"]


def test_a_name_with_brackets_is_no_pattern_if_it_exists(tmp_path: Path) -> None:
    touch(tmp_path / "run[1].bag")
    assert find_bags([tmp_path / "run[1].bag"]) == [tmp_path / "run[1].bag"]


def test_what_is_not_there(tmp_path: Path) -> None:
    touch(tmp_path / "jackal.bag")
    with pytest.raises(InputError, match=r"there is no bag .*jakal\.bag; did you mean .*/jackal"):
        find_bags([tmp_path / "jakal.bag"])
    with pytest.raises(InputError, match=r"there is no bag .*; the folder .*none does not exist"):
        find_bags([tmp_path / "none" / "a.bag"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"folder .*empty holds no bag"):
        find_bags([tmp_path / "empty"])
    with pytest.raises(InputError, match="no bag was given"):
        find_bags([])


def test_a_bag_named_in_two_ways_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.bag").touch()
    (tmp_path / "link.bag").symlink_to("a.bag")
    monkeypatch.chdir(tmp_path)
    assert find_bags(["a.bag", tmp_path / "a.bag", "link.bag"]) == [Path("a.bag")]
