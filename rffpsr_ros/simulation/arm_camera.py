"""What the camera of worlds/arm_camera.sdf sees of the arm: a small renderer.

A pinhole camera looks at the plane in which the arm swings. Links are drawn as thick lines with
soft edges, in the colours of the file, without light and shadow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.numerics.arrays import Array

SIZE = 64
"""Pixels along each side."""
FIELD_OF_VIEW = 0.8
"""Radians, from edge to edge."""
UPPER_ARM, FOREARM = 0.5, 0.4
"""Lengths (m)."""

_DISTANCE = 2.5
_BACKGROUND = np.array([0.9, 0.9, 0.9])
_BASE = (0.06, np.array([0.4, 0.4, 0.4]))
LINKS = ((0.08, np.array([0.9, 0.6, 0.3])), (0.064, np.array([0.3, 0.5, 0.8])))
"""Radius (m) and colour of upper arm and forearm."""
_SCALE = SIZE / 2 / np.tan(FIELD_OF_VIEW / 2) / _DISTANCE
"""Pixels per metre in the arm's plane."""
_ROWS, _COLUMNS = np.mgrid[0:SIZE, 0:SIZE] + 0.5


def render(positions: Array) -> NDArray[np.uint8]:
    """Return the image (64, 64, 3), red green blue, for joint positions (shoulder, elbow)."""
    shoulder, elbow, hand = joint_places(positions)
    image = np.broadcast_to(_BACKGROUND, (SIZE, SIZE, 3)).copy()
    _draw(image, shoulder, shoulder, *_BASE)
    _draw(image, shoulder, elbow, *LINKS[0])
    _draw(image, elbow, hand, *LINKS[1])
    return np.asarray(np.round(255 * image), dtype=np.uint8)


def joint_places(positions: Array) -> tuple[Array, Array, Array]:
    """Return shoulder, elbow and hand as (right, up) in metres from the shoulder."""
    upper, fore = positions[0], positions[0] + positions[1]
    shoulder = np.zeros(2)
    elbow = shoulder - UPPER_ARM * np.array([np.sin(upper), np.cos(upper)])
    hand = elbow - FOREARM * np.array([np.sin(fore), np.cos(fore)])
    return shoulder, elbow, hand


def _draw(image: Array, start: Array, end: Array, radius: float, colour: Array) -> None:
    """Draw a line with round ends, in place; its edge is a pixel wide."""
    right = (_COLUMNS - SIZE / 2) / _SCALE
    up = (SIZE / 2 - _ROWS) / _SCALE
    along = end - start
    length = along @ along
    share = ((right - start[0]) * along[0] + (up - start[1]) * along[1]) / (length or 1.0)
    share = np.clip(share, 0.0, 1.0)
    distance = np.hypot(right - start[0] - share * along[0], up - start[1] - share * along[1])
    cover = np.clip((radius - distance) * _SCALE + 0.5, 0.0, 1.0)[..., None]
    image[:] = image * (1 - cover) + colour * cover
