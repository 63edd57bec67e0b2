"""What the blend gains on held-out parts is the ratio of what training says both missed there."""

import numpy as np
import pytest

from rffpsr_ros.numerics.paired_errors import PairedErrors
from rffpsr_ros.recipe.blend import Blend
from rffpsr_ros.recipe.calibrate import mean_squares
from rffpsr_ros.recipe.held_out_gain import held_out_gain


def made() -> Blend:
    generator = np.random.default_rng(0)
    errors = [[generator.normal(size=(30, 4, 2)) for _ in range(9)] for _ in range(3)]
    errors[0][2][:, :, 1] = np.nan  # a block in which the second observation is missing
    errors[1][2][:, :, 1] = np.nan
    return Blend(np.ones((4, 2, 3)), None, None, errors[1:], errors[0])


def test_figures_are_those_of_the_groups() -> None:
    blend, deviation = made(), np.array([2.0, 0.5])
    told = held_out_gain(blend, ["linear_arx", "last_observation"], deviation, ["x", "y"])
    paired = PairedErrors.from_json(told)
    assert (paired.baseline, paired.blocks) == ("linear_arx", 9)
    with pytest.warns(RuntimeWarning, match="empty"):  # of the block with a missing column
        ours, theirs = mean_squares(blend.blended), mean_squares(blend.errors[0])
    np.testing.assert_allclose(paired.by_observation.value, ours / theirs)
    np.testing.assert_allclose(paired.unexplained, ours / deviation**2)


def test_the_last_observation_stands_in_for_linear_arx() -> None:
    told = held_out_gain(made(), ["rff_psr", "last_observation"], np.ones(2), ["x", "y"])
    assert told["baseline"] == "last_observation"
    assert held_out_gain(made(), ["rff_psr", "n4sid"], np.ones(2), ["x", "y"]) == {}
