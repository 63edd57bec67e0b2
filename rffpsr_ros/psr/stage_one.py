"""Stage one: the expected conditional operator E[psi^o | psi^a; h] as a function of history.

Two estimates of the same object (paper, "Joint S1 Approach" and "Conditional S1 Approach", and "S1
Regression for HSE-PSR"). Both
are written for a generic pair (output, action): the future pair (psi^o, psi^a) gives the predictive
state Q_t, the extended pair (xi^o, xi^a) and the immediate pair (phi^o x phi^o, phi^a) give the
two halves of the extended state P_t.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from rffpsr_ros.data.moments import Moment, Regression
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import khatri_rao, symmetric_products, unpack_symmetric
from rffpsr_ros.psr.filter_step import inverse_of_square

ConditioningForm = Literal["squared", "plain"]
"""How a joint moment becomes a conditional operator: see `conditional_operator`."""


SAFE_IN_SINGLE_PRECISION = 1e-4
"""From this lambda on, conditioning loses at most a thousandth to single precision."""


class ConditionalOperators(Protocol):
    """A fitted stage one: histories (N, d_h) to operators (N, outputs, actions)."""

    def __call__(self, history: Array) -> Array:
        """Return the expected conditional operator of each history."""
        ...


class StageOne(Protocol):
    """A stage-one regression: moments are added chunk by chunk, then solved."""

    def add(
        self, history: Array, actions: Array, outputs: Array, weights: Array | None = None
    ) -> None:
        """Add N windows: history (N, d_h), action and output features, and what each counts."""
        ...

    def merge(self, other: Any) -> None:
        """Add the sums over other windows."""
        ...

    def solve(self, ridge: float, regularisation: float) -> ConditionalOperators:
        """Return the fitted map from history to conditional operators."""
        ...


def conditional_operator(
    output_action: Array, action_action: Array, regularisation: float, form: ConditioningForm
) -> Array:
    """Return V = C_oa C_aa^{-1}, regularised, for N pairs (N, m, n) and (N, n, n).

    ``squared``: C_oa C_aa (C_aa^2 + lambda I)^{-1}, see `inverse_of_square`. ``plain``: C_oa
    (C_aa + lambda I)^{-1}, the paper's section on joint S1.
    """
    if form == "squared":
        inverse = inverse_of_square(action_action, regularisation)
        return np.asarray(output_action @ (action_action @ inverse))
    identity = regularisation * np.eye(action_action.shape[-1], dtype=action_action.dtype)
    numerator = output_action.swapaxes(-1, -2)
    return np.linalg.solve(action_action + identity, numerator).swapaxes(-1, -2)


class JointOperators(NamedTuple):
    """Joint S1, fitted: T_oa h and T_a h, and from them the conditional operator."""

    output_action: Array  # (outputs * actions, d_h)
    action_action: Array  # (actions (actions + 1) / 2, d_h)
    actions: int
    regularisation: float
    form: ConditioningForm

    def __call__(self, history: Array) -> Array:
        """Return V = C_{oa|h} C_{aa|h}^{-1} (N, outputs, actions) of histories (N, d_h).

        Histories in single precision are worked on in single precision, where that is safe.
        """
        if self.form == "plain" or self.regularisation < SAFE_IN_SINGLE_PRECISION:
            history = history.astype(np.float64, copy=False)
        output_action = history @ self.output_action.T.astype(history.dtype)
        action_action = history @ self.action_action.T.astype(history.dtype)
        return conditional_operator(
            output_action.reshape(len(history), -1, self.actions),
            unpack_symmetric(action_action, self.actions),
            self.regularisation,
            self.form,
        )


class JointStageOne:
    """Joint S1: regress psi^o x psi^a and psi^a x psi^a on history (paper, "Joint S1")."""

    def __init__(self, history: int, actions: int, outputs: int, form: ConditioningForm) -> None:
        """Prepare empty moments for feature sizes."""
        self._actions, self._split, self._form = actions, outputs * actions, form
        self.regression = Regression.zeros(self._split + actions * (actions + 1) // 2, history)

    def add(
        self, history: Array, actions: Array, outputs: Array, weights: Array | None = None
    ) -> None:
        """Add N windows."""
        targets = np.hstack([khatri_rao(outputs, actions), symmetric_products(actions)])
        self.regression.add(history, targets, weights)

    def merge(self, other: JointStageOne) -> None:
        """Add the sums over other windows."""
        self.regression.merge(other.regression)

    def solve(self, ridge: float, regularisation: float) -> JointOperators:
        """Return the fitted joint S1."""
        weights = self.regression.solve(ridge)
        return JointOperators(
            weights[: self._split],
            weights[self._split :],
            self._actions,
            regularisation,
            self._form,
        )


class TensorOperators(NamedTuple):
    """Conditional S1, fitted: the tensor T (outputs, d_h, actions)."""

    tensor: Array

    def __call__(self, history: Array) -> Array:
        """Return V = T x_h h (N, outputs, actions) of histories (N, d_h)."""
        outputs, size, actions = self.tensor.shape
        by_history = self.tensor.transpose(1, 0, 2).reshape(size, -1).astype(history.dtype)
        return np.asarray(history @ by_history).reshape(-1, outputs, actions)


class ConditionalStageOne:
    """Conditional S1: regress psi^o on h x psi^a (paper, "Conditional S1 Regression")."""

    def __init__(self, history: int, actions: int, outputs: int) -> None:
        """Prepare empty moments for feature sizes."""
        self._shape = (outputs, history, actions)
        self.regression = Regression.zeros(outputs, history * actions)

    def add(
        self, history: Array, actions: Array, outputs: Array, weights: Array | None = None
    ) -> None:
        """Add N windows."""
        self.regression.add(khatri_rao(history, actions), outputs, weights)

    def merge(self, other: ConditionalStageOne) -> None:
        """Add the sums over other windows."""
        self.regression.merge(other.regression)

    def solve(self, ridge: float, regularisation: float) -> TensorOperators:
        """Return the fitted conditional S1; ``regularisation`` has no part in it."""
        del regularisation
        return TensorOperators(self.regression.solve(ridge).reshape(self._shape))


class AdditiveOperators(NamedTuple):
    """The additive class, fitted: psi^o = Gamma h + B psi^a and what is left over.

    B is the same for every history, so the state is what history adds: Gamma h.
    """

    history: Array  # Gamma (outputs, d_h)
    actions: Array  # B (outputs, actions)
    residual: Array  # (outputs, outputs): second moment of psi^o - Gamma h - B psi^a

    def __call__(self, history: Array) -> Array:
        """Return Gamma h (N, outputs, 1) of histories (N, d_h)."""
        return np.asarray((history @ self.history.T)[:, :, None])


class AdditiveStageOne:
    """Conditional S1 in the class Gamma h + B psi^a: the oblique projection.

    (Paper, appendix "Kalman Filter with inputs"; Van Overschee and De Moor 1996.)
    """

    def __init__(self, history: int, actions: int, outputs: int) -> None:
        """Prepare empty moments for feature sizes."""
        self._history = history
        self._regression = Regression.zeros(outputs, history + actions)
        self._outputs = Moment.zeros(outputs, outputs)

    def add(
        self, history: Array, actions: Array, outputs: Array, weights: Array | None = None
    ) -> None:
        """Add N windows."""
        self._regression.add(np.hstack([history, actions]), outputs, weights)
        self._outputs.add(outputs, outputs, weights)

    def merge(self, other: AdditiveStageOne) -> None:
        """Add the sums over other windows."""
        self._regression.merge(other._regression)
        self._outputs.merge(other._outputs)

    def solve(self, ridge: float, regularisation: float) -> AdditiveOperators:
        """Return the fitted additive class; ``regularisation`` has no part in it."""
        del regularisation
        weights = self._regression.solve(ridge)
        explained = weights @ self._regression.target_input.mean.T
        fitted = weights @ self._regression.input_input.mean @ weights.T
        residual = self._outputs.mean - explained - explained.T + fitted
        return AdditiveOperators(weights[:, : self._history], weights[:, self._history :], residual)
