"""Which ridges the regression before refinement has: those that do best on what is held out.

Each term has one of its own, chosen in turn: of few data the state, which sees all of the past in
hundreds of numbers, needs a firm one where smooth features of a short window need next to none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rffpsr_ros.psr.initialisation import InitialPredictor, PredictorRegression, Ridges, Starts

Score = Callable[[InitialPredictor], float]


@dataclass(frozen=True)
class RidgeChoices:
    """Among which ridges those of the regression before refinement are chosen.

    Attributes
    ----------
    arx
        Of the ARX term: the less noise in a recording, the smaller the best one.
    state, narx
        Of the other two terms, of which the largest is tried first.
    patience
        After so many smaller ones without a better score none is.
    light_state, light_narx
        Where refinement from lightly regularised weights starts: more would hold back what gradient
        steps can still correct.
    steady
        Where the robot goes further than it did, a predictor's score is at most so many times that
        of the ARX term alone: without noise the smallest ridges do best within the recordings, and
        beyond them forecasts may run away.
    """

    arx: tuple[float, ...] = (1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    state: tuple[float, ...] = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    narx: tuple[float, ...] = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
    patience: int = 3
    light_state: float = 1e-3
    light_narx: float = 1e-6
    steady: float = 5.0

    def light(self, chosen: Ridges) -> Ridges:
        """Return light ridges of state and NARX term: no larger ones than those ``chosen``."""
        state, narx = chosen.state or self.light_state, chosen.narx or self.light_narx
        return Ridges(chosen.arx, min(state, self.light_state), min(narx, self.light_narx))


def choose_ridges(
    regression: PredictorRegression, choices: RidgeChoices, score: Score, score_beyond: Score
) -> Starts:
    """Return a lightly regularised predictor, the one with the least score, and what was chosen.

    That one is never worse than the ARX term alone. ``score_beyond`` tells how it does further out
    than ``score`` does: what is not steady there is not chosen.
    """
    scores: dict[Ridges, float] = {}

    def scored(ridges: Ridges) -> float:
        if ridges not in scores:
            scores[ridges] = score(regression.predictor(ridges))
        return scores[ridges]

    has_arx = regression.arx_size > 0
    arx = [Ridges(ridge, None, None) for ridge in (choices.arx if has_arx else choices.arx[:1])]
    alone = min(arx, key=scored)
    _try_others(alone, choices, regression.structure.narx is not None, scored)
    ordered = sorted(scores, key=scored)
    chosen = ordered[0]
    if has_arx:
        better = [ridges for ridges in ordered if scored(ridges) < scored(alone)]
        most = choices.steady * score_beyond(regression.predictor(alone))
        steady = (one for one in better if score_beyond(regression.predictor(one)) <= most)
        chosen = next(steady, alone)
    notes = {
        "arx_ridge": chosen.arx if has_arx else None,
        "arx_score": scored(alone) if has_arx else None,
        "state_ridge": chosen.state,
        "narx_ridge": chosen.narx,
    }
    light, best, reference = map(regression.predictor, (choices.light(chosen), chosen, alone))
    return Starts(light, best, reference if has_arx else best, scored(chosen), notes)


def _try_others(
    alone: Ridges, choices: RidgeChoices, has_narx: bool, score: Callable[[Ridges], float]
) -> None:
    """Try ridges beside the ARX term's: the NARX term's, then the state's, then the former anew."""
    best = alone
    if has_narx:
        best = _descended(best, "narx", choices.narx, choices.patience, score)
    best = _descended(best, "state", choices.state, choices.patience, score)
    if has_narx and best.state is not None:
        _climbed(best, "narx", choices.narx, score)


def _descended(
    start: Ridges,
    term: str,
    ridges: Sequence[float],
    patience: int,
    score: Callable[[Ridges], float],
) -> Ridges:
    """Return the best of ever smaller ridges of a term, until so many in a row were not better."""
    best, waited = start, 0
    for ridge in sorted(ridges, reverse=True):
        now = start._replace(**{term: ridge})
        best, waited = (now, 0) if score(now) < score(best) else (best, waited + 1)
        if waited == patience:
            break
    return best


def _climbed(
    start: Ridges, term: str, ridges: Sequence[float], score: Callable[[Ridges], float]
) -> Ridges:
    """Return the best ridge of a term that is reached from its present one by gains alone."""
    ordered = sorted(ridges)
    if getattr(start, term) is None:  # the largest is its neighbour
        return _descended(start, term, ridges, 1, score)
    place = ordered.index(getattr(start, term))
    for way in (ordered[:place][::-1], ordered[place + 1 :]):
        best = start
        for ridge in way:
            now = start._replace(**{term: ridge})
            if not score(now) < score(best):
                break
            best = now
        if best != start:
            return best
    return start
