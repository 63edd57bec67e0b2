"""A system that runs tick by tick, driven by commands that come with stamps.

Time follows the contract of `rffpsr_ros.signals.sampler`: throughout tick k the newest command
stamped at or before its start acts, and what is seen at its end is stamped with its end. So what is
recorded of a simulation is what acted in it, whenever the commands come.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import ArrayLike

from rffpsr_ros.errors import InputError
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.simulation.system import System


def period_ns(system: System) -> int:
    """Return a tick of a system in whole nanoseconds."""
    return round(system.period * 1e9)


def checked_noise(system: System, noise: ArrayLike) -> Array:
    """Return standard deviations of measurement noise, one for all observations or one each.

    Raises
    ------
    InputError
        If they do not fit the observations.
    """
    deviation = np.atleast_1d(np.asarray(noise, dtype=np.float64))
    fits = deviation.shape in ((1,), (len(system.observation_names),))
    if not (fits and (deviation >= 0).all() and np.isfinite(deviation).all()):
        raise InputError(
            f"noise is {deviation.tolist()}; it must be one standard deviation, or one for"
            f" each of {', '.join(system.observation_names)}, none of them negative"
        )
    return deviation


class LiveSimulation:
    """Runs a system on a regular grid of ticks.

    Parameters
    ----------
    system
        What to simulate.
    start_ns
        The time of the first tick's start (ns).
    seed
        Of initial states and measurement noise.
    noise
        Standard deviation of Gaussian measurement noise, one for all observations or one each.

    Raises
    ------
    InputError
        If the noise does not fit the observations.
    """

    def __init__(
        self, system: System, start_ns: int, seed: int = 0, noise: ArrayLike = 0.0
    ) -> None:
        self._system = system
        self._noise = checked_noise(system, noise)
        self._period_ns = period_ns(system)
        self._start_ns = start_ns
        self._ticks = 0
        self._starts = np.random.default_rng([seed, 0])
        self._disturbances = np.random.default_rng([seed, 1])
        self._state = system.initial_state(self._starts)
        self._action = np.zeros(len(system.action_names))
        self._commands: deque[tuple[int, slice, Array]] = deque()

    @property
    def now_ns(self) -> int:
        """The start of the tick that comes next (ns)."""
        return self.time_of(self._ticks)

    @property
    def next_ns(self) -> int:
        """The end of the tick that comes next (ns)."""
        return self.time_of(self._ticks + 1)

    def time_of(self, tick: int) -> int:
        """Return when a tick starts (ns)."""
        return self._start_ns + tick * self._period_ns

    def look(self) -> Array:
        """Return what is seen now (d_o,), with noise."""
        seen = self._system.observe(self._state)
        return np.asarray(seen + self._noise * self._disturbances.standard_normal(seen.shape))

    def command(self, stamp_ns: int, columns: slice, values: Array) -> None:
        """Take a command for some of the actions; commands come in the order of their stamps."""
        self._commands.append((stamp_ns, columns, values))

    def advance(self) -> None:
        """Let one tick pass, under the newest command stamped at or before its start.

        Raises
        ------
        InputError
            If the system has no state that follows. The tick has passed all the same: the system
            is at an episode's start, and no command is in force, since under the same one it would
            fail again.
        """
        while self._commands and self._commands[0][0] <= self.now_ns:
            _, columns, values = self._commands.popleft()
            self._action[columns] = values
        self._ticks += 1
        try:
            self._state = self._system.step(self._state, self._action.copy())
        except InputError:
            self.restart()
            self._action[:] = 0.0
            raise

    def restart(self) -> None:
        """Put the system back to an episode's start; time goes on, and so does the command."""
        self._state = self._system.initial_state(self._starts)

    def skip(self, now_ns: int) -> None:
        """Let the next tick start now: time passed in which nothing moved."""
        self._start_ns += now_ns - self.now_ns
