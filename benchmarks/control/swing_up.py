"""How high a pendulum is brought by a model of recordings in which it never swung so high."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.control.closed_loop import Predictive, drive
from benchmarks.control.courses import World
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.simulation.system import System

AIM = 2.8
"""rad from hanging: just short of the hinge's stop at 3. Torques alone hold half a radian."""
HORIZON, FREE, TICKS = 60, 56, 150
"""Of plans; ticks in which anything will do, so that it may gather swing; of the whole."""


def swing_up(world: World, system: System, model: PredictiveModel[Any]) -> Array:
    """Return the angle (rad), tick by tick, of a pendulum that is to stand in three seconds.

    Asked to be up at once, a planner leans against gravity as far as it can, and stays there.
    """
    course = np.full((TICKS, world.joints), AIM)
    course[:FREE] = np.nan
    planner = Predictive(world, model, HORIZON, effort_weight=(1e-5,), change_weight=(1e-4,))
    return drive(system, planner, course, world.rest).seen[:, 0]


def stands(world: World, angle: Array) -> bool:
    """Tell whether a pendulum was brought up and kept there for the last second."""
    return bool((np.abs(angle[-round(1 / world.period) :] - AIM) < 0.2).all())
