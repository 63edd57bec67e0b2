"""A simulation driven by stamped commands: it does what the recorded actions say acted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffpsr_ros.errors import InputError
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.signals.events import Tick
from rffpsr_ros.signals.sampler import Sampler
from rffpsr_ros.simulation.live_simulation import LiveSimulation, period_ns
from rffpsr_ros.simulation.swimmer import Swimmer
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import simulate

START_NS = 7_000_000_123


class Message:
    """A message with one array."""

    def __init__(self, data: list[float]) -> None:
        self.data = data


def configuration(rate: float) -> ChannelConfiguration:
    return ChannelConfiguration.from_mapping(
        {
            "rate": rate,
            "observation": {"inputs": ["seen"], "seen": {"topic": "seen", "fields": ["data[0]"]}},
            "action": {
                "inputs": ["command"],
                "command": {"topic": "command", "fields": ["data[0]"], "initial": 0.0},
            },
        }
    )


@given(st.lists(st.lists(st.floats(0, 0.999), max_size=3), min_size=3, max_size=30))
def test_what_the_sampler_records_of_it_is_what_acted(offsets: list[list[float]]) -> None:
    """Commands at any times within ticks: the recording, simulated anew, shows the same."""
    system = SyntheticSystem()
    live = LiveSimulation(system, START_NS, seed=3)
    sampler = Sampler(configuration(1 / system.period))
    generator = np.random.default_rng(0)
    ticks = []
    sampler.feed("seen", live.now_ns, Message(live.look().tolist()))
    for fractions in offsets:
        for fraction in sorted(fractions):
            stamp = live.now_ns + round(fraction * period_ns(system))
            value = generator.uniform(-0.5, 0.5, 1)
            live.command(stamp, slice(0, 1), value)
            sampler.feed("command", stamp, Message(value.tolist()))
        live.advance()
        ticks += sampler.feed("seen", live.now_ns, Message(live.look().tolist()))
    assert all(isinstance(tick, Tick) for tick in ticks)
    assert len(ticks) == len(offsets)
    actions = np.stack([tick.action for tick in ticks if isinstance(tick, Tick)])
    observed = np.stack([tick.observation for tick in ticks if isinstance(tick, Tick)])
    start = system.initial_state(np.random.default_rng([3, 0]))
    expected = simulate(system, actions, initial_state=start).observations
    np.testing.assert_array_equal(observed, expected)


def test_time_is_a_grid_of_whole_nanoseconds() -> None:
    live = LiveSimulation(Swimmer(), START_NS)
    times = []
    for _ in range(3):
        times.append(live.now_ns)
        assert live.next_ns == live.now_ns + 30_000_000
        live.advance()
    assert times == [START_NS, START_NS + 30_000_000, START_NS + 60_000_000]
    live.skip(START_NS + 10**12)
    assert live.now_ns == START_NS + 10**12


def test_restart_puts_it_back_but_time_and_command_go_on() -> None:
    live = LiveSimulation(Swimmer(), START_NS)
    at_start = live.look()
    live.command(START_NS, slice(0, 1), np.array([2.0]))
    for _ in range(20):
        live.advance()
    assert np.abs(live.look() - at_start).max() > 0.1
    now = live.now_ns
    live.restart()
    np.testing.assert_array_equal(live.look(), at_start)
    assert live.now_ns == now
    live.advance()
    assert np.abs(live.look() - at_start).max() > 0


def test_noise_has_the_deviation_asked_for_and_the_seed_decides_it() -> None:
    def looks(seed: int) -> np.ndarray:
        live = LiveSimulation(Swimmer(), 0, seed, [0.1, 0.0, 0.0, 2.0])
        return np.stack([live.look() for _ in range(2000)])

    deviations = looks(1).std(axis=0)
    np.testing.assert_allclose(deviations, [0.1, 0, 0, 2.0], rtol=0.05)
    np.testing.assert_array_equal(looks(1), looks(1))
    assert (looks(1)[:, 0] != looks(2)[:, 0]).all()


@pytest.mark.parametrize("noise", [[0.1, 0.1], [-0.1], [float("nan")]])
def test_noise_that_does_not_fit_is_refused(noise: list[float]) -> None:
    with pytest.raises(InputError, match="noise is"):
        LiveSimulation(Swimmer(), 0, noise=noise)
