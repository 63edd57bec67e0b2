"""`rffpsr check` says what recordings can teach, and `train` passes its warnings on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.exploration.check import ChannelCheck, ExplorationCheck
from rffpsr_ros.exploration.findings import findings
from rffpsr_ros.exploration.policy_test import PolicyTest
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.recordings.bags.writer import BagWriter

Run = Callable[..., Any]


def test_a_good_bag_is_called_good(run: Run, robot: Path, configuration: Path) -> None:
    outcome = run("check", robot, "--config", configuration, "--quiet")
    assert (outcome.code, outcome.err) == (0, "")
    assert "these data can teach a model" in outcome.out
    assert "'motor.data' (from -" in outcome.out
    assert "V) varies in" in outcome.out
    assert "dead time [s]" in outcome.out


@pytest.mark.parametrize("command", ["check", "train"])
def test_a_short_bag_is_called_short(
    command: str, run: Run, workshop: Any, configuration: Path, here: Path
) -> None:
    workshop.write_robot(here / "short", 120)
    words = ["--config", configuration, "--quiet"]
    if command == "check":
        outcome = run("check", here / "short", *words)
        assert outcome.code == 0
        assert "WARNING  too short" in outcome.out
        assert outcome.out.endswith("1 thing to put right; see above\n")
        return
    words += ["--out", "m", "--model", "linear_arx"]
    lines = run("train", here / "short", *words).err.splitlines()
    assert sum(line.startswith("rffpsr: warning: too short") for line in lines) == 1
    assert (here / "m").exists()
    assert run("train", here / "short", *words, "--no-check").err == ""


def test_json_has_the_figures_behind_the_words(run: Run, robot: Path, configuration: Path) -> None:
    report = json.loads(run("check", robot, "--config", configuration, "--quiet", "--json").out)
    assert {"ticks", "findings", "actions", "policy", "conditioning"} <= report.keys()
    (motor,) = report["actions"]
    assert (motor["name"], motor["unit"]) == ("motor.data", "V")
    assert 0.005 < report["policy"]["p_value"] <= 1
    assert report["conditioning"]["independent_windows"] < report["windows"]
    assert {one["action"] for one in report["responses"]} == {"motor.data"}
    assert all(one["dead_time"] >= 0 for one in report["responses"])


def test_a_misspelt_option_is_refused_before_reading(run: Run, configuration: Path) -> None:
    outcome = run("check", "nowhere", "--config", configuration, "--set", "learning.rnk=3")
    assert outcome.code == 2
    assert "did you mean 'learning.rank'?" in outcome.err


def test_plot_is_drawn(run: Run, robot: Path, configuration: Path, here: Path) -> None:
    pytest.importorskip("matplotlib")
    assert run("check", robot, "--config", configuration, "--plot", "p.png", "--quiet").code == 0
    assert (here / "p.png").read_bytes().startswith(b"\x89PNG")


def write_looking_robot(path: Path, workshop: Any) -> Path:
    """A swing whose voltage is pulled towards its angle; the log-probability is on a topic."""
    generator = np.random.default_rng(0)
    with BagWriter(path, "mcap") as bag:
        bag.add_topic("/encoder", workshop.encoder_type)
        for topic in ("/motor", "/chance"):
            bag.add_topic(topic, workshop.motor_type)
        angle = speed = 0.0
        for k in range(1500):
            now = workshop.start_ns + k * workshop.tick_ns
            error = generator.normal()
            voltage = 4 * angle + error
            for topic, value in (("/motor", voltage), ("/chance", -(error**2) / 2 - 0.919)):
                bag.write(topic, now - 1_000_000, bag.message(workshop.motor_type, data=value))
            bag.write("/encoder", now, workshop.encoder(bag, now, elbow=angle))
            speed += 0.02 * (-30 * np.sin(angle) - 1.5 * speed + 6 * voltage)
            angle += 0.02 * speed + 0.02 * generator.normal()
    return path


CHANCE = """\
  inputs: [motor, chance]
  chance: {topic: /chance, type: std_msgs/msg/Float64, fields: [data], units: [nat]}
"""


def test_a_known_policy_weights_windows_and_is_no_part_of_the_model(
    run: Run, workshop: Any, here: Path
) -> None:
    write_looking_robot(here / "robot", workshop)
    plain = workshop.configuration
    (here / "plain.yaml").write_text(plain)
    known = plain.replace("  inputs: [motor]\n", CHANCE)
    known += "dataset: {policy: {log_probability: chance, memory: 1}}\n"
    (here / "known.yaml").write_text(known)
    told = run("check", "robot", "--config", "plain.yaml", "--quiet").out
    assert "WARNING  actions depend on past observations" in told
    told = run("check", "robot", "--config", "known.yaml", "--quiet").out
    assert "note     actions depend on past observations" in told
    assert "windows weighted by how likely a blind policy was" in told
    assert "after the first, whose ratio cancels" in told
    words = ["--config", "known.yaml", "--out", "m", "--bands", "none", *workshop.quick]
    outcome = run("train", "robot", *words)
    assert (outcome.code, outcome.err) == (0, "")
    assert "note: windows weighted" in outcome.out
    signature = load_model(here / "m").signature
    assert signature.action_names == ("motor.data",)
    assert signature.action_units == ("V",)
    assert signature.channels is not None
    assert signature.channels["action"]["inputs"] == ["motor"]


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("{log_probability: motr}", "it must be the name of a channel of the actions: motor"),
        ("{log_probability: motor}", "the only action"),
        ("{log_probability: motor, memory: -1}", "memory is -1; it must be a whole number"),
        ("{gains: [[1]], deviation: [1], memory: 1}", "and also memory; give one form"),
        ("{gain: [[1]]}", "did you mean 'dataset.policy.gains'?"),
        ("{gains: [[1]]}", "needs log_probability, or gains and deviation"),
        ("{gains: [1], deviation: [1]}", "gains must hold 1 rows of 1 numbers"),
        ("{gains: [[1]], deviation: [1], log_probability: motor}", "give one form"),
        (
            "{observations: [0], actions: [1, 2], probabilities: [[0.5, 0.6]]}",
            "chances that add up to 1",
        ),
        ("{observations: [0, 0], actions: [1], probabilities: [[1], [1]]}", "different rows"),
        ("{gains: [[1]], deviation: [0]}", "deviation must be greater than 0"),
    ],
)
def test_a_wrong_policy_is_refused(
    policy: str, words: str, run: Run, robot: Path, configuration: Path
) -> None:
    setting = ("--set", f"dataset.policy={policy}")
    outcome = run("check", robot, "--config", configuration, "--quiet", *setting)
    assert outcome.code == 2
    assert words in outcome.err


def test_windows_are_as_short_as_training_would_take_them(
    run: Run, workshop: Any, configuration: Path, here: Path
) -> None:
    for number in range(12):
        workshop.write_robot(here / "many" / f"run_{number}", 40)
    words = ["--config", configuration, "--quiet", "--json"]
    report = json.loads(run("check", here / "many", *words).out)
    asked = [*words, "--set", "learning.past=21"]
    longer = json.loads(run("check", here / "many", *asked).out)
    assert report["windows"] > 1.5 * longer["windows"] > 0


def test_check_and_train_judge_the_same_part(
    run: Run, robot: Path, configuration: Path, here: Path
) -> None:
    words = ["check", robot, "--config", configuration, "--quiet", "--json"]
    assert json.loads(run(*words).out)["ticks"] == 600
    assert json.loads(run(*words, "--split", "0.6,0.2,0.2").out)["ticks"] == 360
    shares = "dataset.split=[0.5, 0.25, 0.25]"
    assert json.loads(run(*words, "--set", shares).out)["ticks"] == 300
    told = run(*words[:-1], "--set", shares).out
    assert "checked the training part, 300 ticks" in told


def test_a_dependence_too_small_to_matter_is_not_denied() -> None:
    options = RFFPSROptions()
    channel = ChannelCheck("u", "V", -1.0, 1.0, None, 0.0, 0.002, 0.01, 0.0)
    one = np.array([0.01])
    policy = PolicyTest(0.002, np.array([0.002]), one, one, np.ones((9, 1)), one, 900)
    check = ExplorationCheck(900, 900, 800, options, (channel,), (), None, policy, None)
    (said,) = [one for one in findings(check) if one.subject == "policy"]
    assert said.level == "ok"
    assert said.sentence.startswith(
        "actions depend on past observations (p = 0.002), but too little"
    )


def test_actions_without_a_time_of_response_are_named(run: Run, workshop: Any, here: Path) -> None:
    voltage, angle = workshop.swing(600, 0)
    idle = np.random.default_rng(1).normal(size=600)
    rows = zip(voltage, idle, angle, strict=False)
    table = "\n".join(f"{k / 50},{u},{v},{y}" for k, (u, v, y) in enumerate(rows))
    (here / "t.csv").write_text(f"time,u,idle,y\n{table}\n")
    words = ["--action", "/table:position.u,position.idle", "--write-config", "c", "--quiet"]
    assert run("csv2bag", "t.csv", "--out", "bag", "--quiet").code == 0
    assert run("inspect", "bag", *words).code == 0
    said = run("check", "bag", "--config", "c", "--quiet").out
    assert "table.position.y  table.position.u" in said
    assert "(when anything responds to 'table.position.idle' is not clear)" in said


def test_a_field_on_both_sides_is_said(
    run: Run, robot: Path, configuration: Path, here: Path
) -> None:
    arm = "{topic: /encoder, fields: [position.elbow]}"
    words = ["--config", configuration, "--set", "action.inputs=[motor, arm]", "--quiet"]
    words += ["--set", f"action.arm={arm}"]
    said = "'position.elbow' of /encoder is an observation and an action: "
    assert f"WARNING  {said}" in run("check", robot, *words).out
    learned = run("train", robot, *words, "--out", "m", "--model", "linear_arx", "--bands", "none")
    assert learned.err.count(said) == 1
