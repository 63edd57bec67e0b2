"""The package installed under a prefix of its own, where launch finds its files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

INSTALLED_FROM = ("resource", "executables", "launch", "config", "worlds", "layouts", "rffpsr_ros")
FILES = ("setup.py", "pyproject.toml", "package.xml")


@pytest.fixture(scope="session")
def prefix(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the prefix; without launch the test is skipped."""
    for needed in ("launch_ros", "ros2launch"):
        pytest.importorskip(needed, reason=f"needs ROS 2's launch: {needed} is not installed")
    copy, target = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("prefix")
    for folder in INSTALLED_FROM:
        if (checkout / folder).is_dir():
            shutil.copytree(
                checkout / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__")
            )
    for file in FILES:
        shutil.copy(checkout / file, copy / file)
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run(
        [*install, "--no-build-isolation", "--ignore-installed", f"--prefix={target}", str(copy)],
        check=True,
        capture_output=True,
    )
    return target


@pytest.fixture
def installed(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let this process and its children find the installed package as a sourced workspace does."""
    (site,) = {path.parents[1] for path in prefix.rglob("rffpsr_ros/__init__.py")}
    firsts = {
        "AMENT_PREFIX_PATH": prefix,
        "PYTHONPATH": site,
        "PATH": Path(sys.executable).parent,  # executables ask the PATH for their python3
    }
    for variable, first in firsts.items():
        rest = os.environ.get(variable)
        monkeypatch.setenv(variable, str(first) + (os.pathsep + rest if rest else ""))
    return prefix
