"""Data sets to measure with, each as trajectories with its customary split.

Recorded data is not part of the project. It is read from the folder ``shared`` beside the checkout,
or from the one that the environment variable RFFPSR_SHARED names; what can be simulated is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.io import loadmat

from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings.bags.reader import read_bags
from rffpsr_ros.recordings.split import split
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.simulation.excitation import mixed_policy, uniform_hold
from rffpsr_ros.simulation.swimmer import Swimmer, seek_goal
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import Policy, dataset, open_loop

_CHECKOUT = Path(__file__).resolve().parent.parent


class Split(NamedTuple):
    """Trajectories to learn from, to choose by, and to judge by."""

    train: Sequence[Trajectory]
    validation: Sequence[Trajectory]
    test: Sequence[Trajectory]


def shared_file(relative: str) -> Path:
    """Return the path of a file of the shared folder.

    Raises
    ------
    InputError
        If it is not there.
    """
    folder = Path(os.environ.get("RFFPSR_SHARED", _CHECKOUT.parent / "shared"))
    path = folder / relative
    if not path.exists():
        raise InputError(f"{relative} is not in {folder}; set RFFPSR_SHARED to the data's folder")
    return path


def synth() -> Split:
    """Return the paper's synthetic data as its authors recorded it: 10, 5 and 10 trajectories."""
    cells = loadmat(shared_file("data/synthetic/synth.mat"))

    def part(name: str) -> list[Trajectory]:
        return [
            Trajectory(
                np.ravel(observations), np.ravel(actions), 0.05, ["o"], ["a"], f"{name} {i + 1}"
            )
            for i, (observations, actions) in enumerate(
                zip(cells[f"X_{name}"].flat, cells[f"U_{name}"].flat, strict=True)
            )
        ]

    return Split(part("tr"), part("val"), part("tst"))


def fresh_synthetic(seed: int, test_count: int = 50) -> Split:
    """Return new data of the same system: 10, 5 and ``test_count`` trajectories of 100 ticks."""
    system = SyntheticSystem()
    low, high = system.action_limits

    def policy(generator: np.random.Generator) -> Policy:
        return open_loop(uniform_hold(generator, low, high, system.period))

    runs = dataset(system, policy, 15 + test_count, ticks=100, seed=seed)
    return Split(runs[:10], runs[10:15], runs[15:])


def swimmer(seed: int, blind_probability: float = 0.8, noise: float = 0.05) -> Split:
    """Return the paper's swimmer experiment: 24, 1 and 10 trajectories of 100 ticks.

    Training actions are uniformly random; in the test trajectories they are so with
    ``blind_probability`` and seek the goal otherwise. The target is the nose position, the last two
    observations.
    """
    system = Swimmer()
    low, high = system.action_limits

    def with_probability(probability: float) -> Callable[[np.random.Generator], Policy]:
        def policy(generator: np.random.Generator) -> Policy:
            blind = uniform_hold(generator, low, high, system.period)
            return mixed_policy(generator, blind, seek_goal, probability, low, high)

        return policy

    learning = dataset(system, with_probability(1.0), 25, 100, seed, noise)
    # A seed of its own: the test must not begin with the training set's blind actions.
    test = dataset(system, with_probability(blind_probability), 10, 100, seed + 1_000_000, noise)
    return Split(learning[:24], learning[24:], test)


def quarter_drone() -> Split:
    """Return the one-axis drone rig in closed loop, 100 Hz: angle (deg) under control (%).

    The quasi-static, step and swept-sine runs are for learning (the last fifth of each for
    validation), the multisine run for the test. The control of a row is computed from the angles of
    rows before it, so a row is one tick as it stands.
    """
    names = ("sinal1_semi_estatica", "sinal2_degraus", "sinal3_swept_sine", "sinal4_multiseno")
    runs = []
    for name in names:
        path = shared_file(f"data/quarter_drone/{name}_malha_fechada.csv")
        rows = np.genfromtxt(path, delimiter=",", names=True)
        runs.append(
            Trajectory(rows["Saida_y"], rows["Controle_u"], 0.01, ["angle"], ["control"], name)
        )
    cuts = [round(0.8 * len(run)) for run in runs[:3]]
    return Split(
        [run.slice(0, cut) for run, cut in zip(runs[:3], cuts, strict=True)],
        [run.slice(cut, len(run)) for run, cut in zip(runs[:3], cuts, strict=True)],
        runs[3:],
    )


JACKAL_CHANNELS = {
    "rate": 50.0,
    "observation": {
        "inputs": ["imu"],
        "imu": {
            "topic": "/imu/data",
            "fields": ["angular_velocity.z", "linear_acceleration.x", "linear_acceleration.y"],
        },
    },
    "action": {
        "inputs": ["wheels"],
        "wheels": {
            "topic": "/jackal_velocity_controller/odom",
            "fields": ["twist.twist.linear.x", "twist.twist.angular.z"],
        },
    },
}
"""Inertial measurements of a Clearpath Jackal as observation, wheel odometry as action."""


def jackal() -> Split:
    """Return a drive of a Clearpath Jackal, 61 s at 50 Hz: first 70 %, next 10 %, last 20 %."""
    configuration = ChannelConfiguration.from_mapping(JACKAL_CHANNELS, "JACKAL_CHANNELS")
    drive = read_bags(shared_file("data/jackal/jackal.bag"), configuration)
    return Split(*split(drive, (0.7, 0.1, 0.2)))


def cascaded_tanks() -> Split:
    """Return two tanks, one draining into the other, every 4 s: lower level (V) under pump (V).

    One record of 1024 samples to learn from and one to simulate after 5 samples.
    """
    rows = np.genfromtxt(
        shared_file("data/cascaded_tanks/dataBenchmark.csv"), delimiter=",", names=True
    )
    learn, test = (
        Trajectory(rows[f"y{part}"], rows[f"u{part}"], 4.0, ["level"], ["pump"], part)
        for part in ("Est", "Val")
    )
    return Split([learn], [], [test])


def silverbox() -> Split:
    """Return the Silverbox (an electronic Duffing oscillator), 610.35 Hz: output (mV) under input.

    Learning on the first three quarters of the multisine part; tests are its last quarter
    ("multisine"), the growing sweep ("arrow") and its beginning ("arrow without extrapolation"),
    each to be simulated after 50 samples.
    """
    record = loadmat(shared_file("data/silverbox/SNLS80mV.mat"))
    whole = Trajectory(
        1000 * np.ravel(record["V2"]), np.ravel(record["V1"]), 1 / 610.35, ["output"], ["input"]
    )
    first, last = 40650, 127400
    cut = first + round(0.75 * (last - first))
    parts = {
        "multisine": (cut, last),
        "arrow": (100, 40575),
        "arrow without extrapolation": (100, 100 + 32000),
    }
    return Split(
        [whole.slice(first, cut)],
        [],
        [_labelled(whole.slice(start, stop), name) for name, (start, stop) in parts.items()],
    )


def wiener_hammerstein() -> Split:
    """Return the Wiener-Hammerstein circuit, 51.2 kHz: output (mV) under input (V).

    Of samples 5200 to 184000 the first 100000 are to learn from, the rest to simulate.
    """
    with np.load(shared_file("data/wiener_hammerstein/wh2009.npz")) as record:
        output, given, period = 1000 * record["y"], record["u"], 1 / float(record["fs"])
    whole = Trajectory(output, given, period, ["output"], ["input"])
    return Split([whole.slice(5200, 105200)], [], [whole.slice(105200, 184000)])


def emps() -> Split:
    """Return a positioning axis, 1 kHz, in closed loop: position (mm) under motor voltage.

    One record of a smooth reference to learn from, one with pulses of force to simulate.
    """
    learn, test = (
        Trajectory(
            1000 * np.ravel(record["qm"]), np.ravel(record["vir"]), 0.001, ["position"], ["voltage"]
        )
        for record in (
            loadmat(shared_file(f"data/emps/{name}.mat"))
            for name in ("DATA_EMPS", "DATA_EMPS_PULSES")
        )
    )
    return Split([learn], [], [test])


CRAZYFLIE_TESTS = 8
"""Of the Crazyflie's test flights the first so many are scored."""


def crazyflie(every: int = 1, dirty: bool = False) -> Split:
    """Return flights of a Crazyflie, 100 Hz: gyroscope and accelerometer under four motors.

    A controller flies. Learning is on circles and figures of eight (with ``dirty`` on one more of
    them, whose log is corrupted from some tick on), validation on ovals, the tests are helices.
    ``every`` takes every so many rows; a few are 20 or 30 ms apart and stay as they stand. Each
    observation is in units of its standard deviation in the tests.
    """
    names = {"train": ["train", "dirty"] if dirty else ["train"]}
    rows = {
        part: [run for name in names.get(part, [part]) for run in _flights(name, every)]
        for part in ("train", "validation", "test")
    }
    tests = rows["test"][:CRAZYFLIE_TESTS]
    unit = np.concatenate([run.observations for run in tests]).std(axis=0)

    def scaled(run: Trajectory) -> Trajectory:
        return replace(run, observations=run.observations / unit)

    learn, validation = (list(map(scaled, rows[part])) for part in ("train", "validation"))
    return Split(learn, validation, list(map(scaled, tests)))


def _flights(part: str, every: int) -> list[Trajectory]:
    with np.load(shared_file(f"data/crazyflie/{part}.npz")) as record:
        columns = record["columns"].tolist()
        flights = {name: record[name][::every] for name in record.files if name != "columns"}
    observed, acted = (
        [columns.index(name) for name in columns if name.startswith(start)]
        for start in (("imu_gyro", "imu_acc"), "motor")
    )
    names = [columns[i] for i in observed], [columns[i] for i in acted]
    return [
        Trajectory(rows[:, observed], rows[:, acted], 0.01 * every, *names, label)
        for label, rows in flights.items()
    ]


def _labelled(run: Trajectory, label: str) -> Trajectory:
    return Trajectory(
        run.observations, run.actions, run.period, run.observation_names, run.action_names, label
    )
