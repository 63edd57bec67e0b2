"""Recordings of hard classes are what they say: repeatable, new in every draw, and hard."""

import numpy as np
import pytest

from benchmarks.compare import KNOWN_TASKS
from benchmarks.coupled_drives import CoupledDrives
from benchmarks.hard_classes import HARD_CLASSES, REPORTING, held, reporting
from benchmarks.hard_systems import (
    HeatingMotor,
    Levitation,
    StiffeningBeam,
    WalledPendulum,
    WornArm,
)
from rffpsr_ros.simulation.system import dataset, simulate

QUICK = ("vibration", "process120")


@pytest.mark.parametrize("name", QUICK)
def test_a_draw_is_repeatable_and_each_is_new(name: str) -> None:
    task = HARD_CLASSES[name]
    first, again, other = (task.load(draw).train[0] for draw in (0, 0, 1))
    assert np.array_equal(first.observations, again.observations)
    assert not np.array_equal(first.actions, other.actions)
    reported = reporting(task).load(0).train[0]
    assert np.array_equal(reported.observations, task.load(REPORTING).train[0].observations)


@pytest.mark.parametrize("name", HARD_CLASSES)
def test_tests_do_not_begin_like_what_is_learned_from(name: str) -> None:
    material = HARD_CLASSES[name].load(0)
    learned = {run.actions[0, 0] for run in [*material.train, *material.validation]}
    for runs in material.tests.values():
        assert not learned & {run.actions[0, 0] for run in runs}
        assert all(np.isfinite(run.observations).all() for run in runs)


def test_hard_classes_can_be_asked_for_and_are_not_taken_unasked() -> None:
    assert {"pendulum", "pendulum_report", "synth"} <= set(KNOWN_TASKS)


def test_the_pendulum_stays_before_its_wall_and_bounces() -> None:
    system = WalledPendulum()
    (run,) = dataset(system, held(system, 0.3), 1, 200, seed=0)
    assert run.observations.max() <= system.wall
    speed = np.diff(run.observations[:, 0])
    near = run.observations[1:-1, 0] > 0.8 * system.wall
    assert (np.abs(np.diff(speed))[near] > 0.1).any()


def test_drives_turned_the_other_way_look_the_same() -> None:
    system = CoupledDrives()
    (run,) = dataset(system, held(system, 0.2), 1, 300, seed=0)
    other = simulate(system, -run.actions)
    np.testing.assert_allclose(other.observations, run.observations)
    assert run.observations.min() >= 0
    assert (run.observations[50:] < 0.05 * run.observations.max()).any()  # it turns both ways


def test_voltage_acts_after_the_dead_time() -> None:
    system = HeatingMotor()
    speed = simulate(system, np.full((10, 1), 8.0)).observations[:, 0]
    assert (speed[: system.delay] == 0).all()
    assert speed[system.delay] > 0.01


def test_a_hot_motor_turns_slower() -> None:
    speed = simulate(HeatingMotor(), np.full((600, 1), 10.0)).observations[:, 0]
    assert speed[-1] < 0.97 * speed.max()


def test_an_encoder_behind_play_is_held_while_its_joint_turns_back() -> None:
    system = WornArm(joints=1, play=0.05)
    state = np.array([0.5, 0.0, 0.46])
    following = system.step(state, np.zeros(1))
    assert following[0] < 0.5
    assert following[2] == 0.46


def test_the_arm_rests_in_dry_friction() -> None:
    system = WornArm()
    moved = simulate(system, np.zeros((100, 2)), initial_state=np.zeros(6)).observations
    assert np.abs(moved).max() < 1e-6


def test_the_magnet_falls_without_its_controller() -> None:
    state = np.array([1.01, 0.0, 1.0])
    gaps = simulate(Levitation(), np.ones((60, 1)), initial_state=state).observations
    assert gaps[-1] > 1.2


def test_a_larger_swing_is_faster() -> None:
    def crossings(swing: float) -> int:
        start = np.array([swing, 0.0])
        seen = simulate(StiffeningBeam(), np.zeros((200, 1)), initial_state=start).observations
        return int((np.diff(np.sign(seen[:, 0])) != 0).sum())

    assert crossings(1.5) > crossings(0.1)
