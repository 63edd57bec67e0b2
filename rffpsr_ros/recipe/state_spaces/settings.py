"""When nonlinear state spaces take part, and which are tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rffpsr_ros.models.option_checks import require, require_positive_numbers


@dataclass(frozen=True)
class StateSpaceSettings:
    """Which structures compete, how they are judged, and when a descent is begun again.

    Raises
    ------
    InputError
        If a number is not greater than 0, or ``as_good``, ``as_good_of_long`` or ``caught`` is less
        than 1.
    """

    features: Mapping[bool, int] = field(default_factory=lambda: {True: 8, False: 4})
    """So many features that saturate, or so many squares and cubes."""

    orders: Mapping[bool, tuple[int, ...]] = field(
        default_factory=lambda: {True: (2, 4, 6), False: (2,)}
    )
    """Orders that are tried with such features, without integrators, beside the one that suits a
    linear system."""

    finer_from: int = 20_000
    """From so many ticks on, twice as many that saturate are tried too: what long records tell of a
    circuit or of friction is sharper than eight resolve, but on 3000 ticks these are as good. As
    that takes long, no other orders are tried, of each kind one alone is learned, and nothing is
    begun again."""

    drawn: int = 256
    """Of recordings that long, features that saturate begin with the best of so many directions: on
    the first fold of a positioning axis scores are an eighth. On 2000 to 3000 ticks they gain
    nothing by it."""

    most_weights: int = 400
    """With more weights than these none is learned: the time of a step grows as their square."""

    as_good: float = 1.1
    """Of those with a score on the first fold that is at most so many times the best one's, the one
    of the fewest weights is learned: the simpler goes less astray where a robot goes further than
    it did. Of long recordings the linear system of the fewest states is where they start."""

    as_good_of_long: float = 1.5
    """The same where recordings are long: on four simulated axes that rub sixteen features err 1.2
    times as much as eight in runs of 24 s, 1.9 times under larger forces."""

    better_than_linear: float = 0.95
    """Their score on the first fold must be so many times that of the best linear system, at the
    most: subspace identification competes as it is. With integrators they need only equal it."""

    first_blocks: int = 8
    """Blocks of the first fold that tell whether they are learned on the others."""

    caught: float = 1.5
    """A fold's descent that errs so many times as much in training as the best fold's was caught in
    a bad minimum, and is begun again from other directions: on 23 systems the geometric mean of all
    folds' scores is .77 of what it was, at worst 1.12, for 2.2 CPU seconds more."""

    restarts: int = 2
    """So often at the most."""

    def __post_init__(self) -> None:
        """Check that numbers are positive, and that the best is as good as itself."""
        require_positive_numbers(self)
        for name in ("as_good", "as_good_of_long", "caught"):
            require(name, getattr(self, name), lambda v: v >= 1, "at least 1")
