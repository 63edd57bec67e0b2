"""Training from bags: the file holds all that is needed, and the same input gives it again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from rffpsr_ros import RFFPSR, load_model, read_bags
from rffpsr_ros.models.codec import Encoded, encode
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.registry import check_savable
from rffpsr_ros.recordings.bags.writer import BagWriter
from rffpsr_ros.recordings.split import split
from rffpsr_ros.signals import load_channels

Run = Callable[..., Any]


def parts_of(model: PredictiveModel[Any]) -> Encoded:
    return encode(model.parts_class, model.parts, check_savable)


def test_model_is_the_one_that_the_python_face_learns(
    run: Run, workshop: Any, robot: Path, configuration: Path, here: Path
) -> None:
    outcome = run(
        "train", robot, "--config", configuration, "--out", "m", "--bands", "none", "--quiet",
        "--set", "learning.iterations=5", "--set", "learning.features=30",
        "--set", "learning.folds=1", "--split", "0.6,0.2,0.2", "--seed", 3,
    )  # fmt: skip
    assert outcome.code == 0
    train, validation, _ = split(read_bags(robot, load_channels(configuration)), (0.6, 0.2, 0.2))
    expected = RFFPSR(iterations=5, features=30, folds=1, seed=3).fit(train, validation)
    header, arrays = parts_of(load_model(here / "m"))
    expected_header, expected_arrays = parts_of(expected)
    assert header == expected_header
    assert arrays.keys() == expected_arrays.keys()
    for name, array in expected_arrays.items():
        np.testing.assert_array_equal(arrays[name], array)


def test_actions_act_on_the_tick_after_them(
    workshop: Any, robot: Path, configuration: Path
) -> None:
    (trajectory,) = read_bags(robot, load_channels(configuration))
    voltage, angle = workshop.swing(600, 0)
    np.testing.assert_array_equal(trajectory.actions[:, 0], voltage)
    np.testing.assert_array_equal(trajectory.observations[:, 0], angle[1:])


def test_model_file_says_what_to_read_and_how_good_it_was(
    run: Run, robot: Path, configuration: Path, here: Path
) -> None:
    words = ["train", robot, "--config", configuration, "--out", "m", "--model", "linear_arx"]
    result = json.loads(run(*words, "--split", "0.6,0.2,0.2", "--json").out)
    assert result["ticks"] == {"train": 360, "validation": 120, "test": 120}
    model = load_model(here / "m")
    assert model.kind == "linear_arx"
    assert model.signature.channels is not None
    assert model.signature.channels["observation"]["arm"]["topic"] == "/encoder"
    assert model.signature.observation_units == ("rad",)
    assert model.signature.action_units == ("V",)
    errors = model.record.metrics["validation"]
    assert set(errors) == {"linear_arx", "last_observation"}
    assert errors == result["validation"]
    assert errors["linear_arx"]["mse"][0] < errors["last_observation"]["mse"][0]
    assert model.bands is not None
    assert run(*words, "--split", "0.6,0.2,0.2", "--bands", "none").code == 0
    assert load_model(here / "m").bands is None


def test_a_recording_too_short_for_bands_still_gives_a_model(
    run: Run, workshop: Any, configuration: Path, here: Path
) -> None:
    bag = workshop.write_robot(here / "short", ticks=80)
    outcome = run("train", bag, "--config", configuration, "--out", "m", "--model", "linear_arx")
    assert outcome.code == 0
    assert "note: no prediction bands, which learn from 3 parts of the recordings" in outcome.out
    assert load_model(here / "m").bands is None


def test_a_seed_is_for_every_model_that_draws(
    run: Run, robot: Path, configuration: Path, here: Path
) -> None:
    words = ["train", robot, "--config", configuration, "--bands", "none", "--quiet", "--no-check"]
    small = ["--model", "rff_arx", "--set", "learning.features=20"]
    for name, seed in (("a", 1), ("b", 1), ("c", 7)):
        assert run(*words, "--out", name, *small, "--seed", seed).code == 0
    first, again, other = ((here / name).read_bytes() for name in "abc")
    assert first == again != other
    assert run(*words, "--out", "d", "--model", "linear_arx", "--seed", 1).code == 0
    outcome = run(*words, "--out", "e", "--model", "hse_psr", "--seed", -1)
    assert outcome.code == 2
    assert "'seed' is -1" in outcome.err


@pytest.mark.parametrize(
    "kind", ["rff_psr", "hse_psr", "kalman", "linear_arx", "last_observation", "mean"]
)
def test_same_data_and_seed_give_the_same_bytes(
    kind: str, run: Run, workshop: Any, robots: list[Path], configuration: Path, here: Path
) -> None:
    quick = {"rff_psr": workshop.quick, "hse_psr": ("--quiet", "--bands", "none")}.get(
        kind, ("--quiet",)
    )
    for name in ("first", "second"):
        words = ["--config", configuration, "--out", name, "--model", kind, "--seed", 7, *quick]
        assert run("train", *robots, *words).code == 0
    assert (here / "first").read_bytes() == (here / "second").read_bytes()


def test_another_seed_gives_another_model(
    run: Run, workshop: Any, robot: Path, configuration: Path, here: Path
) -> None:
    for seed in (1, 2):
        run(
            "train",
            robot,
            "--config",
            configuration,
            "--out",
            seed,
            "--seed",
            seed,
            *workshop.quick,
        )
    assert (here / "1").read_bytes() != (here / "2").read_bytes()


def test_format_of_the_bag_makes_no_difference(
    run: Run, workshop: Any, configuration: Path, here: Path
) -> None:
    words = ["--config", configuration, "--model", "linear_arx", "--quiet"]
    for storage in ("mcap", "sqlite3"):
        workshop.write_robot(here / storage / "robot", 300, storage=storage)
        assert run("train", here / storage / "robot", "--out", f"{storage}.model", *words).code == 0
    assert (here / "mcap.model").read_bytes() == (here / "sqlite3.model").read_bytes()


def test_jackal_in_three_formats_gives_one_model(
    run: Run, checkout: Path, shared: Path, here: Path
) -> None:
    bag = shared / "data" / "jackal" / "jackal.bag"
    words = ["--config", checkout / "config" / "jackal.yaml", "--model", "linear_arx", "--quiet"]
    assert run("train", bag, "--out", "ros1.model", *words).code == 0
    for storage in ("mcap", "sqlite3"):
        rewrite(bag, here / storage / "jackal", storage)
        copy = here / storage / "jackal"
        assert run("train", copy, "--out", f"{storage}.model", *words).code == 0
    original = (here / "ros1.model").read_bytes()
    assert (here / "mcap.model").read_bytes() == original
    assert (here / "sqlite3.model").read_bytes() == original


def rewrite(bag: Path, target: Path, storage: Any) -> None:
    """Copy a ROS 1 bag of messages without time fields of their own into a rosbag2."""
    store = get_typestore(Stores.ROS2_JAZZY)
    with AnyReader([bag]) as reader, BagWriter(target, storage, typestore=store) as writer:
        for connection in reader.connections:
            writer.add_topic(connection.topic, connection.msgtype)
        for connection, time_ns, data in reader.messages():
            message = reader.deserialize(data, connection.msgtype)
            writer.write(connection.topic, time_ns, modern(message, store))


def modern(message: Any, store: Any) -> Any:
    """Return a message of ROS 1 with the classes of ROS 2, whose headers count no sequence."""
    if not hasattr(message, "__msgtype__"):
        return message
    kind = store.types[message.__msgtype__]
    fields = {name: modern(value, store) for name, value in vars(message).items() if name != "seq"}
    return kind(**{n: v for n, v in fields.items() if n in kind.__dataclass_fields__})


def test_validation_bags_steer_and_are_not_trained_on(
    run: Run, robots: list[Path], configuration: Path, here: Path
) -> None:
    words = ["--config", configuration, "--out", "m", "--model", "linear_arx", "--json"]
    result = json.loads(run("train", robots[0], *words, "--validation", *robots[1:]).out)
    assert result["ticks"] == {"train": 300, "validation": 600, "test": 0}


def test_settings_are_typed_as_yaml_and_stand_in_the_model(
    run: Run, robot: Path, configuration: Path, here: Path
) -> None:
    settings = ["learning.past=5", "rate=25", "max_gap=1e0", "observation.arm.max_age=2.0"]
    words = [word for setting in settings for word in ("--set", setting)]
    run("train", robot, "--config", configuration, "--out", "m", "--model", "linear_arx", *words)
    channels = load_model(here / "m").signature.channels
    assert channels is not None
    assert channels["learning"] == {"past": 5}
    assert channels["observation"]["arm"]["max_age"] == 2.0
    assert load_model(here / "m").signature.period == 0.04


@pytest.mark.parametrize(
    ("kind", "options", "changed", "told"),
    [
        ("linear_arx", (), "past=3", "past 20, not 3"),
        ("n4sid", ("order=2",), "order=3", "order 2, not 3"),
        ("rff_psr", ("iterations=2", "arx_past=0"), "seed=7", "seed 0, not 7"),
        ("rff_psr", ("iterations=2", "folds=1"), "folds=2", "folds 1, not 2"),
        ("linear_arx", ("observation_components=1",), "past=3", "past 20, not 3"),
    ],
)
def test_resume_keeps_what_is_done_and_refuses_what_differs(
    kind: str,
    options: tuple[str, ...],
    changed: str,
    told: str,
    run: Run,
    robots: list[Path],
    configuration: Path,
    here: Path,
) -> None:
    words = ["--config", configuration, "--out", "m", "--resume", "--bands", "none", "--no-check"]
    for option in options:
        words += ["--set", f"learning.{option}"]
    assert run("train", robots[0], *words, "--model", kind).code == 0
    done = (here / "m").stat().st_mtime_ns
    again = run("train", robots[0], *words, "--model", kind)
    assert (again.code, (here / "m").stat().st_mtime_ns) == (0, done)
    assert "already trained" in again.out
    other_option = run("train", robots[0], *words, "--model", kind, "--set", f"learning.{changed}")
    assert other_option.code == 2
    assert told in other_option.err
    other_data = run("train", robots[1], *words, "--model", kind)
    assert other_data.code == 2
    assert "other data" in other_data.err
    assert (here / "m").stat().st_mtime_ns == done


def test_resume_does_what_else_was_asked_for(
    run: Run, robots: list[Path], configuration: Path, here: Path, workshop: Any
) -> None:
    words = ["--config", configuration, "--out", "m", "--resume", *workshop.quick]
    words += ["--validation", robots[1]]
    assert run("train", robots[0], *words).code == 0
    told = json.loads(run("train", robots[0], *words, "--json", "--report", "page.html").out)
    assert told["resumed"]
    assert told["validation"]["rff_psr"]
    assert told["verdict"]["sentences"]
    assert (here / "page.html").is_file()
    assert not (here / "m.kept").exists()
    made = (here / "m").stat().st_mtime_ns
    assert "learned rff_psr" in run("train", robots[0], *words, "--keep").out  # nothing was kept
    assert (here / "m").stat().st_mtime_ns > made
    assert "already trained" in run("train", robots[0], *words, "--keep").out
    assert run("train", robots[2], "--from", "m", "--out", "more", "--quiet").code == 0


def test_resume_refuses_another_kind_of_model(
    run: Run, robots: list[Path], configuration: Path, here: Path
) -> None:
    words = ["--config", configuration, "--out", "m", "--resume", "--bands", "none", "--no-check"]
    assert run("train", robots[0], *words, "--model", "n4sid").code == 0
    other = run("train", robots[0], *words, "--model", "kalman")
    assert other.code == 2
    assert "as n4sid, not kalman" in other.err


def test_truncated_recording_is_used_as_far_as_it_goes(
    run: Run, workshop: Any, configuration: Path, here: Path
) -> None:
    bag = workshop.write_robot(here / "robot")
    (storage,) = bag.glob("*.mcap")
    storage.write_bytes(storage.read_bytes()[: storage.stat().st_size * 3 // 4])
    words = ["--config", configuration, "--out", "m", "--model", "linear_arx", "--json", "--quiet"]
    outcome = run("train", bag, *words)
    assert outcome.code == 0
    assert 100 < json.loads(outcome.out)["ticks"]["train"] < 600
    lines = outcome.err.splitlines()
    assert lines
    assert all(line.startswith("rffpsr: warning: ") for line in lines)


def test_it_ends_with_a_verdict_by_the_validation_part(
    run: Run, robot: Path, configuration: Path, here: Path
) -> None:
    words = ["train", robot, "--config", configuration, "--out", "m", "--model", "linear_arx"]
    result = json.loads(run(*words, "--split", "0.6,0.2,0.2", "--json").out)
    said = result["verdict"]
    assert said["sentences"][0].startswith("On the validation part, which steered choices,")
    errors = result["validation"]
    ratio = np.divide(errors["linear_arx"]["mse"], errors["last_observation"]["mse"])
    np.testing.assert_allclose(said["paired"]["by_horizon"]["value"], ratio)
    kept = load_model(here / "m").record.metrics["verdict"]
    assert kept == {"standing": said["standing"], "sentences": said["sentences"]}
    assert run(*words, "--split", "0.6,0.2,0.2").out.splitlines()[-1] == said["sentences"][-1]
    assert "Nothing was held out" in run(*words).out.splitlines()[-1]


def test_an_ensemble_is_judged_by_what_was_held_out_in_turn(
    run: Run, workshop: Any, robot: Path, configuration: Path, here: Path
) -> None:
    words = ["train", robot, "--config", configuration, "--out", "m", *workshop.quick]
    words += ["--set", "learning.folds=3", "--split", "0.8,0.2,0", "--report", "r.html"]
    outcome = run(*words)
    assert outcome.code == 0
    assert "120 validation (learned from as well: parts of both are held out" in outcome.out
    assert "verdict: On parts held out in turn" in outcome.out
    page = (here / "r.html").read_text()
    assert page.index("On parts held out in turn") < page.index("that it has learned from")
    assert page.index("so they flatter") < page.index("<section")
    metrics = load_model(here / "m").record.metrics
    assert metrics["held_out"]["baseline"] == "linear_arx"
    errors = metrics["cross_validation"]
    ratio = np.divide(errors["ensemble"]["mse"], errors["linear_arx"]["mse"])
    np.testing.assert_allclose(metrics["held_out"]["by_horizon"]["value"], ratio)
    told = run("info", "m").out.splitlines()
    assert told[-2].startswith("verdict: On parts held out in turn")
    assert any("held out in turn: ensemble" in line for line in told)
    assert not any(line.split()[:1] == ["validation"] for line in told)
