"""The paper's models: three initialisations, before and after refinement, with its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from benchmarks.methods import METHODS, Method
from rffpsr_ros.models.hse_psr.learner import HSEPSROptions
from rffpsr_ros.models.rff_arx.learner import RFFARX
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.recipe.learner import RFFPSR

INITIALISATIONS = ("joint", "conditional", "random")


def rff_psr(features: int, initialisation: str, refined: bool, **options: Any) -> Method:
    """Return RFF-PSR with the paper's settings and ``features`` random features."""
    return Method(
        variant_name(features, initialisation, refined),
        RFFPSR.paper,
        {
            "features": features,
            "stage_one": initialisation,
            "refinement": "window" if refined else "none",
            **options,
        },
        seeded=True,
    )


def variant_name(features: int, initialisation: str, refined: bool) -> str:
    """Return the name under which a variant's results are kept."""
    return f"RFF-PSR, {initialisation}{' + refinement' if refined else ''}, D = {features}"


def variants(
    features: int, initialisations: Sequence[str] = INITIALISATIONS, **options: Any
) -> list[Method]:
    """Return initialisations before and after refinement."""
    return [
        rff_psr(features, initialisation, refined, **options)
        for initialisation in initialisations
        for refined in (False, True)
    ]


LIKE_GRAM = "RFF-PSR like HSE-PSR, D = 1000"


MATCHED_RANKS = (10, 20, 30, 50)
"""Ranks at which HSE-PSR and RFF-PSR are compared with all else equal."""


def matched_names(rank: int) -> tuple[str, str]:
    """Return the names of RFF-PSR and HSE-PSR of one rank and the same settings."""
    return f"{LIKE_GRAM}, rank {rank}", f"HSE-PSR, rank {rank}"


def matched(rank: int) -> list[Method]:
    """Return HSE-PSR of a rank, and RFF-PSR with the same settings."""
    ours, theirs = matched_names(rank)
    like, gram = like_gram(), METHODS["HSE-PSR"]
    return [
        replace(like, name=ours, options={**like.options, "rank": rank}),
        replace(gram, name=theirs, options={**gram.options, "rank": rank}),
    ]


def like_gram() -> Method:
    """Return RFF-PSR with the settings of our HSE-PSR: its kernel approximated, all else equal."""
    usual = asdict(RFFPSROptions())
    own = {name: value for name, value in asdict(HSEPSROptions()).items() if name != "memory"}
    settings = {name: value for name, value in own.items() if value != usual[name]}
    return Method(LIKE_GRAM, RFFPSR, {**settings, "features": 1000}, seeded=True)


def baselines() -> list[Method]:
    """Return the paper's baselines, its RFF-ARX in the form of its authors too, and our default."""
    one_shot = {"features": 5000, "one_shot": True}
    return [
        *simple_baselines(),
        *(METHODS[name] for name in ("HSE-PSR", "RFF-ARX", "RFFPSR()")),
        like_gram(),
        Method("RFF-ARX, one shot", RFFARX, one_shot, seeded=True, everything=True),
    ]


def simple_baselines() -> list[Method]:
    """Return the linear and the trivial ones, which learn in no time."""
    return [METHODS[name] for name in ("N4SID", "linear ARX", "last observation", "mean")]
