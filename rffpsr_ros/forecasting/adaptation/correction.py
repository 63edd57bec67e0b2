"""Corrections of forecasts, learned by recursive least squares with forgetting, on a short leash.

The error of a forecast is regressed on what `CorrectionRegressors` tells of it, by horizon and
observation, with a ridge that never fades: without new information a correction goes to zero, and
nothing can wind up. A correction is used only as far as corrections made before an error was known
would have made it smaller, beyond chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rffpsr_ros.forecasting.adaptation.regressors import CorrectionRegressors
from rffpsr_ros.models.input_gate import InputRange
from rffpsr_ros.numerics.arrays import Array

PER_HORIZON, APART = 5, 0.1
"""Forecasts are learned from so many times in a horizon, and so many seconds apart at least: errors
of neighbouring ticks are alike, and so is what a robot does in less."""

FORGETTING = 0.98
"""What is left of a forecast's weight after the next: a memory of 50 forecasts."""

RIDGE = 0.1
"""Of the regression, beside sums of squares of regressors of size 1."""

LEAST_INFORMATION = 0.3
"""A forecast that tells less than so much of what one usually does is not learned from."""

OUTLYING = 3.0
"""Times the usual error from which on an error counts as a fault; the usual one grows meanwhile."""

PATIENCE = 20
"""Outlying errors, one after the other, that are no burst of faults any more: they become usual."""

USUAL, SCALE_STEP = 0.7, 0.1
"""The share of errors that are below their usual size, and how fast its logarithm follows."""

LIMIT = 3.0
"""A correction is at most so many usual errors of the model."""

CHANCE, BEYOND_CHANCE = 1.0, 1.5
"""Standard deviations of its benefit at which a correction begins to be used, and is in full."""

SOON, HARM = 0.9, 0.25
"""All is undone if over the newest ten forecasts or so corrections made squared errors larger by
this share, of what they were or usually are."""

ROUNDS = 5
"""Weights of every so many-th horizon are computed after each forecast, in turn."""


class Counts(NamedTuple):
    """What became of the forecasts that could be learned from."""

    learned: int = 0
    frozen: int = 0
    """That told nothing new."""
    rejected: int = 0
    """With outlying errors, or amid observations far outside the trained range."""
    undone: int = 0
    """After which everything learned was thrown away because it did harm."""


@dataclass(frozen=True, eq=False)
class Correction:
    """What was learned by now, for K horizons, G groups of m of the d_o observations, n regressors.

    Errors are in half widths of the trained range.
    """

    information: Array
    """(K, G, n, n): sums of products of regressors."""
    moments: Array
    """(K, G, n, m): sums of products of regressors and errors."""
    weights: Array
    """(K, G, n, m)."""
    gain: Array
    """(K, d_o): how far corrections are used, from 0 to 1."""
    benefit: Array
    """(3, K, d_o): sums of error times correction, of its square, and of corrections squared."""
    log_usual: Array
    """(2, K, d_o): logarithms of the usual errors of the model, and of what corrections leave."""
    squares: Array
    """(2, 3): squared errors as corrected, as they were, and usually; lately, and very lately."""
    counts: Counts
    outlying: int = 0
    """Errors in a row, the newest ones, that stood out."""

    @property
    def used(self) -> bool:
        """Whether forecasts are corrected at all."""
        return bool(self.gain.any())

    @property
    def error_ratio(self) -> float | None:
        """Root mean square error as corrected over that of the model, lately; None: unknown."""
        corrected, plain, _ = self.squares[0]
        return float(np.sqrt(corrected / plain)) if plain > 0 else None


class CorrectionLearner:
    """How corrections are learned and used; pure in all its methods.

    Parameters
    ----------
    regressors
        Of the forecasts.
    known
        The range of observations trained on, which corrections lead nowhere beyond.
    usual
        The model's usual errors (K, d_o) in training, in the observations' units.
    period
        Seconds per tick.

    Attributes
    ----------
    horizon
        K.
    stride
        Ticks between forecasts that are learned from.
    """

    def __init__(
        self, regressors: CorrectionRegressors, known: InputRange, usual: Array, period: float
    ) -> None:
        self.horizon, self._columns = usual.shape
        self.stride = max(-(-self.horizon // PER_HORIZON), round(APART / period))
        self._regressors, self._known = regressors, known
        self._log_usual = np.log(np.maximum(usual / regressors.half_width, 1e-9))
        # Errors of forecasts that overlap are alike, so there are fewer than it seems.
        self._alike = np.ceil(np.arange(1, self.horizon + 1) / self.stride)[:, None]
        self._ridge = RIDGE * np.eye(regressors.count)

    def nothing_learned(self) -> Correction:
        """Return the correction that changes nothing."""
        return self._anew(np.stack([self._log_usual, self._log_usual]), Counts())

    def corrected(
        self, correction: Correction, forecast: Array, actions: Array, seen: Array
    ) -> Array:
        """Return a forecast (..., H, d_o) as corrected, given its actions (..., H, d_a).

        ``seen`` is as `CorrectionRegressors` takes it. Beyond the horizons learned, the last one's
        correction holds.
        """
        if not correction.used:
            return forecast
        regressors = self._of_head(forecast, actions, seen)
        change = correction.gain[: regressors.shape[-3]] * self._guess(correction, regressors)
        changed = forecast + self._continued(change * self._regressors.half_width, forecast, -2)
        bounded: Array = np.clip(changed, *self._bounds(forecast))
        return bounded

    def jacobian(
        self, correction: Correction, forecast: Array, actions: Array, seen: Array, jacobian: Array
    ) -> Array:
        """Return the derivatives (..., H, d_o, H, d_a) of a forecast as corrected by its actions.

        ``jacobian`` is that of the forecast as it was.
        """
        if not correction.used:
            return jacobian
        regressors = self._of_head(forecast, actions, seen)
        steps = regressors.shape[-3]
        head, before = forecast[..., :steps, :], jacobian[..., :steps, :, :, :]
        by_action = self._regressors.derivatives(head, actions[..., :steps, :], seen, before)
        change = np.einsum("...hgnka,hgnm->...hgmka", by_action, correction.weights[:steps])
        change = change.reshape(before.shape)
        guess = self._guess(correction, regressors)
        free = np.abs(guess) < self._limit(correction, steps)
        scale = free * correction.gain[:steps] * self._regressors.half_width
        changed = jacobian + self._continued(change * scale[..., None, None], forecast, -4)
        least, most = self._bounds(forecast)
        moved = correction.gain[:steps] * guess * self._regressors.half_width
        unbounded = forecast + self._continued(moved, forecast, -2)
        held = (unbounded < least) | (unbounded > most)
        bound = np.where(unbounded < least, least, most)
        own = np.where((bound == forecast)[..., None, None], jacobian, 0.0)
        return np.where(held[..., None, None], own, changed)

    def _of_head(self, forecast: Array, actions: Array, seen: Array) -> Array:
        """Return the regressors of the ticks for which corrections are learned."""
        head = slice(0, self.horizon)
        return self._regressors(forecast[..., head, :], actions[..., head, :], seen)

    def _continued(self, change: Array, forecast: Array, axis: int) -> Array:
        """Return what is given for the first ticks of a forecast; the last goes on as it is."""
        steps = forecast.shape[-2]
        if change.shape[axis] == steps:
            return change
        rows = np.minimum(np.arange(steps), change.shape[axis] - 1)
        continued: Array = np.take(change, rows, axis=axis)
        return continued

    def _bounds(self, forecast: Array) -> tuple[Array, Array]:
        """Return what a corrected forecast lies between: the trained range, and what it was."""
        return np.fmin(forecast, self._known.low), np.fmax(forecast, self._known.high)

    def learned(
        self,
        now: Correction,
        then: Correction,
        forecast: Array,
        regressors: Array,
        observations: Array,
    ) -> Correction:
        """Return what is known after a forecast (K, d_o) turned out as the observations (K, d_o).

        ``then`` is what was known when the forecast was made: its correction is what is judged.
        NaN, where nothing was observed, changes nothing.
        """
        error = (observations - forecast) / self._regressors.half_width
        seen = np.isfinite(error)
        if not seen.any():
            return now
        guess = self._guess(then, regressors)
        used = then.gain * guess
        left = error - used
        usual = np.exp(now.log_usual)
        outlying = _median(np.abs(left[seen]) / usual[1][seen]) > OUTLYING
        tells = self._tells(now, regressors)
        if tells or outlying:
            errors, row = np.abs([error, left]), (now.outlying + 1) * outlying
            followed = self._followed(now.log_usual, errors, seen)
            if row == PATIENCE:
                row, followed = 0, np.fmax(followed, np.log(np.fmax(errors, usual)))
            now = replace(now, log_usual=followed, outlying=row)
        if outlying:
            return self.rejected(now)
        error = used + np.clip(left, -OUTLYING * usual[1], OUTLYING * usual[1])
        error = np.where(seen, error, 0.0)
        now = self._scored(now, error, used, seen, usual[0])
        corrected, plain, typical = now.squares[1]
        if corrected > plain + HARM * max(plain, typical):
            counts = now.counts._replace(undone=now.counts.undone + 1)
            return self._anew(now.log_usual, counts)
        if not tells:
            return replace(now, counts=now.counts._replace(frozen=now.counts.frozen + 1))
        return self._updated(self._judged(now, error, guess, seen), regressors, error, seen)

    def rejected(self, now: Correction) -> Correction:
        """Return what is known after a forecast that is not to be learned from."""
        return replace(now, counts=now.counts._replace(rejected=now.counts.rejected + 1))

    def _anew(self, log_usual: Array, counts: Counts) -> Correction:
        groups, count = self._regressors.groups, self._regressors.count
        shape = self.horizon, groups, count
        moments = np.zeros((*shape, self._columns // groups))
        none = np.zeros((self.horizon, self._columns))
        squares, benefit = np.zeros((2, 3)), np.stack([none] * 3)
        return Correction(
            np.zeros((*shape, count)), moments, moments, none, benefit, log_usual, squares, counts
        )

    def _guess(self, correction: Correction, regressors: Array) -> Array:
        """Return corrections (..., H, d_o), within their limits and used in full."""
        steps = regressors.shape[-3]
        weights = correction.weights[:steps]
        guess = (regressors[..., None, :] @ weights)[..., 0, :]
        guess = guess.reshape(*guess.shape[:-2], self._columns)
        limit = self._limit(correction, steps)
        clipped: Array = np.clip(guess, -limit, limit)
        return clipped

    def _limit(self, correction: Correction, steps: int) -> Array:
        """Return how large corrections (steps, d_o) may be."""
        limit: Array = LIMIT * np.exp(correction.log_usual[0, :steps])
        return limit

    def _followed(self, log_usual: Array, errors: Array, seen: Array) -> Array:
        """Return logarithms of usual errors after some more, not far below those of training."""
        missed = errors > np.exp(log_usual)
        step = np.where(seen, SCALE_STEP * (missed - (1 - USUAL)), 0.0)
        followed: Array = np.maximum(log_usual + step, self._log_usual - np.log(2))
        return followed

    def _scored(
        self, now: Correction, error: Array, used: Array, seen: Array, usual: Array
    ) -> Correction:
        """Return what is known with squared errors as corrected, as they were, and usually."""
        sums = [(((error - given) / usual) ** 2)[seen].sum() for given in (used, 0.0)]
        decay = np.array([[FORGETTING], [SOON]])
        return replace(now, squares=decay * now.squares + [*sums, seen.sum()])

    def _tells(self, now: Correction, regressors: Array) -> bool:
        """Tell whether a forecast with these regressors has anything new to tell."""
        last = regressors[-1]
        told = np.linalg.solve(now.information[-1] + self._ridge, last[..., None])[..., 0]
        usual = (1 - FORGETTING) * regressors.shape[-1]
        return bool(_median((last * told).sum(axis=-1)) >= LEAST_INFORMATION * usual)

    def _judged(self, now: Correction, error: Array, guess: Array, seen: Array) -> Correction:
        """Return what is known with gains by how well a guess foretold an error."""
        product = error * guess
        new = np.stack([product, product**2, guess**2])
        benefit = np.where(seen, FORGETTING * now.benefit + new, now.benefit)
        total, squares, size = benefit
        deviations = total / np.sqrt(np.maximum(self._alike * squares, 1e-300))
        surely = np.clip((deviations - CHANCE) / (BEYOND_CHANCE - CHANCE), 0, 1)
        gain = surely * np.clip(total / np.maximum(size, 1e-300), 0, 1)
        return replace(now, benefit=benefit, gain=gain)

    def _updated(self, now: Correction, regressors: Array, error: Array, seen: Array) -> Correction:
        """Return what is known after the regression took an error."""
        shape = now.moments.shape[0], now.moments.shape[1], 1, now.moments.shape[3]
        rows = regressors[..., None, :]
        targets = np.where(seen.reshape(shape), error.reshape(shape), rows @ now.weights)
        information = FORGETTING * now.information + regressors[..., None] * rows
        moments = FORGETTING * now.moments + regressors[..., None] * targets
        turn = slice(now.counts.learned % ROUNDS, None, ROUNDS)
        weights = now.weights.copy()
        weights[turn] = np.linalg.solve(information[turn] + self._ridge, moments[turn])
        return replace(
            now,
            information=information,
            moments=moments,
            weights=weights,
            counts=now.counts._replace(learned=now.counts.learned + 1),
        )


def _median(values: Array) -> float:
    """Return the upper median of values (n,); NumPy's own takes ten times as long for a few."""
    return float(np.sort(values)[len(values) // 2])
