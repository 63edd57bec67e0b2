"""What a fitted RFF-PSR consists of."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.models.rff_psr.filter_monitor import FilterMonitor
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import count, holds, sizes
from rffpsr_ros.psr.feature_maps import Features
from rffpsr_ros.psr.history import HistoryRegression
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters

StandIn = Literal["prediction", "features"]
"""What stands in for an observation not seen: features of the predicted one, or E[phi^o | q, a]."""


class WindowHead(NamedTuple):
    """The paper's one-shot forecast of a whole window; each row sees all the window's actions.

    [o_t ... o_{t+k-1}] = (q_t x psi^a(a_t ... a_{t+k-1})) W
    """

    future_action: Annotated[Features, sizes(d="k*d_a", r="r_w")]
    """psi^a"""
    weights: Annotated[Array, holds("p*r_w", "k*d_o")]
    """W"""
    future: Annotated[int, count("k", least=1)]
    """k"""


class RFFPSRParts(NamedTuple):
    """All that a fitted RFF-PSR consists of; standard units throughout."""

    observation_scaling: Annotated[Scaling, sizes(d="d_o")]
    """Of o (d_o,): what makes observations standard."""
    action_scaling: Annotated[Scaling, sizes(d="d_a")]
    """Of a (d_a,)"""
    structure: FixedStructure
    """Feature maps phi^o, phi^a and z, window lengths, conditioning: see `psr.predictor`."""
    parameters: TrainableParameters
    """What maps q_t x phi^a(a_t) to covariance, extended state and prediction; q_0; ARX, NARX."""
    expected: Annotated[Array, holds("p*r_a", "r_o")]
    """E[phi^o | q, a] = (q x phi^a) times this."""
    history: Annotated[HistoryRegression, sizes(p="p", d_o="d_o", d_a="d_a")]
    """The belief after a window of the past, where a recording is entered in its middle."""
    monitor: FilterMonitor
    """What is normal of beliefs and innovations."""
    stand_in: StandIn
    """What is taken for an observation that was not seen."""
    head: WindowHead | None
    """The paper's settings forecast by it; None: forecasts are rolled out."""
