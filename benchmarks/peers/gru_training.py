"""Training of the GRU: PyTorch, one thread, the rolled-out error, the best on validation kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks.peers.feedback import MARGIN
from benchmarks.peers.gru import LARGEST_CHANGE, GRUModel, GRUParts, GRUWeights
from rffpsr_ros.data.folds import hold_out
from rffpsr_ros.data.scaling import Run, fit_scaling, standardise
from rffpsr_ros.models.contract import TrainingRecord
from rffpsr_ros.models.in_memory import InMemoryLearner
from rffpsr_ros.models.training_set import training_signature
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.scores import robust_score
from rffpsr_ros.progress import Progress
from rffpsr_ros.recordings.trajectory import Trajectory

WARM_UP = 20
"""Ticks that a network sees before a rollout from mid-recording."""

SEGMENT = 100
"""Ticks of a training segment, warm-up included, where the horizon leaves room."""

SEGMENTS, ROLLOUTS = 16, 256
"""Training segments, and starts of rollouts among them, in one iteration."""

SIMULATIONS = 64
"""The same for a simulation: segments, each rolled out once."""

CHECK_EVERY, PATIENCE = 25, 400
"""Iterations from one look at the validation error to the next, and without a better one."""

LONGEST_CHECK = 20_000
"""Ticks of validation that a check looks at, at most."""


class GRU(InMemoryLearner[GRUModel]):
    """Learner of `GRUModel`.

    Parameters
    ----------
    units
        Size of the hidden state.
    increments
        Predict the change of the observations, for those that integrate.
    noise
        Standard deviation of the noise on past observations in training, in standard units.
    iterations, rate
        Steps of Adam and its first learning rate, which falls to zero along a cosine.
    horizon
        Steps rolled out in training, the error of each weighed by one over its size; more than
        10 of them are a simulation: after a third of the iterations at 10 steps, the plain mean.
    decay
        Weight decay.
    """

    def __init__(
        self,
        units: int = 16,
        increments: bool = False,
        noise: float = 0.0,
        iterations: int = 1500,
        rate: float = 1e-2,
        horizon: int = 10,
        decay: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.units = units
        self.increments = increments
        self.noise = noise
        self.iterations = iterations
        self.rate = rate
        self.horizon = horizon
        self.decay = decay
        self.seed = seed

    def _fit(
        self, train: list[Trajectory], validation: list[Trajectory] | None, progress: Progress
    ) -> GRUModel:
        """Return the network that was best on ``validation``, or on a fifth held out."""
        return trained(self, train, validation)


class Network:
    """The tensors that are learned, filtering and rolling out with them."""

    def __init__(self, units: int, d_a: int, step: Array, increments: bool) -> None:
        d_o = len(step)
        self.step = torch.as_tensor(step, dtype=torch.float32)
        self.increments = increments
        self.cell = torch.nn.GRU(2 * d_o + d_a, units)
        self.readout = torch.nn.Linear(units + 2 * d_o + d_a, d_o)
        self.start = torch.zeros(units, requires_grad=True)

    def parameters(self) -> list[Any]:
        """Return all that is learned."""
        return [*self.cell.parameters(), *self.readout.parameters(), self.start]

    def filter(self, before: Any, actions: Any) -> Any:
        """Return hidden states (T, B, u): row t after the input of tick t.

        ``before`` (T, B, 2 d_o) are the observations of the ticks before and their changes.
        """
        inputs = torch.cat([before, actions], -1)
        start = self.start.expand(1, inputs.shape[1], -1).contiguous()
        return self.cell(inputs, start)[0]

    def roll_out(self, hidden: Any, before: Any, actions: Any, low: Any, high: Any) -> Any:
        """Return predictions (H, B, d_o) for the actions (H, B, d_a), each fed back."""
        weights = (
            self.cell.weight_ih_l0,
            self.cell.weight_hh_l0,
            self.cell.bias_ih_l0,
            self.cell.bias_hh_l0,
        )
        last, change = before.chunk(2, -1)
        predictions = []
        for action in actions:
            inputs = torch.cat([last, change, action], -1)
            hidden = torch.gru_cell(inputs, hidden, *weights)
            out = self.readout(torch.cat([hidden, inputs], -1))
            ahead = torch.clamp(last + self.step * out if self.increments else out, low, high)
            change = torch.clamp((ahead - last) / self.step, -LARGEST_CHANGE, LARGEST_CHANGE)
            last = ahead
            predictions.append(last)
        return torch.stack(predictions)

    def weights(self) -> GRUWeights:
        """Return what was learned."""
        tensors = {
            "input": self.cell.weight_ih_l0,
            "input_bias": self.cell.bias_ih_l0,
            "hidden": self.cell.weight_hh_l0,
            "hidden_bias": self.cell.bias_hh_l0,
            "readout": self.readout.weight,
            "readout_bias": self.readout.bias,
            "start": self.start,
        }
        return GRUWeights(
            **{
                name: tensor.detach().numpy().astype(np.float64).copy()
                for name, tensor in tensors.items()
            }
        )


class Segments(NamedTuple):
    """Pieces of recordings side by side, (T, B, d)."""

    before: Any
    """The observations of the ticks before, and their changes in units of a step."""
    observations: Any
    actions: Any
    at_start: Any
    """(B,) whether a segment is a recording's beginning."""


def segments(runs: Sequence[Run], length: int, every: int, first: Array, step: Array) -> Segments:
    """Return the segments of ``length`` ticks that begin at every so many ticks of the runs."""
    before, observations, actions, at_start = [], [], [], []
    for run in runs:
        earlier = np.concatenate([first[None], run.observations[:-1]])
        changes = np.diff(earlier, axis=0, prepend=earlier[:1]) / step
        limited = np.clip(changes, -LARGEST_CHANGE, LARGEST_CHANGE)
        earlier_and_changes = np.concatenate([earlier, limited], axis=1)
        last = len(run.observations) - length
        for begin in sorted({*range(0, last + 1, every), max(last, 0)}) if last >= 0 else ():
            piece = slice(begin, begin + length)
            before.append(earlier_and_changes[piece])
            observations.append(run.observations[piece])
            actions.append(run.actions[piece])
            at_start.append(begin == 0)
    late, seen, acted = (
        torch.as_tensor(np.stack(part, axis=1), dtype=torch.float32)
        for part in (before, observations, actions)
    )
    return Segments(late, seen, acted, torch.as_tensor(at_start))


def trained(
    options: GRU, train: Sequence[Trajectory], held: Sequence[Trajectory] | None
) -> GRUModel:
    """Return the network of the iteration that was best on the held-out trajectories."""
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    signature = training_signature(train, held)
    if not held:
        train, held = hold_out(train, options.horizon + WARM_UP)
    observed = fit_scaling([t.observations for t in train])
    acted = fit_scaling([t.actions for t in train])
    runs, held_runs = (standardise(part, observed, acted) for part in (train, held))
    first = np.mean([run.observations[0] for run in runs], axis=0)
    changes = np.concatenate([np.diff(run.observations, axis=0) for run in runs])
    step = np.sqrt(np.mean(changes**2, axis=0))
    shortest = min(len(run.actions) for run in [*runs, *held_runs])
    length = min(max(SEGMENT, WARM_UP + options.horizon), shortest)
    pieces = segments(runs, length, max(1, length // 8), first, step)
    checks = segments(held_runs, length, length - WARM_UP, first, step)
    limits = [
        torch.as_tensor(observed.apply(limit), dtype=torch.float32)
        for limit in observed.limits(MARGIN)
    ]
    network = Network(options.units, len(acted.mean), step, options.increments)
    best, score, when = _optimise(network, options, pieces, checks, limits)
    record = TrainingRecord(
        options={**vars(options)},
        metrics={"validation_score": score},
        notes=(f"best on validation at iteration {when} of {options.iterations}",),
    )
    parts = GRUParts(best, options.increments, step, first, observed, acted)
    return GRUModel(signature, record, parts)


def _optimise(
    network: Network, options: GRU, pieces: Segments, checks: Segments, limits: Sequence[Any]
) -> tuple[GRUWeights, float, int]:
    """Return the best weights, their validation score and iteration."""
    optimiser = torch.optim.AdamW(network.parameters(), lr=options.rate, weight_decay=options.decay)
    best, lowest, when = network.weights(), math.inf, 0
    for iteration in range(options.iterations):
        horizon = options.horizon
        if horizon > 10 and iteration < options.iterations / 3:
            horizon = 10
        progress = iteration / options.iterations
        for group in optimiser.param_groups:
            group["lr"] = options.rate * 0.5 * (1 + math.cos(math.pi * progress))
        loss = _loss(network, options, pieces, horizon, limits)
        optimiser.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        if torch.isfinite(norm):
            optimiser.step()
        if (iteration + 1) % CHECK_EVERY == 0:
            score = _validation_score(network, checks, options.horizon, limits)
            if score < lowest:
                best, lowest, when = network.weights(), score, iteration + 1
            # A simulation's first third is not its goal yet; nothing there counts as no progress.
            elif iteration - max(when, options.iterations / 3) > PATIENCE:
                break
    return best, lowest, when


def _loss(
    network: Network, options: GRU, pieces: Segments, horizon: int, limits: Sequence[Any]
) -> Any:
    """Return the rolled-out error from random starts in random segments."""
    length, count, _ = pieces.actions.shape
    wanted, rollouts = (SEGMENTS, ROLLOUTS) if horizon <= 10 else (SIMULATIONS, SIMULATIONS)
    chosen = torch.randperm(count)[:wanted]
    observations, actions = pieces.observations[:, chosen], pieces.actions[:, chosen]
    before = pieces.before[:, chosen]
    if options.noise:
        before = before + options.noise * torch.randn_like(before)
    newest = length - horizon
    # A segment from mid-recording knows enough of the past after the warm-up only.
    segment = torch.arange(rollouts) % len(chosen)
    earliest = torch.where(pieces.at_start[chosen][segment], 0, min(WARM_UP, newest))
    origin = earliest + (torch.rand(rollouts) * (newest - earliest + 1)).long()
    origin = origin.clamp(1, newest)
    hidden = network.filter(before[:newest], actions[:newest])
    ahead = origin + torch.arange(horizon)[:, None]
    predictions = network.roll_out(
        hidden[origin - 1, segment], before[origin, segment], actions[ahead, segment], *limits
    )
    squared = (predictions - observations[ahead, segment]) ** 2
    if horizon > 10:
        return squared.mean()
    return torch.log(squared.mean((1, 2)) + 1e-8).mean()


def _validation_score(
    network: Network, checks: Segments, horizon: int, limits: Sequence[Any]
) -> float:
    """Return the robust score over segments; a simulation's is its mean squared error."""
    length, count, d_o = checks.observations.shape
    with torch.no_grad():
        limit = max(1, LONGEST_CHECK // length)
        count = min(count, limit)
        observations, actions = checks.observations[:, :count], checks.actions[:, :count]
        before = checks.before[:, :count]
        hidden = network.filter(before, actions)
        warm = min(WARM_UP, length - horizon)
        origins = torch.arange(max(warm, 1), length - horizon + 1)
        ahead = origins + torch.arange(horizon)[:, None]
        width = len(origins) * count
        predictions = network.roll_out(
            hidden[origins - 1].reshape(width, -1),
            before[origins].reshape(width, -1),
            actions[ahead].reshape(horizon, width, -1),
            *limits,
        ).reshape(horizon, len(origins), count, d_o)
        squared = (predictions - observations[ahead]) ** 2
        errors = squared.sum(3).mean(1).T.numpy().astype(np.float64)
    return float(errors.mean()) if horizon > 10 else robust_score(errors)
