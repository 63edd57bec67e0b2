"""Importance weights turn what a policy that looked recorded into what a blind one would have."""

import numpy as np
import pytest

from rffpsr_ros.data.likelihood_ratios import (
    with_gaussian_policy,
    with_log_probability,
    with_table_policy,
)
from rffpsr_ros.data.scaling import fit_scaling
from rffpsr_ros.data.window_source import StandardisedRecording, WindowSource
from rffpsr_ros.data.windows import window_chunks
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.io_hmm.symbols import indicators
from rffpsr_ros.psr.importance import (
    ENOUGH,
    LIMIT,
    USEFUL,
    Importance,
    WeightedRecording,
    importance,
)
from rffpsr_ros.psr.stage_one import ConditionalStageOne, JointStageOne, StageOne
from rffpsr_ros.psr.two_stage import (
    NewRegression,
    TwoStageOptions,
    stage_one,
    two_stage_regression,
    weighted_features,
)
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory


def looking_run(ticks: int, seed: int, known: bool = True) -> Trajectory:
    """A two-valued action that agrees with the last observation's sign 4 times out of 5."""
    generator = np.random.default_rng(seed)
    observations, actions, ratios = np.zeros(ticks), np.zeros(ticks), np.zeros(ticks)
    seen = 1.0
    for k in range(ticks):
        agrees = generator.random() < 0.8
        actions[k] = np.sign(seen) if agrees else -np.sign(seen)
        ratios[k] = 0.5 / (0.8 if agrees else 0.2)
        seen = 0.5 * actions[k] + generator.normal()
        observations[k] = seen
    return Trajectory(observations, actions, likelihood_ratios=ratios if known else None)


def test_weighted_windows_look_as_if_the_policy_had_been_blind() -> None:
    run = looking_run(200_000, 0)
    before, acted = np.sign(run.observations[:-1, 0]), run.actions[1:, 0]
    assert np.mean(before * acted) == pytest.approx(0.6, abs=0.01)
    weighting = importance([run], 1, 1)
    assert weighting is not None
    weights = weighting.weights(run.likelihood_ratios)[1:]  # type: ignore[arg-type]
    assert np.average(before * acted, weights=weights) == pytest.approx(0, abs=0.02)
    # What follows an action is not touched: E[o | a] = a / 2.
    after = run.observations[1:, 0] * acted
    assert np.average(after, weights=weights) == pytest.approx(0.5, abs=0.02)


def test_a_table_gives_the_ratios_of_the_policy_that_was_drawn_from_it() -> None:
    generator = np.random.default_rng(3)
    seen, acted = np.array([[0.0], [1.0]]), np.array([[-1.0], [1.0]])
    chances = np.array([[0.9, 0.1], [0.3, 0.7]])
    symbols = generator.integers(0, 2, 20_000)
    choices = (generator.random(20_000) < chances[np.roll(symbols, 1), 1]).astype(int)
    observations = seen[symbols].copy()
    observations[500] = np.nan  # what was seen is not known: the next tick counts as blind
    run = Trajectory(observations, acted[choices])
    ratios = with_table_policy([run], seen, acted, chances)[0].likelihood_ratios
    assert ratios is not None
    share = np.bincount(choices) / len(choices)
    expected = share[choices] / chances[np.roll(symbols, 1), choices]
    expected[[0, 501]] = 1.0
    np.testing.assert_allclose(ratios, expected, rtol=1e-12)
    assert with_table_policy([run], seen, acted, chances)[0].policy_memory == 1
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.02)


def test_a_table_that_did_not_choose_these_actions_is_refused() -> None:
    run = Trajectory(np.zeros(5), np.array([1.0, 1.0, 1.0, 2.0, 1.0]))
    table = np.array([[0.0]]), np.array([[1.0], [2.0]]), np.array([[1.0, 0.0]])
    with pytest.raises(
        InputError, match=r"action \[2.0\] after observation \[0.0\] no chance.*tick 3"
    ):
        with_table_policy([run], *table)


def test_the_product_is_the_longest_that_leaves_a_useful_number_of_windows() -> None:
    generator = np.random.default_rng(0)
    ratios = np.where(generator.random(100_000) < 0.6, 1 / 0.6, 0.0)

    def weighting(ticks: int) -> Importance:
        run = Trajectory(np.zeros(ticks), np.zeros(ticks), likelihood_ratios=ratios[:ticks])
        found = importance([run], 20, 10)
        assert found is not None
        return found

    # All of m ticks are blind in a share 0.6^m of the windows.
    few = weighting(2000)
    assert few.length == 2
    assert few.effective == pytest.approx(0.36 * few.windows, rel=0.1)
    assert few.effective >= USEFUL * few.windows
    # Of many windows a smaller share is enough.
    many = weighting(100_000)
    assert many.length > 5
    assert many.effective >= ENOUGH


def test_single_weights_are_limited() -> None:
    ratios = np.ones(1000)
    ratios[500] = 1e9
    run = Trajectory(np.zeros(1000), np.zeros(1000), likelihood_ratios=ratios)
    weighting = importance([run], 5, 3)
    assert weighting is not None
    weights = weighting.weights(ratios)
    assert weights.max() == weighting.limit
    assert weighting.limit == pytest.approx(LIMIT * np.mean(ratios[5:-3]))


def with_memory(run: Trajectory, memory: int | None) -> Trajectory:
    ratios = run.likelihood_ratios
    return Trajectory(run.observations, run.actions, likelihood_ratios=ratios, policy_memory=memory)


def test_the_first_ticks_ratio_is_left_out_where_history_holds_all_that_the_policy_read() -> None:
    run = looking_run(2000, 0)
    assert run.likelihood_ratios is not None
    kept = importance([run], 3, 2)
    left_out = importance([with_memory(run, 1)], 3, 2)
    assert kept is not None
    assert left_out is not None
    assert (kept.first, left_out.first) == (0, 1)
    ratios = run.likelihood_ratios
    following = np.append(ratios[1:], 1.0)
    two = Importance(2, np.inf, 0, 0.0, first=1).weights(ratios)
    np.testing.assert_allclose(two, following * np.append(following[1:], 1.0))
    assert (kept.length, left_out.length) == (3, 2)  # all ticks of the extended future, or others
    # One tick costs what another does: with both, the share of windows that count is the square.
    share = importance([with_memory(run, 1)], 3, 1)
    assert share is not None
    whole = ratios[:-1] * ratios[1:]
    squared = whole.sum() ** 2 / (whole**2).sum() / len(whole)
    assert (share.effective / share.windows) ** 2 == pytest.approx(squared, rel=0.1)


def test_the_first_ticks_ratio_stays_where_the_policy_may_have_read_more() -> None:
    run = looking_run(500, 0)
    for given, held in (([run], None), ([with_memory(run, 4)], None), ([with_memory(run, 2)], 1)):
        weighting = importance(given, 3, 2, held)
        assert weighting is not None
        assert weighting.first == 0
    mixed = importance([with_memory(run, 1), run], 3, 2)
    assert mixed is not None
    assert mixed.first == 0


@pytest.mark.parametrize("method", ["joint", "conditional"])
def test_the_first_ticks_ratio_cancels_in_stage_one(method: str) -> None:
    # A table over history and actions holds any function: there it cancels but for the ridge.
    generator = np.random.default_rng(0)
    history, action, output = (generator.integers(n, size=4000) for n in (3, 2, 4))
    features = indicators(history, 3), indicators(action, 2), indicators(output, 4)
    ratio = np.array([[0.6, 3.0], [0.7, 2.0], [5.0, 0.55]])[history, action]
    found = []
    for weights in (None, ratio):
        regression: StageOne = (
            JointStageOne(3, 2, 4, "squared") if method == "joint" else ConditionalStageOne(3, 2, 4)
        )
        regression.add(*features, weights)
        found.append(regression.solve(1e-9, 1e-9)(np.eye(3)))
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


def test_weights_enter_stage_one_alone() -> None:
    run = looking_run(3000, 5)
    weighting = importance([run], 3, 2)
    assert weighting is not None
    scalings = fit_scaling([run.observations]), fit_scaling([run.actions])
    plain = WindowSource([StandardisedRecording(run, *scalings)], 3, 2)
    counted = WindowSource([WeightedRecording(run, *scalings, weighting)], 3, 2)
    options = TwoStageOptions(past=3, future=2, features=20, rank=8, state_rank=5)
    generator = np.random.default_rng(0)
    learned = two_stage_regression(plain, options, generator, weighted=counted)
    features = learned.features.astype(np.float32)
    maps = stage_one(
        weighted_features(counted, features.__call__),
        NewRegression(options),
        options.ridge,
        options.stage_one_regularisation,
    )
    (chunks,) = [list(window_chunks([plain.recordings[0].read()], 3, 2))]
    states = np.concatenate([maps.state(features(chunk).history) for chunk in chunks])
    mean = states.reshape(len(states), -1).mean(axis=0) @ learned.system.state_projection
    np.testing.assert_allclose(learned.system.initial, mean, rtol=1e-4, atol=1e-6)


def test_without_a_policy_nothing_is_weighted() -> None:
    assert importance([looking_run(100, 0, known=False)], 5, 3) is None


def test_windows_carry_the_weight_of_their_first_tick() -> None:
    run = looking_run(60, 3)
    weighting = importance([run], 5, 3)
    assert weighting is not None
    scalings = fit_scaling([run.observations]), fit_scaling([run.actions])
    source = WindowSource([WeightedRecording(run, *scalings, weighting)], 5, 3)
    windows = source.sample(1000, np.random.default_rng(0))
    expected = weighting.weights(run.likelihood_ratios)[5:-3]  # type: ignore[arg-type]
    np.testing.assert_array_equal(windows.actions[:, 0, -1], expected)


def test_only_differences_between_ratios_count() -> None:
    runs = [looking_run(150, seed) for seed in range(4)]

    def learned(ratio: float | None) -> np.ndarray:
        given = [
            Trajectory(
                r.observations,
                r.actions,
                likelihood_ratios=r.likelihood_ratios if ratio is None else np.full(150, ratio),
            )
            for r in runs
        ]
        model = RFFPSR(features=20, past=5, future=3, refinement="none", narx_features=0).fit(
            given[:3], given[3:]
        )
        return np.asarray(model.predict(model.initial_state(), np.ones((5, 1))))

    np.testing.assert_allclose(learned(1.0), learned(2.0), rtol=1e-3, atol=1e-3)
    assert np.abs(learned(None) - learned(1.0)).max() > 1e-2


def test_wrong_ratios_are_refused() -> None:
    with pytest.raises(InputError, match="at least 0 for each of 3 ticks"):
        Trajectory(np.zeros(3), np.zeros(3), likelihood_ratios=[1.0, -1.0, 1.0])


@pytest.mark.parametrize("memory", [-1, 0.5])
def test_a_wrong_memory_is_refused(memory: float) -> None:
    with pytest.raises(InputError, match=r"policy's memory is .*number of ticks"):
        Trajectory(np.zeros(3), np.zeros(3), policy_memory=memory)  # type: ignore[arg-type]


def test_a_log_probability_becomes_a_ratio_and_leaves_the_actions() -> None:
    run = looking_run(20_000, 1)
    chosen = np.log(0.5 / run.likelihood_ratios)  # type: ignore[operator]
    recorded = Trajectory(run.observations, np.column_stack([chosen, run.actions]))
    (found,) = with_log_probability([recorded], 0)
    np.testing.assert_array_equal(found.actions, run.actions)
    assert found.action_names == ("action[1]",)
    assert found.policy_memory is None
    assert with_log_probability([recorded], 0, 2)[0].policy_memory == 2
    # The blind policy is the actions' own distribution: half and half, nearly.
    np.testing.assert_allclose(found.likelihood_ratios, run.likelihood_ratios, rtol=0.05)  # type: ignore[arg-type]


def test_a_gaussian_policy_is_undone_by_its_ratios() -> None:
    generator = np.random.default_rng(0)
    seen, actions = np.zeros((50_000, 1)), np.zeros((50_000, 1))
    for k in range(1, len(seen)):
        actions[k] = 0.4 * seen[k - 1] + 0.1 + generator.normal()
        seen[k] = generator.normal()
    run = Trajectory(seen, actions)
    (found,) = with_gaussian_policy([run], np.array([[0.4]]), np.array([0.1]), np.array([1.0]))
    assert found.likelihood_ratios is not None
    related = np.corrcoef(seen[:-1, 0], actions[1:, 0])[0, 1]
    weighted = np.cov(seen[:-1, 0], actions[1:, 0], aweights=found.likelihood_ratios[1:])
    assert related > 0.3
    assert weighted[0, 1] / np.sqrt(weighted[0, 0] * weighted[1, 1]) == pytest.approx(0, abs=0.03)


def test_ratios_go_with_their_ticks() -> None:
    run = looking_run(50, 2)
    part = run.slice(10, 30)
    np.testing.assert_array_equal(part.likelihood_ratios, run.likelihood_ratios[10:30])  # type: ignore[index]
    assert looking_run(50, 2, known=False).slice(10, 30).likelihood_ratios is None
