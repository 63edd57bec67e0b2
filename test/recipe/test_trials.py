"""Trials on one fold: configurations that stay far behind others are given up."""

from dataclasses import replace

import numpy as np

from rffpsr_ros.data.summary import summarise
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.two_stage_fit import TrainingData
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.trials import FoldLearner
from rffpsr_ros.recordings.trajectory import Trajectory


def oscillator_runs(count: int) -> list[Trajectory]:
    """A weakly damped oscillator whose speed is not seen: one tick does not tell where it goes."""
    draw = np.random.default_rng(0)
    runs = []
    for _ in range(count):
        actions = draw.uniform(-1, 1, 100)
        angle, speed, seen = 0.0, 0.0, []
        for action in actions:
            speed += 0.3 * (action - np.sin(2 * angle) - 0.1 * speed)
            angle += 0.3 * speed
            seen.append(angle + 0.003 * draw.standard_normal())
        runs.append(Trajectory(seen, actions, 0.1))
    return runs


def test_a_configuration_far_behind_an_earlier_one_is_given_up() -> None:
    runs = oscillator_runs(9)
    reached: list[float] = []

    def told(stage: str, fraction: float, error: float | None = None) -> None:
        if stage == "refinement":
            reached.append(fraction)

    def learner() -> FoldLearner:
        fold = TrainingData(runs[:6], runs[6:], summarise(runs[:6], 20, 10))
        return FoldLearner(fold, 0, RecipeSettings(), told)

    good = RFFPSROptions(features=40, narx_features=20, iterations=100, refine_from="regularised")
    poor = replace(good, arx_past=0, narx_past=0, narx_features=0)
    alone, after = learner(), learner()
    score = after.trial(good).score
    assert alone.start_score(poor) > 3 * score
    reached.clear()
    alone.trial(poor)
    undisturbed = max(reached)
    reached.clear()
    after.trial(poor)
    assert max(reached) == 0.2 < undisturbed
