"""Many observations through a few components."""

from pathlib import Path

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.horizon_error import horizon_errors
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.compressed.learner import Compressed, fit_projection
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory

PIXELS = 300


def picture(position: Array) -> Array:
    """A bright bump on a dark line of pixels, where the robot is."""
    grid = np.linspace(-2, 2, PIXELS)
    return np.asarray(np.exp(-((grid - position[:, None]) ** 2) / 0.1))


def runs(count: int, seed: int) -> list[Trajectory]:
    draw = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        actions = draw.uniform(-1, 1, 120)
        state, positions = np.zeros(2), []
        for action in actions:
            state = np.array(
                [state[0] + 0.2 * state[1], 0.9 * state[1] + 0.5 * action - 0.3 * np.sin(state[0])]
            )
            positions.append(state[0])
        made.append(Trajectory(picture(np.array(positions)), actions, 0.05))
    return made


def test_directions_are_the_principal_ones() -> None:
    rows = np.concatenate([run.observations for run in runs(3, 0)])
    projection = fit_projection(runs(3, 0), 6, seed=0)
    centred = rows - rows.mean(0)
    dense = np.linalg.svd(centred, full_matrices=False)[2][:6].T
    np.testing.assert_allclose(np.abs(projection.directions.T @ dense), np.eye(6), atol=1e-4)
    back = projection.expand(projection.compress(rows))
    np.testing.assert_allclose(back, rows.mean(0) + centred @ dense @ dense.T, atol=1e-6)


@pytest.mark.long
def test_forecasts_come_back_in_the_original_units(tmp_path: Path) -> None:
    train, test = runs(6, 0), runs(2, 1)
    model = Compressed(
        RFFPSR(features=30, iterations=2, narx_learning="off", narx_affine="off", folds=2), 8
    ).fit(train)
    assert model.signature.observation_names == train[0].observation_names
    ours = horizon_errors(model, test, 5).mse
    last = horizon_errors(LastObservation().fit(train), test, 5).mse
    assert (ours[2:] < 0.7 * last[2:]).all()
    model.save(tmp_path / "eye.psr")
    loaded = load_model(tmp_path / "eye.psr")
    np.testing.assert_array_equal(horizon_errors(loaded, test, 5).mse, ours)


def test_a_picture_with_a_hole_is_missing_as_a_whole() -> None:
    train = runs(3, 0)
    model = Compressed(LinearARX(past=3, future=4, ridge=1e-4), 5).fit(train)
    state = model.initial_state()
    hole, nothing = train[0].observations[0].copy(), np.full(PIXELS, np.nan)
    hole[17] = np.nan
    one, other = (model.update(state, np.zeros(1), seen) for seen in (hole, nothing))
    for part, expected in zip(one, other, strict=True):
        np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize("components", [0, 2.5, True])
def test_a_number_of_components_that_is_none(components: int) -> None:
    with pytest.raises(InputError, match=r"'observation_components' is .* whole number"):
        Compressed(LinearARX(), components)


def test_more_components_than_observations() -> None:
    with pytest.raises(InputError, match="with 300 observations it must be from 1 to 300"):
        Compressed(LinearARX(), 301).fit(runs(2, 0))
