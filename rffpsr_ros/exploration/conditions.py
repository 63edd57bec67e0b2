"""Can these recordings teach a model? The paper's conditions of sufficient exploration as numbers.

The supplement ("Theoretical Analysis") asks for a sufficient set of histories (stage two must be
well conditioned) and that actions span: for joint stage one the covariance of future actions given
history must have full rank, for conditional stage one the products of history and future actions.
Smallest eigenvalues of estimated covariances say little by themselves; here they stand beside what
they are measured against: the channel's own variance, the ridge, the number of independent windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.data.windows import joined_windows, window_chunks
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import khatri_rao
from rffpsr_ros.psr.fourier_features import draw_feature_map
from rffpsr_ros.psr.stage_one import JointStageOne

FREQUENCIES = 50
"""Random frequencies per feature map: these numbers need no finer kernel."""
JUDGED_STATES = 1000
"""Histories at which both halves' states are compared."""
RESOLUTION = 0.05
"""History is taken to be known to within this share of each value's deviation.

Read without any error, the past of every signal of limited bandwidth determines its future.
"""
EXCITED = 0.05
"""A direction of future actions is excited if its variance given history is more than this share of
the channel's variance."""
CLEARLY = 4.0
"""A direction varies so many times as much as it must where few windows could not hide it."""
SELDOM = 0.05
"""Share of the histories after which an action may vary as little as is told."""
NEIGHBOURS = 50
"""Windows whose histories are taken for one: those that resemble it most."""
JUDGED_HISTORIES = 200
REPRODUCED = 0.5
"""Correlation of a state direction between both halves of the data from which it counts."""


class ActionFreedom(NamedTuple):
    """How one channel's next k actions vary given history.

    Eigenvalues (k,), descending, of the covariance of the channel's future given history, in units
    of the channel's variance. The paper's condition is of every history: what varies on average
    need not vary after each.
    """

    alone: Array  # given history, on average over histories
    eigenvalues: Array  # given history and the other channels' future, on average
    by_history: Array  # (H, k), given each of some histories; empty where windows are too few

    @property
    def directions(self) -> int:
        """Return how many of the k directions are excited."""
        return int(np.sum(self.eigenvalues > EXCITED))

    @property
    def seldom(self) -> Array:
        """Return the eigenvalues (k,) at the least excited twentieth of histories."""
        if not len(self.by_history):
            return np.full(len(self.alone), np.nan)
        return np.asarray(np.quantile(self.by_history, SELDOM, axis=0))

    @property
    def lost(self) -> int:
        """Return how many directions are well excited on average and not so after a few histories.

        These are the least excited twentieth.
        """
        if not len(self.by_history):
            return 0
        left = int(np.sum(self.seldom > EXCITED))
        return max(0, int(np.sum(self.alone > CLEARLY * EXCITED)) - left)

    @property
    def coupled(self) -> bool:
        """Return whether the channel is excited, but not given the other channels."""
        return self.directions == 0 and bool(self.alone[0] > EXCITED)


class RegressionConditioning(NamedTuple):
    """How well the regressions of both stages are posed, in the model's own features."""

    windows: int
    independent_windows: float  # effective number, under autocorrelation
    history: Array  # eigenvalues of E[h h'] (r_h,), descending
    future_action_given_history: Array  # eigenvalues of the covariance of psi^a given h
    history_action: Array  # eigenvalues of E[(h x psi^a) (h x psi^a)']
    state: Array  # singular values of the states' variation around their mean
    reproduced: Array  # each state direction's correlation between the halves of the data


def action_freedom(runs: Sequence[Run], past: int, future: int) -> list[ActionFreedom]:
    """Return for each action channel how its future varies given the past.

    ``past`` shrinks where the windows are too few to regress on so many values.
    """
    columns = runs[0].actions.shape[1]
    values = runs[0].observations.shape[1] + columns
    count = sum(max(0, len(run.actions) - past - future) for run in runs)
    past = max(1, min(past, count // (4 * values)))
    windows = joined_windows(list(window_chunks(runs, past, future)))
    history = windows.history - windows.history.mean(axis=0)
    # Channel by channel, so that one channel's future stands together: (N, d_a k).
    ahead = windows.actions[:, :-1].swapaxes(1, 2).reshape(len(history), -1)
    ahead = ahead - ahead.mean(axis=0)
    within, cross = history.T @ history / len(history), history.T @ ahead / len(history)
    noisy = within + RESOLUTION**2 * np.eye(len(within))
    used = float(np.trace(np.linalg.solve(noisy, within)))
    covariance = ahead.T @ ahead / len(history) - cross.T @ np.linalg.solve(noisy, cross)
    covariance *= len(history) / max(1.0, len(history) - used)
    left = ahead - history @ np.linalg.solve(noisy, cross)
    alike = _alike(history, future)
    return [_freedom(covariance, left, alike, channel, future) for channel in range(columns)]


def _alike(history: Array, future: int) -> Array:
    """Return for each of some histories which windows (H, NEIGHBOURS) resemble it most.

    Of windows whose futures do not overlap; (0, NEIGHBOURS) where these are too few to differ.
    """
    apart = np.arange(0, len(history), future)
    if len(apart) < 4 * NEIGHBOURS:
        return np.empty((0, NEIGHBOURS), np.intp)
    judged = history[evenly_spread(list(apart), JUDGED_HISTORIES)]
    others = history[apart]
    # |x - y|^2 less |x|^2, which is the same for all that x is compared with.
    distance = (others**2).sum(axis=1) - 2 * judged @ others.T
    return np.asarray(apart[np.argpartition(distance, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]])


def _freedom(
    covariance: Array, left: Array, alike: Array, channel: int, future: int
) -> ActionFreedom:
    """Return one channel's eigenvalues, from the covariance (d_a k, d_a k) given history.

    ``left`` (N, d_a k) is what history does not explain of each window's future.
    """
    own = np.zeros(len(covariance), bool)
    own[channel * future : (channel + 1) * future] = True
    alone = covariance[own][:, own]
    others = covariance[~own][:, ~own] + RESOLUTION**2 * np.eye(int(np.sum(~own)))
    cross = covariance[own][:, ~own]
    given_others = alone - cross @ np.linalg.solve(others, cross.T)
    near = left[:, own][alike]  # (H, NEIGHBOURS, k)
    near = near - near.mean(axis=1, keepdims=True)
    products = near.swapaxes(1, 2) @ near / (NEIGHBOURS - 1)
    return ActionFreedom(
        np.linalg.eigvalsh(alone)[::-1],
        np.linalg.eigvalsh(given_others)[::-1],
        np.linalg.eigvalsh(products)[:, ::-1],
    )


@dataclass(frozen=True)
class ConditioningOptions:
    """What a learner would use; see `RFFPSROptions`."""

    past: int
    future: int
    rank: int
    state_rank: int
    tolerance: float
    bandwidth: float
    ridge: float
    regularisation: float


def conditioning(
    runs: Sequence[Run], options: ConditioningOptions, generator: np.random.Generator
) -> RegressionConditioning:
    """Return how well both stages' regressions are posed; runs are standardised."""
    # Run by run: what follows each other must not be joined with what does not.
    chunks = [chunk for run in runs for chunk in window_chunks([run], options.past, options.future)]
    windows = joined_windows(chunks)
    history = _features(windows.history, options, generator)
    whole = _Features(
        np.concatenate([history, np.ones((len(history), 1))], axis=1),
        _features(windows.future_actions, options, generator),
        _features(windows.future_observations, options, generator),
    )
    borders = np.cumsum([len(chunk.actions) for chunk in chunks])[:-1]
    inflation = _inflation(np.split(history, borders), options.future)
    states, reproduced = _states(whole, options)
    return RegressionConditioning(
        len(history),
        len(history) / inflation,
        _spectrum(whole.history),
        _spectrum(_residual(whole.history, whole.action)),
        _spectrum(khatri_rao(whole.history, whole.action)),
        states,
        reproduced,
    )


class _Features(NamedTuple):
    """Features h, psi^a and psi^o of N windows."""

    history: Array
    action: Array
    observation: Array


def _features(points: Array, options: ConditioningOptions, generator: np.random.Generator) -> Array:
    """Return projected random Fourier features (N, r) of points, as Learn-RFF-PSR makes them."""
    features = draw_feature_map(
        points, FREQUENCIES, options.bandwidth, options.rank, options.tolerance, generator
    )
    return features.with_pullback(points)[0]


def _spectrum(rows: Array) -> Array:
    """Return the eigenvalues of the rows' second moment, descending."""
    return np.asarray(np.linalg.eigvalsh(rows.T @ rows / len(rows))[::-1])


def _residual(known: Array, values: Array) -> Array:
    return np.asarray(values - known @ np.linalg.lstsq(known, values, rcond=1e-10)[0])


def _inflation(histories: Sequence[Array], future: int) -> float:
    """Return how many windows count as one, on average over the directions of history.

    The error of a regression on h from overlapping windows grows by 1 + 2 sum_l rho_h(l) rho_e(l);
    futures of k ticks share k - l of them, so the noise e has rho_e(l) = 1 - l / k at the most.
    """
    rows = np.concatenate(histories)
    varied = rows.std(axis=0) > 1e-9 * np.abs(rows).max()
    centred = [(h - rows.mean(axis=0))[:, varied] for h in histories]
    variance = sum((h**2).sum(axis=0) for h in centred) / len(rows)
    inflation = np.ones(int(varied.sum()))
    for lag in range(1, future):
        pairs = max(1, sum(max(0, len(h) - lag) for h in centred))
        products = sum((h[lag:] * h[:-lag]).sum(axis=0) for h in centred if len(h) > lag)
        correlation = products / pairs / variance
        inflation += 2 * (1 - lag / future) * np.maximum(correlation, 0)
    return float(inflation.mean())


def _states(whole: _Features, options: ConditioningOptions) -> tuple[Array, Array]:
    """Return the spread of states along their principal directions, and how far it is real.

    States are estimated from each half of the data and compared on all of it: a direction that is
    there in truth agrees, one that estimation noise made up does not.
    """
    middle = len(whole.history) // 2
    halves = [_Features(*(p[:middle] for p in whole)), _Features(*(p[middle:] for p in whole))]
    judged = whole.history[:: max(1, len(whole.history) // JUDGED_STATES)]
    estimates = [_states_of(half, judged, options) for half in halves]
    centred = [states - states.mean(axis=0) for states in estimates]
    mean = (centred[0] + centred[1]) / 2
    _, size, directions = np.linalg.svd(mean, full_matrices=False)
    kept = directions[: options.state_rank].T
    first, second = centred[0] @ kept, centred[1] @ kept
    norms = np.sqrt((first**2).sum(axis=0) * (second**2).sum(axis=0))
    agreement = (first * second).sum(axis=0) / np.maximum(norms, np.finfo(float).tiny)
    return size[: options.state_rank] / np.sqrt(len(judged)), agreement


def _states_of(part: _Features, history: Array, options: ConditioningOptions) -> Array:
    """Return vec Q_t (N, r_psi_o r_psi_a) of histories, from stage one on one part of the data."""
    sizes = part.history.shape[1], part.action.shape[1], part.observation.shape[1]
    stage_one = JointStageOne(*sizes, "squared")
    stage_one.add(part.history, part.action, part.observation)
    operators = stage_one.solve(options.ridge, options.regularisation)(history)
    return operators.reshape(len(history), -1)
