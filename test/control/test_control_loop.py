"""What the control loop decides: nothing unasked, within the limits, and safe whatever happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rffpsr_ros.control.loop import ControlLoop, Decision
from rffpsr_ros.control.monitor import Tolerance
from rffpsr_ros.control.problem import Plan, Problem, Solver
from rffpsr_ros.control.settings import ControlSettings, task_of
from rffpsr_ros.control.supervision import Supervisor
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.calibration import residuals
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.follower import Follower
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.bands import conformal_bands
from rffpsr_ros.models.contract import PredictiveModel, Signature
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import simulate

PERIOD_NS = 50_000_000
CHANNELS = ChannelConfiguration.from_mapping(
    {
        "rate": 20.0,
        "observation": {"inputs": ["seen"], "seen": {"topic": "/seen", "fields": ["data"]}},
        "action": {
            "inputs": ["told"],
            "told": {"topic": "/told", "fields": ["data"], "initial": 0.0},
        },
    }
)
HORIZON = 8
LOW, HIGH, RATE, SAFE = -0.4, 0.45, 4.0, 0.05
STEP = RATE * 0.05
GIVEN = ControlSettings(
    horizon=HORIZON,
    limits_low=[LOW],
    limits_high=[HIGH],
    limits_rate=[RATE],
    safe_command=[SAFE],
)
SYSTEM = SyntheticSystem()


@pytest.fixture(scope="module")
def model() -> PredictiveModel[Any]:
    runs = []
    for seed in range(4):
        actions = np.random.default_rng(seed).uniform(-0.5, 0.5, (150, 1))
        plain = simulate(SYSTEM, actions, seed=seed)
        runs.append(Trajectory(plain.observations, actions, 0.05, ["seen.data"], ["told.data"]))
    fitted = LinearARX(past=6, future=4).fit(runs[:3])
    signature = replace(Signature.of(runs[0]), channels=CHANNELS.to_mapping())
    bands = conformal_bands(residuals(fitted, runs[3:], 4, 9))
    return fitted.replaced(signature=signature, bands=bands)


class Rig:
    """A simulated robot, the loop, and the commands between them; a tick is one call of `tick`."""

    def __init__(
        self, model: PredictiveModel[Any], solver: Solver | None = None, **options: Any
    ) -> None:
        supervisor = Supervisor(options.pop("resume_after", 0.0), options.pop("timeout", 0.0))
        tolerance = options.pop("tolerance", Tolerance(error_limit=30.0))
        self.follower = Follower(model, FollowOptions(HORIZON))
        task = task_of(GIVEN, self.follower.model)
        task = task if solver is None else task._replace(solver=solver)
        task = task._replace(budget=10.0)
        self.loop = ControlLoop(self.follower, task, HORIZON, supervisor, tolerance, **options)
        self.now_ns = 10**12
        self.state = np.zeros(2)
        self.command = self.in_force = 0.0
        self.sent: list[float] = []
        self.decisions: list[Decision] = []

    def tick(self, see: Callable[[float], float] | None = None, silent: bool = False) -> None:
        """Let a tick pass; what is seen of it may be changed, or not arrive at all."""
        self.state = SYSTEM.step(self.state, np.array([self.in_force]))
        self.in_force = self.command  # what came since the tick began acts from the next one
        self.now_ns += PERIOD_NS
        if silent:
            self.take(self.loop.watch(self.now_ns))
            return
        value = float(self.state[0]) if see is None else see(float(self.state[0]))
        outcomes = self.follower.feed("/seen", self.now_ns, SimpleNamespace(data=value), False)
        self.take(self.loop.step(outcomes, self.now_ns))

    def take(self, decision: Decision | None) -> None:
        if decision is None:
            return
        self.decisions.append(decision)
        if decision.command is not None:
            (self.command,) = decision.command.tolist()
            self.sent.append(self.command)
            self.follower.feed("/told", self.now_ns + 1000, SimpleNamespace(data=self.command))

    def controls(self) -> Rig:
        """Follow a course that stays where it is, until control is under way."""
        self.loop.reference.take(np.full((300, 1), 0.1))
        for _ in range(25):
            self.tick()
        self.loop.enable(self.now_ns)
        self.tick()
        assert self.phase == "controlling"
        return self

    @property
    def phase(self) -> str:
        return self.loop.supervisor.phase


def test_it_follows_a_course(model: PredictiveModel[Any]) -> None:
    rig = Rig(model).controls()
    course = 0.15 * np.sin(0.25 * np.arange(130))
    rig.loop.reference.take(course[:, None])
    seen = []
    for _ in range(100):
        rig.tick()
        seen.append(float(rig.state[0]))
    # The row for a tick is the first of the forecast made before it.
    errors = np.array(seen[20:]) - course[19:99]
    still = np.std(course[19:99])
    assert np.sqrt(np.mean(errors**2)) < 0.4 * still
    assert rig.phase == "controlling"


def test_nothing_is_sent_until_it_is_enabled(model: PredictiveModel[Any]) -> None:
    rig = Rig(model)
    rig.loop.reference.take(np.array([[0.1]]))
    for silent in (False,) * 30 + (True,) * 5 + (False,) * 30:
        rig.tick(silent=silent)
    assert rig.sent == []
    assert "nobody has called ~/enable" in rig.loop.supervisor.reason


def test_the_safe_command_is_sent_until_nothing_speaks_against_control(
    model: PredictiveModel[Any],
) -> None:
    rig = Rig(model)
    rig.loop.enable(rig.now_ns)
    for _ in range(30):
        rig.tick()
    assert set(rig.sent) == {SAFE}
    assert rig.loop.supervisor.reason == "there is no ~/reference yet"
    rig.loop.reference.take(np.array([[0.2]]))
    rig.tick()
    rig.tick()
    assert rig.phase == "controlling"
    assert rig.sent[-1] != SAFE


def test_a_dry_run_plans_and_sends_nothing(model: PredictiveModel[Any]) -> None:
    rig = Rig(model, dry_run=True).controls()
    for _ in range(10):
        rig.tick()
    rig.take(rig.loop.disable("test"))
    assert rig.sent == []
    plans = [decision.plan for decision in rig.decisions if decision.plan is not None]
    assert len(plans) >= 10
    assert plans[-1].actions.shape == (HORIZON - 1, 1)


def jump(value: float) -> float:
    return value + 0.6


def nan(value: float) -> float:
    return float("nan")


def out_of_range(value: float) -> float:
    return 3.0


def absurd(value: float) -> float:
    return 1e30


FAULTS: dict[str, tuple[Callable[[float], float] | None, str]] = {
    "silence": (None, "no tick"),
    "jump": (jump, "seen.data"),
    "nan": (nan, "no longer observed"),
    "out of range": (out_of_range, "range"),
    "absurd": (absurd, "no longer observed"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_brings_the_safe_command_within_two_ticks(
    model: PredictiveModel[Any], fault: str
) -> None:
    see, reason = FAULTS[fault]
    rig = Rig(model).controls()
    for _ in range(10):
        rig.tick()
    assert rig.phase == "controlling"
    for _ in range(2):
        rig.tick(see, silent=see is None)
    assert rig.phase == "stopped"
    assert reason in rig.loop.supervisor.reason
    assert rig.sent[-1] == SAFE
    for _ in range(60):  # all is in order again, but nobody has enabled it
        rig.tick()
    assert set(rig.sent[-50:]) == {SAFE}
    rig.loop.enable(rig.now_ns)
    rig.tick()
    assert rig.phase == "controlling"


def test_a_reference_outside_of_reason_is_refused_by_name_and_the_one_before_stays(
    model: PredictiveModel[Any],
) -> None:
    rig = Rig(model).controls()
    before = rig.loop.reference.ahead(3)
    with pytest.raises(InputError, match=r"a reference for 'seen\.data' is 1e\+300, absurdly far"):
        rig.loop.reference.take(np.array([[0.1], [np.nan], [1e300]]))
    np.testing.assert_array_equal(rig.loop.reference.ahead(3), before)
    for _ in range(5):
        rig.tick()
    assert rig.loop.supervisor.phase == "controlling"


def test_control_ends_with_its_reference(model: PredictiveModel[Any]) -> None:
    rig = Rig(model, reference_timeout=0.5).controls()
    rig.loop.reference.take(np.full((10, 1), 0.1))
    for _ in range(20):
        rig.tick()
    assert rig.phase == "controlling"  # ten ticks of the course, ten more that its end holds for
    rig.tick()
    rig.tick()
    assert "reference has ended" in rig.loop.supervisor.reason
    assert rig.sent[-1] == SAFE


def test_control_goes_on_by_itself_where_that_is_wanted(model: PredictiveModel[Any]) -> None:
    rig = Rig(model, resume_after=1.0).controls()
    rig.tick(out_of_range)
    assert rig.phase == "stopped"
    phases = []
    for _ in range(60):
        rig.tick()
        phases.append(rig.phase)
    assert phases[18] == "stopped"
    assert phases[-1] == "controlling"


def test_enabling_that_is_not_confirmed_is_lost(model: PredictiveModel[Any]) -> None:
    rig = Rig(model, timeout=0.5).controls()
    for _ in range(30):
        rig.loop.supervisor.confirm(rig.now_ns / 1e9)
        rig.tick()
    assert rig.phase == "controlling"
    for _ in range(11):
        rig.tick()
    assert rig.phase == "disabled"
    assert rig.sent[-1] == SAFE
    sent = len(rig.sent)
    for _ in range(10):
        rig.tick()
    assert len(rig.sent) == sent


def test_a_solver_that_fails_brings_the_safe_command(model: PredictiveModel[Any]) -> None:
    class Failing:
        def improve(self, problem: Problem, start: Array, more: Callable[[], bool]) -> Plan:
            raise FloatingPointError("of some kind")

    rig = Rig(model, Failing())
    rig.loop.reference.take(np.array([[0.1]]))
    for _ in range(25):
        rig.tick()
    rig.loop.enable(rig.now_ns)
    rig.tick()
    assert rig.phase == "stopped"
    assert rig.sent == [SAFE]
    assert "of some kind" in rig.loop.failure


def test_two_ticks_that_arrive_at_once_raise_no_alarm(model: PredictiveModel[Any]) -> None:
    rig = Rig(model).controls()
    rig.tick()
    rig.state = SYSTEM.step(rig.state, np.array([rig.in_force]))
    rig.in_force = rig.command
    rig.now_ns += PERIOD_NS  # of this tick nothing arrives; the next message closes both
    rig.tick()
    rig.tick()
    assert rig.phase == "controlling"


class Arbitrary:
    """A solver that plans what it is told to."""

    def __init__(self) -> None:
        self.value = 0.0

    def improve(self, problem: Problem, start: Array, more: Callable[[], bool]) -> Plan:
        return Plan(np.full_like(start, self.value), problem.forecast(start), 1.0, 1)


EVENTS = st.sampled_from(
    ["tick"] * 8 + ["silent", "nan", "jump", "range", "enable", "disable", "gap", "reference"]
)
WILD = st.floats(allow_nan=True, allow_infinity=True) | st.floats(-2, 2)


@given(course=st.lists(st.tuples(EVENTS, WILD), min_size=30, max_size=80))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_limits_hold_whatever_happens(
    model: PredictiveModel[Any], course: list[tuple[str, float]]
) -> None:
    solver = Arbitrary()
    rig = Rig(model, solver, resume_after=0.2).controls()
    changes = {"nan": nan, "jump": jump, "range": out_of_range}
    for event, value in course:
        solver.value = value
        before, known = rig.command, len(rig.sent)
        was_enabled = rig.loop.supervisor.enabled
        if event == "enable":
            rig.loop.enable(rig.now_ns)
            was_enabled = True
        elif event == "disable":
            rig.take(rig.loop.disable("test"))
            assert not was_enabled or rig.sent[-1] == SAFE
            continue
        elif event == "gap":
            rig.now_ns += 5 * 10**9
        elif event == "reference":
            rig.loop.reference.take(np.array([[0.1]]))
        rig.tick(changes.get(event), silent=event == "silent")
        new = rig.sent[known:]
        assert was_enabled or not new
        for command in new:
            assert LOW <= command <= HIGH
            near = abs(command - before) <= STEP * (1 + 1e-9)
            assert command == SAFE or near
        if rig.phase != "controlling":
            assert set(new) <= {SAFE}
