"""Recordings of systems whose state the windows do not hold, and options to learn them quickly."""

from typing import Any

import numpy as np

from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory
from test.swings import NO_STATE_SPACES, QUICK

OPTIONS: dict[str, Any] = {
    **QUICK,
    "narx_units": "sigmoids",
    "narx_learning": "on",
    "narx_affine": "off",
    "iterations": 10,
    # Neither state spaces nor simulations: these take long, and are not what is tested.
    "settings": RecipeSettings(state_spaces=NO_STATE_SPACES, simulated_ticks=10**6),
}

TICKS = 60
"""The time constant of what is slow."""

NOISE = 0.03


def slow_runs(
    product: float = 0.5, square: bool = True, count: int = 4, seed: int = 0, ticks: int = 500
) -> list[Trajectory]:
    """Return runs in which the mean of ``v``, or of its square, tells how strongly ``u`` acts.

    The second observation is ``u`` itself; both are noisy.
    """
    draw, made = np.random.default_rng(seed), []
    for _ in range(count):
        actions = np.repeat(draw.uniform(-2, 2, (ticks // 5, 2)), 5, axis=0)
        cause, position, seen = 0.0, 0.0, []
        for first, second in actions:
            cause += ((second**2 if square else second) - cause) / TICKS
            position = 0.8 * position + (0.3 + product * cause) * first
            seen.append([position, first])
        noisy = np.array(seen) + draw.normal(0, NOISE, (len(seen), 2))
        made.append(Trajectory(noisy, actions, 0.1, action_names=("u", "v")))
    return made


def unsigned_runs(count: int = 4, seed: int = 0, ticks: int = 300) -> list[Trajectory]:
    """Return runs of a wheel of whose speed only the size is seen.

    It is behind a filter, so that neither the newest action nor a change tells of its sign.
    """
    draw, made = np.random.default_rng(seed), []
    for _ in range(count):
        actions = np.repeat(draw.uniform(-1, 1, ticks // 10), 10)
        current = speed = 0.0
        seen = np.empty(ticks)
        for tick, action in enumerate(actions):
            seen[tick] = abs(speed) + 0.005 * draw.standard_normal()
            current += 0.3 * (action - current)
            speed += 0.2 * (current - speed)
        made.append(Trajectory(seen, actions, 0.1, action_names=("voltage",)))
    return made
