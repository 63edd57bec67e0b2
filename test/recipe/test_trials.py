"""Trials on one fold: configurations that stay far behind others are given up."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.data.summary import summarise
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.two_stage_fit import TrainingData
from rffpsr_ros.parallel.workers import THIS_PROCESS, ThisProcess, Workers
from rffpsr_ros.progress import Progress, silent
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


class Together(ThisProcess):
    """Tasks whose results are expected before they are asked for; what was begun is counted."""

    together = True

    def __init__(self) -> None:
        self.begun: list[str] = []

    def submit(self, task: Any, progress: Progress, urgency: int = 0) -> Any:
        self.begun.append(type(task).__name__)
        pending = super().submit(task, progress, urgency)
        pending.result()
        return pending


def fold_learner(workers: Workers, progress: Progress = silent) -> FoldLearner:
    runs = oscillator_runs(9)
    fold = TrainingData(runs[:6], runs[6:], summarise(runs[:6], 20, 10))
    return FoldLearner(fold, 0, RecipeSettings(), progress, workers)


GOOD = RFFPSROptions(
    features=40, narx_features=20, iterations=100, refine_from="regularised", narx_learning="off"
)
POOR = replace(GOOD, arx_past=0, narx_past=0, narx_features=0)


@pytest.mark.long
def test_a_trial_begun_before_its_rival_was_known_is_given_up_all_the_same() -> None:
    alone, together = fold_learner(THIS_PROCESS), fold_learner(workers := Together())
    for options in (GOOD, POOR):
        together.expect(options)  # neither knows of the other
    expected = [(one.score, one.finalise().result()) for one in map(alone.trial, (GOOD, POOR))]
    found = [(one.score, one.finalise().result()) for one in map(together.trial, (GOOD, POOR))]
    for (score, model), (reached, made) in zip(expected, found, strict=True):
        assert score == reached
        assert model.record == made.record
        assert model.parts.parameters.initial.tobytes() == made.parts.parameters.initial.tobytes()
    assert workers.begun.count("_Refinement") == 3  # the poor one once more


@pytest.mark.long
def test_a_trial_that_knows_its_rival_is_computed_once() -> None:
    learner = fold_learner(workers := Together())
    for options in (GOOD, POOR):
        learner.expect(options)
        learner.trial(options)
    assert workers.begun.count("_Refinement") == 2


@pytest.mark.long
def test_a_trial_that_was_made_is_not_begun_again() -> None:
    learner = fold_learner(workers := Together())
    made = learner.trial(GOOD)
    learner.expect(GOOD)
    assert learner.trial(GOOD) is made
    assert workers.begun.count("_Refinement") == 1


@pytest.mark.long
def test_what_a_trial_that_is_expected_begins_with_is_not_begun_once_more() -> None:
    learner = fold_learner(workers := Together())
    learner.expect(GOOD)
    learner.begin([GOOD])
    learner.trial(GOOD)
    assert workers.begun.count("_Refinement") == 1
    assert workers.begun.count("_Beginning") == 0


def test_what_comes_before_refinement_is_computed_once_and_beforehand() -> None:
    light, short = replace(GOOD, refine_from="light"), replace(GOOD, arx_past=2, narx_past=2)
    alone, together = fold_learner(THIS_PROCESS), fold_learner(workers := Together())
    together.begin([GOOD, light, short])
    assert len(workers.begun) == 3  # both stages, and two starts
    scores = [alone.start_score(one) for one in (GOOD, light, short)]
    assert [together.start_score(one) for one in (GOOD, light, short)] == scores
    together.begin([GOOD, short])
    assert len(workers.begun) == 3


@pytest.mark.long
def test_a_configuration_far_behind_an_earlier_one_is_given_up() -> None:
    reached: list[float] = []

    def told(stage: str, fraction: float, error: float | None = None) -> None:
        if stage == "refinement":
            reached.append(fraction)

    good, poor = GOOD, POOR
    alone, after = (fold_learner(THIS_PROCESS, told) for _ in range(2))
    score = after.trial(good).score
    assert alone.start_score(poor) > 3 * score
    reached.clear()
    alone.trial(poor)
    undisturbed = max(reached)
    reached.clear()
    alone.trial(poor)
    assert not reached, "what was tried is not learned again"
    after.trial(poor)
    assert max(reached) == 0.2 < undisturbed


@pytest.mark.long
def test_by_another_seed_other_features_are_learned_after_the_same_two_stages() -> None:
    learner = fold_learner(workers := Together())
    options = replace(GOOD, narx_learning="on", iterations=3)
    first, again = learner.trial(options), learner.trial(replace(options, seed=7))
    assert first.score != again.score
    assert 0 < first.left <= 1
    assert workers.begun.count("_Refinement") == 2
    one, other = (trial.finalise().result().parts for trial in (first, again))
    assert pickle.dumps(one.structure.observation) == pickle.dumps(other.structure.observation)
    assert pickle.dumps(one.structure.narx) != pickle.dumps(other.structure.narx)
