"""What a simulated system is, and how it becomes trajectories.

A system is a few pure functions on arrays of states, any leading axes; a policy gives the next
action from the time and what was seen last. Open loop is a policy that does not look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from rffpsr_ros.errors import InputError
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

Policy = Callable[[float, Array], Array]
"""(seconds since the start, observation (d_o,)) -> action (d_a,)."""


class System(Protocol):
    """A controlled system in discrete time; states (..., d_x), actions (..., d_a)."""

    @property
    def period(self) -> float:
        """Seconds per tick."""
        ...

    @property
    def observation_names(self) -> tuple[str, ...]:
        """One name per observation."""
        ...

    @property
    def action_names(self) -> tuple[str, ...]:
        """One name per action."""
        ...

    @property
    def action_limits(self) -> tuple[Array, Array]:
        """Lowest and highest action (d_a,) that excitation should use."""
        ...

    def initial_state(self, generator: np.random.Generator) -> Array:
        """Return a state (d_x,) at an episode's start."""
        ...

    def step(self, state: Array, action: Array) -> Array:
        """Return the state one tick later, with ``action`` held throughout the tick."""
        ...

    def observe(self, state: Array) -> Array:
        """Return what is seen of the state, (..., d_o), without noise."""
        ...


def runge_kutta(
    derivative: Callable[[Array, Array], Array],
    state: Array,
    action: Array,
    duration: float,
    steps: int,
) -> Array:
    """Return the state after ``duration`` by ``steps`` classical Runge-Kutta steps (order 4)."""
    h = duration / steps
    for _ in range(steps):
        k1 = derivative(state, action)
        k2 = derivative(state + h / 2 * k1, action)
        k3 = derivative(state + h / 2 * k2, action)
        k4 = derivative(state + h * k3, action)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


def open_loop(signal: Iterator[Array]) -> Policy:
    """Return the policy that plays ``signal`` whatever is seen."""
    return lambda time, observation: next(signal)


def simulate(
    system: System, actions: ArrayLike, seed: int = 0, initial_state: Array | None = None
) -> Trajectory:
    """Return the observations of ``system`` under ``actions`` (T, d_a), without noise.

    ``seed`` draws the initial state unless one is given.
    """
    given = np.asarray(actions, dtype=np.float64).reshape(-1, len(system.action_names))
    if initial_state is None:
        initial_state = system.initial_state(np.random.default_rng(seed))
    return _run(system, [open_loop(iter(given))], initial_state[None], len(given))[0]


def dataset(
    system: System,
    policy: Callable[[np.random.Generator], Policy],
    count: int,
    ticks: int,
    seed: int,
    noise: float = 0.0,
) -> list[Trajectory]:
    """Return ``count`` trajectories of ``ticks`` ticks under ``policy(generator)``, one each.

    Gaussian measurement noise has ``noise`` times the standard deviation of each observation over
    the whole data set. A trajectory's actions and initial state depend on ``seed`` and its number
    only, so a larger set begins with the smaller one; policies see no noise.

    Raises
    ------
    InputError
        If there is nothing to simulate, or the noise is negative.
    """
    if count < 1 or ticks < 1 or noise < 0:
        raise InputError(
            f"count is {count}, ticks {ticks} and noise {noise};"
            " at least 1, 1 and 0 are needed for a data set"
        )
    generators = [np.random.default_rng([seed, number]) for number in range(count)]
    states = np.stack([system.initial_state(generator) for generator in generators])
    policies = [policy(generator) for generator in generators]
    clean = _run(system, policies, states, ticks)
    if noise == 0:
        return clean
    deviation = noise * np.concatenate([run.observations for run in clean]).std(axis=0)
    return [
        Trajectory(
            run.observations + deviation * generator.normal(size=run.observations.shape),
            run.actions,
            run.period,
            run.observation_names,
            run.action_names,
            run.label,
        )
        for run, generator in zip(clean, generators, strict=True)
    ]


def _run(system: System, policies: Sequence[Policy], states: Array, ticks: int) -> list[Trajectory]:
    """Return one trajectory per policy, all stepped together."""
    seen = system.observe(states)
    observations, actions = [], []
    for tick in range(ticks):
        time = tick * system.period
        action = np.stack([act(time, seen[i]) for i, act in enumerate(policies)])
        states = system.step(states, action)
        seen = system.observe(states)
        observations.append(seen)
        actions.append(action)
    return [
        Trajectory(
            observed,
            acted,
            system.period,
            system.observation_names,
            system.action_names,
            f"simulated run {number + 1}",
        )
        for number, (observed, acted) in enumerate(
            zip(np.stack(observations, axis=1), np.stack(actions, axis=1), strict=True)
        )
    ]
