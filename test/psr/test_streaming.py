"""Two-stage regression that goes on equals that of all recordings at once."""

from typing import Any

import numpy as np
import pytest

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.window_source import WindowSource
from rffpsr_ros.psr import streaming
from rffpsr_ros.psr.streaming import KeptTwoStages, keep_two_stages, learn_more, system_of
from rffpsr_ros.psr.system_map import SystemMap
from rffpsr_ros.psr.two_stage import TwoStageOptions, two_stage_regression

PAST, FUTURE = 4, 3


def runs(count: int, ticks: int = 120, seed: int = 0) -> list[Run]:
    draw = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        actions = draw.uniform(-1, 1, (ticks, 1))
        state, seen = 0.0, []
        for action in actions[:, 0]:
            state = 0.8 * np.sin(state) + action
            seen.append([state, state**2])
        made.append(Run(np.array(seen), actions))
    made[0].observations[50] = np.nan
    return made


def source(some: list[Run]) -> WindowSource:
    return WindowSource.of_runs(some, PAST, FUTURE)


def options(**more: Any) -> TwoStageOptions:
    sizes: dict[str, Any] = {"past": PAST, "future": FUTURE, "features": 30, "rank": 8}
    return TwoStageOptions(**sizes, state_rank=6, **more)


def learned(some: list[Run], chosen: TwoStageOptions) -> tuple[SystemMap, KeptTwoStages]:
    """Return what two-stage regression learns at once, and what is kept of it."""
    result = two_stage_regression(some, chosen, np.random.default_rng(1))
    features = result.features.astype(np.float32)
    projection = result.system.state_projection
    return result.system, keep_two_stages(features, projection, source(some), chosen)


def assert_same(found: SystemMap, expected: SystemMap, tolerance: float = 1e-9) -> None:
    for name in ("extended", "immediate", "initial"):
        want = getattr(expected, name)
        assert np.abs(getattr(found, name) - want).max() <= tolerance * np.abs(want).max(), name


@pytest.mark.parametrize("method", ["joint", "conditional"])
@pytest.mark.parametrize("count", [6, 60])  # the start as a mean, and by regression
def test_what_is_kept_gives_the_system_map_of_two_stage_regression(method: Any, count: int) -> None:
    chosen = options(stage_one=method)
    system, kept = learned(runs(count, 60), chosen)
    # Features are in single precision: one last digit of theirs (1.2e-7) depends on the library
    # that adds them up and on what else is in their chunk, and the inverses magnify it.
    assert_same(system_of(kept, chosen), system, 2e-6)


@pytest.mark.parametrize("method", ["joint", "conditional"])
@pytest.mark.parametrize("count", [6, 60])
def test_learning_more_equals_learning_from_all_at_once(method: Any, count: int) -> None:
    chosen = options(stage_one=method)
    every = runs(count, 60)
    _, single = learned(every, chosen)
    # In single precision features depend on what else is in their chunk, by rounding.
    features = single.features.astype(np.float64)
    whole = keep_two_stages(features, single.projection, source(every), chosen)
    system = system_of(whole, chosen)
    kept = keep_two_stages(features, single.projection, source(every[:3]), chosen)
    assert np.abs(system_of(kept, chosen).extended - system.extended).max() > 1e-3
    for first, last in ((3, 5), (5, count)):
        kept = learn_more(kept, source(every[first:last]), chosen)
    assert_same(system_of(kept, chosen), system)


def test_what_is_forgotten_counts_less() -> None:
    chosen = options()
    old, new = runs(4), runs(4, seed=1)
    _, single = learned(old, chosen)
    features = single.features.astype(np.float64)
    kept = keep_two_stages(features, single.projection, source(old), chosen)
    half = learn_more(kept, source(new), chosen, forget=0.5)
    twice = learn_more(learn_more(kept, source(new), chosen), source(new), chosen)
    # Old windows that count half beside new ones are new ones that count twice.
    assert_same(system_of(half, chosen), system_of(twice, chosen))
    alone = keep_two_stages(kept.features, kept.projection, source(new), chosen)
    forgotten = learn_more(kept, source(new), chosen, forget=1.0)
    assert_same(system_of(forgotten, chosen), system_of(alone, chosen))


def test_of_very_many_windows_some_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = options()
    system, kept = learned(runs(20), chosen)
    monkeypatch.setattr(streaming, "MOST_HISTORIES", len(kept.histories) // 3)
    fewer = keep_two_stages(kept.features, kept.projection, source(runs(20)), chosen)
    assert len(fewer.histories) == len(kept.histories) // 3
    assert fewer.weights.sum() == pytest.approx(kept.weights.sum())
    assert_same(system_of(fewer, chosen), system, 0.3)
