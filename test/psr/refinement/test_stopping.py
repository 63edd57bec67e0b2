"""Patience: how long a descent goes on without a better score."""

import pytest

from rffpsr_ros.psr.refinement.stopping import FALLS, LONGEST, RISEN, Patience

STEPS = 6


def lasted(losses: list[float], scores: list[float | None], best: float = 1.0) -> int:
    """Return after how many steps a descent with such losses and scores ends."""
    watched = Patience(STEPS, best)
    for step, (loss, score) in enumerate(zip(losses, scores, strict=True)):
        if not watched.lasts:
            return step
        watched.after(loss, score)
    return len(losses)


def falling(by: float, steps: int = 100) -> list[float]:
    return [-by * step for step in range(steps)]


def test_it_ends_where_neither_score_nor_loss_gets_better() -> None:
    assert lasted(falling(0.0), [1.0] * 100) == STEPS


def test_a_better_score_starts_it_anew() -> None:
    scores: list[float | None] = [1.0] * 100
    scores[4], scores[8] = 0.9, 0.8
    assert lasted(falling(0.0), scores) == 9 + STEPS


def test_it_lasts_longer_while_the_loss_falls() -> None:
    assert lasted(falling(2 * FALLS), [1.0] * 100) == LONGEST * STEPS
    assert lasted(falling(FALLS / 2), [1.0] * 100) == STEPS


def test_a_plateau_before_a_better_score_is_crossed() -> None:
    scores: list[float | None] = [1.0] * 100
    scores[LONGEST * STEPS - 1] = 0.01
    assert lasted(falling(2 * FALLS), scores) > LONGEST * STEPS


def test_it_ends_where_the_score_rises_while_the_loss_falls() -> None:
    assert lasted(falling(2 * FALLS), [1.1 * RISEN] * 100) == STEPS


@pytest.mark.parametrize("loss", [0.0, 5.0])
def test_steps_that_fail_wear_it_out(loss: float) -> None:
    assert lasted([loss] * 100, [None] * 100) == STEPS
