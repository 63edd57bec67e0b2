"""Where nodes keep and look for files."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.shared.default_places import (
    ModelPlaces,
    new_model_path,
    served_model_path,
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROS_HOME", str(tmp_path))
    return tmp_path / "rffpsr"


def test_the_newest_model_is_served_unless_one_is_named(home: Path) -> None:
    with pytest.raises(InputError, match=r"there is no model in .* yet"):
        served_model_path("")
    for age, name in enumerate(("new", "old", "older")):
        path = home / "models" / f"{name}.psr"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (10_000 - age, 10_000 - age))
    assert served_model_path("") == home / "models" / "new.psr"
    assert served_model_path("/some/arm.psr") == Path("/some/arm.psr")
    assert served_model_path("~/arm.psr") == Path.home() / "arm.psr"


def test_a_new_model_is_named_by_date(home: Path) -> None:
    path = new_model_path("", datetime(2026, 1, 2, 3, 4, 5))
    assert path == home / "models" / "model_2026-01-02_03-04-05.psr"
    assert new_model_path("arm.psr", datetime(2026, 1, 2)) == Path("arm.psr")


def test_a_link_to_nowhere_is_no_model(home: Path) -> None:
    folder = home / "models"
    folder.mkdir(parents=True)
    (folder / "gone.psr").symlink_to(folder / "nowhere.psr")
    with pytest.raises(InputError, match="no model"):
        served_model_path("")
    (folder / "arm.psr").touch()
    assert served_model_path("") == folder / "arm.psr"


def test_at_run_time_a_model_path_leads_below_allowed_folders_only(
    home: Path, tmp_path: Path
) -> None:
    started, given = tmp_path / "robots", tmp_path / "given"
    for folder in (started, given):
        folder.mkdir()
    places = ModelPlaces(str(started / "arm.psr"), ["", str(given)])
    assert ModelPlaces("", []).refusal("") == ""
    for fine in (started / "new.psr", given / "deep" / "a.psr", home / "models" / "b.psr"):
        assert places.refusal(str(fine)) == ""
    (started / "way_out").symlink_to("/etc")
    for wrong in (
        "/etc/passwd",
        str(started / ".." / "x.psr"),
        str(started / "way_out" / "passwd"),
        str(given),
        "~nobody_of_this_name/x.psr",
        "x\ny.psr",
    ):
        sentence = places.refusal(wrong)
        assert "model_path is" in sentence
        assert "\n" not in sentence
