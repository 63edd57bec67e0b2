"""The renderer: the arm is where it should be, and moves smoothly."""

from __future__ import annotations

import numpy as np
import pytest

from rffpsr_ros.simulation.arm_camera import SIZE, joint_places, render


def inked(image: np.ndarray) -> np.ndarray:
    """Return how much of each pixel differs from the background."""
    ink: np.ndarray = np.abs(image.astype(float) - image[0, 0]).sum(axis=2)
    return ink


@pytest.mark.parametrize("positions", [(0.0, 0.0), (1.2, -2.0), (-2.0, 2.4), (2.0, 1.0)])
def test_the_hand_is_drawn_where_it_is(positions: tuple[float, float]) -> None:
    image = render(np.array(positions))
    assert image.shape == (SIZE, SIZE, 3)
    assert image.dtype == np.uint8
    _, _, hand = joint_places(np.array(positions))
    scale = SIZE / 2 / np.tan(0.4) / 2.5
    row, column = SIZE / 2 - scale * hand[1], SIZE / 2 + scale * hand[0]
    around = inked(image)[int(row) - 1 : int(row) + 2, int(column) - 1 : int(column) + 2]
    assert around.max() > 30
    assert not inked(image)[[0, -1]].any()
    assert not inked(image)[:, [0, -1]].any()


def test_turning_the_shoulder_right_is_mirrored_by_turning_it_left() -> None:
    left, right = render(np.array([0.6, 0.3])), render(np.array([-0.6, -0.3]))
    np.testing.assert_array_equal(left, right[:, ::-1])


def test_small_movements_are_seen_in_shades_not_in_jumps() -> None:
    before, after = render(np.array([0.5, 0.5])), render(np.array([0.51, 0.5]))
    change = np.abs(after.astype(int) - before.astype(int))
    assert 0 < change.max() < 128
