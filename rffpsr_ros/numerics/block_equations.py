"""Normal equations in which some parameters belong to one group of data alone.

With J the derivatives by what all groups share and J_g by what is group g's own, a damped step of
both solves

    A d + sum_g B_g d_g = -a,   B_g^T d + D_g d_g = -b_g,

    A = sum J^T J,   B_g = J^T J_g,   D_g = J_g^T J_g

so d_g is eliminated, group by group, and of A a Schur complement is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.levenberg_marquardt import damped, direction


class BlockEquations(NamedTuple):
    """Mean squared error, half its gradient and J^T J, of Q shared and of n own for each group.

    As one vector they are the shared ones, then those of the groups, (Q + G * n,).
    """

    error: float
    gradient: Array  # a (Q,)
    curvature: Array  # A (Q, Q)
    own_gradient: Array  # b (G, n)
    own_curvature: Array  # D (G, n, n)
    coupling: Array  # B (G, Q, n)

    def penalised(self, ridge: Array, distance: Array) -> BlockEquations:
        """Return the equations with penalties on squares of a distance, both (Q + G * n,)."""
        size, groups = len(self.gradient), self.own_gradient.shape
        shared, own = ridge[:size], ridge[size:].reshape(groups)
        return self._replace(
            gradient=self.gradient + shared * distance[:size],
            curvature=self.curvature + np.diag(shared),
            own_gradient=self.own_gradient + own * distance[size:].reshape(groups),
            own_curvature=self.own_curvature + own[..., None] * np.eye(groups[1]),
        )

    def step(self, damping: float) -> Array | None:
        """Return the step (Q + G * n,) of damped equations, if there is one."""
        own = damped(self.own_curvature, damping)
        given = np.concatenate([self.own_gradient[..., None], self.coupling.swapaxes(1, 2)], axis=2)
        solved = np.linalg.solve(own, given)  # (G, n, 1 + Q)
        groups, size, states = self.coupling.shape
        taken = self.coupling.swapaxes(0, 1).reshape(size, groups * states) @ solved.reshape(
            groups * states, 1 + size
        )
        left = damped(self.curvature, damping) - taken[:, 1:]
        shared = direction(self.gradient - taken[:, 0], left)
        if shared is None:
            return None
        moved = -(solved[..., 0] + solved[..., 1:] @ shared)
        return np.concatenate([shared, moved.ravel()])

    def finite(self) -> bool:
        """Return whether all are numbers."""
        return all(bool(np.isfinite(part).all()) for part in self[1:])
