"""Recordings as segments: of one length where data are many, else as many as a batch holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from rffpsr_ros.data.preparation import PreparedRecordings, Start
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.models.rff_psr.fit_segments import judged_segments, training_segments
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.psr.filter_step import Conditioning
from rffpsr_ros.psr.fourier_features import FeatureMap
from rffpsr_ros.psr.predictor import FixedStructure
from rffpsr_ros.psr.refinement.segments import Segments

PAST, HORIZON, BATCH, USUAL = 5, 10, 8, FitSettings.segment


def cut(made: Callable[..., Segments], lengths: Sequence[int], arx: int = PAST) -> Segments:
    draw = np.random.default_rng(0)
    runs = [Run(draw.normal(size=(n, 1)), draw.normal(size=(n, 1))) for n in lengths]
    part = PreparedRecordings(runs, runs, [np.ones((n, 1), bool) for n in lengths])
    features = FeatureMap(draw.normal(size=(4, 1)), draw.normal(size=(8, 3)))
    start = Start(np.zeros(1), np.zeros(1))
    structure = FixedStructure(features, features, None, PAST, 2, Conditioning(0.1), start)
    options = RFFPSROptions(past=PAST, arx_past=arx, narx_past=2, horizon=HORIZON, batch=BATCH)
    return made(part, structure.astype(np.float32), options, FitSettings())


@pytest.mark.parametrize(
    ("lengths", "counted"),
    [
        ([2000], USUAL),
        ([500, 300], USUAL),
        ([400], 50),  # a batch full of segments, one after the other no more ticks than that
        ([200, 120, 80], 50),
        ([100], 2 * HORIZON),  # too short ones hold no rollouts
    ],
)
def test_few_data_are_learned_from_in_segments_that_fill_a_batch(
    lengths: list[int], counted: int
) -> None:
    segments = cut(training_segments, lengths)
    assert segments.target.shape[1] == PAST + counted
    assert segments.target.sum() == sum(lengths)  # no tick counts twice, none is lost


def test_a_state_alone_learns_from_segments_of_the_usual_length() -> None:
    assert cut(training_segments, [400], arx=0).target.shape[1] == PAST + USUAL


def test_few_data_are_judged_by_segments_of_the_usual_length() -> None:
    assert cut(judged_segments, [400]).target.shape[1] == PAST + USUAL
