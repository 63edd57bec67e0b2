"""Settings of the recipe: given in Python, checked, and none of a configuration's keys."""

from typing import Any

import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.slow.settings import RunningMeanSettings
from rffpsr_ros.recipe.state_spaces.settings import StateSpaceSettings


def test_a_learner_takes_settings_beside_options() -> None:
    settings = RecipeSettings(folds=2, close=1.5)
    assert RFFPSR(settings=settings, past=10).settings == settings
    assert RFFPSR.paper(settings=settings).settings == settings
    assert RFFPSR().settings == RecipeSettings()


def test_a_configuration_has_no_settings() -> None:
    with pytest.raises(InputError, match=r"key 'learning\.settings' is unknown"):
        RFFPSR.from_mapping({"settings": RecipeSettings()})


@pytest.mark.parametrize("wrong", [{"folds": 0}, {"close": -1.0}, {"shrinkage": float("nan")}])
def test_what_is_not_positive_is_refused(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(InputError, match=f"option '{name}' is .*; it must be greater than 0"):
        RecipeSettings(**wrong)


@pytest.mark.parametrize("wrong", [{"means": 0}, {"gain": -0.1}, {"settled": 0}])
def test_so_it_is_where_running_means_are_decided_on(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(InputError, match=f"option '{name}' is .*; it must be greater than 0"):
        RunningMeanSettings(**wrong)


@pytest.mark.parametrize("wrong", [{"restarts": 0}, {"most_weights": 0}, {"finer_from": -1}])
def test_and_where_state_spaces_are(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(InputError, match=f"option '{name}' is .*; it must be greater than 0"):
        StateSpaceSettings(**wrong)


@pytest.mark.parametrize("name", ["as_good", "caught"])
def test_of_these_too_the_best_is_as_good_as_itself(name: str) -> None:
    wrong: dict[str, Any] = {name: 0.9}
    with pytest.raises(InputError, match=rf"option '{name}' is 0\.9; it must be at least 1"):
        StateSpaceSettings(**wrong)


@pytest.mark.parametrize(
    "name",
    ["near", "simulation_behind", "worth_choosing", "far_behind", "worth_refining"],
)
def test_the_best_is_as_good_as_itself(name: str) -> None:
    wrong: dict[str, Any] = {name: 0.9}
    with pytest.raises(InputError, match=rf"option '{name}' is 0\.9; it must be at least 1"):
        RecipeSettings(**wrong)
