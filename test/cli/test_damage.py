"""`rffpsr check` and `rffpsr train` name a damaged recording, and learn without what is damaged."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rffpsr_ros.models.loading import load_model
from rffpsr_ros.recordings.bags.writer import BagWriter

Run = Callable[..., Any]


@pytest.fixture
def folder(workshop: Any, here: Path) -> Path:
    """Return a folder of four bags; in one the encoder's log is corrupted for two seconds."""
    for seed in range(3):
        workshop.write_robot(here / "runs" / f"sound{seed}", 500, seed)
    voltage, angle = workshop.swing(500, 3)
    angle[300:400] *= 1e5
    with BagWriter(here / "runs" / "corrupted", "mcap") as bag:
        bag.add_topic("/encoder", workshop.encoder_type)
        bag.add_topic("/motor", workshop.motor_type)
        for k, seen in enumerate(angle):
            now = workshop.start_ns + k * workshop.tick_ns
            if k < len(voltage):
                command = bag.message(workshop.motor_type, data=float(voltage[k]))
                bag.write("/motor", now - 1_000_000, command)
            bag.write("/encoder", now, workshop.encoder(bag, now, elbow=float(seen), wrist=0.5))
    return here / "runs"


def test_check_says_what_is_impossible(run: Run, folder: Path, configuration: Path) -> None:
    outcome = run("check", folder, "--config", configuration, "--quiet")
    assert outcome.code == 0
    (line,) = (line for line in outcome.out.splitlines() if "corrupted" in line)
    assert line.startswith("WARNING  recording '")
    assert "times the range of the others" in line
    assert line.endswith("are left out of learning")
    assert "1 thing to put right" in outcome.out


@pytest.mark.parametrize("kind", ["linear_arx", "rff_psr"])
def test_train_warns_and_the_model_remembers(
    kind: str, run: Run, folder: Path, configuration: Path, workshop: Any
) -> None:
    words = ["--config", configuration, "--out", "m", "--model", kind, "--quiet", "--no-check"]
    options = workshop.quick if kind == "rff_psr" else ()
    outcome = run("train", folder, *words, "--bands", "none", *options)
    (warning,) = outcome.err.splitlines()
    assert warning.startswith("rffpsr: warning: recording '")
    assert warning.endswith("are left out of learning (docs/exploration.md)")
    (note,) = (note for note in load_model("m").record.notes if "corrupted" in note)
    assert note in warning
