"""The view through a windshield: frames from the TORCS car simulator, steered as one likes.

TORCS and its driver are made ready once by ``benchmarks/paper/torcs/build FOLDER``; the environment
variable RFFPSR_TORCS names the folder (default: ~/.cache/rffpsr_ros/torcs). Frames are recorded
when they are first needed, some 25 s for 50 trajectories, and kept there.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks import Material
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.compressed.learner import fit_projection
from rffpsr_ros.models.compressed.model import Projection, component_names
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.simulation.excitation import sine, uniform_hold

SIZE = 64
PERIOD = 0.1
AMPLITUDE = {"sine": 0.15, "random": 0.1}
"""Steering command, 1 being full lock: enough to leave the road in the end."""
FREQUENCY, HOLD = 0.5, 0.3
"""Of the sine (Hz), and of the random commands (s)."""
LONGEST = 600
TRAIN, VALIDATION, TEST = 40, 5, 5
COMPONENTS = 200

FRAME = np.dtype([("steering", "<f4"), ("grey", "u1", (SIZE, SIZE))])
"""What the driver writes for every tick: the command in force, the frame at its end."""


def torcs_folder() -> Path:
    """Return the folder that was made ready for TORCS.

    Raises
    ------
    InputError
        If there is none.
    """
    default = Path.home() / ".cache" / "rffpsr_ros" / "torcs"
    folder = Path(os.environ.get("RFFPSR_TORCS", default))
    if not (folder / "run").exists():
        raise InputError(
            f"TORCS is not ready in {folder}; run benchmarks/paper/torcs/build FOLDER (Debian) and"
            " set RFFPSR_TORCS to that folder"
        )
    return folder


def steering(kind: str, number: int) -> Iterator[float]:
    """Yield the commands of a trajectory: a "sine" of random phase, or "random" ones held."""
    generator = np.random.default_rng([number, 64])
    high = np.array([AMPLITUDE[kind]])
    if kind == "sine":
        stream = sine(generator, -high, high, PERIOD, frequency=FREQUENCY)
    else:
        stream = uniform_hold(generator, -high, high, PERIOD, hold=HOLD)
    return (float(action[0]) for action in stream)


def frames(kind: str, number: int) -> NDArray[Any]:
    """Return a trajectory's ticks as an array of `FRAME`, recorded now or before.

    Raises
    ------
    InputError
        If TORCS is not ready, or fails.
    """
    folder = torcs_folder()
    file = folder / "frames" / kind / f"{number:02d}.frames"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        commands = file.with_suffix(".steering")
        commands.write_text("\n".join(map(repr, islice(steering(kind, number), LONGEST))))
        partial = file.with_suffix(".partial")
        done = subprocess.run(
            [folder / "run", commands, partial], capture_output=True, text=True, check=False
        )
        if done.returncode or not partial.exists():
            raise InputError(f"TORCS failed: {(done.stdout + done.stderr).strip()[-300:]}")
        partial.rename(file)
    return np.fromfile(file, FRAME)


def images(kind: str) -> list[Trajectory]:
    """Return all trajectories of 64 x 64 images, grey from 0 to 1, under one steering policy."""
    found = []
    for number in range(TRAIN + VALIDATION + TEST):
        ticks = frames(kind, number)
        pixels = ticks["grey"].reshape(len(ticks), -1) / 255.0
        commands = ticks["steering"].astype(np.float64)
        found.append(
            Trajectory(
                pixels, commands, PERIOD, action_names=["steering"], label=f"{kind} {number}"
            )
        )
    return found


def projected(trajectories: list[Trajectory]) -> tuple[Projection, Material]:
    """Return the principal components of the training images, and all data in terms of them."""
    projection = fit_projection(trajectories[:TRAIN], COMPONENTS, seed=0)
    names = component_names(COMPONENTS)
    runs = [
        Trajectory(
            projection.compress(one.observations),
            one.actions,
            one.period,
            names,
            one.action_names,
            one.label,
        )
        for one in trajectories
    ]
    held_out = TRAIN + VALIDATION
    return projection, Material(runs[:TRAIN], runs[TRAIN:held_out], {"test": runs[held_out:]})
