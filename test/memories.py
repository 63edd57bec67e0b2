"""Robots that remember what no window shows, and the linear models that they are compared with."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.recipe.candidates import Candidate, baselines
from rffpsr_ros.recipe.prepare import Preparation
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory

SETTINGS = RecipeSettings()
TICKS = 220
CART_TICKS = 1500


def amplifier(seed: int, ticks: int = TICKS) -> Trajectory:
    """Return two filters with an amplifier between them that saturates; only the end is seen."""
    draw = np.random.default_rng(seed)
    actions = draw.uniform(-1, 1, ticks)
    before, after = np.zeros(2), np.zeros(2)
    seen = np.empty(ticks)
    for tick, action in enumerate(actions):
        before = np.array([0.7 * before[0] + action, 0.6 * before[1] + before[0]])
        strong = np.tanh(before[1])
        after = np.array([0.8 * after[0] + strong, 0.6 * after[1] - 0.5 * after[0]])
        seen[tick] = after[1] + 0.002 * draw.standard_normal()
    return Trajectory(seen, actions, 0.1)


def cart(ticks: int, seed: int = 5, spring: float = 0.0005) -> Trajectory:
    """Return a cart under a motor that saturates; its position is the sum of its speeds."""
    draw = np.random.default_rng(seed)
    actions = np.repeat(draw.uniform(-1, 1, ticks // 5), 5)
    speed = position = 0.0
    seen = np.empty(ticks)
    for tick, action in enumerate(actions):
        seen[tick] = position + 0.001 * draw.standard_normal()
        position += speed
        speed = 0.9 * speed + 0.02 * np.tanh(3 * action) - spring * position
    return Trajectory(seen, actions, 0.1)


def known(ready: Preparation) -> list[Candidate]:
    made = [pending.result() for pending in baselines(ready, SETTINGS)]
    return [one for one in made if one is not None]
