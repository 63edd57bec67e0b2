"""Every kind of model keeps the contract of `PredictiveModel`, whatever it was learned from."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.bands import conformal_bands
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.compressed.learner import Compressed
from rffpsr_ros.models.contract import (
    Learner,
    PredictiveModel,
    Signature,
    TrainingRecord,
)
from rffpsr_ros.models.ensemble.model import EnsembleModel, EnsembleParts, OutputLimits
from rffpsr_ros.models.hse_psr.learner import HSEPSR
from rffpsr_ros.models.in_memory import InMemoryLearner
from rffpsr_ros.models.io_hmm.learner import IOHMM
from rffpsr_ros.models.kalman.learner import Kalman
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.models.low_passed.learner import LowPassed
from rffpsr_ros.models.moving_origin.learner import MovingOrigin
from rffpsr_ros.models.n4sid.learner import N4SID
from rffpsr_ros.models.output_error.learner import OutputError
from rffpsr_ros.models.registry import Kind, kinds, model_class, model_kinds
from rffpsr_ros.models.rff_arx.learner import RFFARX
from rffpsr_ros.models.state_batches import stack_states
from rffpsr_ros.models.state_space.learner import NonlinearStateSpace
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.progress import Progress
from rffpsr_ros.psr.runtime.packed_parts import ARX, ROOMS
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory

NAN = float("nan")


def continuous(generator: np.random.Generator, *shape: int) -> Array:
    return generator.normal(size=shape)


def discrete(generator: np.random.Generator, *shape: int) -> Array:
    return generator.integers(2, size=shape).astype(float)


class Blended(InMemoryLearner[EnsembleModel]):
    """Learner of an ensemble of two, one of which is fallen back on."""

    def _fit(
        self, train: list[Trajectory], validation: list[Trajectory] | None, progress: Progress
    ) -> EnsembleModel:
        linear = LinearARX(past=3, future=4, ridge=1e-4).fit(train, validation)
        still = LastObservation().fit(train)
        weights = np.array([[[0.3, 0.7]] * 2, [[0.6, 0.4]] * 2])
        limits = OutputLimits(np.full(2, -2.0), np.full(2, 2.0), 0)
        parts = EnsembleParts((linear, still), weights, limits)
        return EnsembleModel(linear.signature, TrainingRecord(), parts)


@dataclass(frozen=True)
class Case:
    """A learner, and data of the sort that it learns from: two observations, one action."""

    learner: Learner
    draw: Callable[..., Array] = continuous
    rounding: float = 1e-13  # features on small directions of a kernel's spectrum magnify it

    def trajectories(self, count: int = 3, ticks: int = 30) -> list[Trajectory]:
        generator = np.random.default_rng(5)
        return [
            Trajectory(self.draw(generator, ticks, 2), self.draw(generator, ticks, 1), 0.1)
            for _ in range(count)
        ]

    @cache  # noqa: B019 - a handful of cases, alive throughout
    def model(self) -> PredictiveModel[Any]:
        return self.learner.fit(self.trajectories())


SMALL: dict[str, Any] = {"past": 3, "future": 2, "features": 10, "rank": 4, "iterations": 3}
CASES = {
    "last_observation": Case(LastObservation()),
    "mean": Case(Mean()),
    "linear_arx": Case(LinearARX(past=3, future=4, ridge=1e-4)),
    "rff_arx": Case(RFFARX(past=3, future=4, features=30, ridge=1e-2)),
    "kalman": Case(Kalman(past=3, future=4)),
    "n4sid": Case(N4SID(past=3, future=4, order=2)),
    "output_error": Case(OutputError(past=2, features=10)),
    "state_space": Case(NonlinearStateSpace(order=2, past=3, stages=1)),
    "rff_psr": Case(
        # Conditioned less sharply, a model of noise magnifies rounding by as much as chance will.
        RFFPSR(**SMALL, regularisation=0.1, arx_past=3, narx_features=5, folds=1),
        rounding=1e-11,
    ),
    "hse_psr": Case(HSEPSR(past=3, future=2, rank=4), rounding=1e-7),
    "io_hmm": Case(IOHMM(past=2), discrete),
    "ensemble": Case(Blended()),
    "compressed": Case(Compressed(LinearARX(past=3, future=4, ridge=1e-4), 1)),
    "moving_origin": Case(MovingOrigin(LinearARX(past=3, future=4, ridge=1e-4), [0])),
    "low_passed": Case(LowPassed(LinearARX(past=3, future=4, ridge=1e-4), (5.0, 9.0), True)),
}
every_kind = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def leaves(state: Any) -> list[Any]:
    """Return the arrays of a state, or of what else is made of tuples."""
    if isinstance(state, tuple):
        return [leaf for part in state for leaf in leaves(part)]
    return [state]


def contents(value: Any) -> Iterator[Any]:
    """Yield all that a model holds, bits and not objects; of a compiled step not its scratch."""
    if isinstance(value, np.ndarray):
        yield value.dtype, value.shape, value.tobytes()
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield name
            yield from contents(entry)
    elif isinstance(value, tuple | list):
        for entry in value:
            yield from contents(entry)
    elif type(value).__name__ == "CompiledStep":
        yield without_rooms(value.packed).tobytes()
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        yield from contents(vars(value))
    else:
        yield repr(value)


def without_rooms(packed: Array) -> Array:
    packed, header = packed.copy(), packed.view(np.int64)
    for place in ROOMS:
        start, rows, columns = header[3 * place : 3 * place + 3].tolist()
        kept = packed if place >= ARX else packed.view(np.float32)
        kept[start : start + rows * columns] = 0
    return packed


def test_every_kind_has_a_case() -> None:
    assert CASES.keys() == kinds().keys()


@pytest.mark.parametrize("kind", kinds().values(), ids=kinds().keys())
def test_a_kind_is_what_its_package_declares(kind: Kind) -> None:
    case = CASES[kind.name]
    if kind.model is not None:
        assert model_class(kind.name).kind == kind.name
        assert type(case.model()) is model_class(kind.name)
    assert case.model().kind in model_kinds()
    assert kind.discrete == (case.draw is discrete)
    assert kind.uses_actions == forecasts_depend_on_actions(case)


def forecasts_depend_on_actions(case: Case) -> bool:
    model, plan = case.model(), case.draw(np.random.default_rng(2), 5, 1)
    state = model.initial_state()
    return not np.array_equal(model.predict(state, plan), model.predict(state, 1 - plan))


@every_kind
def test_no_attribute_of_a_model_can_be_set(case: Case) -> None:
    for model in (case.model(), case.model().inference_model(), case.model().replaced(bands=None)):
        for name in (*vars(model), "parts", "anything"):
            with pytest.raises(AttributeError, match=rf"'{name}' of a finished \w+Model"):
                setattr(model, name, None)
            with pytest.raises(AttributeError, match="cannot be changed"):
                delattr(model, name)


@every_kind
def test_nothing_that_is_asked_of_a_model_changes_it(case: Case, tmp_path: Path) -> None:
    generator = np.random.default_rng(4)
    for model in (case.model(), case.model().inference_model()):
        before = list(contents(model))
        assert len(before) > 10
        state = model.state_from_history(*(case.draw(generator, 9, size) for size in (2, 1)))
        for length in (1, 7, 3):
            plan = case.draw(generator, length, 1)
            model.predict(state, plan)
            model.predict(state, np.stack([plan, plan]))
            state = model.update(state, plan[0], np.array([NAN, 1.0]))
        model.inference_model().update(state, plan[0], np.ones(2))
        model.save(tmp_path / "m")
        model.replaced(bands=conformal_bands(np.ones((9, 2, 2))), record=TrainingRecord({"a": 1}))
        assert list(contents(model)) == before


@every_kind
def test_what_a_model_was_made_of_cannot_be_changed_through_it(case: Case) -> None:
    arrays = [leaf for leaf in leaves(case.model().parts) if isinstance(leaf, np.ndarray)]
    assert arrays
    for array in arrays:
        assert array.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


@every_kind
def test_a_replaced_model_differs_in_what_was_named_only(case: Case) -> None:
    model = case.model()
    signature = Signature(("a", "b"), ("c",), 2.0)
    bands = conformal_bands(np.ones((9, 2, 2)))
    other = model.replaced(signature=signature, bands=bands)
    assert (other.signature, other.record) == (signature, model.record)
    assert other.bands is bands
    assert other.parts is model.parts
    assert other.replaced(bands=None).bands is None
    plan = case.draw(np.random.default_rng(2), 5, 1)
    state = model.initial_state()
    np.testing.assert_array_equal(other.predict(state, plan), model.predict(state, plan))


@every_kind
def test_learning_tells_how_far_it_is(case: Case) -> None:
    told: list[tuple[str, float]] = []

    def progress(stage: str, fraction: float, error: float | None = None) -> None:
        told.append((stage, fraction))

    case.learner.fit(case.trajectories(), progress=progress, client=None)
    assert told
    assert all(stage and 0 <= fraction <= 1 for stage, fraction in told)


class OnDisk(Trajectory):
    """A trajectory that has no arrays until it is loaded."""

    def __init__(self, inner: Trajectory) -> None:
        vars(self).update(_inner=inner)

    def loaded(self) -> Trajectory:
        inner: Trajectory = vars(self)["_inner"]
        return inner


@pytest.mark.parametrize("kind", sorted(CASES.keys() - {"rff_psr", "hse_psr"}))
def test_recordings_on_disk_are_loaded_by_who_holds_them_in_memory(kind: str) -> None:
    case = CASES[kind]
    stored = [OnDisk(trajectory) for trajectory in case.trajectories()]
    plan = case.draw(np.random.default_rng(2), 5, 1)
    loaded, there_before = case.learner.fit(stored), case.model()
    np.testing.assert_array_equal(
        loaded.predict(loaded.initial_state(), plan),
        there_before.predict(there_before.initial_state(), plan),
    )


@every_kind
def test_a_batch_gives_what_one_at_a_time_gives(case: Case) -> None:
    model = case.model()
    generator = np.random.default_rng(1)
    observations = case.draw(generator, 4, 6, 2)
    observations[1, 2, 0] = observations[3, 5] = NAN
    actions = case.draw(generator, 4, 6, 1)
    plans = case.draw(generator, 4, 9, 1)
    states = [model.initial_state()] * 4
    batch = stack_states(states)
    for tick in range(6):
        states = [
            model.update(states[i], actions[i, tick], observations[i, tick]) for i in range(4)
        ]
        batch = model.update(batch, actions[:, tick], observations[:, tick])
    one_by_one = np.stack([model.predict(states[i], plans[i]) for i in range(4)])
    np.testing.assert_allclose(model.predict(batch, plans), one_by_one, rtol=0, atol=case.rounding)
    assert np.isfinite(one_by_one).all()


@every_kind
def test_one_state_serves_many_plans(case: Case) -> None:
    model = case.model()
    plans = case.draw(np.random.default_rng(2), 3, 5, 1)
    state = model.initial_state()
    np.testing.assert_allclose(
        model.predict(state, plans),
        np.stack([model.predict(state, plan) for plan in plans]),
        rtol=0,
        atol=case.rounding,
    )


@every_kind
def test_a_forecast_does_not_see_later_actions(case: Case) -> None:
    model = case.model()
    plan = case.draw(np.random.default_rng(3), 11, 1)
    run = case.trajectories()[0]
    state = model.state_from_history(run.observations, run.actions)
    forecast = model.predict(state, plan)
    for h in range(1, 11):
        changed = plan.copy()
        changed[h:] += 1e3
        np.testing.assert_array_equal(model.predict(state, changed)[:h], forecast[:h])
        np.testing.assert_allclose(
            model.predict(state, plan[:h]), forecast[:h], rtol=0, atol=case.rounding
        )


@every_kind
def test_inputs_and_states_are_never_written_to(case: Case) -> None:
    model = case.model()
    frozen = [np.ones((5, 1)), np.ones(1), np.ones(2)]
    for array in frozen:
        array.setflags(write=False)
    state: Any = model.initial_state()
    before = [array.copy() for array in leaves(state)]
    model.predict(state, frozen[0])
    model.update(state, frozen[1], frozen[2])
    for array, copy in zip(leaves(state), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@every_kind
def test_a_saved_model_forecasts_the_same(case: Case, tmp_path: Path) -> None:
    model = case.model()
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert type(loaded) is type(model)
    run = case.trajectories()[1]
    plan = run.actions[:7]
    np.testing.assert_array_equal(
        loaded.predict(loaded.state_from_history(run.observations, run.actions), plan),
        model.predict(model.state_from_history(run.observations, run.actions), plan),
    )
    assert loaded.record == model.record
    assert loaded.signature == model.signature


@every_kind
def test_nothing_to_learn_from_is_said(case: Case) -> None:
    with pytest.raises(InputError, match="no trajectory to train on"):
        case.learner.fit([])


@every_kind
def test_trajectories_that_do_not_fit_together_are_said(case: Case) -> None:
    one = case.trajectories(1)[0]
    other_rate = Trajectory(one.observations, one.actions, 0.2, label="run 2")
    with pytest.raises(InputError, match=r"'run 2' has a period of 0\.2 s .* 0\.1 s"):
        case.learner.fit([one, other_rate])
    other_names = Trajectory(one.observations, one.actions, 0.1, ["x", "y"])
    with pytest.raises(InputError, match=r"observation names \['x', 'y'\]"):
        case.learner.fit([one], [other_names])


@every_kind
def test_an_observation_that_never_comes_is_named(case: Case) -> None:
    absent = Trajectory([[1.0, NAN]] * 20, [[0.0]] * 20, 0.1, ["x", "silent"])
    with pytest.raises(InputError, match="'silent' is missing in every tick"):
        case.learner.fit([absent, absent])


@every_kind
def test_what_is_no_list_of_trajectories_is_said(case: Case) -> None:
    one = case.trajectories(1)[0]
    wrong: tuple[Any, ...] = (one, None, (one.observations, one.actions))
    for given, words in zip(
        wrong, ("Trajectory", "NoneType", "something of type ndarray"), strict=True
    ):
        with pytest.raises(InputError, match=rf"^train .*{words}; give a list of trajectories"):
            case.learner.fit(given)
    with pytest.raises(InputError, match=r"^validation is of type Trajectory; give a list"):
        case.learner.fit([one], wrong[0])
    with pytest.raises(InputError, match="'run 2' has no ticks; leave it out"):
        case.learner.fit(
            [one, Trajectory(one.observations, one.actions, 0.1, label="run 2").slice(3, 3)]
        )


@every_kind
def test_trajectories_may_come_one_by_one(case: Case) -> None:
    learned = case.learner.fit(one for one in case.trajectories())
    assert list(contents(learned.parts)) == list(contents(case.model().parts))


@every_kind
def test_a_system_that_nobody_acts_on_is_learned(case: Case) -> None:
    runs = [Trajectory(t.observations, np.zeros((len(t), 0)), 0.1) for t in case.trajectories()]
    model, nothing = case.learner.fit(runs), np.zeros((4, 0))
    state = model.state_from_history(runs[0].observations, runs[0].actions)
    forecast = model.predict(state, nothing)
    assert forecast.shape == (4, 2)
    assert np.isfinite(forecast).all()
    both = model.predict(state, np.zeros((2, 4, 0)))
    np.testing.assert_allclose(both, [forecast] * 2, rtol=case.rounding)


@every_kind
def test_inputs_that_do_not_fit_the_columns_are_said(case: Case) -> None:
    model = case.model()
    state, wrong = model.initial_state(), np.zeros(3)
    names = ", ".join(model.signature.observation_names)
    observation: Any
    for observation in (wrong, None, 1.0, ["a", "b"], np.zeros((2, 1, 2))):
        with pytest.raises(
            InputError, match=rf"array \(2,\) of numbers for {re.escape(names)}, not"
        ):
            model.update(state, np.zeros(1), observation)
    action: Any
    for action in (wrong, None, 0.5):
        with pytest.raises(InputError, match=r"^an action must be an array \(1,\) of numbers"):
            model.update(state, action, np.zeros(2))
    with pytest.raises(InputError, match="a row of each for every state"):
        model.update(state, np.zeros((3, 1)), np.zeros(2))
    actions: Any
    for actions in (np.zeros((4, 2)), np.zeros(4), None, 5, [[0.0], [0.0, 1.0]]):
        with pytest.raises(InputError, match=r"^actions must be an array \(ticks, 1\) of numbers"):
            model.predict(state, actions)
    with pytest.raises(InputError, match="no actions to forecast with"):
        model.predict(state, np.zeros((0, 1)))


@every_kind
def test_an_infinite_observation_is_a_missing_one_and_actions_are_never_missing(case: Case) -> None:
    model, run = case.model(), case.trajectories(1)[0]
    state = model.state_from_history(run.observations[:5], run.actions[:5])
    plan, seen = run.actions[6:10], float(run.observations[5, 1])
    forecasts = [
        model.predict(model.update(state, run.actions[5], np.array([nothing, seen])), plan)
        for nothing in (NAN, np.inf, -np.inf)
    ]
    np.testing.assert_array_equal(forecasts, [forecasts[0]] * 3)
    assert np.isfinite(forecasts).all()
    for nothing in (NAN, np.inf):
        with pytest.raises(InputError, match=rf"^action .* is {nothing}; actions must be finite"):
            model.update(state, np.array([nothing]), run.observations[5])
        with pytest.raises(InputError, match=rf"^action .* is {nothing}; actions must be finite"):
            model.predict(state, np.array([[0.0], [nothing]]))


@every_kind
def test_lists_and_whole_numbers_are_arrays(case: Case) -> None:
    model = case.model()
    given: Any = ([1], [1, 0], [[0], [1]])
    state = model.update(model.initial_state(), *given[:2])
    same = model.update(model.initial_state(), np.ones(1), np.array([1.0, 0.0]))
    np.testing.assert_array_equal(
        model.predict(state, given[2]), model.predict(same, np.array([[0.0], [1.0]]))
    )
