"""Six damped, coupled pendulums, as a robot with six joints: positions observed, efforts acting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rffpsr_ros.models.contract import Signature
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channels import ChannelConfiguration

JOINTS = [f"joint_{number}" for number in range(6)]
KINDS = ("position", "effort")
JOINT_STATE = "sensor_msgs/msg/JointState"
NOISE = 1e-4
"""Standard deviation of a measured position (rad)."""


def channels(rate: float) -> ChannelConfiguration:
    """Return positions as observations and efforts as actions, from one topic."""

    def channel(kind: str) -> dict[str, Any]:
        fields = [f"{kind}.{joint}" for joint in JOINTS]
        return {
            "inputs": [kind],
            kind: {"topic": "/joint_states", "type": JOINT_STATE, "fields": fields},
        }

    return ChannelConfiguration.from_mapping(
        {
            "rate": rate,
            "observation": channel("position"),
            "action": channel("effort"),
            "learning": {"iterations": 1_000_000},
        }
    )


class Pendulums:
    """The joints from tick to tick."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._position, self._velocity = np.zeros(6), np.zeros(6)

    def step(self, effort: Array) -> Array:
        """Return the positions (6,) at the end of a tick with efforts (6,)."""
        position, velocity = self._position, self._velocity
        pull = 40 * np.sin(position) + 10 * np.sin(position - np.roll(position, 1))
        velocity = velocity + (60 * effort - pull - 4 * velocity) / self._rate
        self._position, self._velocity = position + velocity / self._rate, velocity
        return self._position


def ticks_held(rate: float) -> int:
    """Return for how many ticks an effort is held: 20 ms."""
    return max(1, round(0.02 * rate))


def drive(rate: float, ticks: int, seed: int) -> tuple[Array, Array]:
    """Return measured positions and efforts (ticks, 6)."""
    generator, hold, pendulums = np.random.default_rng(seed), ticks_held(rate), Pendulums(rate)
    steps = generator.uniform(-1, 1, (ticks // hold + 1, 6))
    efforts = np.repeat(steps, hold, axis=0)[:ticks]
    positions = np.array([pendulums.step(effort) for effort in efforts])
    return positions + NOISE * generator.normal(size=(ticks, 6)), efforts


def in_motion(rate: float, ticks: int, seed: int) -> Trajectory:
    """Return a run that begins seconds after the joints left their rest: they move far by then."""
    before = round(5 * rate)
    return run_of(rate, before + ticks, seed).slice(before, before + ticks)


def run_of(rate: float, ticks: int, seed: int) -> Trajectory:
    """Return a run as it would be recorded on the topics of `channels`."""
    observed, acted = ([f"{kind}.{kind}.{joint}" for joint in JOINTS] for kind in KINDS)
    return Trajectory(*drive(rate, ticks, seed), 1.0 / rate, observed, acted)


def signature(rate: float) -> Signature:
    """Return what a model file says of these joints, its topics included."""
    return replace(Signature.of(run_of(rate, 2, 0)), channels=channels(rate).to_mapping())
