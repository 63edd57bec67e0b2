"""How much is done to learn features, and what of it the number of columns leaves affordable."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rffpsr_ros.psr.refinement.learned_units import UNITS

MOST_PARAMETERS = 1500
"""So many are learned at the most."""

LEAST_UNITS = 10
"""With fewer there is little to learn."""


@dataclass(frozen=True)
class FeatureLearningOptions:
    """How features are learned."""

    kind: str = "waves"
    """Of units, see `learned_units.UNITS`."""

    units: int = 40
    """So many are learned."""

    horizon: int = 10
    """Ticks that are rolled out."""

    rollouts: int = 1000
    """Random ones that a step's gradient is computed from."""

    mixtures: float = 1.5
    """For each parameter, so many random mixtures of their predictions give the curvature, which
    costs most (`learning_objective.random_mixtures`). Twice as many led no further (1.01 times the
    held-out score, 26 descents) in 1.2 times the time. Of still fewer, with more of the steps
    before, it is hardly known: 1.1 times the score."""

    steps: int = 300
    """Damped steps, at the most; few robots take half as many."""

    patience: tuple[int, ...] = (10, 4)
    """After so many without a better validation score a descent ends, the first, the second ..."""

    penalties: tuple[float, ...] = (3e-3, 1e-4)
    """Of one descent after the other, each from the best so far: on the squared distance of units'
    weights to zero and of everything else to its start, in units in which changes per tick are one.
    Held near its start at first, a model does not run into a corner that forecasts well where it
    was trained, and fails beyond; held so for ever it could not change as much as some have to."""

    changes_only: tuple[int, ...] = ()
    """Columns of observations of which features see only the changes, not how large they are."""

    turns: tuple[float, ...] = ()
    """Radians in a standard unit of each observation that is an angle which winds up, else 0; none
    where no observation may be."""

    read_anew: bool = True
    """Whether the readout of known features may be regressed anew before they learn on: not where
    nothing is held out that tells whether it forecasts better."""

    led_later: bool = False
    """Whether learning is led on later, with more recordings, where there are fewer parameters than
    `plenty` for each value that is learned from: then the first descent is enough."""

    plenty: float = 1.25
    """With more parameters for each value than these, or nearly as many, recordings would soon be
    known by heart."""

    state: bool = False
    """Whether the predictive state takes part in the readout that is learned; steps then take
    longer."""

    def of(self, kind: str) -> FeatureLearningOptions:
        """Return options of a kind of units, as many as are usual."""
        return replace(self, kind=kind, units=UNITS[kind].usual)

    def in_one_descent(self, steps: int, penalty: float, patience: int) -> FeatureLearningOptions:
        """Return options of a single descent, by which what was learned goes on."""
        return replace(self, steps=steps, penalties=(penalty,), patience=(patience,))

    def within(self, iterations: int) -> FeatureLearningOptions:
        """Return options of no more steps than refinement has iterations."""
        return replace(self, steps=min(self.steps, iterations))


def affordable(
    options: FeatureLearningOptions, arx_past: int, narx_past: int, columns: int, acted: int
) -> FeatureLearningOptions | None:
    """Return options whose steps are worth what they cost; None where too few units remain.

    What a step costs is J^T J, which grows as the cube of the parameters, of which the ARX term's
    alone are very many where columns are. So units are as many as leave no more than
    `MOST_PARAMETERS`.
    """
    linear = arx_past * (columns + acted) + acted + 1
    kind = UNITS[options.kind]
    each = narx_past * (columns + acted) + acted + kind.offset + kind.each * columns
    units = min(options.units, (MOST_PARAMETERS - linear * columns) // each)
    if units < LEAST_UNITS:
        return None
    return replace(options, units=units)
