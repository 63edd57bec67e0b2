"""Systems whose equations are known, with their exact filters: the truth for learners."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from rffpsr_ros.models.kalman.linear_system import LinearSystem, forecast_means, steady_state_means
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory


def random_linear_system(
    seed: int, noise: float = 1.0, states: int = 4, inputs: int = 2, outputs: int = 2
) -> LinearSystem:
    """Return a random stable system x' = A x + B a + w, o = C x + D a + v in innovation form.

    The spectral radius is drawn from 0.6 to 0.95, all else from Gaussians; ``noise`` scales w and
    v together. The filter starts in the long run's uncertainty, at the mean 0.
    """
    draw = np.random.default_rng(seed)
    transition = draw.normal(size=(states, states))
    radius = np.abs(np.linalg.eigvals(transition)).max()
    transition *= draw.uniform(0.6, 0.95) / radius
    action = draw.normal(size=(states, inputs))
    output, feedthrough = draw.normal(size=(outputs, states)), draw.normal(size=(outputs, inputs))
    half, other = draw.normal(size=(states, states)), draw.normal(size=(outputs, outputs))
    process = 0.1 * half @ half.T
    measurement = 0.25 * other @ other.T + 0.01 * np.eye(outputs)
    unknown = scipy.linalg.solve_discrete_are(transition.T, output.T, process, measurement)
    innovation = output @ unknown @ output.T + measurement
    gain = np.linalg.solve(innovation, output @ unknown @ transition.T).T
    return LinearSystem(
        transition,
        action,
        output,
        feedthrough,
        gain,
        noise**2 * innovation,
        np.zeros(states),
        np.zeros((states, states)),
    )


def simulate_linear(
    system: LinearSystem, ticks: int, seed: int, gains: Array | None = None
) -> Trajectory:
    """Return a run under white Gaussian actions, which begins at the mean state.

    Actions have deviation 1; ``gains`` (d_a, d_o) times the last observation are added to them.
    """
    draw = np.random.default_rng(seed)
    actions = draw.normal(size=(ticks, system.action.shape[1]))
    values, vectors = np.linalg.eigh(system.innovation)
    spread = vectors * np.sqrt(np.maximum(values, 0))
    innovations = draw.normal(size=(ticks, len(values))) @ spread.T
    observations = np.empty_like(innovations)
    mean = system.start
    for t in range(ticks):
        if gains is not None and t:
            actions[t] += gains @ observations[t - 1]
        observations[t] = system.output @ mean + system.feedthrough @ actions[t] + innovations[t]
        mean = system.transition @ mean + system.action @ actions[t] + system.gain @ innovations[t]
    return Trajectory(observations, actions)


def optimal_forecasts(system: LinearSystem, run: Trajectory, origins: Array, steps: int) -> Array:
    """Return the Kalman filter's forecasts (B, H, d_o) from the ticks ``origins`` (B,) of a run."""
    start, observations, actions = system.start[None], run.observations[None], run.actions[None]
    (means,) = steady_state_means(system, start, observations, actions)
    ticks = origins[:, None] + np.arange(steps)
    return forecast_means(system, means[origins], run.actions[ticks])


def favouring_policy(symbols: int, actions: int, chance: float) -> Array:
    """Return the table (symbols, actions) of a policy with a favourite after each observation.

    Others share the rest alike; the favourite of symbol s is action s, counted round.
    """
    table = np.full((symbols, actions), (1 - chance) / (actions - 1))
    table[np.arange(symbols), np.arange(symbols) % actions] = chance
    return table


def _drawn(chances: Array, uniform: float) -> int:
    return min(int(np.searchsorted(chances.cumsum(), uniform)), len(chances) - 1)


class IOHMM(NamedTuple):
    """An input-output hidden Markov model: in state s, action a shows o, then leads to s'."""

    transition: Array  # (states, actions, states'): rows sum to 1
    observation: Array  # (states, actions, observations): rows sum to 1
    start: Array  # (states,)

    @classmethod
    def random(
        cls,
        seed: int,
        states: int = 5,
        actions: int = 3,
        observations: int = 4,
        concentration: float = 0.2,
    ) -> IOHMM:
        """Return tables whose rows are drawn from a Dirichlet distribution."""
        draw = np.random.default_rng(seed)
        return cls(
            draw.dirichlet(np.full(states, concentration), (states, actions)),
            draw.dirichlet(np.full(observations, concentration), (states, actions)),
            np.full(states, 1 / states),
        )

    def simulate(self, ticks: int, seed: int, policy: Array | None = None) -> Trajectory:
        """Return a run of symbols 0, 1, ... under uniformly drawn actions.

        ``policy`` (observations, actions) has the chance of each action after an observation, by
        which actions are drawn instead.
        """
        draw = np.random.default_rng(seed)
        states, choices, symbols = self.observation.shape
        actions = draw.integers(choices, size=ticks)
        chosen_by = draw.random(ticks) if policy is not None else np.empty(0)
        chances = draw.random((ticks, 2))
        leads, shows = self.transition.cumsum(2), self.observation.cumsum(2)
        state = int(np.searchsorted(self.start.cumsum(), draw.random()))
        seen = np.empty(ticks)
        for t in range(ticks):
            if policy is not None and t:
                actions[t] = _drawn(policy[int(seen[t - 1])], chosen_by[t])
            action = actions[t]
            seen[t] = min(np.searchsorted(shows[state, action], chances[t, 0]), symbols - 1)
            state = min(int(np.searchsorted(leads[state, action], chances[t, 1])), states - 1)
        return Trajectory(seen, actions)

    def filter(self, belief: Array, action: int, observation: int | None) -> Array:
        """Return the exact belief (states,) after a tick; None: the observation is missing."""
        if observation is not None:
            belief = belief * self.observation[:, action, observation]
            belief = belief / belief.sum()
        return np.asarray(belief @ self.transition[:, action])

    def predictions(self, run: Trajectory) -> Array:
        """Return the exact one-step probabilities (T, observations) before each tick of a run."""
        belief = self.start
        predictions = np.empty((len(run), self.observation.shape[2]))
        for t, (action, seen) in enumerate(
            zip(run.actions[:, 0], run.observations[:, 0], strict=True)
        ):
            predictions[t] = belief @ self.observation[:, int(action)]
            belief = self.filter(belief, int(action), None if np.isnan(seen) else int(seen))
        return predictions
