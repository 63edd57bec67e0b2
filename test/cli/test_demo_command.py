"""The demonstration goes through, and shows what it says it shows."""

from pathlib import Path

import pytest

from rffpsr_ros import RFFPSR, load_model
from rffpsr_ros.cli.commands import demo


def test_table_plots_and_model(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    demo.run(here / "out", seed=1, learner=RFFPSR(iterations=4, features=30))
    names = {path.name for path in (here / "out").iterdir()}
    assert names == {"error_by_horizon.png", "forecast.png", "report.html", "synthetic.model"}
    out = capsys.readouterr().out
    assert [line.split("  ")[0] for line in out.splitlines() if "  0." in line] == [
        "RFF-PSR",
        "linear ARX",
        "last observation",
    ]
    assert load_model(here / "out" / "synthetic.model").kind == "ensemble"


def test_parts_share_no_run() -> None:
    parts = demo.simulate(0)
    runs = [run.actions.tobytes() for part in parts.values() for run in part]
    assert len(runs) == len(set(runs)) == 65


def test_folder_that_cannot_be_made(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "file").touch()
    assert demo.main(["--out", "file"]) == 2
    assert capsys.readouterr().err == "rffpsr: cannot make the folder 'file': File exists\n"
