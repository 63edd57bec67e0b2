"""A discrete system from the two stages: indicator features, exact conditioning.

The instance "IO-HMM" of the paper's appendix. With indicators, C_oo given state and action is the
diagonal matrix of the observation's probabilities: conditioning on a symbol picks its slice of the
extended state, conditioning on a set of symbols adds their slices, and a missing observation is the
set of all, which is exact marginalisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np

from rffpsr_ros.data.feature_source import FeaturesInMemory, FeaturesOfWindows
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.window_source import WindowSource
from rffpsr_ros.data.windows import Windows, window_chunks
from rffpsr_ros.models.io_hmm.symbols import Histories, SymbolFeatures, SymbolMaps, ending_codes
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds
from rffpsr_ros.numerics.packing import symmetric_half
from rffpsr_ros.psr.stage_one import ConditionalOperators, JointOperators, TensorOperators
from rffpsr_ros.psr.stage_two import StageOneMaps, project_states, stage_two_nested
from rffpsr_ros.psr.two_stage import stage_one, weighted_features

DiscreteStageOne = Literal["joint", "conditional"]

OFTEN = 20
"""Occurrences from which an ending of the history is a class of its own."""

MOST_HISTORIES = 400

LEAST = 1e-9
"""Total probability below which what was seen counts as impossible."""

FARTHEST = 20.0
"""Beliefs so many times the training beliefs' size are lost."""


class DiscreteSystem(NamedTuple):
    """The contracted map P_t = W Q_t for p state features, A actions and S symbols."""

    probability: Annotated[Array, holds("p", "A", "S")]  # probabilities of the symbols
    extended: Annotated[Array, holds("p", "A", "S", "p")]
    """Next belief times the probability of the symbol."""
    start: Annotated[Array, holds("p")]
    size: Annotated[Array, holds(positive=True)]  # root mean square of the training beliefs

    @property
    def total(self) -> Array:
        """Return the functional (p,) that is 1 for a belief: the sum of the probabilities."""
        return np.asarray(self.probability.sum(2).mean(1))


@dataclass(frozen=True)
class DiscreteOptions:
    """Sizes of windows and regularisation; see `IOHMM` for their meaning to a user."""

    past: int
    future: int
    ridge: float = 1e-9
    regularisation: float = 1e-6
    stage_one: DiscreteStageOne = "joint"


def learn_discrete_systems(
    runs: Sequence[Run],
    symbols: int,
    actions: int,
    options: DiscreteOptions,
    ranks: Sequence[int],
    counted: Sequence[Run] | None = None,
) -> list[DiscreteSystem]:
    """Return the systems of each rank, or the largest possible, found in runs of codes.

    ``counted`` are the runs with what each window counts in stage one, see `weighted_runs`.
    """
    maps, histories = indicator_stage_one(runs, symbols, actions, options, counted)
    projection = project_states(maps, histories, max(ranks), 1e-9, np.random.default_rng(0))
    possible = sorted({min(rank, projection.shape[1]) for rank in ranks})
    learned = stage_two_nested(maps, histories, projection, options.ridge, possible)
    systems = []
    for two in learned:
        extended, immediate = two.weights
        rank, future = two.projection.shape[1], symbols**options.future
        state = two.projection.reshape(future, -1, rank)
        by_symbol = extended.reshape(symbols, future, actions, -1, rank)
        systems.append(
            DiscreteSystem(
                immediate.reshape(symbols, actions, rank).transpose(2, 1, 0),
                np.einsum("sbi,osabp->paoi", state, by_symbol, optimize=True),
                two.mean,
                np.sqrt(np.trace(two.second)),
            )
        )
    return [
        system._replace(start=system.start / (system.start @ system.total)) for system in systems
    ]


def indicator_stage_one(
    runs: Sequence[Run],
    symbols: int,
    actions: int,
    options: DiscreteOptions,
    counted: Sequence[Run] | None = None,
) -> tuple[StageOneMaps, FeaturesInMemory[SymbolFeatures]]:
    """Return stage one as functions of the history's class, and the classes with their counts.

    Stage one depends on the class alone, so stage two sums over the classes.
    """
    classes = SymbolMaps(_frequent(runs, symbols, actions, options))
    if counted is None:
        source = WindowSource.of_runs(runs, options.past, options.future)
        chunks = FeaturesOfWindows(
            source, classes.__call__, source.sample(1, np.random.default_rng(0))
        )
    else:
        source = WindowSource.of_runs(counted, options.past, options.future)
        chunks = weighted_features(source, classes.__call__)
    regression = partial(CountingStageOne, method=options.stage_one)
    maps = stage_one(chunks, regression, options.ridge, options.regularisation)
    counts = np.zeros(classes.histories.size)
    for chunk in window_chunks(runs, options.past, options.future):
        counts += np.bincount(_classes(classes.histories, chunk), minlength=len(counts))
    (kept,) = np.nonzero(counts)
    some = classes(Windows(*(part[:1] for part in chunk)))
    features = some._replace(history=np.eye(len(counts))[kept], weights=counts[kept])
    return maps, FeaturesInMemory([features])


def _classes(histories: Histories, windows: Windows) -> Array:
    return histories.classes(windows.past_observations[:, :, 0], windows.past_actions[:, :, 0])


def _frequent(
    runs: Sequence[Run], symbols: int, actions: int, options: DiscreteOptions
) -> Histories:
    """Return the endings of histories that occur often, the more frequent first where too many."""
    codes: list[list[Array]] = [[] for _ in range(options.past)]
    for chunk in window_chunks(runs, options.past, options.future):
        ends = ending_codes(
            chunk.past_observations[:, :, 0], chunk.past_actions[:, :, 0], symbols, actions
        )
        for here, of_length in zip(codes, ends, strict=True):
            here.append(of_length)
    known, room = [], MOST_HISTORIES
    for endings in codes:
        distinct, counts = np.unique(np.concatenate(endings), return_counts=True)
        frequent = np.argsort(-counts, kind="stable")[: min(room, int(np.sum(counts >= OFTEN)))]
        known.append(np.sort(distinct[frequent]))
        room -= len(frequent)
    return Histories(tuple(known), symbols, actions)


def symbol_probabilities(system: DiscreteSystem, belief: Array, action: Array) -> Array:
    """Return the probabilities (N, S) of the next symbol, for beliefs (N, p) and actions (N,)."""
    raw = np.einsum("np,pns->ns", belief, system.probability[:, action])
    raw = np.maximum(raw, 0.0)
    total = raw.sum(1, keepdims=True)
    return np.asarray(np.where(total > LEAST, raw / np.maximum(total, LEAST), 1 / raw.shape[1]))


def discrete_step(system: DiscreteSystem, belief: Array, action: Array, symbols: Array) -> Array:
    """Return the beliefs (N, p) after actions (N,) and one of the symbols marked (N, S) was seen.

    A belief for which that was impossible, or far larger than any in training, begins anew.
    """
    by_symbol = np.einsum("np,pnsi->nsi", belief, system.extended[:, action])
    following = np.einsum("nsi,ns->ni", by_symbol, symbols)
    total = following @ system.total
    possible = total > LEAST
    following = following / np.where(possible, total, 1.0)[:, None]
    near = np.sqrt((following**2).sum(1)) < FARTHEST * system.size
    return np.asarray(np.where((possible & near)[:, None], following, system.start))


class CountingStageOne:
    """What stage one learns from indicators, without multiplying all their zeros.

    Joint, as `JointStageOne`: the tables P(o, a | h) and P(a | h) of the paper's appendix "IO-HMM",
    divided by each other. Conditional, as `ConditionalStageOne`: P(o | h, a) at once. Tables hold
    any function of h and a, so the two differ by their regularisation only: the former shrinks
    actions that are rare given history, the latter those that are rare together with it.
    """

    def __init__(
        self, history: int, actions: int, outputs: int, method: DiscreteStageOne = "joint"
    ) -> None:
        """Prepare an empty table for feature sizes."""
        self._counts, self._method = np.zeros((history, outputs, actions)), method

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

    def solve(self, ridge: float, regularisation: float) -> ConditionalOperators:
        """Return the fitted map; ``regularisation`` is of joint S1 only."""
        histories, _, actions = self._counts.shape
        joint = self._counts / self._counts.sum()
        if self._method == "conditional":
            by_both = joint.sum(1, keepdims=True) + ridge
            return TensorOperators((joint / by_both).transpose(1, 0, 2))
        by_history = joint.sum((1, 2)) + ridge
        given_history = joint / by_history[:, None, None]
        rows, columns = symmetric_half(actions)
        action_action = np.zeros((len(rows), histories))
        action_action[rows == columns] = given_history.sum(1).T
        output_action = given_history.reshape(histories, -1).T
        return JointOperators(output_action, action_action, actions, regularisation, "squared")
