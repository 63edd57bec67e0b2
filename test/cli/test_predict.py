"""Forecasts along a bag: the model's own, under the right times, in a table or in a bag."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.highlevel import AnyReader

from rffpsr_ros import load_model, read_bags
from rffpsr_ros.forecasting.adaptation.adaptive_model import AdaptiveModel
from rffpsr_ros.forecasting.along_bag import run_along
from rffpsr_ros.models import forecasts as models_forecasts
from rffpsr_ros.models.forecasts import forecasts
from rffpsr_ros.recordings.bags.message_types import MessageTypes
from rffpsr_ros.recordings.bags.reader import BagSampler
from rffpsr_ros.recordings.bags.source import BagTopic, share_of
from rffpsr_ros.signals import load_channels

Run = Callable[..., Any]


@pytest.fixture
def expected(robots: list[Path], configuration: Path, arx_model: Path) -> Any:
    """Return the forecasts (origins, 4, 1) of the Python face."""
    (trajectory,) = read_bags(robots[0], load_channels(configuration))
    return np.concatenate([chunk for _, chunk in forecasts(load_model(arx_model), trajectory, 4)])


def test_table_holds_the_forecasts_and_when_they_were_made(
    run: Run, workshop: Any, robots: list[Path], arx_model: Path, expected: Any, here: Path
) -> None:
    words = ["--model", arx_model, "--out", "table.csv", "--horizon", 4]
    assert run("predict", robots[0], *words).code == 0
    with (here / "table.csv").open(newline="") as file:
        heading, *rows = csv.reader(file)
    name = "arm.position.elbow"
    ahead = [f"{name}+{h}" for h in (1, 2, 3, 4)]
    assert heading == ["time", "segment", name, *ahead, *(f"{one} band" for one in ahead)]
    assert len(rows) == 297
    _, angle = workshop.swing(300, 0)
    assert rows[0][:3] == ["5.000000000", "0", ""]  # nothing was seen yet
    for k, row in enumerate(rows):
        assert int(row[0].replace(".", "")) == workshop.start_ns + k * workshop.tick_ns
        assert k == 0 or float(row[2]) == angle[k]
    table = np.array([[float(cell) for cell in row[3:]] for row in rows])
    np.testing.assert_array_equal(table[:, :4], expected[:, :, 0])
    bands = load_model(arx_model).bands
    assert bands is not None
    np.testing.assert_array_equal(table[:, 4:] - bands.half_width(0.9, 4)[:, 0], 0)


def test_every_nth_forecast(run: Run, robots: list[Path], arx_model: Path, here: Path) -> None:
    words = ["--model", arx_model, "--horizon", 4]
    run("predict", robots[0], *words, "--out", "all.csv")
    result = run("predict", robots[0], *words, "--out", "some.csv", "--every", 10, "--json")
    every = (here / "all.csv").read_text().splitlines()
    assert (here / "some.csv").read_text().splitlines() == [every[0], *every[1::10]]
    assert json.loads(result.out)["forecasts"] == 30


@pytest.mark.parametrize("assumed", ["recorded", "hold"])
def test_forecasts_can_be_corrected_along_a_bag(
    run: Run, workshop: Any, configuration: Path, arx_model: Path, here: Path, assumed: str
) -> None:
    """The robot's commands have half the effect that they had in training."""
    bag = workshop.write_robot(here / "weak", 1500, gain=0.5)
    words = [bag, "--model", arx_model, "--horizon", 4, "--future-actions", assumed]
    run("predict", *words, "--out", "plain.csv")
    run("predict", *words, "--out", "adapted.csv", "--adapt")
    tables = []
    for name in ("plain.csv", "adapted.csv"):
        rows = (here / name).read_text().splitlines()[1:1490]
        tables.append(np.array([[float(cell) for cell in row.split(",")[3:7]] for row in rows]))
    plain, adapted = tables
    np.testing.assert_array_equal(adapted[:20], plain[:20])
    (trajectory,) = read_bags(bag, load_channels(configuration))
    if assumed == "recorded":
        adaptive = AdaptiveModel(load_model(arx_model), 4)
        expected = np.concatenate([chunk for _, chunk in forecasts(adaptive, trajectory, 4)])
        np.testing.assert_array_equal(adapted, expected[: len(adapted), :, 0])
    seen = trajectory.observations[:, 0]
    seen = np.array([seen[k : k + 4] for k in range(assumed == "hold", len(plain) - 1)])
    errors = [((table[: len(seen)] - seen)[900:, -1] ** 2).mean() for table in tables]
    assert errors[1] < 0.95 * errors[0]


def test_bag_holds_the_topics_of_the_filter(
    run: Run, workshop: Any, robots: list[Path], arx_model: Path, expected: Any, here: Path
) -> None:
    words = ["--model", arx_model, "--out", "ahead", "--horizon", 4, "--lead", 3]
    assert run("predict", robots[0], *words).code == 0
    assert sorted(path.name for path in here.iterdir()) == ["ahead"]
    found: dict[str, list[Any]] = {}
    with AnyReader([here / "ahead"]) as reader:
        for connection, time_ns, data in reader.messages():
            message = reader.deserialize(data, connection.msgtype)
            found.setdefault(connection.topic, []).append((time_ns, message))
    topics = ("prediction", "band", "trajectory", "predicted")
    assert set(found) == {f"/rffpsr_filter/{name}" for name in topics}
    assert {len(messages) for messages in found.values()} == {297}
    for k, (time_ns, message) in enumerate(found["/rffpsr_filter/predicted"]):
        target_ns = workshop.start_ns + (k + 3) * workshop.tick_ns
        stamp = message.header.stamp
        assert stamp.sec * 10**9 + stamp.nanosec == time_ns == target_ns
        assert message.position[0] == expected[k, 2, 0]
    for k, (time_ns, message) in enumerate(found["/rffpsr_filter/prediction"]):
        assert time_ns == workshop.start_ns + k * workshop.tick_ns
        np.testing.assert_array_equal(message.data, expected[k, :, 0])
        assert "recorded" in message.layout.dim[0].label
        low, high = np.reshape(found["/rffpsr_filter/band"][k][1].data, (2, 4))
        assert (low < message.data).all()
        assert (message.data < high).all()


def test_held_actions_know_nothing_of_what_was_to_come(
    run: Run, workshop: Any, configuration: Path, arx_model: Path, here: Path
) -> None:
    words = ["--model", arx_model, "--future-actions", "hold", "--horizon", 4]
    whole = workshop.write_robot(here / "whole", 120)
    part = workshop.write_robot(here / "part", 120)
    run("predict", whole, *words, "--out", "whole.csv")
    rows = (here / "whole.csv").read_text().splitlines()
    assert len(rows) == 1 + 120  # to the very end: no recorded action is needed
    (trajectory,) = read_bags(part, load_channels(configuration))
    model = load_model(arx_model)
    state = model.initial_state()
    for tick in range(100):
        state = model.update(state, trajectory.actions[tick], trajectory.observations[tick])
    # Commands are stamped just before their tick, so the next one is known when it begins.
    plan = np.repeat(trajectory.actions[100:101], 4, axis=0)
    told = [float(cell) for cell in rows[1 + 99].split(",")[3:7]]
    np.testing.assert_array_equal(told, model.predict(state, plan)[:, 0])


def test_progress_goes_from_nothing_to_the_end(
    robots: list[Path], configuration: Path, arx_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models_forecasts, "_CHUNK", 50)
    told: list[float] = []

    def progress(stage: str, fraction: float, error: float | None = None) -> None:
        assert stage == "forecasting"
        told.append(fraction)

    with BagSampler(robots[0], load_channels(configuration), MessageTypes()) as bag:
        assert bag.share_read == 0.0
        assert len(list(run_along(load_model(arx_model), bag, 4, progress=progress))) == 297
        assert bag.share_read == 1.0
    assert len(told) == 6
    assert told == sorted(told)
    assert told[0] == 0.0
    assert 0.8 < told[-1] < 1.0


def test_a_bag_that_does_not_say_how_much_it_holds_has_no_share() -> None:
    known, unknown = BagTopic("a", "b", 4), BagTopic("c", "d")
    assert share_of(1, [known]) == 0.25
    assert share_of(1, [known, unknown]) is None
    assert share_of(0, []) is None
