"""The check flags recordings that cannot teach a model, for the right reason, and passes others."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from rffpsr_ros.exploration.check import check_exploration
from rffpsr_ros.exploration.findings import Finding, as_json, findings, warnings
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.simulation.excitation import excitation, mixed_policy
from rffpsr_ros.simulation.swimmer import Swimmer, seek_goal
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import Policy, System, dataset, open_loop

Make = Callable[[np.random.Generator], Policy]


class LinearSystem:
    """A stable linear system with process noise: 4 states, 2 actions, 2 observations."""

    period = 0.05
    observation_names = ("y0", "y1")
    action_names = ("u0", "u1")
    action_limits = (-np.ones(2), np.ones(2))

    def __init__(self, seed: int) -> None:
        generator = np.random.default_rng(seed)
        turn = generator.normal(size=(4, 4))
        self.turn = 0.9 * turn / np.abs(np.linalg.eigvals(turn)).max()
        self.push, self.see = generator.normal(size=(4, 2)), generator.normal(size=(2, 4))
        self.noise = np.random.default_rng(seed + 1000)

    def initial_state(self, generator: np.random.Generator) -> Array:
        return 0.3 * generator.normal(size=4)

    def step(self, state: Array, action: Array) -> Array:
        moved = state @ self.turn.T + action @ self.push.T
        return np.asarray(moved + 0.1 * self.noise.normal(size=state.shape))

    def observe(self, state: Array) -> Array:
        return np.asarray(state @ self.see.T)


def signal(name: str, system: System, **options: float) -> Make:
    low, high = system.action_limits
    return lambda g: open_loop(excitation(name, g, low, high, system.period, options))


def feedback(gain: float, dither: float, system: System) -> Make:
    """Look at the first observation; every channel has dither of its own."""
    low, high = system.action_limits

    def policy(generator: np.random.Generator) -> Policy:
        return lambda time, seen: np.clip(
            -gain * seen[0] + dither * generator.uniform(low, high), low, high
        )

    return policy


def warned(trajectories: list[Trajectory]) -> dict[str, str]:
    found = warnings(check_exploration(trajectories))
    return {finding.subject: finding.sentence for finding in found}


SYNTHETIC, SWIMMER = SyntheticSystem(), Swimmer()


def test_a_single_sine_is_flagged_as_known_from_its_past() -> None:
    for system in (SYNTHETIC, SWIMMER):
        found = warned(dataset(system, signal("sine", system), 10, 100, seed=1))
        assert set(found) == set(system.action_names)
        assert all("as with a single sine" in sentence for sentence in found.values())


def test_a_constant_action_is_flagged_by_name_and_value() -> None:
    def half(generator: np.random.Generator) -> Policy:
        return lambda time, seen: np.array([generator.uniform(-2, 2), 0.5])

    found = warned(dataset(SWIMMER, half, 10, 100, seed=1, noise=0.05))
    assert set(found) == {"torque_2"}
    assert "'torque_2' is always 0.5" in found["torque_2"]


@pytest.mark.parametrize(("gain", "dither"), [(0.5, 0.0), (0.2, 0.0)])
def test_a_function_of_the_last_observation_is_flagged_as_one(gain: float, dither: float) -> None:
    found = warned(dataset(SYNTHETIC, feedback(gain, dither, SYNTHETIC), 10, 100, seed=1))
    assert "is a function of the last observation" in found["a"]


@pytest.mark.parametrize("seed", [1, 2])
def test_feedback_under_random_commands_is_flagged_as_not_blind(seed: int) -> None:
    system = LinearSystem(seed)
    found = warned(dataset(system, feedback(0.3, 0.6, system), 10, 100, seed=seed))
    assert set(found) == {"policy"}
    assert "actions depend on past observations" in found["policy"]


def test_the_swimmer_that_seeks_its_goal_half_the_time_is_not_blind() -> None:
    low, high = SWIMMER.action_limits

    def policy(generator: np.random.Generator) -> Policy:
        blind: Iterator[Array] = excitation("uniform", generator, low, high, SWIMMER.period)
        return mixed_policy(generator, blind, seek_goal, 0.5, low, high)

    assert set(warned(dataset(SWIMMER, policy, 24, 100, seed=3, noise=0.05))) == {"policy"}


def resting(system: System) -> Make:
    """Random commands while the first observation is positive, a controller's own below."""
    low, high = system.action_limits

    def policy(generator: np.random.Generator) -> Policy:
        return lambda time, seen: np.clip(
            generator.uniform(low, high) if seen[0] > 0 else -0.2 * seen[:1], low, high
        )

    return policy


def test_an_action_that_rests_after_some_histories_is_noted() -> None:
    system = LinearSystem(0)
    rested, varied = (
        check_exploration(dataset(system, make, 10, 400, 3), RFFPSROptions(past=5, future=5))
        for make in (resting(system), signal("uniform", system, hold=system.period))
    )
    for check, lost in ((rested, 1), (varied, 0)):
        freedom = check.channels[0].freedom
        assert freedom is not None
        assert freedom.by_history.shape[1] == 5
        assert freedom.directions > 0  # pooled, both are excited
        assert freedom.lost == lost
        # Averages over histories are near what is pooled.
        mean = freedom.by_history.mean(axis=0).sum()
        assert mean == pytest.approx(freedom.alone.sum(), rel=0.2)
    (note,) = (one for one in findings(rested) if one.subject == "u0")
    assert note.level == "note"
    assert "after one history in twenty 1 of them are determined" in note.sentence
    assert as_json(rested)["actions"][0]["least_conditional_variances"][-1] < 0.05


def test_channels_in_lockstep_are_flagged_as_that() -> None:
    def together(generator: np.random.Generator) -> Policy:
        return lambda time, seen: generator.uniform(-2, 2) * np.array([1.0, 0.5])

    found = warned(dataset(SWIMMER, together, 24, 100, seed=1))
    assert set(found) == {"torque_1", "torque_2"}
    assert all("together with the other actions only" in s for s in found.values())


def test_a_command_without_an_answer_is_noted_with_how_large_it_got() -> None:
    generator = np.random.default_rng(0)
    runs = dataset(SYNTHETIC, signal("uniform", SYNTHETIC), 10, 100, seed=1)
    with_idle = [
        Trajectory(
            run.observations,
            np.hstack([run.actions, generator.uniform(-0.1, 0.1, (len(run), 1))]),
            run.period,
            ["o"],
            ["shoulder", "elbow"],
        )
        for run in runs
    ]
    check = check_exploration(with_idle, action_units=["N m", "N m"])
    (found,) = (finding for finding in findings(check) if finding.level == "note")
    assert found.subject == "elbow"
    assert "found to respond to 'elbow', which never exceeded 0.1 N m" in found.sentence


@pytest.mark.parametrize(("ticks", "words"), [(100, "times as much"), (40, "record longer")])
def test_a_recording_too_short_for_the_ranks_is_flagged_as_that(ticks: int, words: str) -> None:
    found = warned(dataset(SYNTHETIC, signal("uniform", SYNTHETIC), 1, ticks, seed=1))
    assert set(found) == {"amount"}
    assert words in found["amount"]


GOOD = [
    ("uniform", {}),
    ("uniform", {}),
    ("uniform", {"hold": 0.2}),
    ("prbs", {"hold": 0.2}),
    ("multisine", {}),
]


@pytest.mark.long
def test_good_recordings_pass() -> None:
    """At most 2 false alarms on 50 recordings, of three systems and the usual excitations."""
    alarms: list[tuple[int, str, list[Finding]]] = []
    for number in range(50):
        name, options = GOOD[number % len(GOOD)]
        system, noise = _system(number)
        count, ticks = ((10, 100), (14, 80), (1, 800))[number // 3 % 3]
        runs = dataset(system, signal(name, system, **options), count, ticks, number, noise)
        if found := warnings(check_exploration(runs)):
            alarms.append((number, name, found))
    assert len(alarms) <= 2, alarms


def _system(number: int) -> tuple[System, float]:
    systems: list[tuple[System, float]] = [
        (SYNTHETIC, 0.0),
        (SWIMMER, 0.05),
        (LinearSystem(number), 0.0),
    ]
    return systems[number % 3]


def test_verdicts_are_the_same_every_time_and_speak_of_every_action() -> None:
    runs = dataset(SWIMMER, signal("uniform", SWIMMER), 10, 100, seed=1)
    check = check_exploration(runs)
    assert findings(check) == findings(check_exploration(runs))
    assert {finding.subject for finding in findings(check)} >= set(SWIMMER.action_names)
    assert as_json(check)["policy"]["p_value"] == check.policy.p_value  # type: ignore[union-attr]


def test_missing_observations_and_constant_ones_are_lived_with() -> None:
    generator = np.random.default_rng(0)
    runs = []
    for run in dataset(SYNTHETIC, signal("uniform", SYNTHETIC), 10, 200, seed=1):
        seen = np.hstack([run.observations, np.full((len(run), 1), 7.0)])
        seen[generator.integers(len(run), size=3), 0] = np.nan
        runs.append(Trajectory(seen, run.actions, run.period, ["o", "stuck"], ["a"]))
    assert set(warned(runs)) == {"stuck"}
