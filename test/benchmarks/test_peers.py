"""The peers keep the contract, see no later action, and compute what their libraries compute."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.causality import steps_ahead_seen
from benchmarks.datasets import fresh_synthetic, swimmer
from benchmarks.peers.choosing import BestOf, validation_score
from benchmarks.peers.feedback import Scalings, windows
from benchmarks.peers.gru import GRUModel, GRUParts, GRUWeights
from benchmarks.peers.koopman import (
    LIFTINGS,
    Koopman,
    KoopmanModel,
    KoopmanParts,
    Lift,
    episodes,
)
from benchmarks.peers.narx import PolynomialNARX, PolynomialNARXModel, PolynomialNARXParts
from benchmarks.peers.published import write_published
from benchmarks.records import RESULTS, read_records
from benchmarks.tables import task_tables
from benchmarks.tasks import TASKS
from rffpsr_ros.data.scaling import standardise
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.codec import decode, encode
from rffpsr_ros.models.contract import (
    Learner,
    PredictiveModel,
    Signature,
    TrainingRecord,
)
from rffpsr_ros.models.state_batches import stack_states

Array = NDArray[np.float64]

DATA = swimmer(0, 0.2)
RUN = DATA.test[0]
STEP = np.array([0.1, 0.2, 0.3, 0.4])
WITHOUT = "needs the peers' own environment, see benchmarks/peers/README.md"


def known() -> tuple[Signature, TrainingRecord, Scalings]:
    return Signature.of(RUN), TrainingRecord(), Scalings.of(DATA.train)


def a_gru(increments: bool = False) -> GRUModel:
    generator = np.random.default_rng(0)
    shapes = {
        "input": (15, 10),
        "input_bias": (15,),
        "hidden": (15, 5),
        "hidden_bias": (15,),
        "readout": (4, 15),
        "readout_bias": (4,),
        "start": (5,),
    }
    weights = {name: generator.normal(0, 0.3, shape) for name, shape in shapes.items()}
    signature, record, scalings = known()
    parts = GRUParts(GRUWeights(**weights), increments, STEP, np.ones(4), *scalings)
    return GRUModel(signature, record, parts)


def a_koopman(lifting: str) -> KoopmanModel:
    generator = np.random.default_rng(1)
    inputs = 18 if lifting == "joint" else 12
    state, action = (12, 6 + 7) if lifting == "joint" else (12 + 7, 6)
    lift = Lift(
        generator.normal(size=(inputs, 7)),
        generator.uniform(0, 6, 7),
        generator.normal(0, 0.1, (state, state + action)),
    )
    signature, record, scalings = known()
    return KoopmanModel(signature, record, KoopmanParts(3, scalings, lift, lifting))


def a_narx() -> PolynomialNARXModel:
    generator = np.random.default_rng(2)
    factors = tuple(generator.integers(0, 13, (5, 2)) for _ in range(4))
    weights = tuple(generator.normal(0, 0.3, 5) for _ in range(4))
    signature, record, scalings = known()
    parts = PolynomialNARXParts(2, scalings, factors, weights)
    return PolynomialNARXModel(signature, record, parts)


MODELS: dict[str, Callable[[], PredictiveModel[Any]]] = {
    "gru": a_gru,
    "gru of increments": lambda: a_gru(True),
    "narx": a_narx,
    **{f"koopman, {name}": lambda name=name: a_koopman(name) for name in LIFTINGS},  # type: ignore[misc]
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> PredictiveModel[Any]:
    return MODELS[request.param]()


def test_no_forecast_sees_a_later_action(model: PredictiveModel[Any]) -> None:
    assert steps_ahead_seen(model, RUN) == []


def test_forecasts_see_the_actions_up_to_their_own_step(model: PredictiveModel[Any]) -> None:
    state = model.state_from_history(RUN.observations[:20], RUN.actions[:20])
    plan = RUN.actions[20:25]
    for h in range(5):
        other = plan.copy()
        other[h] += 1
        assert not np.array_equal(model.predict(state, other)[h], model.predict(state, plan)[h])


def test_a_model_that_sees_later_actions_is_found() -> None:
    class Clairvoyant(type(Mean().fit(DATA.train))):  # type: ignore[misc]
        def forecast(self, state: Any, actions: Array) -> Array:
            return np.asarray(
                super().forecast(state, actions) + actions.sum(axis=-2)[..., None, :1]
            )

    honest = Mean().fit(DATA.train)
    assert steps_ahead_seen(honest, RUN) == []
    cheat = Clairvoyant(honest.signature, honest.record, honest.parts)
    assert steps_ahead_seen(cheat, RUN) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_a_batch_is_the_same_as_one_by_one(model: PredictiveModel[Any]) -> None:
    states = [model.state_from_history(RUN.observations[:n], RUN.actions[:n]) for n in (0, 1, 9)]
    plans = np.stack([RUN.actions[n : n + 4] for n in (0, 1, 9)])
    batch = stack_states(states)
    single = [model.predict(s, plan) for s, plan in zip(states, plans, strict=True)]
    np.testing.assert_allclose(model.predict(batch, plans), single, rtol=1e-12)
    shared = model.predict(states[2], plans)
    np.testing.assert_allclose(shared[2], single[2], rtol=1e-12)
    observed = RUN.observations[[3, 4, 5]]
    together = model.update(batch, plans[:, 0], observed)
    for i, state in enumerate(states):
        alone = model.update(state, plans[i, 0], observed[i])
        for part, expected in zip(together, alone, strict=True):
            np.testing.assert_allclose(part[i], expected, rtol=1e-12)


def test_a_missing_observation_is_replaced_by_its_forecast(model: PredictiveModel[Any]) -> None:
    state = model.state_from_history(RUN.observations[:9], RUN.actions[:9])
    expected = model.predict(state, RUN.actions[9:10])[0]
    filled = model.update(state, RUN.actions[9], expected)
    gap = model.update(state, RUN.actions[9], np.full(4, np.nan))
    after = RUN.actions[10:12]
    np.testing.assert_allclose(model.predict(gap, after), model.predict(filled, after), rtol=1e-9)


def test_a_model_is_rebuilt_from_its_header_and_arrays(model: PredictiveModel[Any]) -> None:
    kinds = {model.kind: type(model)}
    again = decode(type(model), *encode(type(model), model, lambda _: None), kinds.__getitem__)
    for each in (model, again):
        state = each.state_from_history(RUN.observations[:9], RUN.actions[:9])
        forecast = each.predict(state, RUN.actions[9:12])
    state = model.state_from_history(RUN.observations[:9], RUN.actions[:9])
    np.testing.assert_array_equal(forecast, model.predict(state, RUN.actions[9:12]))


def test_windows_pair_the_past_with_what_came() -> None:
    (run,) = standardise([RUN], *Scalings.of(DATA.train))
    seen, acted, targets = windows([run], 3)
    np.testing.assert_array_equal(seen[5], run.observations[5:8])
    np.testing.assert_array_equal(acted[5], run.actions[5:9])
    np.testing.assert_array_equal(targets[5], run.observations[8])


@pytest.mark.parametrize("free_run", [False, True])
def test_the_best_on_validation_is_taken(free_run: bool) -> None:
    split = fresh_synthetic(0, test_count=0)
    tries: list[Learner] = [Mean(), LinearARX(past=8, ridge=1e-6), LastObservation()]
    scores = [
        validation_score(learner.fit(split.train), split.validation, free_run) for learner in tries
    ]
    assert int(np.argmin(scores)) == 1
    chosen: list[int] = []

    def finish(best: int) -> Any:
        chosen.append(best)
        return tries[best]

    BestOf(tries, finish, everything=True, free_run=free_run).fit(split.train, split.validation)
    BestOf(tries, finish, everything=True, free_run=free_run).fit(split.train)
    BestOf(tries, finish, everything=False, free_run=free_run).fit(split.train)
    assert chosen == [1, 1, 1]


def test_results_of_peers_stand_beside_the_others() -> None:
    if not RESULTS.exists():
        pytest.skip("nothing was measured yet")
    found = {
        (task, record.method): record
        for task in TASKS
        for record in read_records(task)
        if "harness" in record.version
    }
    for (task, method), record in found.items():
        assert record.task == task, method
        for run in record.runs:
            assert run.training_seconds is not None
            assert run.training_seconds > 0
            for scores in run.scores.values():
                assert len(scores) == (1 if TASKS[task].simulation_after else TASKS[task].horizon)
                assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    ("task", "method", "figures"),
    [
        ("silverbox", "GP NARX", "0.301 | 0.600 | 0.259"),
        ("tanks", "GP NARX", "0.622"),
        ("wiener_hammerstein", "DT-SUBNET", "0.241"),
        ("emps", "dynoNet", "2.64"),
    ],
)
def test_published_figures_have_the_form_of_measured_ones(
    task: str, method: str, figures: str, tmp_path: Path
) -> None:
    write_published(tmp_path)
    records = read_records(task, tmp_path)
    (table,) = [table for _, table in task_tables(TASKS[task], records)]
    (line,) = [line for line in table.splitlines() if line.startswith(f"| published: {method} |")]
    assert figures in line


@pytest.mark.parametrize("lifting", LIFTINGS)
def test_the_koopman_model_forecasts_as_pykoop(lifting: str) -> None:
    pytest.importorskip("pykoop", reason=WITHOUT)
    learner = Koopman(past=3, lifting=lifting, features=30)
    model = learner.fit(DATA.train)
    runs = standardise(DATA.train, *model.parts.scalings)
    pipeline = learner._pipeline(runs)
    pipeline.fit(episodes(runs), n_inputs=2, episode_feature=True)
    table = episodes(runs[:1])[17:26, 1:]  # ticks 17 to 19 are its past
    theirs = pipeline.predict_trajectory(
        table, relift_state=lifting != "linear", episode_feature=False
    )
    run = DATA.train[0]
    state = model.state_from_history(run.observations[:20], run.actions[:20])
    ours = model.predict(state, run.actions[20:26])
    np.testing.assert_allclose(model.parts.scalings.observation.apply(ours), theirs[3:], atol=1e-9)


def test_the_narx_is_the_one_sysidentpy_finds() -> None:
    selection = pytest.importorskip("sysidentpy.model_structure_selection", reason=WITHOUT)
    basis = pytest.importorskip("sysidentpy.basis_function")
    estimation = pytest.importorskip("sysidentpy.parameter_estimation")
    run = fresh_synthetic(0, test_count=0).train[0]
    model = PolynomialNARX(degree=2, past=3).fit([run])
    (scaled,) = standardise([run], *model.parts.scalings)
    # There, what acts on a sample is the input of the sample before.
    frols = selection.FROLS(
        order_selection=False,
        n_terms=len(model.parts.weights[0]),
        ylag=3,
        xlag=3,
        estimator=estimation.LeastSquares(),
        basis_function=basis.Polynomial(degree=2),
    )
    frols.fit(X=np.roll(scaled.actions, -1, axis=0), y=scaled.observations)
    state = model.state_from_history(run.observations[:40], run.actions[:40])
    ours = model.parts.scalings.observation.apply(model.predict(state, run.actions[40:50]))
    theirs = frols.predict(X=scaled.actions[38:50], y=scaled.observations[37:40])
    np.testing.assert_allclose(ours[:9], theirs[3:], rtol=1e-6)


def test_the_gru_runs_as_it_was_trained() -> None:
    torch = pytest.importorskip("torch", reason=WITHOUT)
    from benchmarks.peers.gru_training import Network, segments

    model = a_gru(increments=True)
    network = Network(5, 2, STEP, True)
    for name, tensor in zip(
        ("input", "hidden", "input_bias", "hidden_bias", "readout", "readout_bias", "start"),
        network.parameters(),
        strict=True,
    ):
        tensor.data = torch.as_tensor(getattr(model.parts.weights, name), dtype=torch.float32)
    runs = standardise([RUN], model.parts.observation_scaling, model.parts.action_scaling)
    whole = segments(runs, len(RUN), 1, model.parts.first, STEP)
    hidden = network.filter(whole.before[:20], whole.actions[:20])[-1]
    limit = torch.full((4,), 1e6)
    theirs = network.roll_out(hidden, whole.before[20], whole.actions[20:30], -limit, limit)
    state = model.state_from_history(RUN.observations[:20], RUN.actions[:20])
    ours = model.parts.observation_scaling.apply(model.predict(state, RUN.actions[20:30]))
    np.testing.assert_allclose(ours, theirs[:, 0].detach().numpy(), atol=1e-4)


def test_a_gru_learns() -> None:
    pytest.importorskip("torch", reason=WITHOUT)
    from benchmarks.peers.gru_training import GRU

    split = fresh_synthetic(0, test_count=0)
    short, longer = (
        GRU(8, iterations=iterations).fit(split.train, split.validation) for iterations in (25, 100)
    )
    assert validation_score(longer, split.validation, False) < 0.7 * validation_score(
        short, split.validation, False
    )
