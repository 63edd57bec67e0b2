"""Where nodes keep and look for files."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.shared.default_places import new_model_path, served_model_path


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
