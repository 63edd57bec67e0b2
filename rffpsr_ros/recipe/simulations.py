"""How candidates are judged beyond the horizon that they were trained for: by simulations.

A model follows a held-out block up to some origin, and forecasts from there to the block's end.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.ensemble.model import OutputLimits
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.state_batches import stack_states
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.blend import score
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory


class Simulations(NamedTuple):
    """Simulations on blocks of each fold, judged from ``beyond`` ticks on."""

    blocks: Sequence[Sequence[Trajectory]]
    past: int
    beyond: int
    origins: int
    settling: float

    def targets(self) -> list[Array]:
        """Return what is forecast, a group (n, 1, d_o) for each block."""
        return [
            self._beyond(_windows(block.observations, *self._origins(block)))
            for of_fold in self.blocks
            for block in of_fold
        ]

    def forecasts(self, by_fold: Sequence[PredictiveModel[Any]]) -> list[Array]:
        """Return the forecasts of models, one a fold, as `targets`."""
        return [
            self._beyond(self._simulated(model, block))
            for model, of_fold in zip(by_fold, self.blocks, strict=True)
            for block in of_fold
        ]

    def spans(self) -> list[range]:
        """Return the ticks ahead that share weights: each span is as long as all before it.

        Twice as far is twice as hard, so a few spans tell of every length. The last one holds what
        is left, of as many ticks as every block tells of.
        """
        end = min(self._origins(block)[1] for of_fold in self.blocks for block in of_fold)
        edges = [self.beyond]
        while 3 * edges[-1] <= end:  # or what is left would tell too little
            edges.append(2 * edges[-1])
        return [range(*edge) for edge in itertools.pairwise([*edges, end])]

    def within(self, span: range, errors: Sequence[Array]) -> list[Array]:
        """Return those of errors, or of forecasts, that lie so many ticks ahead."""
        ahead = slice(span.start - self.beyond, span.stop - self.beyond)
        return [
            self._by_tick(block, group)[:, ahead].reshape(-1, 1, group.shape[2])
            for block, group in zip(itertools.chain(*self.blocks), errors, strict=True)
        ]

    def _by_tick(self, block: Trajectory, rows: Array) -> Array:
        """Return rows (n H, 1, d_o) of what lies beyond as forecasts (n, H, d_o) again."""
        _, horizon = self._origins(block)
        return rows.reshape(-1, horizon - self.beyond, rows.shape[2])

    def _simulated(self, model: PredictiveModel[Any], block: Trajectory) -> Array:
        """Return forecasts (n, H, d_o) from all origins of a block."""
        origins, horizon = self._origins(block)
        states, state = [], model.initial_state()
        for tick in range(origins[-1] + 1):
            if tick in origins:
                states.append(state)
            state = model.advance(state, block.actions[tick], block.observations[tick])
        plans = _windows(block.actions, origins, horizon)
        with np.errstate(over="ignore", invalid="ignore"):
            return model.forecast(stack_states(states), plans)

    def _origins(self, block: Trajectory) -> tuple[range, int]:
        """Return from where a block is forecast, and how far: to its end from the last of them."""
        last = int(self.settling * len(block))
        start, horizon = min(self.past, last), len(block) - last
        return range(start, last + 1, max((last - start) // self.origins, 1)), horizon

    def _beyond(self, rows: Array) -> Array:
        """Return what of rows (n, H, d_o) lies beyond as one horizon (m, 1, d_o)."""
        return rows[:, self.beyond :].reshape(-1, 1, rows.shape[2])


class SimulationJudge(NamedTuple):
    """Judges simulations by their errors, with limits as they are blended."""

    simulations: Simulations
    targets: Sequence[Array]
    limits: OutputLimits | None
    fallback: Sequence[Array] | None
    """Forecasts of the candidate that limits fall back on."""
    deviation: Array

    def of_first_fold(self) -> SimulationJudge:
        """Return the judge of models of the first fold alone."""
        groups = len(self.simulations.blocks[0])
        return self._replace(
            simulations=self.simulations._replace(blocks=self.simulations.blocks[:1]),
            targets=self.targets[:groups],
            fallback=None if self.fallback is None else self.fallback[:groups],
        )

    def errors(self, made: Sequence[Array]) -> list[Array]:
        """Return the errors of forecasts, a group each."""
        if self.limits is not None:
            assert self.fallback is not None
            made = [self.limits(one, other) for one, other in zip(made, self.fallback, strict=True)]
        return [target - forecast for target, forecast in zip(self.targets, made, strict=True)]

    def made_by(self, by_fold: Sequence[PredictiveModel[Any]]) -> list[Array]:
        """Return the errors of models, one a fold."""
        return self.errors(self.simulations.forecasts(by_fold))

    def score(self, errors: Sequence[Array]) -> float:
        """Return the robust score of errors."""
        return score(errors, self.deviation)


def simulations_on(
    blocks: Sequence[Sequence[Trajectory]], options: RFFPSROptions, settings: RecipeSettings
) -> Simulations:
    """Return the simulations on blocks of each fold, judged beyond the horizon of options."""
    horizon, origins = options.rollout_horizon, settings.long_origins
    return Simulations(blocks, options.past, horizon, origins, settings.settling)


def far_simulations_on(
    blocks: Sequence[Sequence[Trajectory]], settings: RecipeSettings
) -> Simulations:
    """Return the simulations on very long blocks of each fold, judged beyond those on others.

    They begin where the last of these do: models have settled by then.
    """
    beyond, settled = settings.simulated_beyond, int(settings.settling * settings.block_ticks)
    return Simulations(blocks, settled, beyond, settings.long_origins, settings.settling)


def long_blocks(blocks: Sequence[Trajectory], settings: RecipeSettings) -> list[Trajectory]:
    """Return a few of the blocks that are long enough, evenly spread."""
    enough = [block for block in blocks if len(block) >= settings.long_block_ticks]
    return evenly_spread(enough, settings.long_blocks)


def very_long_blocks(held_out: Sequence[Trajectory], settings: RecipeSettings) -> list[Trajectory]:
    """Return a few of the recordings that are far longer, evenly spread, cut where too long."""
    enough = [run for run in held_out if len(run) >= settings.far_ticks]
    few = evenly_spread(enough, settings.long_blocks)
    return [run.slice(0, min(len(run), settings.most_far_ticks)) for run in few]


def _windows(values: Array, origins: range, length: int) -> Array:
    """Return the values (n, length, d) of the ticks from each of n origins on."""
    windows = sliding_window_view(values, length, axis=0).swapaxes(1, 2)
    return np.asarray(windows[np.array(origins)])
