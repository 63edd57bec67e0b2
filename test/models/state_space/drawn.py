"""A nonlinear system with every kind of feature, and stretches with gaps."""

import numpy as np

from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.models.state_space.dynamics import StateSpace

STATES, OBSERVED, ACTED = 3, 2, 1
UNBOUNDED = Bounds(np.full(OBSERVED, -np.inf), np.full(OBSERVED, np.inf))
BOUNDED = Bounds(np.array([-0.2, -np.inf]), np.array([np.inf, 0.3]))


def drawn_system(bounds: Bounds, integrators: bool) -> StateSpace:
    draw = np.random.default_rng(0)
    powers = np.array([0.0, 2.0, 3.0, 0.0])
    columns = STATES + ACTED + 1
    transition = 0.2 * draw.standard_normal((STATES, columns + len(powers)))
    transition[:, :STATES] += 0.5 * np.eye(STATES)
    output = 0.4 * draw.standard_normal((OBSERVED, columns + len(powers)))
    if integrators:
        transition[-OBSERVED:] = output
    return StateSpace(
        transition,
        output,
        0.5 * draw.standard_normal((len(powers), columns)),
        0.2 * draw.standard_normal((STATES, OBSERVED)),
        0.3 * draw.standard_normal(STATES),
        powers,
        np.array([np.inf, 1.0, 1.0, np.inf]),
        np.array([0.0, 1.0, 1.0]) * integrators,
        bounds,
    )


def runs_with_gaps() -> list[Run]:
    draw = np.random.default_rng(1)
    runs = [
        Run(draw.standard_normal((ticks, OBSERVED)), draw.standard_normal((ticks, ACTED)))
        for ticks in (80, 33)
    ]
    runs[0].observations[40] = np.nan
    runs[1].observations[[0, 3], 1] = np.nan
    return runs
