"""Discrete fields from bags: probabilities by an IO-HMM, indicators beside continuous columns."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.known_systems import IOHMM
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.recordings.bags.writer import BagWriter

TICK_NS = 100_000_000
INTEGER = "std_msgs/msg/Int32"
NUMBER = "std_msgs/msg/Float64"

DISCRETE = """\
rate: 10.0
observation:
  inputs: [light]
  light: {topic: /light, fields: ["equals(data, 0)", "equals(data, 1)", "equals(data, 2)"]}
action:
  inputs: [button]
  button: {topic: /button, fields: [data]}
learning: {past: 20, future: 10, state_rank: 8}
"""

MIXED = DISCRETE.replace("[light]", "[heat, light]").replace(
    "  light:", "  heat: {topic: /heat, fields: [data]}\n  light:", 1
)


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bag of a panel whose light follows buttons, and heats up while it shows 2."""
    run = IOHMM.random(4, states=3, actions=2, observations=3).simulate(3000, 0)
    path = tmp_path_factory.mktemp("bags") / "panel"
    heat = 0.0
    with BagWriter(path, "mcap") as bag:
        for topic, kind in (("/light", INTEGER), ("/button", INTEGER), ("/heat", NUMBER)):
            bag.add_topic(topic, kind)
        bag.write("/heat", TICK_NS, bag.message(NUMBER, data=heat))
        bag.write("/light", TICK_NS, bag.message(INTEGER, data=0))
        for k in range(len(run)):
            now = (k + 2) * TICK_NS
            button, light = int(run.actions[k, 0]), int(run.observations[k, 0])
            bag.write("/button", now - TICK_NS - 1000, bag.message(INTEGER, data=button))
            heat = 0.8 * heat + (light == 2)
            bag.write("/heat", now, bag.message(NUMBER, data=heat))
            bag.write("/light", now, bag.message(INTEGER, data=light))
    return path


def test_an_io_hmm_is_trained_from_a_bag_and_forecasts_probabilities(
    run: Any, panel: Path, tmp_path: Path
) -> None:
    (tmp_path / "c.yaml").write_text(DISCRETE)
    words = ("--config", tmp_path / "c.yaml", "--out", tmp_path / "m", "--model", "io_hmm")
    assert run("train", panel, *words, "--bands", "none", "--quiet").code == 0
    model = load_model(tmp_path / "m")
    forecast = model.predict(model.initial_state(), np.array([[0.0], [1.0], [1.0]]))
    np.testing.assert_allclose(forecast.sum(1), 1.0, atol=1e-12)
    assert model.signature.observation_names[1] == "light.equals(data, 1.0)"
    outcome = run("evaluate", panel, "--model", tmp_path / "m")
    assert outcome.code == 0, outcome.err


def test_indicators_stand_beside_continuous_columns(run: Any, panel: Path, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(MIXED)
    quick = (
        "learning.iterations=100",
        "learning.features=60",
        "learning.past=6",
        "learning.folds=1",
    )
    words = [word for setting in quick for word in ("--set", setting)]
    words += [
        "--config",
        str(tmp_path / "c.yaml"),
        "--out",
        str(tmp_path / "m"),
        "--bands",
        "none",
        "--quiet",
    ]
    assert run("train", panel, *words).code == 0
    model = load_model(tmp_path / "m")
    known = IOHMM.random(4, states=3, actions=2, observations=3)
    test = known.simulate(400, 1)
    lights = test.observations[:, 0].astype(int)
    heats, heat = [], 0.0
    for light in lights:
        heat = 0.8 * heat + (light == 2)
        heats.append(heat)
    rows = np.column_stack([heats, np.eye(3)[lights]])
    state, forecasts = model.initial_state(), []
    for action, row in zip(test.actions, rows, strict=True):
        forecasts.append(model.predict(state, action[None])[0])
        state = model.update(state, action, row)
    ours, truth = np.array(forecasts)[50:, 1:], known.predictions(test)[50:]
    constant = np.eye(3)[lights].mean(0)
    # Briefly trained, but its expected indicators come near the exact probabilities.
    assert ((ours - truth) ** 2).mean() < 0.5 * ((constant - truth) ** 2).mean()
