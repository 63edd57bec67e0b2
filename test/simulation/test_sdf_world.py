"""The worlds through Drake: the physics that their files describe."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.simulation import arm_camera
from rffpsr_ros.simulation.sdf_world import SdfWorld, load_plant
from rffpsr_ros.simulation.system import simulate

WORLDS = Path(__file__).resolve().parents[2] / "worlds"
ARM = WORLDS / "arm.sdf"


@pytest.fixture(autouse=True)
def drake() -> None:
    pytest.importorskip("pydrake", reason="needs Drake: pip install drake")


def changed(path: Path, folder: Path, **elements: str) -> Path:
    """Return a copy of a world with other values of some elements."""
    tree = ElementTree.parse(path)
    for name, value in elements.items():
        found = list(tree.iter(name))
        assert found
        for element in found:
            element.text = value
    copy = folder / path.name
    tree.write(copy)
    return copy


def test_energy_is_conserved_without_damping_and_torque(tmp_path: Path) -> None:
    from pydrake.systems.analysis import Simulator

    plant = load_plant(changed(ARM, tmp_path, damping="0"), 0.0)
    simulator = Simulator(plant)
    simulator.get_mutable_integrator().set_target_accuracy(1e-6)
    context = simulator.get_mutable_context()
    plant.get_actuation_input_port().FixValue(context, np.zeros(2))
    plant.SetPositions(context, np.zeros(2))
    lowest = plant.CalcPotentialEnergy(context)
    plant.SetPositions(context, [1.0, 0.7])
    energies = []
    for second in np.arange(0, 10.01, 0.5):
        simulator.AdvanceTo(second)
        energies.append(plant.CalcPotentialEnergy(context) + plant.CalcKineticEnergy(context))
    swing = energies[0] - lowest
    assert swing > 1.0
    assert np.ptp(energies) < 0.01 * swing


def test_the_arm_falls_as_its_lagrangian_says() -> None:
    """The equations of a double pendulum of two rods, by hand, from the numbers in the file."""
    m1, m2, l1, l2, i1, i2 = 1.0, 0.6, 0.5, 0.4, 0.02099, 0.00806
    q1, q2, v1, v2, t1, t2 = 0.4, -0.9, 0.8, -0.3, 1.2, -0.4
    c2, h = np.cos(q2), -m2 * l1 * l2 / 2 * np.sin(q2)
    b = m2 * l2**2 / 4 + i2
    a = m1 * l1**2 / 4 + i1 + m2 * l1**2
    k = m2 * l1 * l2 / 2 * c2
    inertia = np.array([[a + b + 2 * k, b + k], [b + k, b]])
    g2 = m2 * 9.81 * l2 / 2 * np.sin(q1 + q2)
    g1 = (m1 / 2 + m2) * 9.81 * l1 * np.sin(q1) + g2
    coriolis = np.array([h * (2 * v1 * v2 + v2**2), -h * v1**2])
    forces = np.array([t1 - 0.3 * v1 - g1, t2 - 0.1 * v2 - g2]) - coriolis
    expected = np.linalg.solve(inertia, forces)
    world = SdfWorld(ARM, period=0.001)
    after = world.step(np.array([q1, q2, v1, v2]), np.array([t1, t2]))
    np.testing.assert_allclose((after[2:] - [v1, v2]) / 0.001, expected, rtol=0.01)


@pytest.mark.parametrize("world", ["arm", "arm_camera", "pendulum"])
def test_a_torque_moves_its_joint_in_its_direction(world: str) -> None:
    system = SdfWorld(WORLDS / f"{world}.sdf")
    count = len(system.action_names)
    for joint in range(count):
        for sign in (-1.0, 1.0):
            torque = np.zeros(count)
            torque[joint] = sign
            run = simulate(system, np.tile(torque, (20, 1)))
            assert sign * run.observations[-1, joint] > 0.01


def test_without_torque_nothing_moves_and_swings_die_down() -> None:
    system = SdfWorld(ARM)
    still = simulate(system, np.zeros((100, 2)))
    np.testing.assert_allclose(still.observations, 0, atol=1e-9)
    swing = simulate(system, np.zeros((3000, 2)), initial_state=np.array([0.8, 0.3, 0, 0]))
    assert np.abs(swing.observations[-250:]).max() < 0.1


def test_limits_hold() -> None:
    system = SdfWorld(ARM)
    run = simulate(system, np.tile([0.0, 1.5], (1000, 1)))
    assert run.observations[:, 1].max() == pytest.approx(2.4, abs=1e-3)


def test_torques_act_up_to_the_effort_of_the_file() -> None:
    system = SdfWorld(ARM)
    low, high = system.action_limits
    assert (low.tolist(), high.tolist()) == ([-4.0, -1.5], [4.0, 1.5])
    most = simulate(system, np.tile(high, (50, 1))).observations
    np.testing.assert_array_equal(simulate(system, np.tile(3 * high, (50, 1))).observations, most)


def test_a_batch_is_what_its_members_are() -> None:
    system = SdfWorld(ARM)
    generator = np.random.default_rng(0)
    states, torques = generator.normal(size=(2, 3, 4)), generator.normal(size=(2, 3, 2))
    together = system.step(states, torques)
    for place in np.ndindex(2, 3):
        np.testing.assert_array_equal(together[place], system.step(states[place], torques[place]))


def test_names_and_start_are_those_of_the_file() -> None:
    system = SdfWorld(ARM)
    assert system.action_names == ("shoulder", "elbow")
    assert system.observation_names[:2] == ("position.shoulder", "position.elbow")
    assert not system.initial_state(np.random.default_rng(0)).any()


def test_worlds_that_cannot_be_simulated_are_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.sdf"
    broken.write_text("<sdf version='1.9'><world name='w'><model name='m'/></world></sdf>")
    with pytest.raises(InputError, match="cannot be read"):
        SdfWorld(broken)
    with pytest.raises(InputError, match="torque-driven joints"):
        SdfWorld(changed(ARM, tmp_path, effort="0"))


def test_the_renderer_shows_the_world_of_the_file() -> None:
    """Lengths and field of view are those of the file, and links lie where Drake puts them."""
    path = WORLDS / "arm_camera.sdf"
    text = path.read_text()
    fov = ElementTree.parse(path).find(".//horizontal_fov")
    assert fov is not None
    assert float(fov.text or "") == arm_camera.FIELD_OF_VIEW
    assert f"<width>{arm_camera.SIZE}</width>" in text
    radii = [radius.text for radius in ElementTree.parse(path).iter("radius")]
    assert [float(radius or 0) for radius in radii] == [one[0] for one in arm_camera.LINKS]
    plant = load_plant(path, 0.001)
    context = plant.CreateDefaultContext()
    positions = np.array([0.7, -0.4])
    plant.SetPositions(context, positions)
    _, elbow, hand = arm_camera.joint_places(positions)
    frames = {name: plant.GetFrameByName(name) for name in ("base", "forearm")}
    base, forearm = (f.CalcPoseInWorld(context) for f in frames.values())
    relative = forearm.translation() - base.translation()
    np.testing.assert_allclose([relative[0], relative[2]], elbow, atol=1e-9)
    tip = forearm.multiply(np.array([0, 0, -arm_camera.FOREARM])) - base.translation()
    np.testing.assert_allclose([tip[0], tip[2]], hand, atol=1e-9)
