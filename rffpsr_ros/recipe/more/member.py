"""One RFF-PSR that goes on learning: both stages take in what is new, refinement starts warm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.preparation import Prepared, prepare_again
from rffpsr_ros.data.window_source import StandardisedRecording, WindowSource
from rffpsr_ros.models.contract import TrainingRecord
from rffpsr_ros.models.rff_psr.fit import (
    Initialisation,
    as_started,
    complete,
    refine,
    start_score,
    unstarted_structure,
)
from rffpsr_ros.models.rff_psr.learned_start import with_features_learned_on
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.models.rff_psr.two_stage_fit import TwoStageFit, two_stage_options
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.progress import Progress
from rffpsr_ros.psr.filter_step import Dynamics
from rffpsr_ros.psr.initialisation import (
    InitialPredictor,
    PredictorRegression,
    Ridges,
    Starts,
    predictor_regression,
)
from rffpsr_ros.psr.narx_term import NarxDraw
from rffpsr_ros.psr.predictor import FixedStructure
from rffpsr_ros.psr.streaming import KeptTwoStages, learn_more, system_of
from rffpsr_ros.psr.system_map import contract
from rffpsr_ros.psr.two_stage import TwoStageResult
from rffpsr_ros.recipe.everything import options_of, usual_steps
from rffpsr_ros.recordings.trajectory import Trajectory


class MoreOf(NamedTuple):
    """A model that has learned more, and what its two stages have summed up."""

    model: RFFPSRModel
    stages: KeptTwoStages


@dataclass(frozen=True)
class LearnMore:
    """The task of one model.

    Attributes
    ----------
    model, stages
        As they are.
    new
        Recordings to learn from that the two stages do not know yet.
    mix
        What refinement learns from: a sample of old recordings, and the new ones.
    held_out
        What it is judged by.
    forget
        The share that old windows lose of what they count.
    seed
        Of what is random in it.
    on_folds
        Of a model of everything, from which nothing is held out, those on folds that have learned
        more: it goes on from what most of them went on from, for as many steps.
    """

    model: RFFPSRModel
    stages: KeptTwoStages
    new: Sequence[Trajectory]
    mix: Sequence[Trajectory]
    held_out: Sequence[Trajectory]
    forget: float
    seed: int
    settings: FitSettings
    on_folds: tuple[RFFPSRModel, ...] = ()

    def __call__(self, progress: Progress) -> MoreOf:
        """Return the model that has learned more."""
        with one_blas_thread():
            return self._learned(progress)

    def _learned(self, progress: Progress) -> MoreOf:
        parts, options = self.model.parts, options_of(self.model)
        progress("two stages", 0.0)
        stages = self._two_stages(options)
        columns = len(parts.observation_scaling.mean), len(parts.action_scaling.mean)
        system = system_of(stages, two_stage_options(columns, options))
        prepared = prepare_again(
            parts.observation_scaling,
            parts.action_scaling,
            self.mix,
            self.held_out,
            options.arx_past or self.settings.fill_past,
        )
        generator = np.random.default_rng([options.seed, self.seed])
        fit = TwoStageFit(
            self.model.signature,
            prepared,
            TwoStageResult(stages.features, system, {}),
            options.seed,
            generator,
            tuple(self.model.record.notes),
            holds_out=True,
        )
        starts = self._starts(fit, options, generator, progress)
        begun = Initialisation(starts, generator, starts.notes)
        refined = as_started(begun)
        usual = self.settings.refinement.iterations
        if steps := usual_steps(self.on_folds) if self.on_folds else usual:
            gentle = replace(options, iterations=steps, refine_from="regularised")
            refined = refine(fit, begun, gentle, self.settings, progress)
        made, metrics = complete(fit, refined, options, self.settings, progress)
        record = TrainingRecord(dict(self.model.record.options), metrics, fit.notes)
        return MoreOf(RFFPSRModel(self.model.signature, record, made), stages)

    def _two_stages(self, options: RFFPSROptions) -> KeptTwoStages:
        parts = self.model.parts
        if not self.new:
            return self.stages
        columns = len(parts.observation_scaling.mean), len(parts.action_scaling.mean)
        recordings = [
            StandardisedRecording(run, parts.observation_scaling, parts.action_scaling)
            for run in self.new
        ]
        source = WindowSource(recordings, options.past, options.future)
        return learn_more(self.stages, source, two_stage_options(columns, options), self.forget)

    def _starts(
        self,
        fit: TwoStageFit,
        options: RFFPSROptions,
        generator: np.random.Generator,
        progress: Progress,
    ) -> Starts:
        """Return where refinement starts: at what is best on what is held out.

        That is the model as it is, with features that have learned on, if they were learned, or
        what the two stages give, with the ridges that were chosen at first.
        """
        prepared, parameters = fit.prepared, self.model.parts.parameters
        structure = self.model.parts.structure._replace(limits=None, start=prepared.train.start())
        chosen = self.model.record.metrics.get("refinement", {})
        told = {name: chosen.get(f"{name}_ridge") for name in Ridges._fields}
        ridges = Ridges(float(told["arx"] or 1e-3), told["state"], told["narx"])
        known = Dynamics(parameters.covariance, parameters.extended, parameters.initial)
        regressed = _regressed(prepared, structure, known, options, False, generator)
        alone = regressed.predictor(Ridges(ridges.arx, None, None))
        warm = InitialPredictor(structure, parameters, alone.coordinates)
        found = contract(fit.stages.features, fit.stages.system)
        anew = _regressed(
            prepared,
            unstarted_structure(structure, found, options),
            found,
            options,
            options.refinement == "rollout",
            generator,
        ).predictor(ridges)
        further = with_features_learned_on(
            prepared, warm, alone.parameters, options, self.settings, generator, progress
        )
        scores = [start_score(one, prepared, options, self.settings) for one in (warm, anew)]
        if further is not None:
            score = start_score(further, prepared, options, self.settings)
            if score < scores[0]:
                warm, scores[0] = further, score
        notes = {f"{name}_ridge": ridge for name, ridge in told.items()}
        notes |= {"warm_score": scores[0], "two_stage_score": scores[1]}
        judges = [dict(one.record.metrics["refinement"]) for one in self.on_folds] or [notes]
        scored = [one for one in judges if "warm_score" in one]  # not where nothing was learned
        warmer = [one["warm_score"] <= one["two_stage_score"] for one in scored]
        goes_on = 2 * sum(warmer) > len(warmer)
        best, score = (warm, scores[0]) if goes_on else (anew, scores[1])
        reference = best._replace(parameters=best.parameters._replace(arx=alone.parameters.arx))
        return Starts(best, best, reference, score, notes)


def _regressed(
    prepared: Prepared,
    structure: FixedStructure,
    dynamics: Dynamics,
    options: RFFPSROptions,
    whiten: bool,
    generator: np.random.Generator,
) -> PredictorRegression:
    """Return the regression of all that predicts around dynamics."""
    runs, seen = prepared.train.filled, prepared.train.seen
    affine = options.narx_affine == "on"
    drawn = NarxDraw(options.narx_features, affine, options.narx_bandwidth)
    return predictor_regression(runs, seen, structure, dynamics, drawn, whiten, generator)
