"""The data sets have the splits they are known by."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import datasets
from rffpsr_ros.data.screening import screened
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.horizon_error import horizon_errors
from rffpsr_ros.models.arx.learner import LinearARX


def lengths(split: datasets.Split) -> list[list[int]]:
    return [[len(run) for run in part] for part in split]


@pytest.mark.usefixtures("shared")
def test_synth_is_split_as_its_authors_did() -> None:
    assert lengths(datasets.synth()) == [[100] * 10, [100] * 5, [100] * 10]


@pytest.mark.usefixtures("shared")
def test_the_drone_is_split_by_signal() -> None:
    split = datasets.quarter_drone()
    assert lengths(split) == [[10401, 8000, 8001], [2600, 2000, 2000], [10000]]
    assert split.train[0].period == 0.01


@pytest.mark.usefixtures("shared")
def test_the_drones_control_is_known_before_the_angle_it_is_paired_with(shared: Path) -> None:
    # The controller is linear in reference, its own past and the angle. If it needed the angle of
    # its own tick, or not even that of the tick before, the pairing would be off by one.
    run = datasets.quarter_drone().test[0]
    angle, control = run.observations[:, 0], run.actions[:, 0]
    path = shared / "data/quarter_drone/sinal4_multiseno_malha_fechada.csv"
    reference = np.genfromtxt(path, delimiter=",", names=True)["Referencia"]
    ticks = np.arange(60, len(run) - 10)

    def unexplained(newest: int) -> float:
        columns = [control[ticks - k] for k in range(1, 5)]
        columns += [reference[ticks - k] for k in range(-2, 6)]
        columns += [angle[ticks - k] for k in range(newest, 8)]
        design = np.column_stack([*columns, np.ones(len(ticks))])
        weights = np.linalg.lstsq(design, control[ticks], rcond=None)[0]
        return float(np.mean((control[ticks] - design @ weights) ** 2))

    assert unexplained(newest=1) < 1e-4
    assert unexplained(newest=2) > 1.0


@pytest.mark.usefixtures("shared")
def test_the_jackals_drive_is_cut_in_the_order_of_time() -> None:
    data = datasets.jackal()
    shares = [sum(part) for part in lengths(data)]
    assert sum(shares) == pytest.approx(61 * 50, rel=0.02)
    assert np.array(shares) / sum(shares) == pytest.approx([0.7, 0.1, 0.2], abs=1e-3)
    assert data.train[0].observation_names[0].endswith("angular_velocity.z")
    # The gyroscope shows the turning that the wheels report.
    turning = np.concatenate([run.observations[:, 0] for run in data.train])
    commanded = np.concatenate([run.actions[:, 1] for run in data.train])
    assert np.corrcoef(turning, commanded)[0, 1] > 0.5


@pytest.mark.usefixtures("shared")
def test_the_tanks_have_one_record_to_learn_from_and_one_to_judge_by() -> None:
    split = datasets.cascaded_tanks()
    assert lengths(split) == [[1024], [], [1024]]
    assert split.train[0].observations[0, 0] == 5.205
    assert split.test[0].actions[0, 0] == 0.97619


@pytest.mark.usefixtures("shared")
def test_the_circuit_and_the_axis_are_split_as_in_the_literature() -> None:
    circuit, axis = datasets.wiener_hammerstein(), datasets.emps()
    assert lengths(circuit) == [[100_000], [], [78_800]]
    assert 1 / circuit.train[0].period == pytest.approx(51_200)
    assert lengths(axis) == [[24841], [], [24841]]
    assert np.ptp(axis.train[0].observations) == pytest.approx(250, rel=0.2)  # millimetres
    assert not np.array_equal(axis.train[0].observations, axis.test[0].observations)


@pytest.mark.usefixtures("shared")
def test_the_crazyflies_flights_are_split_by_shape_and_the_corrupted_one_is_found() -> None:
    clean, dirty = datasets.crazyflie(2), datasets.crazyflie(2, dirty=True)
    assert [len(part) for part in clean] == [16, 8, 8]
    assert len(dirty.train) == 17
    assert clean.train[0].observation_names[0] == "imu_gyro_x"
    assert len(clean.train[0].action_names) == 4
    assert clean.train[0].period == 0.02
    assert len(datasets.crazyflie().test[0]) in {2 * len(clean.test[0]) - n for n in (0, 1)}
    rows = np.concatenate([run.observations for run in clean.test])
    assert rows.std(axis=0) == pytest.approx(np.ones(6))
    assert screened(clean.train, clean.validation).sentences == ()
    (sentence,) = screened(dirty.train, dirty.validation).sentences
    assert "'B2_circle_medium_rep3'" in sentence
    assert "are left out of learning" in sentence


@pytest.mark.usefixtures("shared")
def test_the_silverbox_tests_are_those_of_the_literature() -> None:
    split = datasets.silverbox()
    assert lengths(split) == [[65062], [], [21688, 40475, 32000]]
    assert [run.label for run in split.test] == [
        "multisine",
        "arrow",
        "arrow without extrapolation",
    ]
    # Its output is some tens of mV, and the arrow's end leaves the multisine's range.
    limit = np.abs(split.train[0].observations).max()
    assert 100 < limit < 400
    assert np.abs(split.test[2].observations).max() < 1.1 * limit
    assert np.abs(split.test[1].observations).max() > 1.2 * limit


def test_fresh_data_depends_on_its_seed_only() -> None:
    split = datasets.fresh_synthetic(0, test_count=3)
    assert lengths(split) == [[100] * 10, [100] * 5, [100] * 3]
    again = datasets.fresh_synthetic(0, test_count=2)
    np.testing.assert_array_equal(split.test[1].observations, again.test[1].observations)
    other = datasets.fresh_synthetic(1, test_count=1)
    assert not np.array_equal(split.train[0].actions, other.train[0].actions)


def test_the_swimmer_is_split_as_in_the_paper() -> None:
    blind, mixed = datasets.swimmer(0, 1.0), datasets.swimmer(0, 0.2)
    assert lengths(blind) == [[100] * 24, [100], [100] * 10]
    np.testing.assert_array_equal(blind.train[3].observations, mixed.train[3].observations)
    assert not np.array_equal(blind.test[0].actions, blind.train[0].actions)
    # What a policy other than the training set's does is harder to forecast.
    model = LinearARX(past=8, ridge=1e-4).fit(blind.train)
    errors = [horizon_errors(model, split.test).mse[-1] for split in (blind, mixed)]
    assert errors[1] > 2 * errors[0]


def test_absent_data_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RFFPSR_SHARED", str(tmp_path))
    with pytest.raises(InputError, match=r"synth\.mat is not in .*RFFPSR_SHARED"):
        datasets.synth()
