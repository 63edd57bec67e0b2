"""Whatever is wrong with the input, the answer is one sentence that says so, and exit code 2."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros import Trajectory
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.recordings.bags.writer import BagWriter

Run = Callable[..., Any]


@pytest.fixture
def refused(run: Run, here: Path) -> Callable[..., None]:
    """Return a check that some words are refused by one sentence that contains some parts."""

    def check(words: list[Any], *parts: str) -> None:
        before = set(here.rglob("*"))
        outcome = run(*words)
        assert outcome.code == 2, outcome
        assert outcome.out == ""
        lines = [line for line in outcome.err.splitlines() if line.startswith("rffpsr: ")]
        said = [line for line in lines if not line.startswith("rffpsr: warning: ")]
        assert len(said) == 1, outcome.err
        assert outcome.err.endswith(said[0] + "\n")
        assert "Traceback" not in outcome.err
        for part in parts:
            assert part in said[0]
        assert set(here.rglob("*")) == before, "something was left behind"

    return check


Refused = Callable[..., None]


@pytest.fixture
def train(robot: Path, configuration: Path) -> list[Any]:
    """Return the words of a training that is in order."""
    return ["train", robot, "--config", configuration, "--out", "m", "--quiet"]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["trian"], ("unknown command 'trian'", "did you mean 'train'?")),
        (["--verison"], ("unknown option '--verison'", "'--version'")),
        (["info", "--modle", "m"], ("unknown option '--modle'",)),
        (["train", "bag", "--observations", "x"], ("'--observations'", "known are --bands,")),
        (["evaluate", "bag", "--modle", "m"], ("unknown option '--modle'", "'--model'")),
        (["train"], ("required: ", "--out")),
        (["train", "b", "--out", "m"], ("--config is missing",)),
        (
            ["train", "b", "--out", "m", "--from", "n", "--config", "c"],
            ("--config is decided when a model is trained anew",),
        ),
        (["train", "b", "--out", "m", "--config", "c", "--forget", "0.5"], ("--from",)),
        (
            ["train", "b", "--confg", "c", "--config", "c", "--out", "m"],
            ("'--confg'", "'--config'"),
        ),
        (
            ["train", "b", "--config", "c", "--out", "m", "--model", "svm"],
            ("--model", "linear_arx"),
        ),
        (["train", "b", "--config", "c", "--out", "m", "--seed", "x"], ("--seed", "'x'")),
        (["evaluate", "b", "--model", "m", "--horizon", "0"], ("--horizon", "'0'", "at least 1")),
        (["predict", "b", "--model", "m"], ("required: --out",)),
        (["predict", "b", "c", "--model", "m", "--out", "o"], ("'c'",)),
        (["completion", "fish"], ("fish", "zsh")),
        (["inspect"], ("required: BAG",)),
        (["inspect", "nothing.bag"], ("there is no bag nothing.bag",)),
        (["inspect", "*.bag"], ("there is no bag *.bag",)),
        (["info", "nothing.model"], ("model file 'nothing.model' does not exist",)),
        (["csv2bag", "nothing.csv", "--out", "o"], ("table nothing.csv cannot be read",)),
        (["inspect", "b", "--action", ":x"], ("':x' names no topic",)),
        (["inspect", "b", "--action", "/t:x[", "--observation", "/t"], ("'x['", "character 3")),
    ],
)
def test_words_that_make_no_sense(
    words: list[str], parts: tuple[str, ...], refused: Refused
) -> None:
    refused(words, *parts)


@pytest.mark.parametrize(
    ("setting", "parts"),
    [
        ("observation.arm.topic=/encodr", ("no topic /encodr", "did you mean '/encoder'?")),
        ("observation.arm.fields=[position.elbo]", ("'elbo'", "/encoder", "'elbow'")),
        ("observation.arm.fields=[positon.elbow]", ("no field 'positon'", "'position'")),
        ("observation.arm.fields=[name]", ("texts", "not of numbers")),
        ("observation.arm.fields=['position[']", ("'position['", "character 10")),
        ("observation.arm.fields=['sine(data)']", ("'sine' is no function", "'sin'")),
        (
            "observation.arm.type=sensor_msgs/msg/Imu",
            ("sensor_msgs/msg/JointState", "sensor_msgs/msg/Imu"),
        ),
        ("observation.arm.type=Joint State", ("'observation.arm.type'", "sensor_msgs/msg/Imu")),
        ("observation.arm.fields=[position.wrist]", ("wrist", "constant")),
        ("observatoin.inputs=[arm]", ("'observatoin'", "'observation'")),
        ("observation.inputs=[arm, leg]", ("'leg'",)),
        ("observation.arm.max_ages=1", ("'observation.arm.max_ages'", "'observation.arm.max_age'")),
        ("rate=-50", ("'rate' is -50", "positive")),
        ("rate=fast", ("'rate' is 'fast'", "positive")),
        ("rate=.nan", ("'rate'", "positive")),
        ("learning.rank=-3", ("'rank' is -3", "at least 1")),
        ("learning.rank=2.5", ("'rank' is 2.5", "whole number")),
        (
            "learning.minibatchs=2",
            ("'learning.minibatchs'", "did you mean 'learning.minibatches'?"),
        ),
        ("learning.rnak=3", ("'learning.rnak'", "'learning.rank'")),
        ("learning.stage_one=jiont", ("'stage_one' is 'jiont'", "joint")),
        ("learning.past=590", ("windows", "needed")),
        ("learning=3", ("'learning' is 3",)),
        ("dataset.spilt=0.5", ("'dataset.spilt'", "'dataset.split'")),
        ("learning.rank", ("--set learning.rank", "key=value")),
        ("=3", ("--set =3", "key=value")),
        ("rate.x=3", ("'rate' is a value",)),
        ("learning.rank=[1", ("no YAML",)),
    ],
)
def test_settings_that_make_no_sense(
    setting: str, parts: tuple[str, ...], refused: Refused, train: list[Any]
) -> None:
    refused([*train, "--set", setting], *parts)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--split", "0.7,0.3"], ("0.7,0.3 has 2 parts", "0.7,0.1,0.2")),
        (["--split", "a,b,c"], ("'a,b,c'", "numbers")),
        (["--split", "0.7,0.7,0.7"], ("0.7, 0.7, 0.7", "at most 1")),
        (["--split", "-1,1,1"], ("--split",)),
        (["--split", "0,1,0"], ("nothing to train on",)),
        (["--split", "0.7,0.1,0.2", "--validation", "x"], ("--split", "--validation", "give one")),
        (["--seed", "-1"], ("'seed' is -1", "at least 0")),
        (["--model", "mean", "--set", "learning.rank=3"], ("mean", "no option 'rank'")),
        (["--ros-distro", "jzzy"], ("'jzzy'", "'jazzy'")),
        (["--msg-path", "nowhere"], ("nowhere", ".msg")),
    ],
)
def test_options_of_training_that_make_no_sense(
    words: list[str], parts: tuple[str, ...], refused: Refused, train: list[Any]
) -> None:
    refused([*train, *words], *parts)


@pytest.mark.parametrize("split", ["0.7,0.3", "0.7,0.2,x", "0,0.5,0.5", ""])
def test_a_wrong_split_is_refused_before_a_bag_is_read(
    split: str, refused: Refused, configuration: Path, arx_model: Path, here: Path
) -> None:
    words = ["unread", "--split", split]
    refused(["check", *words, "--config", configuration], "the split")
    refused(["train", *words, "--config", configuration, "--out", "m"], "the split")
    refused(["evaluate", *words, "--model", arx_model], "the split")
    refused(["report", *words, "--model", arx_model, "--out", "r.html"], "the split")


def test_what_is_refused_before_a_bag_is_read(
    refused: Refused, configuration: Path, arx_model: Path, here: Path
) -> None:
    check = ["check", "unread", "--config", configuration, "--set"]
    refused([*check, "dataset.spilt=0.5"], "did you mean 'dataset.split'?")
    refused([*check, "dataset.split=3"], "the split 3")
    evaluate = ["evaluate", "unread", "--model", arx_model]
    refused([*evaluate, "--split", "1,0,0"], "to test on")
    refused([*evaluate, "--beside", "nope"], "'nope' does not exist")
    refused([*evaluate, "--train", "nope"], "there is no bag nope")
    train = ["train", "unread", "--config", configuration, "--out"]
    refused([*train, "m", "--model", "linear_arx", "--keep"], "only models of kind rff_psr")
    refused([*train, "m", "--keep", "--set", "learning.refinement=window"], "refinement: window")


def test_a_file_that_training_would_not_replace_is_refused_before_a_bag_is_read(
    refused: Refused, configuration: Path, arx_model: Path, here: Path
) -> None:
    (here / "notes.txt").write_text("mine")
    train = ["train", "unread", "--config", configuration, "--out"]
    more = ["train", "unread", "--from", arx_model, "--out"]
    for words in ([*train, "notes.txt"], [*train, "notes.txt", "--resume"], [*more, "notes.txt"]):
        refused(words, "notes.txt' is there already and is not a model file")
    (here / "m.kept").write_text("mine")
    for words in ([*train, "m", "--keep"], [*more, "m"]):
        refused(words, "m.kept' is there already and is not a file of kept learning")
    refused([*train, "m"], "there is no bag unread")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("rate: [", ("c.yaml is no YAML", "line 1")),
        ("- a\n- b", ("c.yaml holds no mapping",)),
        ("", ("c.yaml holds no mapping",)),
        ("rate: 10.0", ("'observation' is missing in c.yaml",)),
        ("\x00", ("c.yaml is no YAML",)),
    ],
)
def test_configuration_files_that_are_none(
    text: str, parts: tuple[str, ...], refused: Refused, robot: Path, here: Path
) -> None:
    (here / "c.yaml").write_text(text)
    refused(["train", robot, "--config", "c.yaml", "--out", "m"], *parts)


def test_configuration_that_is_not_there(refused: Refused, robot: Path, here: Path) -> None:
    refused(["train", robot, "--config", "c.yaml", "--out", "m"], "c.yaml cannot be read")
    (here / "folder").mkdir()
    refused(["train", robot, "--config", "folder", "--out", "m"], "folder cannot be read")
    (here / "binary").write_bytes(b"\xff\xfe\xff")
    refused(["train", robot, "--config", "binary", "--out", "m"], "binary is no YAML")


def test_an_output_of_no_format_is_refused_before_a_bag_is_read(
    refused: Refused, configuration: Path, arx_model: Path, here: Path
) -> None:
    evaluate = ["evaluate", "unread", "--model", arx_model]
    refused([*evaluate, "--plot", "p"], "'p': its ending says no format; end it in .png")
    refused([*evaluate, "--plot-forecast", "p.doc"], "'p.doc': its ending says no format")
    refused(["check", "unread", "--config", configuration, "--plot", "p.x"], "says no format")
    refused(["predict", "unread", "--model", arx_model, "--out", "o.txt"], "is no .csv file")


@pytest.mark.parametrize("command", ["inspect", "train", "evaluate", "predict"])
def test_what_is_no_bag(
    command: str, refused: Refused, configuration: Path, arx_model: Path, here: Path
) -> None:
    words: list[Any] = {
        "inspect": [],
        "train": ["--config", configuration, "--out", "m"],
        "evaluate": ["--model", arx_model],
        "predict": ["--model", arx_model, "--out", "o.csv"],
    }[command]
    (here / "text.bag").write_text("this is no bag")
    (here / "empty.mcap").touch()
    (here / "table.csv").write_text("a,b\n1,2\n")
    (here / "empty").mkdir()
    (here / "odd").mkdir()
    (here / "odd" / "metadata.yaml").write_text("nonsense: [")
    refused([command, "text.bag", *words], "text.bag is no readable bag")
    refused([command, "empty.mcap", *words], "empty.mcap")
    refused([command, "table.csv", *words], "table.csv", "csv2bag")
    refused([command, "empty", *words], "folder empty holds no bag")
    refused([command, "odd", *words], "odd")


def test_model_files_that_are_none(
    refused: Refused, robot: Path, arx_model: Path, here: Path
) -> None:
    content = arx_model.read_bytes()
    (here / "cut").write_bytes(content[: len(content) // 2])
    changed = bytearray(content)
    changed[len(content) // 2] ^= 0xFF
    (here / "changed").write_bytes(changed)
    (here / "text").write_text("no model")
    (here / "empty").touch()
    newer(arx_model, here / "newer")
    for words in (
        ["info"],
        ["evaluate", robot, "--model"],
        ["predict", robot, "--out", "o", "--model"],
    ):
        refused([*words, "cut"], "'cut' is damaged")
        refused([*words, "changed"], "'changed' is damaged")
        refused([*words, "text"], "'text' is not a model file")
        refused([*words, "empty"], "'empty' is not a model file")
        refused([*words, "newer"], "format version 99", "update rffpsr_ros")


def newer(model: Path, target: Path) -> None:
    """Copy a model file as a version to come might write it."""
    with zipfile.ZipFile(model) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "header.json":
                content = json.dumps({**json.loads(content), "format_version": 99}).encode()
            new.writestr(name, content)


def test_model_without_topics(
    refused: Refused, robot: Path, here: Path, tmp_path_factory: Any
) -> None:
    generator = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("models") / "arrays.model"
    LinearARX().fit([Trajectory(generator.normal(size=100), generator.normal(size=100))]).save(path)
    refused(["evaluate", robot, "--model", path], "learned from arrays")
    refused(["predict", robot, "--model", path, "--out", "o"], "learned from arrays")


def test_bag_without_the_models_channels(
    refused: Refused, workshop: Any, arx_model: Path, here: Path
) -> None:
    with BagWriter(here / "other") as bag:
        bag.add_topic("/encoder", workshop.encoder_type)
        for k in range(100):
            bag.write(
                "/encoder", k + 1, workshop.encoder(bag, k * workshop.tick_ns, elbow=float(k))
            )
    refused(["evaluate", "other", "--model", arx_model], "no topic /motor")
    refused(["predict", "other", "--model", arx_model, "--out", "o"], "no topic /motor")


def test_topics_that_never_meet(
    refused: Refused, workshop: Any, configuration: Path, here: Path
) -> None:
    with BagWriter(here / "apart") as bag:
        bag.add_topic("/encoder", workshop.encoder_type)
        bag.add_topic("/motor", workshop.motor_type)
        for k in range(100):
            now = workshop.start_ns + k * workshop.tick_ns
            bag.write("/encoder", now, workshop.encoder(bag, now, elbow=float(k)))
            later = now + 60_000_000_000
            bag.write("/motor", later, bag.message(workshop.motor_type, data=float(k)))
    words = ["train", "apart", "--config", configuration, "--out", "m"]
    refused(words, "/encoder and /motor do not overlap in time", "58.0")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_column_that_is_never_finite(
    value: float, refused: Refused, workshop: Any, configuration: Path, here: Path
) -> None:
    with BagWriter(here / "blind") as bag:
        bag.add_topic("/encoder", workshop.encoder_type)
        bag.add_topic("/motor", workshop.motor_type)
        for k in range(300):
            now = workshop.start_ns + k * workshop.tick_ns
            bag.write("/motor", now, bag.message(workshop.motor_type, data=float(k % 7)))
            message = workshop.encoder(bag, now, elbow=value, wrist=float(k % 5))
            bag.write("/encoder", now, message)
    words = ["train", "blind", "--config", configuration, "--out", "m", "--quiet"]
    both = ["--set", "observation.arm.fields=[position.wrist, position.elbow]"]
    refused([*words, *both, "--set", "observation.arm.units=[rad, rad]"], "elbow", "missing")
    refused(words, "blind")


def test_bag_too_short_to_learn_from(
    refused: Refused, workshop: Any, configuration: Path, tmp_path_factory: Any
) -> None:
    bag = workshop.write_robot(tmp_path_factory.mktemp("bags") / "short", 40)
    words = ["train", bag, "--config", configuration, "--out", "m", "--quiet"]
    refused(words, "windows", "needed")


def test_outputs_that_cannot_be_written(
    refused: Refused, robot: Path, train: list[Any], arx_model: Path, here: Path
) -> None:
    (here / "folder").mkdir()
    (here / "t.csv").write_text("time,a\n1,2\n")
    predict = ["predict", robot, "--model", arx_model, "--quiet", "--out"]
    for words in (
        [*train[:-2], "folder"],
        [*train[:-2], "no/m"],
        [*predict, "no/o.csv"],
        [*predict, "no/o"],
        [*predict, "folder"],
        [*predict, "o.mcap"],
        ["inspect", robot, "--write-config", "no/c.yaml"],
        ["inspect", robot, "--write-config", "folder"],
        ["evaluate", robot, "--model", arx_model, "--plot", "no/p.png"],
        ["csv2bag", "t.csv", "--out", "folder"],
        ["csv2bag", "t.csv", "--out", "no/o"],
    ):
        refused(words)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_folder_that_is_closed_to_us(refused: Refused, train: list[Any], here: Path) -> None:
    (here / "closed").mkdir(mode=0o500)
    refused([*train[:-2], "closed/m"], "read-only")


def test_plot_of_no_known_kind(refused: Refused, robot: Path, arx_model: Path) -> None:
    pytest.importorskip("matplotlib")
    refused(["evaluate", robot, "--model", arx_model, "--plot", "p.xyz", "--quiet"], "p.xyz")


def test_lead_beyond_the_horizon_and_horizon_beyond_the_bag(
    refused: Refused, robot: Path, arx_model: Path
) -> None:
    words = ["predict", robot, "--model", arx_model, "--out", "o.csv", "--quiet"]
    refused([*words, "--lead", "11"], "--lead is 11", "10")
    refused([*words, "--horizon", "1000"], "1000 ticks")
    refused(["evaluate", robot, "--model", arx_model, "--horizon", "1000", "--quiet"], "nothing")


def test_a_name_that_is_too_long_is_refused(refused: Refused) -> None:
    refused(["inspect", "x" * 5000], "File name too long", "'xxx")
    refused(["csv2bag", "t.csv", "--out", "x" * 300])


def test_what_acts_on_a_terminal_is_not_printed(refused: Refused) -> None:
    refused(["inspect", "a\x1b[2J\nb"], r"a\x1b[2J b")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device is always full here")
@pytest.mark.parametrize("words", [["inspect", "BAG"], ["inspect", "BAG", "--json"]])
def test_a_full_disk_behind_standard_output_gets_one_sentence(
    words: list[str], robot: Path
) -> None:
    command = [sys.executable, "-m", "rffpsr_ros.cli.main"]
    command += [str(robot) if word == "BAG" else word for word in words]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1] == "rffpsr: No space left on device"
    assert "Traceback" not in ended.stderr
