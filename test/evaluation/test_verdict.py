"""The verdict says what the paired errors say, and names what a model cannot do."""

import numpy as np
import pytest

from rffpsr_ros.evaluation.calibration import Coverage
from rffpsr_ros.evaluation.horizon_error import HorizonErrors, horizon_errors
from rffpsr_ros.evaluation.verdict import (
    broken_promise,
    one_stretch,
    paired_with_baseline,
    verdict,
)
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.paired_errors import PairedErrors, paired_errors
from rffpsr_ros.recordings.trajectory import Trajectory

NAMES = ("x", "y")


def compared(ratio: object, unexplained: object = 0.1, blocks: int = 20) -> PairedErrors:
    """Return errors of 4 horizons and 2 observations whose ratio is that, nearly exactly."""
    shape = blocks, 4, 2
    noise = 1 + 0.01 * np.random.default_rng(0).normal(size=shape)
    ours = np.broadcast_to(np.asarray(unexplained, dtype=float), shape) / blocks
    return paired_errors(
        ours * noise, ours / np.asarray(ratio), np.ones((4, 2)), "linear_arx", NAMES
    )


def column(*values: float) -> Array:
    """Return (H, 1)."""
    return np.array(values)[:, None]


@pytest.mark.parametrize(
    ("ratio", "standing", "words"),
    [
        (0.7, "better", ("30 % lower than that of linear ARX", "at every horizon")),
        (2e-4, "better", ("99.98 % lower than that of linear ARX", "interval: 99.98 to 99.98 %")),
        (column(1.0, 0.7, 0.7, 1.0), "better", ("surely so at horizons 2 to 3",)),
        (1.3, "worse", ("30 % higher than that of linear ARX", "prefer the simpler one")),
        (1.0, "undecided", ("cannot be told from linear ARX", "95 % interval from 0 % lower")),
    ],
)
def test_the_first_sentence_tells_the_gain(
    ratio: object, standing: str, words: tuple[str, ...]
) -> None:
    said = verdict(compared(ratio), "100 ticks")
    assert said.standing == standing
    assert said.sentences[0].startswith("On 100 ticks ")
    assert all(word in said.sentences[0] for word in words), said.sentences[0]


@pytest.mark.parametrize(
    ("high", "words"), [(2.5, "to 150 % higher"), (40.2, "to 40 times as high"), (3e9, "over 1000")]
)
def test_an_interval_that_says_nothing_takes_few_figures(high: float, words: str) -> None:
    paired = compared(1.0)
    wide = paired._replace(overall=paired.overall._replace(high=np.array(high)))
    said = verdict(wide, "100 ticks").sentences[0]
    assert words in said
    assert len(said) < 160


def test_few_blocks_leave_it_open() -> None:
    said = verdict(compared(0.5, blocks=3), "30 ticks")
    assert said.standing == "unknown"
    assert "50 % lower" in said.sentences[0]
    assert "do not tell whether that was luck" in said.sentences[0]


def test_the_second_sentence_names_what_is_not_foreseen() -> None:
    blind = np.array([[0.2, 0.99], [0.5, 0.99], [0.96, 0.99], [0.97, 1.2]])
    limits = verdict(compared(0.7, blind), "100 ticks", ["first of all"]).sentences[1]
    assert limits == (
        "Limits: first of all; 'y' is forecast no better than by the mean at any horizon; 'x' is"
        " forecast no better than by the mean from 3 ticks ahead on; nothing was judged beyond 4"
        " ticks."
    )


def test_the_second_sentence_names_where_the_baseline_is_better() -> None:
    ratio = np.array([[0.5, 1.2], [0.5, 1.2], [0.5, 0.5], [0.5, 1.2]])
    limits = verdict(compared(ratio), "100 ticks").sentences[1]
    assert "'y' at horizons 1 to 2, 4 is forecast better by linear ARX" in limits


def test_the_hardest_observation_stands_where_nothing_else_does() -> None:
    limits = verdict(compared(0.5, np.array([0.1, 0.3])), "100 ticks").sentences[1]
    assert "4 ticks ahead 30 % of the variance of 'y', the hardest, is unexplained" in limits


def test_nothing_held_out_gives_no_verdict_but_says_how_to_get_one() -> None:
    said = verdict(None, "nothing")
    assert said.standing == "unknown"
    assert said.as_json()["paired"] is None
    assert "rffpsr evaluate OTHER_BAG" in " ".join(said.lines())


@pytest.mark.parametrize(("share", "told"), [(0.7, True), (0.86, False), (np.nan, False)])
def test_bands_that_do_not_hold_are_named(share: float, told: bool) -> None:
    covered = Coverage(0.9, np.full((4, 2), share), np.full((4, 2), 0.9))
    assert bool(broken_promise(covered)) is told


@pytest.mark.parametrize(
    ("stretches", "largest", "told"),
    [
        (40, 1.0, False),
        (40, 30.0, False),
        (40, 50.0, True),
        (9, 50.0, False),  # too few to wonder
    ],
)
def test_a_stretch_that_makes_most_of_the_error_is_told_of(
    stretches: int, largest: float, told: bool
) -> None:
    blocks = np.full((stretches, 4, 2), 0.01)
    blocks[3] *= largest
    blocks[..., 1] *= 1e6  # units do not matter
    variances = np.broadcast_to([1.0, 1e6], (1, 4, 2))
    counts = np.full((1, 4, 2), 100)
    squares = blocks.sum(axis=0)[None]
    errors = HorizonErrors(squares, variances, counts, NAMES, blocks)
    said = one_stretch(errors)
    assert bool(said) is told
    if told:
        assert said == ["56 % of its squared error comes from one of 40 stretches"]


def errors_of(seed: int) -> dict[str, HorizonErrors]:
    generator = np.random.default_rng(seed)
    runs = []
    for _ in range(3):
        actions = generator.normal(size=(400, 1))
        observations = np.zeros((400, 1))
        for tick in range(1, 400):
            observations[tick] = 0.9 * observations[tick - 1] + actions[tick]
        runs.append(Trajectory(observations + 0.01 * generator.normal(size=(400, 1)), actions))
    arx, last = LinearARX(past=3, future=5).fit(runs[:1]), LastObservation().fit(runs[:1])
    return {
        "linear_arx": horizon_errors(arx, runs[1:], 5),
        "last_observation": horizon_errors(last, runs[1:], 5),
    }


def test_a_baseline_is_never_compared_with_itself() -> None:
    errors = errors_of(0)
    paired = paired_with_baseline(errors)
    assert paired is not None
    assert paired.baseline == "last_observation"
    assert verdict(paired, "these").standing == "better"
    turned = paired_with_baseline(dict(reversed(errors.items())))
    assert turned is not None
    assert turned.baseline == "linear_arx"
    assert verdict(turned, "these").standing == "worse"
    assert paired_with_baseline({"rff_psr": errors["linear_arx"]}) is None


def test_paired_figures_are_those_of_the_errors() -> None:
    errors = errors_of(1)
    paired = paired_with_baseline(errors)
    assert paired is not None
    ours, theirs = errors.values()
    np.testing.assert_allclose(paired.by_horizon.value, ours.mse / theirs.mse)
    np.testing.assert_allclose(paired.unexplained, (1 - ours.fit_percent / 100) ** 2, rtol=1e-2)
