"""The options of `RFFPSR`: what they mean, what they may be, and how they read from a file."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_type_hints

from rffpsr_ros.models.option_checks import check_type, require
from rffpsr_ros.psr.stage_one import ConditioningForm
from rffpsr_ros.psr.two_stage import StageOneMethod

Refinement = Literal["rollout", "window", "none"]
Forecast = Literal["rollout", "window"]
RefineFrom = Literal["both", "light", "regularised"]
OffAutoOn = Literal["off", "auto", "on"]
LearnedUnits = Literal["waves", "auto", "sigmoids"]
OffAuto = Literal["off", "auto"]


RIDGE_WINDOWS = 1000
"""Windows for which a ridge that follows the data is given."""

MOST = 1_000_000
"""No count is larger: more would be a slip, and would fill any memory."""


@dataclass(frozen=True)
class RFFPSROptions:
    """Options of `RFFPSR`; ``None`` means: decided from the data.

    Attributes
    ----------
    past, future
        Ticks of history and of future that windows hold (paper: 20 and 10). Where there is an
        ARX term, history is shorter if columns are too many, or recordings too short, for it.
    features
        Random frequencies D per feature map; each gives a cosine and a sine.
    rank
        Cap on the directions kept of histories, futures and products.
    observation_rank, action_rank
        Caps on the directions kept of single observations and actions.
    state_rank
        Cap on the state's size p.
    tolerance
        Directions whose singular value is below this fraction of the largest are dropped.
    bandwidth
        Kernel bandwidth, as a multiple of the median distance between points.
    stage_one
        ``joint`` or ``conditional`` regression; ``random`` replaces what they learn by noise.
    conditioning
        ``squared``: C (C^2 + lambda)^-1; ``plain``: (C + lambda)^-1.
    ridge
        Penalty of all stage regressions, on means over windows; with ``ridge_decay`` that for 1000
        windows.
    ridge_decay
        The ridge that follows the data: ``ridge`` times (windows / 1000)^-ridge_decay. 0: the same
        for any amount of data, which is not consistent. The theorem on two-stage regression wants
        a ridge that falls more slowly than N^-1/3.
    regularisation
        The lambda of conditioning, in stage one and in the filter.
    refinement
        ``rollout``: error of rolled-out predictions; ``window``: the paper's; ``none``.
    forecast
        ``rollout``, or ``window``: the paper's one-shot head, which sees all actions of a window.
    horizon
        Ticks that rolled-out refinement looks ahead; None: ``future``.
    iterations, learning_rate
        Steps of rolled-out refinement (0: none), and the first one's relative size. Features are
        learned in as many steps, at the most.
    batch, minibatches
        Each of these steps sums up the gradients of so many minibatches, each of ``batch``
        stretches of recordings; fewer where there are no more stretches. The workers of a cluster
        share the minibatches; in one process a larger ``batch`` is cheaper.
    refine_from
        ``light``: rolled-out refinement starts from lightly regularised regressions and takes full
        steps; ``regularised``: from those whose ridges did best, with gentle steps; ``both``: what
        does better on held-out folds, or ``light`` where there is a single model.
    rounds, step
        The same for the paper's refinement.
    arx_past
        Ticks of history in the ARX term, fewer where `past` is; 0: no such term.
    narx_past, narx_features
        Ticks of history and random frequencies of the NARX term; 0: none.
    narx_bandwidth
        Kernel bandwidth of the NARX term's features, as a multiple of the median distance. Where
        features of observations only are chosen by held-out folds, half and twice as much is tried.
    narx_affine
        Whether the NARX term's features see observations only, so that the next observation is
        affine in the actions, which the ARX term has, as it is where an action is a force; "auto":
        what does better on held-out recordings. Learned features see the actions in any case.
    narx_learning
        Whether the NARX term's features are learned before refinement, and not only drawn; "auto":
        models of both kinds are blended or, where there is a single model, what is clearly better
        on held-out recordings.
    narx_units
        What learned features are made of: ``waves``, for smooth responses; ``sigmoids``, for those
        with bends, as of walls and friction; "auto": models of both kinds are blended or, where
        there is a single model, waves.
    slow_actions
        Whether running means of actions and of their squares stand beside the actions, over longer
        than windows hold; "auto": where these tell what windows do not, and help.
    moving_origin
        Whether observations that leave the range of the recordings are followed about an origin
        that moves along, and learned features see only how they change; "auto": those on whose size
        the robot's law does not depend, by moved windows of held-out recordings.
    short_past
        Where folds are held out, ARX and NARX term of so few ticks, with three times as many
        features, are a candidate too; 0: not.
    margin
        Features see their inputs limited to the range of the training recordings, widened by this
        fraction of it.
    folds
        Models learned, each with another part of the recordings held out; their mean forecasts,
        blended with baselines by errors on held-out parts. 1: a single model, which validation
        recordings only steer. None: 3 where refinement is by rolling out, and the
        recordings are not so long that what is held out of them hardly matters; else 1.
    seed
        The seed of all randomness.
    """

    past: int = 20
    future: int = 10
    features: int = 200
    rank: int = 20
    observation_rank: int | None = None
    action_rank: int | None = None
    state_rank: int = 8
    tolerance: float = 1e-3
    bandwidth: float = 2.0
    stage_one: StageOneMethod = "joint"
    conditioning: ConditioningForm = "squared"
    ridge: float = 1e-4
    ridge_decay: float = 0.0
    regularisation: float = 1e-3
    refinement: Refinement = "rollout"
    forecast: Forecast = "rollout"
    horizon: int | None = None
    iterations: int = 300
    learning_rate: float = 1e-2
    batch: int = 8
    minibatches: int = 1
    refine_from: RefineFrom = "both"
    rounds: int = 100
    step: float = 1e-2
    arx_past: int = 20
    narx_past: int = 4
    narx_features: int = 100
    narx_bandwidth: float = 2.0
    narx_affine: OffAutoOn = "auto"
    narx_learning: OffAutoOn = "auto"
    narx_units: LearnedUnits = "auto"
    slow_actions: OffAuto = "auto"
    moving_origin: OffAuto = "auto"
    short_past: int = 2
    margin: float = 0.25
    folds: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every option.

        Raises
        ------
        InputError
            If an option has the wrong type or is out of its range.
        """
        for name in ("narx_affine", "narx_learning", "slow_actions", "moving_origin"):
            choice: Any = getattr(self, name)
            if isinstance(choice, bool):  # as YAML reads the words on and off
                object.__setattr__(self, name, "on" if choice else "off")
        for name, hint in get_type_hints(type(self)).items():
            check_type(name, getattr(self, name), hint)
        for name in _AT_LEAST_ONE:
            require(name, getattr(self, name), lambda v: v >= 1, "at least 1")
        for name in (*_AT_LEAST_ONE, "iterations"):
            require(name, getattr(self, name), lambda v: v <= MOST, f"at most {MOST}")
        for name in _AT_LEAST_ZERO:
            require(name, getattr(self, name), lambda v: v >= 0, "at least 0")
        for name in _POSITIVE:
            require(name, getattr(self, name), lambda v: v > 0, "greater than 0")
        require("tolerance", self.tolerance, lambda v: v < 1, "less than 1")

    @property
    def rollout_horizon(self) -> int:
        """Ticks that refinement looks ahead, and for which forecasts are judged."""
        return self.horizon or self.future

    def following(self, windows: int) -> RFFPSROptions:
        """Return the options with the ridge that is meant for so many windows."""
        if not self.ridge_decay:
            return self
        factor = (max(windows, 1) / RIDGE_WINDOWS) ** -self.ridge_decay
        return replace(self, ridge=self.ridge * factor, ridge_decay=0.0)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of all options."""
        return tuple(field.name for field in fields(cls))


_AT_LEAST_ONE = (
    "past", "future", "features", "rank", "observation_rank", "action_rank", "state_rank",
    "horizon", "batch", "minibatches", "rounds", "folds",
)  # fmt: skip
_AT_LEAST_ZERO = (
    "arx_past", "narx_past", "narx_features", "short_past", "margin", "tolerance", "seed",
    "ridge_decay", "iterations",
)  # fmt: skip
_POSITIVE = (
    "bandwidth", "narx_bandwidth", "ridge", "regularisation", "learning_rate", "step",
)  # fmt: skip
