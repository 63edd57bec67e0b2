"""RFF-ARX, the paper's nonlinear baseline: autoregression on random features of a window."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rffpsr_ros.data.folds import hold_out
from rffpsr_ros.data.scaling import forgiving_scaling, standardise
from rffpsr_ros.data.windows import flatten
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import TrainingRecord
from rffpsr_ros.models.in_memory import InMemoryLearner
from rffpsr_ros.models.option_checks import check_seed, check_type, require
from rffpsr_ros.models.rff_arx.model import RFFARXModel, RFFARXParts, WindowMap
from rffpsr_ros.models.rff_arx.regression import HorizonFit, Rows, all_rows, fit_horizons
from rffpsr_ros.models.training_set import training_signature
from rffpsr_ros.numerics.scores import robust_score
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.progress import Progress
from rffpsr_ros.psr.fourier_features import draw_frequencies, median_distance
from rffpsr_ros.recordings.trajectory import Trajectory

RANKS = (10, 20, 50, 100, 200, 400)
"""What the rank is chosen from, as far as there are windows enough."""

RIDGES = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
"""What the ridge is chosen from; features have unit norm."""


class RFFARX(InMemoryLearner[RFFARXModel]):
    """Learner of `RFFARXModel`.

    Parameters
    ----------
    past, future
        Ticks of history and of future in a window.
    features
        Random frequencies D; each gives a cosine and a sine (paper: 10000, its authors: 5000).
    rank
        Principal directions of the features that are kept (paper: 20); None chooses it.
    ridge
        Penalty on means; None chooses it.
    bandwidth
        Kernel bandwidth, as a multiple of the median distance between windows.
    one_shot
        Show every horizon all actions of the window, as the paper's authors do.
    seed
        The seed of all randomness.

    Choices are made by the error on validation trajectories, else on some that are held out.
    """

    configurable = ("past", "future", "features", "bandwidth", "seed")

    def __init__(
        self,
        past: int = 20,
        future: int = 10,
        features: int = 5000,
        rank: int | None = None,
        ridge: float | None = None,
        bandwidth: float = 1.0,
        one_shot: bool = False,
        seed: int = 0,
    ) -> None:
        """Check the options.

        Raises
        ------
        InputError
            If one has the wrong type or is out of its range.
        """
        counts = {"past": past, "future": future, "features": features, "rank": rank}
        for name, count in counts.items():
            check_type(name, count, int | None if name == "rank" else int)
            require(name, count, lambda v: v >= 1, "at least 1")
        for name, size in {"ridge": ridge, "bandwidth": bandwidth}.items():
            check_type(name, size, float | None if name == "ridge" else float)
            require(name, size, lambda v: v > 0, "greater than 0")
        check_seed(seed)
        self.past, self.future, self.features = past, future, features
        self.rank, self.ridge, self.bandwidth = rank, ridge, bandwidth
        self.one_shot, self.seed = one_shot, seed

    def _fit(
        self, train: list[Trajectory], validation: list[Trajectory] | None, progress: Progress
    ) -> RFFARXModel:
        signature = training_signature(train, validation)
        observation_scaling = forgiving_scaling([t.observations for t in train])
        action_scaling = forgiving_scaling([t.actions for t in train])
        fitted, judged = list(train), list(validation or ())
        if not judged:
            fitted, judged = hold_out(train, 2 * (self.past + self.future))
        runs = standardise(fitted, observation_scaling, action_scaling)
        held_out = standardise(judged, observation_scaling, action_scaling)
        rows = all_rows(runs, self.past, self.future)
        if rows is None:
            raise InputError(
                f"no stretch of the recordings has {self.future + 1} ticks without a missing"
                f" observation; RFF-ARX with future={self.future} needs at least one"
            )
        held_out_rows = all_rows(held_out, self.past, self.future)
        with one_blas_thread():
            windows = self._window_map(rows)
            horizons = fit_horizons(windows, rows, held_out_rows or rows, max(self._ranks()))
            rank, ridge, scores = self._choose(horizons)
            # What was held out to choose by is learned from as well.
            also_held_out = not validation and held_out_rows is not None
            weights = [one.weights(rank, ridge, also_held_out) for one in horizons]
        record = TrainingRecord(
            options={**vars(self), "rank": rank, "ridge": ridge},
            metrics={"held_out_scores": scores},
        )
        firsts = [np.concatenate([run.observations[0], run.actions[0]]) for run in runs]
        parts = RFFARXParts(
            windows,
            np.stack(weights),
            np.nan_to_num(np.nanmean(firsts, axis=0)),
            observation_scaling,
            action_scaling,
        )
        return RFFARXModel(signature, record, parts)

    def _ranks(self) -> tuple[int, ...]:
        return RANKS if self.rank is None else (self.rank,)

    def _window_map(self, rows: Rows) -> WindowMap:
        """Draw the frequencies, and find each horizon's bandwidth by the median trick."""
        generator = np.random.default_rng(self.seed)
        drawn = draw_frequencies(rows.history.shape[1], self.features, 1.0, generator)
        future, acted = rows.plan.shape[1:]
        ahead = draw_frequencies(future * acted, self.features, 1.0, generator)
        bandwidths = []
        for h in range(self.future):
            seen = rows.plan if self.one_shot else rows.plan[:, : h + 1]
            points = np.concatenate([rows.history, flatten(seen)], axis=1)
            bandwidths.append(self.bandwidth * median_distance(points, generator))
        ahead = ahead.reshape(self.features, future, acted)
        return WindowMap(drawn, ahead, np.array(bandwidths), self.one_shot)

    def _choose(self, horizons: Sequence[HorizonFit]) -> tuple[int, float, dict[str, float]]:
        """Return rank and ridge of the least held-out error, and all scores by name."""
        most = min(one.rank for one in horizons)
        ridges = RIDGES if self.ridge is None else (self.ridge,)
        scores: dict[tuple[int, float], float] = {}
        for rank in sorted({min(rank, most) for rank in self._ranks()}):
            by_horizon = np.stack([one.held_out_errors(rank, ridges) for one in horizons], axis=2)
            for ridge, errors in zip(ridges, by_horizon, strict=True):
                scores[rank, ridge] = robust_score(errors)
        best = min(scores, key=scores.__getitem__)
        return *best, {f"rank {p}, ridge {r:g}": score for (p, r), score in scores.items()}
