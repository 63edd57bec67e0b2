"""Errors of both stages fall as the theory says, on systems whose states are known exactly."""

import numpy as np
import pytest

from benchmarks.known_systems import IOHMM, random_linear_system, simulate_linear
from benchmarks.theory import (
    conditional_tables,
    discrete_errors,
    expected_state,
    hoeffding,
    linear_errors,
    measure,
    stationary,
)
from rffpsr_ros.data.scaling import Run


def test_errors_of_both_stages_fall_with_the_root_of_the_number_of_ticks() -> None:
    result = measure(most=30_000, runs=3)
    for name in ("io_hmm", "kalman"):
        for fitted in result[name]["slopes"]:
            assert fitted == pytest.approx(-0.5, abs=0.15)
    for error, bound in zip(
        result["io_hmm"]["stage_one"], result["io_hmm"]["hoeffding"], strict=True
    ):
        assert error < bound


def test_the_true_tables_are_those_of_long_simulations() -> None:
    known = IOHMM.random(1, states=2, actions=2, observations=2)
    run = known.simulate(60_000, 0)
    now, extended = conditional_tables(known, stationary(known))
    seen, acted = run.observations[:, 0].astype(int), run.actions[:, 0].astype(int)
    for o in range(2):
        for a in range(2):
            assert np.mean(seen[acted == a] == o) == pytest.approx(now[o, a], abs=0.02)
            both = (acted[:-1] == a) & (acted[1:] == a)
            pair = np.mean((seen[:-1] == o)[both] & (seen[1:] == o)[both])
            assert pair == pytest.approx(extended[3 * o, 3 * a], abs=0.02)


def test_the_true_state_given_a_history_is_the_best_linear_estimate() -> None:
    system = random_linear_system(1)
    run = simulate_linear(system, 20_000, 0)
    gain, spread = expected_state(system)
    columns = [run.observations[t : len(run) - 5 + t] for t in range(5)]
    columns += [run.actions[t : len(run) - 5 + t] for t in range(5)]
    history = np.hstack(columns)
    np.testing.assert_allclose(
        history.T @ history / len(history), spread, atol=0.06 * np.abs(spread).max()
    )
    # What is left of the next observation is uncorrelated with the history.
    left = run.observations[5:] - history @ gain.T @ system.output.T
    left -= run.actions[5:] @ system.feedthrough.T
    relative = left.T @ history / len(history)
    assert np.abs(relative).max() < 0.05 * np.abs(spread).max()


def test_more_data_mean_smaller_errors_and_bounds() -> None:
    known = IOHMM.random(0)
    whole = known.simulate(8000, 1)
    small, large = (
        discrete_errors(known, Run(whole.observations[:n], whole.actions[:n])) for n in (500, 8000)
    )
    assert large.stage_one < small.stage_one
    assert hoeffding(known, 8000) < hoeffding(known, 500)
    system = random_linear_system(0)
    run = simulate_linear(system, 8000, 1)
    assert linear_errors(system, Run(run.observations, run.actions)).dynamics < 0.3
