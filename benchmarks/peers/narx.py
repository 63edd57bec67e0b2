"""Polynomial NARX, terms chosen by forward regression (FROLS) of SysIdentPy.

SysIdentPy builds the monomials of a window and orders them by the error they explain; how many are
kept is decided by its Bayesian information criterion. It learns from one record and one output
at a time, so the rows of all trajectories are stacked and each observation is an output.
"""

from __future__ import annotations

import itertools
import math
from typing import ClassVar, NamedTuple

import numpy as np

from benchmarks.peers.feedback import FeedbackModel, Scalings, windows
from rffpsr_ros.data.scaling import standardise
from rffpsr_ros.models.contract import TrainingRecord
from rffpsr_ros.models.in_memory import InMemoryLearner
from rffpsr_ros.models.training_set import training_signature
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.progress import Progress
from rffpsr_ros.recordings.trajectory import Trajectory

LARGEST = 12_000_000
"""Numbers in the matrix of monomials from which terms are chosen; of longer recordings a part,
spread over them, chooses the terms, and all of them fit the weights."""


class PolynomialNARXParts(NamedTuple):
    """What a polynomial NARX consists of."""

    past: int
    """Ticks of the window."""
    scalings: Scalings
    factors: tuple[Array, ...]
    """Per observation (terms, degree): columns of [1, observations newest first, actions newest
    first] to multiply."""
    weights: tuple[Array, ...]
    """Per observation (terms,)."""


class PolynomialNARXModel(FeedbackModel):
    """Monomials of the window for each observation."""

    kind: ClassVar[str] = "polynomial_narx"
    parts_class = PolynomialNARXParts
    parts: PolynomialNARXParts

    def _next(self, observations: Array, actions: Array) -> Array:
        columns = window_columns(observations, actions)
        return np.stack(
            [
                np.prod(columns[..., factors], axis=-1) @ weights
                for factors, weights in zip(self.parts.factors, self.parts.weights, strict=True)
            ],
            axis=-1,
        )


class PolynomialNARX(InMemoryLearner[PolynomialNARXModel]):
    """Learner of `PolynomialNARXModel`.

    Parameters
    ----------
    degree
        Highest degree of a monomial.
    past
        Observations, and actions with the one in force, that monomials are made of.
    terms
        Monomials per observation, at most.
    """

    def __init__(self, degree: int = 2, past: int = 4, terms: int = 50) -> None:
        self.degree = degree
        self.past = past
        self.terms = terms

    def _fit(
        self, train: list[Trajectory], validation: list[Trajectory] | None, progress: Progress
    ) -> PolynomialNARXModel:
        """Return the model of ``train``; ``validation`` is not looked at."""
        signature = training_signature(train, validation)
        scalings = Scalings.of(train)
        seen, acted, targets = windows(
            standardise(train, scalings.observation, scalings.action), self.past
        )
        columns = window_columns(seen, acted)
        combinations = np.array(
            list(itertools.combinations_with_replacement(range(columns.shape[1]), self.degree))
        )
        every = math.ceil(columns.shape[0] * len(combinations) / LARGEST)
        chosen = [
            _terms(columns[::every], target[::every], self.degree, self.terms)
            for target in targets.T
        ]
        factors = [combinations[terms] for terms in chosen]
        weights = [
            _least_squares(np.prod(columns[:, part], axis=-1), target)
            for part, target in zip(factors, targets.T, strict=True)
        ]
        record = TrainingRecord(
            options=dict(vars(self)), notes=tuple(f"{len(w)} terms" for w in weights)
        )
        parts = PolynomialNARXParts(self.past, scalings, tuple(factors), tuple(weights))
        return PolynomialNARXModel(signature, record, parts)


def window_columns(observations: Array, actions: Array) -> Array:
    """Return [1, observations newest first, the action in force and those before it] (..., n).

    Of past + 1 actions the oldest is left out, so there are as many of each.
    """
    batch = np.broadcast_shapes(observations.shape[:-2], actions.shape[:-2])
    parts = (observations[..., ::-1, :], actions[..., :0:-1, :])
    flat = [part.reshape(*part.shape[:-2], -1) for part in parts]
    spread = [np.broadcast_to(part, (*batch, part.shape[-1])) for part in flat]
    return np.concatenate([np.ones((*batch, 1)), *spread], axis=-1)


def _terms(columns: Array, target: Array, degree: int, most: int) -> list[int]:
    """Return which monomials to keep, by SysIdentPy's order and information criterion."""
    from sysidentpy.basis_function import Polynomial
    from sysidentpy.model_structure_selection import FROLS
    from sysidentpy.model_structure_selection.ofr_base import bic

    monomials = Polynomial(degree=degree).fit(columns, max_lag=0)
    most = min(most, monomials.shape[1] - 1)
    selection = FROLS(order_selection=False, n_terms=most, basis_function=Polynomial(degree=degree))
    selection.max_lag = 0
    _, order, ordered = selection.error_reduction_ratio(monomials, target[:, None].copy(), most)
    # The orders are nested, so one orthogonal basis gives the residual of each length.
    basis, _ = np.linalg.qr(ordered)
    explained = np.cumsum((basis.T @ target) ** 2)
    samples = len(target)
    left = np.maximum(target @ target - explained, 1e-14 * (target @ target)) / samples
    criterion = [bic(n + 1, samples, float(left[n])) for n in range(most)]
    return [int(term) for term in order[: int(np.argmin(criterion)) + 1]]


def _least_squares(monomials: Array, target: Array) -> Array:
    weights: Array = np.linalg.lstsq(monomials, target, rcond=1e-10)[0]
    return weights
