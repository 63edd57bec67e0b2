"""The experiment of docs/gazebo.md without Gazebo, shortened: every node as a process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EPISODES = 12


def test_the_arm_is_collected_learned_and_followed(
    ros_environment: None, checkout: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pydrake", reason="needs Drake: pip install drake")
    pytest.importorskip("matplotlib")
    words = ["--episodes", str(EPISODES), "--duration", "5", "--out", str(tmp_path / "out")]
    for setting in (
        "iterations=40",
        "features=60",
        "narx_learning=on",
        "narx_affine=off",
        "folds=1",
    ):
        words += ["--set", f"learning.{setting}"]
    words += ["--images", str(tmp_path), "--json", str(tmp_path / "figures.json")]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.arm", *words],
        cwd=checkout,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    # So few episodes need not beat linear ARX, which is a claim that ends with code 1.
    assert done.returncode in (0, 1), done.stdout + done.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    held_out, live = (
        {name: one["mse"][9] for name, one in figures[part].items()}
        for part in ("held_out", "live")
    )
    assert held_out["RFF-PSR"] < 0.2 * held_out["last observation"]
    assert live["RFF-PSR"] < live["last observation"]
    assert figures["live_minus_offline"] < 1e-9
    # A process that is kept waiting takes a command for a later one's; that must be rare.
    assert figures["exact_share"] > 0.8
    (run,) = (tmp_path / "out").iterdir()
    assert len(list(run.glob("episodes/20*"))) == EPISODES
    for name in ("simulator", "excitation", "learner", "collector", "filter"):
        assert "Traceback" not in (run / "log" / f"{name}_node.log").read_text()
    for name in ("arm_errors.png", "arm_forecast.png"):
        assert (tmp_path / name).stat().st_size > 10_000
