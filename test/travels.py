"""Recordings of a vehicle that drives by the same law wherever it is."""

import numpy as np

from rffpsr_ros.recordings.trajectory import Trajectory

PERIOD = 0.1
NOISE = 0.01


def travels(
    count: int = 4, seed: int = 0, ticks: int = 400, start: float = 0.0, spring: float = 0.0
) -> list[Trajectory]:
    """Return runs: a position, and a speed that the command's tangent drives against friction.

    A ``spring`` holds the vehicle near 0, so where it is matters.
    """
    draw, made = np.random.default_rng(seed), []
    for _ in range(count):
        commands = np.repeat(draw.uniform(-2, 2, (-(-ticks // 6), 1)), 6, axis=0)[:ticks]
        position, speed, seen = start, 0.0, []
        for (command,) in commands:
            force = 3 * np.tanh(command) - speed - 0.5 * speed * abs(speed)
            speed += PERIOD * (force - spring * (position - start))
            position += PERIOD * speed
            seen.append([position, speed])
        noisy = np.array(seen) + draw.normal(0, NOISE, (ticks, 2))
        made.append(Trajectory(noisy, commands, PERIOD, ("x", "v"), ("u",)))
    return made


def moved(run: Trajectory, by: float) -> Trajectory:
    """Return the run of the same vehicle elsewhere."""
    there = run.observations + np.array([by, 0.0])
    return Trajectory(there, run.actions, PERIOD, ("x", "v"), ("u",))
