"""The script that sets up the environment of a checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")


def test_an_environment_that_a_link_leads_to_is_left_alone(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    for name in ("setup", "lib.sh"):
        shutil.copy(checkout / "scripts" / name, tmp_path / "scripts")
    for name in ("setup.py", "package.xml"):
        shutil.copy(checkout / name, tmp_path)
    of_another = tmp_path / "elsewhere"
    of_another.mkdir()
    (of_another / "precious").touch()
    (tmp_path / ".venv").symlink_to(of_another)
    unset = ("ROS_DISTRO", "ROS_WHEELS", "PYTHON")
    run = subprocess.run(
        [tmp_path / "scripts" / "setup", "demo"],
        env={name: value for name, value in os.environ.items() if name not in unset},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert run.stderr.startswith(f".venv is a symbolic link, to {of_another}")
    assert run.stderr.count("\n") == 1
    assert [entry.name for entry in of_another.iterdir()] == ["precious"]
