"""One function from bags to a model: what the command line writes, with what it tells its user."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import rffpsr_ros
from rffpsr_ros import InputError, load_model, train
from rffpsr_ros.cli.main import main
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.signals import load_channels
from rffpsr_ros.training.data_check import DataWarning
from rffpsr_ros.training.recordings import ReadingOptions
from rffpsr_ros.training.train import TrainingPlan

QUICK = {"iterations": 20, "features": 30, "folds": 1}
FORMS: dict[str, Callable[[Path], Any]] = {
    "a file": Path,
    "a file's name": str,
    "a mapping": lambda path: yaml.safe_load(path.read_text()),
    "a configuration": load_channels,
}


def saved(model: PredictiveModel[Any], path: Path) -> bytes:
    model.save(path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("kind", "bands"), [("rff_psr", "none"), ("kalman", "none"), ("linear_arx", "held-out")]
)
def test_the_model_has_the_bytes_that_the_command_line_writes(
    kind: str, bands: str, robots: list[Path], configuration: Path, here: Path
) -> None:
    quick = QUICK if kind == "rff_psr" else {}
    words = [*map(str, robots), "--config", str(configuration), "--model", kind, "--out", "told"]
    words += ["--split", "0.6,0.2,0.2", "--bands", bands, "--quiet"]
    words += [
        word for name, value in quick.items() for word in ("--set", f"learning.{name}={value}")
    ]
    assert main(["train", *words]) == 0
    trained = train(
        robots,
        configuration,
        kind=kind,
        learning=quick,
        split=(0.6, 0.2, 0.2),
        bands=bands,
    )
    assert trained.warnings == ()
    assert saved(trained.model, here / "called") == (here / "told").read_bytes()


@pytest.mark.parametrize("form", FORMS)
def test_a_configuration_may_be_given_in_any_form(
    form: str, robot: Path, configuration: Path, here: Path
) -> None:
    plain = train([robot], load_channels(configuration), kind="linear_arx").model
    model = train(str(robot), FORMS[form](configuration), kind="linear_arx").model
    assert saved(model, here / "m") == saved(plain, here / "plain")
    assert model.signature.observation_units == ("rad",)


def test_what_a_user_may_want_to_know_comes_with_the_model(
    robots: list[Path], configuration: Path
) -> None:
    stages: list[str] = []
    plans: list[TrainingPlan] = []

    def note(stage: str, fraction: float, error: float | None = None) -> None:
        if stage not in stages:
            stages.append(stage)

    def before(plan: TrainingPlan) -> None:
        plans.append(plan)
        assert "learning" not in stages

    trained = train(
        robots[:1],
        configuration,
        kind="linear_arx",
        validation=robots[1:],
        progress=note,
        before_learning=before,
    )
    assert trained.parts.ticks() == {"train": 300, "validation": 600, "test": 0}
    assert trained.recordings.describe().startswith("1 bag: 300 ticks of 0.02 s")
    assert list(trained.validation) == ["linear_arx", "last_observation"]
    assert not trained.resumed
    assert stages[:3] == ["reading bags", "reading validation bags", "checking the data"]
    assert stages[-2:] == ["validation", "prediction bands"]
    assert [plan.warnings for plan in plans] == [trained.warnings]
    assert trained.model.bands is not None


def test_what_recordings_lack_is_a_warning_unless_nobody_looks(
    workshop: Any, configuration: Path, here: Path
) -> None:
    short = workshop.write_robot(here / "short", 120)
    with pytest.warns(DataWarning, match="^too short") as told:
        trained = train(short, configuration, kind="linear_arx")
    assert [str(one.message) for one in told] == list(trained.warnings)
    assert train(short, configuration, kind="linear_arx", check=False).warnings == ()
    assert train(short, configuration, kind="mean").warnings == ()


def test_a_validation_part_too_short_to_judge_by_is_a_warning(
    workshop: Any, robot: Path, configuration: Path, here: Path
) -> None:
    brief = workshop.write_robot(here / "brief", 12)
    with pytest.warns(DataWarning, match="^the validation part says little: "):
        trained = train(robot, configuration, kind="linear_arx", validation=brief, bands="none")
    assert trained.validation == {}


def test_parts_are_those_of_the_configuration_unless_others_are_asked_for(
    robot: Path, robots: list[Path], configuration: Path
) -> None:
    content = yaml.safe_load(configuration.read_text())
    content["dataset"] = {"split": [0.5, 0.25, 0.25]}
    asked: dict[str, Any] = {"kind": "mean", "bands": "none"}
    assert train(robot, content, **asked).parts.ticks()["train"] == 300
    assert train(robot, content, split="0.7,0.1,0.2", **asked).parts.ticks()["train"] == 420
    assert train(robot, content, validation=robots, **asked).parts.ticks()["train"] == 600


def test_a_training_that_was_done_is_resumed(
    robots: list[Path], configuration: Path, here: Path
) -> None:
    asked: dict[str, Any] = {"kind": "linear_arx", "resume": here / "m", "bands": "none"}
    first = train(robots[0], configuration, **asked)
    first.model.save(here / "m")
    again = train(robots[0], configuration, **asked)
    assert (first.resumed, again.resumed) == (False, True)
    assert saved(again.model, here / "again") == (here / "m").read_bytes()
    with pytest.raises(InputError, match=r"'.*m' was trained on other data; remove it"):
        train(robots[1], configuration, **asked)


def test_the_model_is_served_as_it_is(robot: Path, configuration: Path, here: Path) -> None:
    train(robot, configuration, kind="kalman", bands="none").model.save(here / "m")
    assert main(["predict", str(robot), "--model", "m", "--out", "ahead.csv", "--quiet"]) == 0
    assert load_model(here / "m").signature.channels is not None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "svm"}, "svm.*linear_arx"),
        ({"kind": "mean", "learning": {"rank": 3}}, "a mean model has no option 'rank'"),
        ({"learning": {"rnak": 3}}, r"'learning.rnak' is unknown; did you mean 'learning.rank'\?"),
        ({"learning": {"rank": -3}}, "'rank' is -3"),
        ({"bands": "held_out"}, "'held_out'; it must be one of held-out, folds, none"),
        ({"split": (0.7, 0.3)}, "the split 0.7,0.3 has 2 parts; it must have three"),
        ({"split": "a,b,c"}, "the split 'a,b,c' is wrong; it must be numbers"),
        ({"split": (1, 0, 0), "validation": "x"}, "give one"),
        ({"split": (0, 1, 0)}, "the split 0,1,0 leaves nothing to train on"),
        ({"validation": "nowhere"}, "there is no bag nowhere"),
        ({"configuration": "nowhere.yaml"}, "nowhere.yaml cannot be read"),
        ({"configuration": {"rate": 10.0}}, "'observation' is missing in the channel conf"),
        ({"bags": []}, "no bag was given"),
        ({"reading": ReadingOptions("jzzy")}, "'jzzy' is unknown; did you mean 'jazzy'"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(
    options: dict[str, Any], words: str, robot: Path, configuration: Path
) -> None:
    asked = {"bags": robot, "configuration": configuration, "check": False, **options}
    with pytest.raises(InputError, match=words) as refused:
        train(**asked)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("dataset", "words"),
    [
        ({"spilt": [1, 0, 0]}, "'dataset.spilt' is unknown; did you mean 'dataset.split'"),
        ({"split": 0.5}, "the split 0.5 has 1 part"),
        ({"split": ["a", 0, 1]}, "the split 'a,0,1' is wrong"),
        ({"policy": 3}, "dataset.policy is 3"),
    ],
)
def test_a_wrong_choice_of_data_is_refused_before_a_bag_is_read(
    dataset: dict[str, Any], words: str, configuration: Path
) -> None:
    content = yaml.safe_load(configuration.read_text()) | {"dataset": dataset}
    with pytest.raises(InputError, match=words):
        train("no bag", content)


def test_what_is_learned_from_does_not_validate(
    robots: list[Path], configuration: Path, here: Path
) -> None:
    (here / "link").symlink_to(robots[0])
    (here / "copy").mkdir()
    for file in robots[0].iterdir():
        (here / "copy" / file.name).write_bytes(file.read_bytes())
    asked: dict[str, Any] = {"configuration": configuration, "kind": "mean", "bands": "none"}
    for other in (robots[0], "link"):  # before anything is read
        with pytest.raises(InputError, match="is trained on and named for validation"):
            train(["link", robots[0], robots[1]], validation=[robots[2], other], **asked)
    with pytest.raises(InputError, match="the recording copy for validation holds the same as"):
        train(robots[:2], validation=[robots[2], "copy"], **asked)


def test_the_package_offers_it() -> None:
    assert rffpsr_ros.train is train
    assert "train" in dir(rffpsr_ros)
