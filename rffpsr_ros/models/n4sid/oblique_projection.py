"""Subspace identification of a linear system with inputs (N4SID) from several recordings.

Van Overschee and De Moor 1996, chapter 4. With w the last ``past`` ticks, and u and y the actions
and observations of the next ``future`` ones, as columns,

    y = L_w w + L_u u    least squares; L_w w is the oblique projection of y on w along u
    L_w E[w w^T]^(1/2) = G S V^T,  Gamma = G S^(1/2),  x = Gamma^+ L_w w
                         the state: the n strongest predictions from the past

The matrices then follow by one of two realisations, both least squares:

    shift     Gamma = [C; C A; C A^2; ...] gives C, its first block, and A, which carries each block
              to the next; y - Gamma x = H(B, D) u, over all horizons, gives B and D
    states    [x_{t+1}; o_t] = [A B; C D] [x_t; a_t], the state a tick later predicted from the past
              a tick later

The first is better where there is little noise, the second where there is much or where the
actions are feedback. The innovation form's gain K follows from the one-step residuals of state and
observation (`gain.py`). The feedthrough D is part of it: an action acts before its tick's
observation is seen.

All of this needs the windows' second moments only. They are kept as a triangular factor, merged
window chunk by chunk with QR, so that memory does not grow with the data and a recording without
noise, whose moments are singular, loses no digits to squaring.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import scipy.linalg

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.windows import CHUNK
from rffpsr_ros.models.kalman.linear_system import LinearSystem
from rffpsr_ros.models.n4sid.gain import NEGLIGIBLE, gain_of, is_stable_gain
from rffpsr_ros.numerics.arrays import Array

Realisation = Literal["shift", "states"]


class WindowShape(NamedTuple):
    """Sizes of a window: ticks of past and future, columns of observation and action."""

    past: int
    future: int
    d_o: int
    d_a: int

    @property
    def tick(self) -> int:
        """Return the number of columns of one tick."""
        return self.d_o + self.d_a


class WindowFactor(NamedTuple):
    """R with R^T R the mean over N windows of the products of their columns.

    Columns are the past ticks, then the future actions, then the future observations.
    """

    rows: Array  # R
    windows: int  # N
    shape: WindowShape

    def split(self) -> tuple[Array, Array, Array]:
        """Return R's columns of the past, of future actions and of future observations."""
        past = self.shape.past * self.shape.tick
        acted = past + self.shape.future * self.shape.d_a
        return self.rows[:, :past], self.rows[:, past:acted], self.rows[:, acted:]


def window_factor(runs: Sequence[Run], past: int, future: int) -> WindowFactor:
    """Return the factor of all windows without missing observations; none spans two runs."""
    shape = WindowShape(past, future, runs[0].observations.shape[1], runs[0].actions.shape[1])
    columns = past * shape.tick + future * shape.tick
    rows, count = np.zeros((0, columns)), 0
    for run in runs:
        for chunk in _window_rows(run, shape):
            rows = _triangular(rows, chunk)
            count += len(chunk)
    return WindowFactor(rows / np.sqrt(max(count, 1)), count, shape)


def joint_factor(factors: Sequence[WindowFactor]) -> WindowFactor:
    """Return the factor of all windows that several factors are of."""
    first, *others = factors
    rows = first.rows * np.sqrt(first.windows)
    for other in others:
        rows = _triangular(rows, other.rows * np.sqrt(other.windows))
    count = sum(factor.windows for factor in factors)
    return WindowFactor(rows / np.sqrt(max(count, 1)), count, first.shape)


def _triangular(rows: Array, more: Array) -> Array:
    """Return the triangular factor of both together."""
    return np.asarray(np.linalg.qr(np.concatenate([rows, more]), mode="r"))


def _window_rows(run: Run, shape: WindowShape) -> Iterator[Array]:
    ticks = np.concatenate(run, axis=1)
    length = shape.past + shape.future
    origins = len(ticks) - length + 1
    for start in range(0, origins, CHUNK):
        stop = min(start + CHUNK, origins)
        windows = np.lib.stride_tricks.sliding_window_view(
            ticks[start : stop + length - 1], length, axis=0
        ).swapaxes(1, 2)
        future = windows[:, shape.past :]
        parts = (windows[:, : shape.past], future[..., shape.d_o :], future[..., : shape.d_o])
        flat = np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
        yield flat[np.isfinite(flat).all(axis=1)]


class Subspace(NamedTuple):
    """State and extended observability matrix, strongest direction first.

    The state is w @ directions[:, :n], Gamma (future d_o, n) is observability[:, :n].
    """

    factor: WindowFactor
    directions: Array
    observability: Array

    @property
    def largest_order(self) -> int:
        """Return the most states that data and window can show."""
        shape = self.factor.shape
        return int(min(self.directions.shape[1], (shape.future - 1) * shape.d_o))


def oblique_projection(factor: WindowFactor, ridge: float) -> Subspace:
    """Return the state's directions by SVD of the oblique projection.

    ``ridge`` penalises the least squares, on means; 0 is the classical algorithm.
    """
    past, acted, observed = factor.split()
    weights = _least_squares(np.concatenate([past, acted], axis=1), observed, ridge)
    from_past = weights[: past.shape[1]]
    _, strengths, forms = np.linalg.svd(past @ from_past, full_matrices=False)
    kept = strengths > NEGLIGIBLE * strengths[0]
    roots, forms = np.sqrt(strengths[kept]), forms[kept].T
    return Subspace(factor, from_past @ forms / roots, forms * roots)


def system_of_order(subspace: Subspace, order: int, realisation: Realisation) -> LinearSystem:
    """Return the system with ``order`` states; it starts anywhere in the states' distribution."""
    shape = subspace.factor.shape
    past, acted, observed = subspace.factor.split()
    directions = subspace.directions[:, :order]
    seen, now = observed[:, : shape.d_o], acted[:, : shape.d_a]
    states = past @ directions
    following = np.concatenate([past[:, shape.tick :], seen, now], axis=1) @ directions
    if realisation == "shift":
        observability = subspace.observability[:, :order]
        transition = _least_squares(observability[: -shape.d_o], observability[shape.d_o :])
        output = observability[: shape.d_o]
        action, feedthrough = _action_weights(transition, output, acted, observed, states)
    else:
        weights = _least_squares(np.hstack([states, now]), np.hstack([following, seen])).T
        transition, action = weights[:order, :order], weights[:order, order:]
        output, feedthrough = weights[order:, :order], weights[order:, order:]
    noise = following - states @ transition.T - now @ action.T
    error = seen - states @ output.T - now @ feedthrough.T
    gain, innovation = gain_of(noise, error, transition, output)
    return LinearSystem(
        transition,
        action,
        output,
        feedthrough,
        gain,
        innovation,
        np.zeros(order),
        states.T @ states,
    )


def _action_weights(
    transition: Array, output: Array, acted: Array, observed: Array, states: Array
) -> tuple[Array, Array]:
    """Return B (n, d_a) and D (d_o, d_a) from what the state does not explain of the window.

    The response to the actions is linear in B and D; its factor is recursive over horizons.
    """
    d_o, order = output.shape
    future = observed.shape[1] // d_o
    d_a = acted.shape[1] // future
    # What is orthogonal to all actions no B or D explains.
    basis = np.linalg.qr(acted)[0].T
    acted, observed, states = basis @ acted, basis @ observed, basis @ states
    rows = len(acted)
    response = np.zeros((rows, d_o, d_a, order))  # to B, by observation
    designs, targets = [], []
    free = output
    for h in range(future):
        now = acted[:, h * d_a : (h + 1) * d_a]
        feedthrough = np.einsum("op,ra->ropa", np.eye(d_o), now)
        designs.append(
            np.concatenate(
                [
                    response.reshape(rows * d_o, d_a * order),
                    feedthrough.reshape(rows * d_o, d_o * d_a),
                ],
                axis=1,
            )
        )
        targets.append((observed[:, h * d_o : (h + 1) * d_o] - states @ free.T).reshape(-1, 1))
        response = response @ transition + np.einsum("on,ra->roan", output, now)
        free = free @ transition
    found = _least_squares(np.concatenate(designs), np.concatenate(targets))[:, 0]
    return found[: d_a * order].reshape(d_a, order).T, found[d_a * order :].reshape(d_o, d_a)


def is_stable(system: LinearSystem) -> bool:
    """Return whether the system is stable: all eigenvalues of A inside the unit circle."""
    return bool(np.abs(np.linalg.eigvals(system.transition)).max() < 1)


def is_stable_filter(system: LinearSystem) -> bool:
    """Return whether its filter is stable: all eigenvalues of A - K C inside the unit circle."""
    return is_stable_gain(system.gain, system.transition, system.output)


def _least_squares(inputs: Array, outputs: Array, ridge: float = 0.0) -> Array:
    """Return the weights W of outputs = inputs W, of the least norm where they are not unique."""
    if ridge > 0:
        columns = inputs.shape[1]
        inputs = np.concatenate([inputs, np.sqrt(ridge) * np.eye(columns)])
        outputs = np.concatenate([outputs, np.zeros((columns, outputs.shape[1]))])
    return np.asarray(scipy.linalg.lstsq(inputs, outputs, cond=NEGLIGIBLE)[0])
