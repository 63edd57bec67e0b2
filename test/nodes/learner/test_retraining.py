"""What a training of the learner does: goes on, begins anew, and which model stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.nodes.learner import retraining
from rffpsr_ros.nodes.learner.training_process import carry_out
from rffpsr_ros.recipe.more.kept_file import kept_path, read_kept
from test.swings import QUICK

LEARNING = {**QUICK, "iterations": 0, "folds": 1, "narx_learning": "off"}


@pytest.fixture
def ask(workshop: Any, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Return a function that trains on some of the robot's bags."""
    channels = {**yaml.safe_load(workshop.configuration), "learning": LEARNING}

    def train(seeds: range, **changes: Any) -> dict[str, Any]:
        bags = []
        for seed in seeds:
            bags.append(str(tmp_path / f"bag{seed}"))
            if not Path(bags[-1]).exists():
                workshop.write_robot(Path(bags[-1]), 150, seed)
        model = tmp_path / "arm.psr"
        request = {
            "channels": channels,
            "bags": bags,
            "out": str(model),
            "staging": str(tmp_path / ".staging"),
            "processes": 1,
            "start": str(model) if model.exists() else "",
            "automatic": False,
            "forget": 0.0,
            "report": False,
        }
        return carry_out(request | changes)

    return train


def known(folder: Path) -> list[str]:
    path = folder / "arm.psr"
    return [Path(bag).name for bag in read_kept(kept_path(path), load_model(path)).bags]


def test_it_goes_on_with_the_episodes_that_the_model_does_not_know(
    ask: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    assert ask(range(2))["decision"] == "trained on all 2 episodes"
    assert known(tmp_path) == ["bag0", "bag1"]
    assert ask(range(3))["decision"] == "went on from arm.psr with 1 new episodes"
    assert known(tmp_path) == ["bag0", "bag1", "bag2"]
    assert ask(range(3))["decision"] == "trained on all 3 episodes: arm.psr knows every episode"
    assert not list(tmp_path.glob(".*"))


def test_it_begins_anew_where_episodes_have_more_than_doubled(
    ask: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    ask(range(2))
    assert ask(range(4))["decision"] == "went on from arm.psr with 2 new episodes"
    channels = load_model(tmp_path / "arm.psr").signature.channels
    assert channels is not None

    def outgrown(seeds: range, forget: float = 0.0) -> bool:
        bags = [tmp_path / f"bag{seed}" for seed in seeds]
        base = retraining._base(str(tmp_path / "arm.psr"), channels, bags, forget)
        assert isinstance(base, retraining.Base)
        return base.outgrown

    assert outgrown(range(5))
    assert not outgrown(range(5), forget=0.1)
    assert not outgrown(range(1, 6)), "of the first episode only the model knows"
    told = "trained anew on 5 episodes, more than 2 times what arm.psr was decided by"
    assert ask(range(5))["decision"] == told
    assert not outgrown(range(6))


def test_it_begins_anew_where_it_cannot_go_on(
    ask: Callable[..., dict[str, Any]], workshop: Any, tmp_path: Path
) -> None:
    ask(range(2))
    other = yaml.safe_load(workshop.configuration)
    other["observation"]["arm"]["fields"] = ["position.elbow", "position.wrist + position.elbow"]
    other["observation"]["arm"]["fields"] = ["sin(position.elbow)"]
    told = ask(range(3), channels={**other, "learning": LEARNING})
    assert told["decision"].endswith(": the channels are others than those of arm.psr")
    kept_path(tmp_path / "arm.psr").unlink()
    assert "learning could not go on (there is no" in ask(range(4))["decision"]


@pytest.mark.parametrize(("errors", "better"), [([0.2, 0.1], True), ([0.1, 0.1], False)])
@pytest.mark.parametrize("first", [0, 1])
def test_only_a_better_model_takes_the_place_of_the_one_before(
    ask: Callable[..., dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    errors: list[float],
    better: bool,
    first: int,
) -> None:
    ask(range(2))
    before = (tmp_path / "arm.psr").read_bytes()
    judged: list[str] = []

    def judge(models: Any, runs: Any, horizon: int) -> list[float]:
        judged.extend(run.label for run in runs)
        assert horizon == LEARNING["horizon"]
        return errors

    monkeypatch.setattr(retraining, "held_out_errors", judge)
    told = ask(range(first, 5), automatic=True)
    assert judged == ["bag4"]
    assert told["decision"].startswith("trained anew" if first == 0 else "went on")
    assert f"error {errors[1]:.3g} against {errors[0]:.3g}" in told["decision"]
    assert ((tmp_path / "arm.psr").read_bytes() == before) != better
    assert ("model" in told) == better
    assert ("stays" in told) != better
    assert known(tmp_path) == ["bag0", "bag1", *(["bag2", "bag3"] if better else [])]


def test_models_are_judged_by_their_forecasts_of_held_out_episodes(
    ask: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    ask(range(2))
    told = ask(range(6), automatic=True)["decision"]
    assert "on 1 held out" in told
    assert ("the new model is better" in told) != ("the new model is not better" in told)


def test_a_short_episode_does_not_throw_a_training_away(
    ask: Callable[..., dict[str, Any]], workshop: Any, tmp_path: Path
) -> None:
    ask(range(2))
    workshop.write_robot(tmp_path / "bag3", 9, 3)
    told = ask(range(4), automatic=True)
    judged = "; nothing is held out to judge by: 1 of 2 new episodes have 13 ticks in a row"
    assert judged in told["decision"]
    assert "model" in told


def test_an_episode_that_cannot_be_read_is_left_out(
    ask: Callable[..., dict[str, Any]],
    workshop: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def spoilt(name: str) -> str:
        bag = workshop.write_robot(tmp_path / name, 20)
        (part,) = bag.glob("*.mcap")
        part.write_bytes(part.read_bytes()[:300])
        return str(bag)

    left_out = "is left out: "
    first = spoilt("bag1")
    assert ask(range(3))["decision"] == "trained on all 2 episodes"
    assert capsys.readouterr().out.count(f"episode bag1 {left_out}") == 1
    assert known(tmp_path) == ["bag0", "bag2"]
    told = ask(range(3))["decision"]
    assert told == "trained on all 2 episodes: arm.psr knows every episode that can be read"
    spoilt("bag4")
    capsys.readouterr()
    assert ask(range(7))["decision"].startswith("trained anew on 5 episodes")
    told = capsys.readouterr().out
    assert [told.count(f"episode bag{each} {left_out}") for each in (1, 4)] == [1, 1]
    with pytest.raises(InputError, match="holds nothing readable"):
        ask(range(1, 2), bags=[first], start="")


def test_a_report_lies_beside_the_model_and_replaces_nothing_else(
    ask: Callable[..., dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ask(range(2), report=True)
    page = tmp_path / "arm.psr.html"
    assert told["report"] == str(page)
    assert told["verdict"] in page.read_text().replace("&#x27;", "'").replace("</p><p>", " ")
    page.write_text("somebody's own")
    assert "report" not in ask(range(2), report=True)
    assert page.read_text() == "somebody's own"
    assert "is no report; it stays" in capsys.readouterr().out
    assert load_model(tmp_path / "arm.psr").kind
