"""Robots that remember, made ready once for all who ask what is learned of them."""

from __future__ import annotations

import pytest

from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.recipe.candidates import Candidate
from rffpsr_ros.recipe.prepare import Preparation, prepare
from rffpsr_ros.recipe.state_spaces.trials import StateSpaceTrials
from test.memories import CART_TICKS, SETTINGS, amplifier, cart, known


@pytest.fixture(scope="session")
def ready() -> Preparation:
    return prepare([amplifier(seed) for seed in range(9)], None, RFFPSROptions(), SETTINGS)


@pytest.fixture(scope="session")
def joined(ready: Preparation) -> Candidate:
    found = StateSpaceTrials(ready, SETTINGS).best(known(ready))
    assert found is not None
    return found


@pytest.fixture(scope="session")
def carted() -> Preparation:
    return prepare([cart(CART_TICKS)], None, RFFPSROptions(), SETTINGS)
