"""The arm of worlds/arm.sdf with a payload in its hand, which may become heavier in mid-run."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.simulation.excitation import uniform_hold
from rffpsr_ros.simulation.sdf_world import SdfWorld
from rffpsr_ros.simulation.system import dataset, open_loop, simulate

WORLD = Path(__file__).resolve().parent.parent / "worlds" / "arm.sdf"

PERIOD, HOLD = 0.05, 0.2
"""Seconds: of a tick, and for which a torque is held."""

EFFORT = 0.4
"""The share of the motors' torques that is used: with all of it the arm is thrown about."""

PAYLOAD = 0.3
"""Kilograms that the arm carries when it is learned."""

_HAND = """
      <link name="payload">
        <pose>0 0.15 -0.9 0 0 0</pose>
        <inertial>
          <mass>{mass}</mass>
          <inertia>
            <ixx>{inertia}</ixx>
            <iyy>{inertia}</iyy>
            <izz>{inertia}</izz>
          </inertia>
        </inertial>
      </link>
      <joint name="grasp" type="fixed">
        <parent>forearm</parent>
        <child>payload</child>
      </joint>
      <joint name="shoulder" type="revolute">"""

_RADIUS = 0.03
"""Metres: of the payload, a ball."""


def loaded_arm(payload: float = PAYLOAD) -> SdfWorld:
    """Return the arm with so many kilograms at the end of its forearm."""
    text = WORLD.read_text(encoding="utf-8")
    hand = _HAND.format(mass=payload, inertia=0.4 * payload * _RADIUS**2)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "loaded.sdf"
        file.write_text(text.replace('<joint name="shoulder" type="revolute">', hand, 1), "utf-8")
        return SdfWorld(file, PERIOD)


def torques(arm: SdfWorld) -> tuple[Array, Array]:
    """Return the lowest and highest torques that are used."""
    low, high = arm.action_limits
    return EFFORT * low, EFFORT * high


def runs(arm: SdfWorld, count: int, ticks: int, seed: int) -> list[Trajectory]:
    """Return runs under uniformly random torques, from rest."""
    low, high = torques(arm)
    return dataset(
        arm,
        lambda generator: open_loop(uniform_hold(generator, low, high, PERIOD, HOLD)),
        count,
        ticks,
        seed,
    )


def changed_in_mid_run(before: Trajectory, arm: SdfWorld, ticks: int, seed: int) -> Trajectory:
    """Return a run that goes on for so many ticks with another arm, from where it was."""
    signal = uniform_hold(np.random.default_rng(seed), *torques(arm), PERIOD, HOLD)
    actions = [next(signal) for _ in range(ticks)]
    later = simulate(arm, actions, initial_state=before.observations[-1])
    return Trajectory(
        np.concatenate([before.observations, later.observations]),
        np.concatenate([before.actions, later.actions]),
        before.period,
        before.observation_names,
        before.action_names,
    )
