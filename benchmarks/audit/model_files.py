"""Model files that do not fit together: refused in one sentence, or served with numbers only."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import traceback
from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.audit.case import Broken, Case, non_finite
from benchmarks.audit.runner import Group
from rffpsr_ros.errors import InputError

TICKS = 10
LEARNS = 50
"""Ticks more, of which an adaptation learns."""
PERIOD_NS = 100_000_000
COMPILED = (
    *("rff_psr", "rff_psr without terms", "compressed", "low_passed", "moving_origin"),
    *("ensemble", "ensemble with limits"),
)
"""Samples of which something is compiled."""


def cases(seed: int) -> Iterator[Case]:
    """Yield every sample as it is, then mutations of each in turn without end."""
    from benchmarks.audit.model_samples import samples

    yield from _cases(samples(), seed, compiled=False)


def compiled_cases(seed: int) -> Iterator[Case]:
    """Yield the same of what is compiled; nothing where there is no compiler."""
    from benchmarks.audit.model_samples import samples

    if find_spec("numba") is not None:
        files = {name: file for name, file in samples().items() if name in COMPILED}
        yield from _cases(files, seed, compiled=True)


def _cases(files: dict[str, bytes], seed: int, compiled: bool) -> Iterator[Case]:
    from benchmarks.audit.model_mutations import mutated

    for name, file in files.items():
        yield Case(name, partial(_serve_whole, file, compiled))
    names = sorted(files)
    for number in range(10**9):
        # Each by a seed of its own: a case alone is the same as among others.
        rng = np.random.default_rng([seed, number])
        name = names[number % len(names)]
        what, file = mutated(files[name], rng)
        yield Case(f"{number}, {name}: {what}", partial(_serve, file, compiled, number))


def _prepare() -> None:
    from benchmarks.audit.model_samples import kinds_without_sample, samples

    samples()
    assert kinds_without_sample() == set()


def _prepare_compiled() -> None:
    """Let compiled code check every index, and keep it apart from code that does not."""
    os.environ["NUMBA_BOUNDSCHECK"] = "1"
    kept = Path(tempfile.gettempdir()) / f"rffpsr_audit_numba_{os.getuid()}"
    os.environ["NUMBA_CACHE_DIR"] = str(kept)
    from benchmarks.audit.model_samples import samples

    for name, file in samples().items():
        if name in COMPILED:
            _serve(file, True, 0)


def _serve_whole(file: bytes, compiled: bool) -> None:
    try:
        forecasts = _serve(file, compiled, 0)
    except InputError as refusal:
        raise Broken("untrue state", f"a good file is refused: {refusal}") from refusal
    if forecasts < TICKS:
        raise Broken("untrue state", f"a good file made {forecasts} forecasts of {TICKS} and more")


def _serve(file: bytes, compiled: bool, number: int) -> int:
    """Load and follow as the filter node does; return the number of forecasts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.psr"
        path.write_bytes(file)
        try:
            if number % 8 == 0:
                _describe(path)
            return _follow(path, compiled, adapts=number // 7 % 3 == 2)
        except InputError as refusal:
            _look_for_bounds(refusal)
            raise InputError(str(refusal).replace(folder, "")) from refusal


def _follow(path: Path, compiled: bool, adapts: bool) -> int:
    from rffpsr_ros.forecasting.adaptation.adaptive_model import cannot_adapt
    from rffpsr_ros.forecasting.follow_options import FollowOptions
    from rffpsr_ros.forecasting.follower import Follower
    from rffpsr_ros.models.loading import load

    model = load(path).model
    adapt = adapts and not cannot_adapt(model)
    follower = Follower(model, FollowOptions(horizon=4, compiled=compiled, adapt=adapt))
    rng = np.random.default_rng(0)
    told = 0
    now = 10**12
    with np.errstate(all="ignore"):
        for tick in range(TICKS + min(model.history_length, 20) + LEARNS * adapt):
            x, y, u = np.round(rng.normal(size=3), 3).tolist()
            if tick % 4 == 2:
                x = float("nan")
            if tick % 6 == 5:
                y = x = float("nan")
            messages = {"/told": SimpleNamespace(u=u), "/seen": SimpleNamespace(x=x, y=y)}
            for topic, message in messages.items():
                now += PERIOD_NS // 2
                for outcome in follower.feed(topic, now, message):
                    told += _check(getattr(outcome, "forecast", None))
        told += _check(follower.in_silence(2))
        follower.events  # noqa: B018 - as the diagnostics ask
        follower.live_error.drift.drifted(4.0)
        follower.live_error.by_horizon  # noqa: B018
    return told


def _check(forecast: Any) -> int:
    if forecast is None:
        return 0
    if not np.isfinite(forecast.values).all():
        raise non_finite("a forecast that would be published")
    if forecast.half_width is not None and np.isinf(forecast.half_width).any():
        raise non_finite("a band that would be published")
    return 1


def _describe(path: Path) -> None:
    from rffpsr_ros.cli.commands import info

    for as_json in (False, True):
        with contextlib.redirect_stdout(io.StringIO()):
            info.run(Namespace(model=path, json=as_json))


def _look_for_bounds(refusal: BaseException) -> None:
    """Refuse to count a refusal that only checked indices made one: it would write anywhere."""
    cause: BaseException | None = refusal
    while cause is not None:
        if isinstance(cause, IndexError) and os.environ.get("NUMBA_BOUNDSCHECK") == "1":
            raise Broken("death", traceback.format_exc(limit=-4)) from refusal
        cause = cause.__cause__


GROUP = Group("models", cases, size=4200, seconds=20.0, prepare=_prepare)

COMPILED_GROUP = Group(
    "models_compiled", compiled_cases, size=900, seconds=20.0, prepare=_prepare_compiled
)
