"""The peers as methods of `benchmarks.compare`: six candidates each, the best on validation kept.

A task is either forecasts over 10 horizons or a simulation (free run); a method learns and chooses
for the one by which it will be scored.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from benchmarks.methods import Method
from benchmarks.peers.choosing import BestOf
from benchmarks.peers.koopman import Koopman
from benchmarks.peers.narx import PolynomialNARX

HARNESS = 1
"""Raise it when a peer's figures must be measured anew."""

NARX_TRIES = tuple(
    {"degree": degree, "past": past, "terms": terms}
    for degree, past, terms in (
        (2, 2, 50),
        (2, 4, 50),
        (2, 8, 50),
        (3, 2, 50),
        (3, 4, 50),
        (3, 4, 15),
    )
)

KOOPMAN_TRIES: tuple[Mapping[str, Any], ...] = (
    {"past": 2, "lifting": "joint", "ridge": 1e-9},
    {"past": 4, "lifting": "joint", "ridge": 1e-6},
    {"past": 10, "lifting": "joint", "ridge": 1e-6},
    {"past": 10, "lifting": "joint", "ridge": 1e-3},
    {"past": 10, "lifting": "state", "ridge": 1e-6},
    {"past": 10, "lifting": "linear", "ridge": 1e-4},
)

GRU_TRIES: tuple[Mapping[str, Any], ...] = (
    {"increments": False},
    {"increments": True},
    {"increments": False, "noise": 0.1},
)
"""For each of the two sizes."""

SEARCH, TRAINING = 150, 900
"""Iterations of a candidate and of the network that is kept."""

SIMULATED = 100
"""Steps rolled out in training for a simulation."""


def narx(free_run: bool) -> BestOf:
    """Return the learner of a polynomial NARX."""
    tries = [PolynomialNARX(**settings) for settings in NARX_TRIES]
    return BestOf(tries, lambda best: tries[best], everything=True, free_run=free_run)


def koopman(free_run: bool, seed: int) -> BestOf:
    """Return the learner of a Koopman model."""
    tries = [Koopman(**settings, seed=seed) for settings in KOOPMAN_TRIES]
    return BestOf(tries, lambda best: tries[best], everything=True, free_run=free_run)


def gru(units: int, free_run: bool, seed: int) -> BestOf:
    """Return the learner of a GRU of one size."""
    from benchmarks.peers.gru_training import GRU  # Needs PyTorch.

    def learner(settings: Mapping[str, Any], iterations: int) -> GRU:
        return GRU(
            units,
            rate=1e-2 if units < 64 else 6e-3,
            horizon=SIMULATED if free_run else 10,
            iterations=iterations,
            seed=seed,
            **settings,
        )

    return BestOf(
        [learner(settings, SEARCH) for settings in GRU_TRIES],
        lambda best: learner(GRU_TRIES[best], TRAINING),
        everything=False,
        free_run=free_run,
    )


def peers(free_run: bool) -> list[Method]:
    """Return all peers, for forecasts by horizon or for a simulation."""

    def source(package: str) -> str:
        return f"{package} {version(package).split('+')[0]}, harness {HARNESS}"

    options = {"free_run": free_run}
    sizes = [
        Method(
            f"GRU, {units} units",
            gru,
            {"units": units, **options},
            seeded=True,
            version=source("torch"),
        )
        for units in (16, 64)
    ]
    return [
        Method("polynomial NARX", narx, options, version=source("sysidentpy")),
        Method("Koopman", koopman, options, seeded=True, version=source("pykoop")),
        *sizes,
    ]
