"""Joint stage one where all features are indicators: its moments are counts."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.learning.stages.stage_one import JointOperators
from rffpsr_ros.learning.windows.arrays import Array, symmetric_half


class CountingStageOne:
    """What `JointStageOne` learns from indicators, without multiplying all their zeros.

    The joint table P(o, a | h) and the table P(a | h) of the paper's appendix "IO-HMM".
    """

    def __init__(self, history: int, actions: int, outputs: int) -> None:
        """Prepare an empty table for feature sizes."""
        self._counts = np.zeros((history, outputs, actions))

    def add(
        self, history: Array, actions: Array, outputs: Array, weights: Array | None = None
    ) -> None:
        """Add N windows."""
        cells = [rows.argmax(1) for rows in (history, outputs, actions)]
        number = np.ravel_multi_index(cells, self._counts.shape)
        counted = np.bincount(number, weights, minlength=self._counts.size)
        self._counts += counted.reshape(self._counts.shape)

    def merge(self, other: CountingStageOne) -> None:
        """Add the counts of other windows."""
        self._counts += other._counts

    def solve(self, ridge: float, regularisation: float) -> JointOperators:
        """Return the fitted joint S1."""
        histories, _, actions = self._counts.shape
        joint = self._counts / self._counts.sum()
        by_history = joint.sum((1, 2)) + ridge
        chances = joint / by_history[:, None, None]
        rows, columns = symmetric_half(actions)
        action_action = np.zeros((len(rows), histories))
        action_action[rows == columns] = chances.sum(1).T
        output_action = chances.reshape(histories, -1).T
        return JointOperators(output_action, action_action, actions, regularisation, "squared")
