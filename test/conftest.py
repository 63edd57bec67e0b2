"""What all tests share: one BLAS thread, reproducible examples, recorded data, a robot on bags."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings

# Before numpy is first imported: small products are slower on several threads.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

CHECKOUT = Path(__file__).resolve().parents[1]

# The same examples in every run, and no verdict that depends on the speed of the machine.
settings.register_profile("reproducible", derandomize=True, deadline=None)
settings.load_profile("reproducible")


def _shared_folder() -> tuple[Path, str | None]:
    """Where the recorded data lies, and the sentence that says so where it does not."""
    folder = Path(os.environ.get("RFFPSR_SHARED") or CHECKOUT.parent / "shared")
    if folder.is_dir():
        return folder, None
    return folder, f"recorded data not found at {folder} (name its folder in RFFPSR_SHARED)"


@pytest.fixture(scope="session")
def checkout() -> Path:
    """Return the root of the checkout."""
    return CHECKOUT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of recorded data; without it the test is skipped."""
    folder, missing = _shared_folder()
    if missing:
        pytest.skip(missing)
    return folder


@pytest.fixture(scope="session")
def shared_required() -> Path:
    """Return the folder of recorded data; without it the test fails under CI, else is skipped."""
    folder, missing = _shared_folder()
    if missing and os.environ.get("CI") == "true":
        pytest.fail(missing, pytrace=False)
    if missing:
        pytest.skip(missing)
    return folder


@pytest.fixture(autouse=True)
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learn in this process where a test does not say otherwise: the suite keeps all cores busy."""
    monkeypatch.setattr("rffpsr_ros.parallel.processes.usable_cores", lambda: 1)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, and return it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


TICK_NS = 20_000_000
START_NS = 5_000_000_000
ENCODER = "sensor_msgs/msg/JointState"
MOTOR = "std_msgs/msg/Float64"

CONFIGURATION = """\
rate: 50.0
observation:
  inputs: [arm]
  arm: {topic: /encoder, type: sensor_msgs/msg/JointState, fields: [position.elbow], units: [rad]}
action:
  inputs: [motor]
  motor: {topic: /motor, type: std_msgs/msg/Float64, fields: [data], units: [V]}
"""

QUICK = (
    "--set",
    "learning.iterations=5",
    "--set",
    "learning.features=30",
    "--set",
    "learning.narx_learning=off",
    "--set",
    "learning.folds=1",
    "--bands",
    "none",
    "--quiet",
)
"""Options for a training in which only its going through matters."""


def swing(ticks: int, seed: int, gain: float = 1.0) -> tuple[Any, Any]:
    """Return voltages (T,) and angles (T + 1,) of a damped swing driven at random."""
    import numpy as np

    generator = np.random.default_rng(seed)
    voltage = np.repeat(generator.uniform(-1, 1, ticks // 5 + 1), 5)[:ticks]
    angle = np.zeros(ticks + 1)
    speed = 0.0
    for k in range(ticks):
        speed += 0.02 * (-4 * np.sin(angle[k]) - 0.5 * speed + 6 * gain * voltage[k])
        angle[k + 1] = angle[k] + 0.02 * speed
    return voltage, angle


def write_robot(
    path: Path, ticks: int = 600, seed: int = 0, storage: Any = "mcap", gain: float = 1.0
) -> Path:
    """Write a bag in which command k comes 1 ms after angle k, so that it acts on angle k + 1."""
    from rffpsr_ros.recordings.bags.writer import BagWriter

    voltage, angle = swing(ticks, seed, gain)
    with BagWriter(path, storage) as bag:
        bag.add_topic("/encoder", ENCODER)
        bag.add_topic("/motor", MOTOR)
        for k in range(ticks + 1):
            now = START_NS + k * TICK_NS
            if k < ticks:  # stamped just before the angle: in force on the tick that begins there
                bag.write("/motor", now - 1_000_000, bag.message(MOTOR, data=float(voltage[k])))
            bag.write("/encoder", now, encoder(bag, now, elbow=angle[k], wrist=0.5))
    return path


def encoder(bag: Any, now_ns: int, **positions: float) -> Any:
    """Return a JointState."""
    import numpy as np

    seconds, nanoseconds = divmod(now_ns, 1_000_000_000)
    stamp = bag.message("builtin_interfaces/msg/Time", sec=seconds, nanosec=nanoseconds)
    return bag.message(
        ENCODER,
        header=bag.message("std_msgs/msg/Header", stamp=stamp, frame_id=""),
        name=list(positions),
        position=np.array(list(positions.values())),
        velocity=np.empty(0),
        effort=np.empty(0),
    )


class Workshop(NamedTuple):
    """What tests make their own bags with."""

    swing: Callable[..., Any] = swing
    write_robot: Callable[..., Path] = write_robot
    encoder: Callable[..., Any] = encoder
    encoder_type: str = ENCODER
    motor_type: str = MOTOR
    start_ns: int = START_NS
    tick_ns: int = TICK_NS
    quick: tuple[str, ...] = QUICK
    configuration: str = CONFIGURATION


@pytest.fixture(scope="session")
def workshop() -> Workshop:
    """Return the tools to make bags."""
    return Workshop()


@pytest.fixture(scope="session")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bag of the robot."""
    return write_robot(tmp_path_factory.mktemp("bags") / "robot")


@pytest.fixture(scope="session")
def robots(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return three bags of the robot."""
    folder = tmp_path_factory.mktemp("bags")
    return [write_robot(folder / f"robot{seed}", 300, seed) for seed in range(3)]


@pytest.fixture(scope="session")
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the robot's configuration file."""
    path = tmp_path_factory.mktemp("configuration") / "robot.yaml"
    path.write_text(CONFIGURATION, encoding="utf-8")
    return path
