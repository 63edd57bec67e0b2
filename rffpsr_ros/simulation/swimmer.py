"""A swimmer: a chain of links in a viscous fluid, driven by torques at its joints.

The system of RLPy's ``Swimmer`` (after Tassa, Erez and Smart 2007, who follow Coulom 2002), derived
anew. Link j has the absolute angle q_j, direction t_j = (cos q_j, sin q_j) and normal
n_j = (-sin q_j, cos q_j). The centres of the links lie at c + sum_j P_ij t_j, where c is the centre
of mass and P follows from the joints holding together, so with G = P' diag(m) P

    sum_k (G_jk cos(q_j - q_k) + I_j [j = k]) q''_k + sum_k G_jk sin(q_j - q_k) q'_k^2 = Q_j,

and m c'' is the sum of the forces. The fluid pulls at the centre of link i, moving with v_i, by
f_i = -l_i (k_n (v_i . n_i) n_i + k_t (v_i . t_i) t_i) and turns it by -k_n l_i^3 / 12 q'_i;
Q_j = sum_i P_ij f_i . n_j, plus that turning moment, plus the joints' torques (each on two links).

In RLPy's code the velocity terms carry a further product q'_j q'_k that makes energy out of
nothing; here they follow from the Lagrangian.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.simulation.system import runge_kutta

LINKS = 3
_STEPS = 4
"""Integration steps per tick."""


def _link_positions() -> Array:
    """Return P (links, links): link centres from the centre of mass, for links of length 1."""
    joints = np.eye(LINKS, k=1) - np.eye(LINKS)
    joints[-1] = 1 / LINKS
    half_lengths = (np.eye(LINKS, k=1) + np.eye(LINKS)) / 2
    half_lengths[-1] = 0
    return np.asarray(np.linalg.solve(joints, half_lengths), dtype=np.float64)


_P = _link_positions()
_G = _P.T @ _P
_TORQUE_ON_LINKS = (np.eye(LINKS) - np.eye(LINKS, k=-1))[:, :-1]


@dataclass(frozen=True)
class Swimmer:
    """The 3-link swimmer; links of mass 1 and length 1, and a goal at the origin.

    The state is (c (2), q (3), c' (2), q' (3)). Seen are the angles of the joints, in [-pi, pi),
    and the goal's place in the frame of the nose, the free end of the first link: the nose position
    in body coordinates, as RLPy gives it.
    """

    period: float = 0.03
    observation_names: tuple[str, ...] = ("joint_1", "joint_2", "nose_x", "nose_y")
    action_names: tuple[str, ...] = ("torque_1", "torque_2")
    normal_drag: float = 7.5
    tangential_drag: float = 0.3
    steps: int = field(default=_STEPS)

    @property
    def action_limits(self) -> tuple[Array, Array]:
        """Return the torques' limits, -2 and 2."""
        return np.full(2, -2.0), np.full(2, 2.0)

    def initial_state(self, generator: np.random.Generator) -> Array:
        """Return the stretched swimmer at rest, 10 from its goal and heading for it."""
        return np.array([10.0, *np.zeros(9)])

    def step(self, state: Array, action: Array) -> Array:
        """Return the state (..., 10) one tick later under torques (..., 2)."""
        return runge_kutta(self.derivative, state, action, self.period, self.steps)

    def observe(self, state: Array) -> Array:
        """Return joint angles and the goal seen from the nose, (..., 4)."""
        angles = state[..., 2:5]
        joints = np.mod(np.diff(angles) + np.pi, 2 * np.pi) - np.pi
        to_goal = -nose(state)
        cos, sin = np.cos(angles[..., 0]), np.sin(angles[..., 0])
        ahead = cos * to_goal[..., 0] + sin * to_goal[..., 1]
        aside = -sin * to_goal[..., 0] + cos * to_goal[..., 1]
        return np.concatenate([joints, ahead[..., None], aside[..., None]], axis=-1)

    def derivative(self, state: Array, action: Array) -> Array:
        """Return the time derivative (..., 10) of the state."""
        angles, speed, turning = state[..., 2:5], state[..., 5:7], state[..., 7:]
        tangents, normals = directions(angles)
        between = angles[..., :, None] - angles[..., None, :]
        velocities = speed[..., None, :] + _P @ (normals * turning[..., None])
        forces = (
            -self.normal_drag * np.sum(velocities * normals, axis=-1, keepdims=True) * normals
            - self.tangential_drag
            * np.sum(velocities * tangents, axis=-1, keepdims=True)
            * tangents
        )
        moments = (
            np.sum(normals * (_P.T @ forces), axis=-1)
            - self.normal_drag / 12 * turning
            + action @ _TORQUE_ON_LINKS.T
            - (_G * np.sin(between) @ (turning**2)[..., None])[..., 0]
        )
        inertia = _G * np.cos(between) + np.eye(LINKS) / 12
        return np.concatenate(
            [
                speed,
                turning,
                forces.sum(axis=-2) / LINKS,
                np.linalg.solve(inertia, moments[..., None])[..., 0],
            ],
            axis=-1,
        )


def directions(angles: Array) -> tuple[Array, Array]:
    """Return the links' unit tangents and normals, (..., links, 2) each."""
    cos, sin = np.cos(angles), np.sin(angles)
    return np.stack([cos, sin], axis=-1), np.stack([-sin, cos], axis=-1)


def nose(state: Array) -> Array:
    """Return the position (..., 2) of the nose, the free end of the first link."""
    tangents, _ = directions(state[..., 2:5])
    first_centre = state[..., :2] + np.einsum("j,...jx->...x", _P[0], tangents)
    position: Array = first_centre - tangents[..., 0, :] / 2
    return position


_STROKE = 1.5
_STROKE_FREQUENCY = 0.23
_STROKE_PHASES = np.array([0.0, -0.8])
_STEERING = np.array([-0.64, -0.68])
_STIFFNESS = 7.3


def seek_goal(time: float, observation: Array) -> Array:
    """Return torques (..., 2) that make the swimmer swim to its goal.

    A wave travels along the joints, bent towards the goal in proportion to its bearing from the
    nose (up to 1 rad). The numbers were found by search: from 10 away, headed anywhere within 1 rad
    of the goal, it arrives in about 27 s. Torques exceed the limits; they must be clipped.
    """
    bearing = np.clip(np.arctan2(-observation[..., 3], -observation[..., 2]), -1.0, 1.0)
    wave = _STROKE * np.sin(2 * np.pi * _STROKE_FREQUENCY * time + _STROKE_PHASES)
    target = wave + _STEERING * bearing[..., None]
    # A positive torque turns the link before the joint forward, so it makes the joint's angle less.
    torques: Array = _STIFFNESS * (observation[..., :2] - target)
    return torques
