"""A stage of learning where what matters is rare, and where it goes astray."""

import numpy as np
import pytest

from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.models.state_space import stage
from rffpsr_ros.models.state_space.dynamics import StateSpace
from rffpsr_ros.models.state_space.linear_start import Structure, linear_start
from rffpsr_ros.models.state_space.simulation import errors_by_stretch, simulation_error
from rffpsr_ros.models.state_space.stretches import SETTLING, Stretches, cut_stretches

UNLIMITED = Bounds(np.full(1, -np.inf), np.full(1, np.inf))

RARE = slice(3300, 3500)
"""Where alone the robot is pushed so far that it hits its stop."""


def stopped(ticks: int = 6000) -> Run:
    """A slow mass between two stops, which it reaches in one short part of the recording."""
    draw = np.random.default_rng(0)
    push = 0.1 * draw.standard_normal(ticks)
    push[RARE] *= 6
    place, seen = 0.0, []
    for force in push:
        seen.append(place + 0.001 * draw.standard_normal())
        place = 0.9 * place + np.tanh(force)
    return Run(np.array(seen)[:, None], push[:, None])


@pytest.fixture(scope="module")
def run() -> Run:
    return stopped()


@pytest.fixture
def start(run: Run, monkeypatch: pytest.MonkeyPatch) -> StateSpace:
    monkeypatch.setattr(stage, "LEAST_TICKS", 300)
    monkeypatch.setattr(stage, "MOST_TICKS", 300)
    structure = Structure(order=1, features=2, saturating=True, integrating=False)
    return linear_start([run], structure, 10, UNLIMITED, np.random.default_rng(0))


def everywhere(run: Run) -> Stretches:
    return cut_stretches([run], stage.LENGTHS[0], 999, at_start=SETTLING)


def test_what_is_rare_joins_what_a_stage_learns_from(
    run: Run, start: StateSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = stage.learned(start, [run], 0)
    monkeypatch.setattr(stage, "ROUNDS", 1)
    once = stage.learned(start, [run], 0)
    errors = [simulation_error(one, everywhere(run)) for one in (start, once, checked)]
    assert errors[2] < 0.3 * errors[1]
    assert errors[2] < 0.1 * errors[0]


def test_what_goes_astray_is_not_kept(
    run: Run, start: StateSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def astray(system: StateSpace, *others: object) -> StateSpace:
        unstable = system.transition.copy()
        unstable[0, 0] = 1.2
        return system._replace(transition=unstable)

    monkeypatch.setattr(stage, "best_gain", astray)
    assert stage.learned(start, [run], 0) is start


def test_errors_of_stretches_are_those_of_each_alone(run: Run, start: StateSpace) -> None:
    stretches = everywhere(run)
    errors = errors_by_stretch(start, stretches)
    for number in (0, 7, len(errors) - 1):
        alone = simulation_error(start, stretches.only(np.array([number])))
        assert errors[number] == pytest.approx(alone, rel=1e-12)
    counted = stretches.counted.sum(axis=(0, 2))
    assert np.average(errors, weights=counted) == pytest.approx(
        simulation_error(start, stretches), rel=1e-12
    )
