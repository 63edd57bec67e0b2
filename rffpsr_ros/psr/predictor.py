"""The predictor: the predictive state, an ARX term and a NARX term, summed.

    o_t = W_1 (q_t x phi^a(a_t)) + W_arx [last n (o, a), a_t, 1] + W_narx z(last m (o, a), a_t)
    q_{t+1} = filter(q_t, phi^a(a_t), phi^o(o_t))

The first term alone is the paper's RFF-PSR with W_1 its W_pred ("Model refinement by local
optimization"). The ARX term carries what is nearly linear or integrates, the NARX term what
is nonlinear in a short window. Predictions are held within bounds where recordings have them.

A term is a class with the methods of `WindowTerm`, weights of its name in `TrainableParameters`, an
entry in `FixedStructure.terms` and a regression in `initialisation.py`; what refines follows. What
runs live (`runtime/`) has the sum in a form of its own.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, Protocol

import numpy as np

from rffpsr_ros.data.arx_term import ArxTerm
from rffpsr_ros.data.preparation import Start
from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import count, holds, sizes
from rffpsr_ros.psr.feature_maps import Features
from rffpsr_ros.psr.filter_step import Conditioning
from rffpsr_ros.psr.narx_term import NarxTerm


class TrainableParameters(NamedTuple):
    """What refinement changes. Rows of the state's tensors are (state, action feature)."""

    covariance: Annotated[Array, holds("p*r_a", "r_o*(r_o+1)//2 | r_o*r_o")]
    extended: Annotated[Array, holds("p*r_a", "p*r_o")]
    initial: Annotated[Array, holds("p")]
    prediction: Annotated[Array, holds("p*r_a", "d_o")]  # W_1
    arx: Annotated[Array, holds("0 | n*(d_o+d_a)+d_a+1", "d_o")]
    """W_arx; no rows: no ARX term."""
    narx: Annotated[Array, holds("0 | r_z", "d_o")]
    """W_narx; no rows: no NARX term."""

    def astype(self, dtype: type[np.floating]) -> TrainableParameters:
        """Return the same parameters in another precision."""
        return TrainableParameters(*(part.astype(dtype) for part in self))


class Limits(NamedTuple):
    """The range that features can represent: standardised inputs are held within it."""

    observation_low: Annotated[Array, holds("d_o", infinite=True)]
    observation_high: Annotated[Array, holds("d_o", infinite=True)]
    action_low: Annotated[Array, holds("d_a", infinite=True)]
    action_high: Annotated[Array, holds("d_a", infinite=True)]


class WindowTerm(Protocol):
    """A summand of the prediction that is linear in features of the last ``past`` ticks."""

    @property
    def past(self) -> int:
        """Return how many past ticks the term takes."""
        ...

    def inputs(self, observations: Array, actions: Array) -> Array:
        """Return the inputs (N, r) that weights (r, d_o) are regressed on.

        Takes windows of ``past`` ticks or more: observations (N, m, d_o), and the actions with the
        tick's own (N, m + 1, d_a).
        """
        ...

    def predict(self, weights: Array, observations: Array, actions: Array) -> tuple[Array, Array]:
        """Return the summand (N, d_o), and what `gradients` needs of it."""
        ...

    def gradients(self, weights: Array, kept: Array, at_predicted: Array) -> tuple[Array, Array]:
        """Return the gradients at the weights (r, d_o) and at the observations (N, past, d_o).

        Takes that at o_t (N, d_o).
        """
        ...


class FixedStructure(NamedTuple):
    """What refinement leaves alone: feature maps, window lengths, conditioning."""

    observation: Annotated[Features, sizes(d="d_o", r="r_o")]  # phi^o
    action: Annotated[Features, sizes(d="d_a", r="r_a")]  # phi^a
    narx: Annotated[Features | None, sizes(d="m*(d_o+d_a)+d_a", r="r_z")]
    """z, of the last ``narx_past`` (o, a) and a_t"""
    arx_past: Annotated[int, count("n")]  # 0: no ARX term
    narx_past: Annotated[int, count("m")]
    conditioning: Conditioning
    start: Start
    limits: Limits | None = None  # in use; refinement goes without
    bounds: Bounds | None = None  # of what is predicted, standardised

    @property
    def past(self) -> int:
        """Return how many past ticks a prediction takes."""
        return max(self.arx_past, self.narx_past)

    def terms(self) -> dict[str, WindowTerm]:
        """Return the terms beside the state's, by the names of their weights."""
        terms: dict[str, WindowTerm] = {}
        if self.arx_past:
            terms["arx"] = ArxTerm(self.arx_past)
        if self.narx is not None:
            terms["narx"] = NarxTerm(self.narx, self.narx_past, self.limits)
        return terms

    def astype(self, dtype: type[np.floating]) -> FixedStructure:
        """Return the same structure computing in another precision."""
        return self._replace(
            observation=self.observation.astype(dtype),
            action=self.action.astype(dtype),
            narx=None if self.narx is None else self.narx.astype(dtype),
            bounds=None if self.bounds is None else self.bounds.astype(dtype),
        )


class Prediction(NamedTuple):
    """An expected observation, and what its gradient needs."""

    value: Array  # (N, d_o), within the bounds
    kept: dict[str, Array]  # what the gradient of each term needs


def predict_observation(
    parameters: TrainableParameters,
    structure: FixedStructure,
    joined: Array,
    observations: Array,
    actions: Array,
) -> Prediction:
    """Return the expected observations of N ticks.

    Takes u = q x phi^a (N, p r_a), the last `FixedStructure.past` observations (N, past, d_o),
    and the actions with the tick's own (N, past + 1, d_a).
    """
    value = joined @ parameters.prediction
    kept = {}
    for name, term in structure.terms().items():
        summand, kept[name] = term.predict(getattr(parameters, name), observations, actions)
        value = value + summand
    if structure.bounds is not None:
        value = structure.bounds(value)
    return Prediction(value, kept)


def add_prediction_gradient(
    parameters: TrainableParameters,
    structure: FixedStructure,
    joined: Array,
    prediction: Prediction,
    at_predicted: Array,
    at_window: Array,
    total: TrainableParameters,
) -> Array:
    """Add the gradient at the weights to ``total``; return that at u = q x phi^a (N, p r_a).

    ``at_predicted`` (N, d_o) is that at the prediction, set to 0 where that is held within bounds.
    What it makes of the gradient at the window of observations is added to ``at_window``
    (N, past, d_o).
    """
    if structure.bounds is not None:
        # In place: a copy lies otherwise in memory, and products with it round otherwise.
        at_predicted *= structure.bounds.strictly_inside(prediction.value)
    total.prediction[...] += joined.T @ at_predicted
    for name, term in structure.terms().items():
        at_weights, at_own = term.gradients(
            getattr(parameters, name), prediction.kept[name], at_predicted
        )
        getattr(total, name)[...] += at_weights
        at_window[:, at_window.shape[1] - term.past :] += at_own
    return np.asarray(at_predicted @ parameters.prediction.T)


def arx_term_alone(parameters: TrainableParameters) -> TrainableParameters:
    """Return the parameters with which the ARX term predicts by itself."""
    return parameters._replace(
        prediction=np.zeros_like(parameters.prediction), narx=np.zeros_like(parameters.narx)
    )


def for_predictions(
    parameters: TrainableParameters, structure: FixedStructure
) -> tuple[TrainableParameters, FixedStructure]:
    """Return what gives the same predictions at less cost, but no gradients at the weights.

    A NARX term without weight is left out; the features of another one are its summand itself.
    """
    if structure.narx is None or not parameters.narx.any():
        return parameters, structure._replace(narx=None)
    summed = structure._replace(narx=structure.narx.weighted(parameters.narx))
    columns = parameters.narx.shape[1]
    return parameters._replace(narx=np.eye(columns, dtype=parameters.narx.dtype)), summed
