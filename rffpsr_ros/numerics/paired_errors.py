"""Two models' errors on the same blocks of recordings: how much smaller one is, and how surely."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.json_values import finite

COVERED = 0.95
"""The share of recordings alike on which an interval holds the ratio."""

FEWEST_BLOCKS = 6
"""With fewer blocks there is no interval."""


class PairedRatio(NamedTuple):
    """The first model's error over the second's, and its interval; arrays of one shape.

    Ends are NaN where there are too few blocks to tell.
    """

    value: Array
    low: Array
    high: Array

    def as_json(self) -> dict[str, Any]:
        """Return JSON types; what is not known is null."""
        return {name: finite(part.tolist()) for name, part in self._asdict().items()}


def paired_ratio(ours: Array, theirs: Array, covered: float = COVERED) -> PairedRatio:
    """Return the ratio of the sums over blocks, and an interval that holds it.

    Blocks are taken for independent, the two errors on a block not: what is hard for one model is
    hard for the other. The interval is Student's t around the logarithm of the ratio, with the
    spread that leaving out single blocks tells (the jackknife).

    Parameters
    ----------
    ours, theirs
        (B, ...) what each of B blocks adds to an error.
    covered
        The share of intervals that hold the ratio.
    """
    blocks = len(ours)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = ours.sum(axis=0) / theirs.sum(axis=0)
        if blocks < FEWEST_BLOCKS:
            unknown = np.full_like(value, np.nan)
            return PairedRatio(value, unknown, unknown)
        left = (ours.sum(axis=0) - ours) / (theirs.sum(axis=0) - theirs)
        logs = np.log(left)
        spread = np.sqrt((blocks - 1) / blocks * ((logs - logs.mean(axis=0)) ** 2).sum(axis=0))
        reach = np.exp(stdtrit(blocks - 1, (1 + covered) / 2) * spread)
        return PairedRatio(value, np.asarray(value / reach), np.asarray(value * reach))


class PairedErrors(NamedTuple):
    """How a model's squared errors compare with a baseline's at horizons 1 to H.

    Errors are relative to the variance of each observation, so that units do not matter.
    """

    baseline: str
    blocks: int
    observation_names: tuple[str, ...]
    overall: PairedRatio
    """() over all horizons and observations."""
    by_horizon: PairedRatio
    """(H,) over all observations."""
    by_observation: PairedRatio
    """(H, d_o)."""
    unexplained: Array
    """(H, d_o) the model's squared error relative to the variance; 1 is as good as the mean."""

    @property
    def horizon(self) -> int:
        """Return the number of horizons H."""
        return len(self.unexplained)

    def as_json(self) -> dict[str, Any]:
        """Return JSON types: lists over horizons, and per observation by name."""
        names = self.observation_names
        parts = {
            name: PairedRatio(*(p[:, i] for p in self.by_observation))
            for i, name in enumerate(names)
        }
        return {
            "baseline": self.baseline,
            "blocks": self.blocks,
            "overall": self.overall.as_json(),
            "by_horizon": self.by_horizon.as_json(),
            "by_observation": {name: part.as_json() for name, part in parts.items()},
            "unexplained": {
                name: finite(column)
                for name, column in zip(names, self.unexplained.T.tolist(), strict=True)
            },
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> PairedErrors:
        """Return what `as_json` told.

        Raises
        ------
        KeyError, TypeError, ValueError
            If that is something else.
        """
        names = tuple(told["unexplained"])
        columns = [_ratio(told["by_observation"][name]) for name in names]
        ratios = (np.stack(part, axis=1) for part in zip(*columns, strict=True))
        return cls(
            str(told["baseline"]),
            int(told["blocks"]),
            names,
            _ratio(told["overall"]),
            _ratio(told["by_horizon"]),
            PairedRatio(*ratios),
            np.stack([_numbers(told["unexplained"][name]) for name in names], axis=1),
        )


def paired_errors(
    ours: Array, theirs: Array, variances: Array, baseline: str, names: tuple[str, ...]
) -> PairedErrors:
    """Return how two models' errors compare.

    Parameters
    ----------
    ours, theirs
        (B, H, d_o) what each block adds to the mean squared error; their sum is that.
    variances
        (H, d_o) of what was forecast. Columns that do not vary count in no sum over observations.
    baseline
        The name of the second model.
    names
        Of the observations.
    """
    scale = np.nanmean(variances, axis=0)
    varies = np.isfinite(scale) & (scale > 0)
    relative = np.where(varies, scale, np.nan)
    mine, other = ours / relative, theirs / relative
    total, beside = mine[..., varies].sum(axis=-1), other[..., varies].sum(axis=-1)
    return PairedErrors(
        baseline,
        len(ours),
        names,
        paired_ratio(total.sum(axis=-1), beside.sum(axis=-1)),
        paired_ratio(total, beside),
        paired_ratio(ours, theirs),
        mine.sum(axis=0),
    )


def _ratio(told: Mapping[str, Any]) -> PairedRatio:
    return PairedRatio(*(_numbers(told[name]) for name in PairedRatio._fields))


def _numbers(told: Any) -> Array:
    """Return numbers of JSON, NaN where there is null."""
    return np.array(told, dtype=np.float64)
