"""Runs of a nonlinear system with two observations and two actions."""

import numpy as np

from rffpsr_ros.recordings.trajectory import Trajectory


def nonlinear_runs(count: int, ticks: int, seed: int = 3) -> list[Trajectory]:
    """Return ``count`` runs of so many ticks."""
    generator = np.random.default_rng(seed)
    runs = []
    for _ in range(count):
        actions = generator.uniform(-1, 1, (ticks, 2))
        state, seen = np.zeros(2), []
        for action in actions:
            pull = np.array([np.sin(state[1]), np.cos(state[0]) * state[1]])
            state = 0.7 * state + 0.2 * pull + 0.4 * np.tanh(action)
            seen.append(state + 0.01 * generator.normal(size=2))
        runs.append(Trajectory(np.array(seen), actions, 0.1))
    return runs
