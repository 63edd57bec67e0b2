"""What a C compiler makes of the files computes what the model computes, without a warning."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.datasets import jackal
from rffpsr_ros.export.files import exported, written
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.learner import RFFPSR

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
WORST = {"double": 1e-10, "float": 1e-4}
CANCELLING = 10.0
"""HSE-PSR's weights of windows are large and cancel; as the processor adds up, 5e-5 to 2e-4."""


class Library:
    """The functions of compiled files."""

    def __init__(self, folder: Path, precision: str, compiler: str = "gcc") -> None:
        path = folder / f"{compiler}_{precision}.so"
        flags = ["-DROBOT_FLOAT"] if precision == "float" else []
        source = str(folder / "robot.c")
        command = [compiler, *STRICT, "-O1", *flags, "-shared", "-fPIC", "-o", str(path), source]
        subprocess.run([*command, "-lm"], check=True)
        self._functions = ctypes.CDLL(str(path))
        self._type = np.dtype(np.float32 if precision == "float" else np.float64)
        header = (folder / "robot.h").read_text()
        sizes = {name: int(size) for name, size in re.findall(r"ROBOT_(\w+) = (\d+)", header)}
        self._observed, self._carried = sizes["OBSERVATIONS"], sizes["CARRY_SIZE"]
        self._state = np.full(sizes["STATE_SIZE"], np.nan, self._type)
        self._functions.robot_initial(_at(self._state))

    def update(self, action: Array, observation: Array) -> None:
        given = [np.ascontiguousarray(values, self._type) for values in (action, observation)]
        self._functions.robot_update(_at(self._state), *map(_at, given))

    def predict(self, plan: Array) -> Array:
        plan = np.ascontiguousarray(plan, self._type)
        forecast = np.full((len(plan), self._observed), np.nan, self._type)
        self._functions.robot_predict(_at(self._state), len(plan), _at(plan), _at(forecast))
        return forecast.astype(np.float64)

    def jacobian(self, plan: Array) -> tuple[Array, Array]:
        plan = np.ascontiguousarray(plan, self._type)
        forecast = np.full((len(plan), self._observed), np.nan, self._type)
        found = np.full((*forecast.shape, *plan.shape), np.nan, self._type)
        work = np.full(plan.size * self._carried, np.nan, self._type)
        self._functions.robot_jacobian(
            _at(self._state), len(plan), *map(_at, (plan, forecast, found, work))
        )
        return forecast.astype(np.float64), found.astype(np.float64)


def _at(values: Array) -> ctypes.c_void_p:
    return values.ctypes.data_as(ctypes.c_void_p)


def built(model: PredictiveModel[Any], folder: Path) -> Path:
    written(exported(model, "c", "robot"), folder / "made")
    return folder / "made"


@pytest.mark.parametrize("precision", WORST)
def test_it_follows_and_forecasts_as_the_model_does(
    case: Any, precision: str, tmp_path: Path
) -> None:
    library = Library(built(case.model, tmp_path), precision)
    worst = WORST[precision]
    if case.name == "hse_psr" and precision == "float":
        worst *= CANCELLING

    def compare(plan: Array, expected: Array) -> None:
        scale = np.abs(expected).max()
        np.testing.assert_allclose(library.predict(plan), expected, worst, worst * scale)

    case.follow(library.update, compare)
    if case.name == "io_hmm":
        assert not hasattr(library._functions, "robot_jacobian")
        return
    plan = case.run.actions[:7]
    state = case.last_state()
    forecast, jacobian = library.jacobian(plan)
    np.testing.assert_array_equal(forecast, library.predict(plan))
    expected = case.model.jacobian(state, plan)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(jacobian, expected, 5 * worst, 5 * worst * scale)


def test_a_recorded_robot_is_followed_too(shared: Path, tmp_path: Path) -> None:
    """The Jackal's own topics, with gaps made as a network makes them."""
    runs = jackal()
    recorded = next(run for run in runs.test if len(run) > 200)
    small: dict[str, Any] = {"past": 5, "future": 4, "features": 30, "rank": 8, "iterations": 5}
    few: dict[str, Any] = {"folds": 2, "narx_affine": "off", "narx_learning": "off"}
    model = RFFPSR(**small, **few).fit(runs.train, runs.validation)
    library = Library(built(model, tmp_path), "double")
    generator = np.random.default_rng(4)
    state = model.initial_state()
    for tick in range(min(len(recorded) - 10, 1000)):
        seen, acted = recorded.observations[tick].copy(), recorded.actions[tick]
        if tick % 97 < 6 or generator.random() < 0.05:
            seen[:] = np.nan
        state = model.update(state, acted, seen)
        library.update(acted, seen)
        if tick % 11 == 0:
            plan = recorded.actions[tick + 1 : tick + 9]
            expected = model.predict(state, plan)
            scale = np.abs(expected).max()
            np.testing.assert_allclose(library.predict(plan), expected, 1e-10, 1e-10 * scale)


@pytest.mark.skipif(shutil.which("clang") is None, reason="there is no clang")
@pytest.mark.parametrize("precision", WORST)
def test_clang_takes_it_too(ensemble: PredictiveModel[Any], precision: str, tmp_path: Path) -> None:
    library = Library(built(ensemble, tmp_path), precision, "clang")
    state, plan = ensemble.initial_state(), np.full((4, 2), 0.3)
    seen = np.array([0.2, np.nan])
    state = ensemble.update(state, plan[0], seen)
    library.update(plan[0], seen)
    expected = ensemble.predict(state, plan)
    np.testing.assert_allclose(library.predict(plan), expected, WORST[precision])


def test_the_example_prints_forecasts(ensemble: PredictiveModel[Any], tmp_path: Path) -> None:
    folder = built(ensemble, tmp_path)
    program = str(folder / "example")
    sources = [str(folder / "example.c"), str(folder / "robot.c")]
    subprocess.run(["gcc", *STRICT, "-O1", "-o", program, *sources, "-lm"], check=True)
    ticks = "0.1 -0.2 0.3 nan\n0.5 0.5 0.1 0.2\n"
    answer = subprocess.run([program], input=ticks, capture_output=True, text=True, check=True)
    state = ensemble.initial_state()
    expected = []
    for acted, seen in (([0.1, -0.2], [0.3, np.nan]), ([0.5, 0.5], [0.1, 0.2])):
        state = ensemble.update(state, np.array(acted), np.array(seen))
        expected.append(ensemble.predict(state, np.tile(acted, (10, 1)))[-1])
    printed = [[float(word) for word in line.split()] for line in answer.stdout.splitlines()]
    np.testing.assert_allclose(printed, expected, 1e-7)


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
def test_the_wrapper_serves_cpp(ensemble: PredictiveModel[Any], tmp_path: Path) -> None:
    folder = built(ensemble, tmp_path)
    (folder / "main.cpp").write_text(
        "#include <cmath>\n#include <cstdio>\n#include <memory>\n"
        '#include "robot.hpp"\n'
        "using namespace robot_model;\n"
        "int main()\n{\n"
        "    Model model;\n"
        "    model.update(Action{{0.1, -0.2}}, Observation{{0.3, NAN}});\n"
        "    std::array<Action, 3> plan{};\n"
        "    const auto forecast = model.predict(plan);\n"
        "    std::unique_ptr<Model::Derivatives<3>> found(new Model::Derivatives<3>);\n"
        "    std::array<Real, ROBOT_JACOBIAN_WORK(3)> work;\n"
        "    model.jacobian(plan, *found, work);\n"
        '    std::printf("%.17g %.17g\\n", forecast[2][1], found->jacobian[5][0]);\n'
        "}\n"
    )
    library = str(folder / "robot.o")
    subprocess.run(["gcc", "-O1", "-c", "-o", library, str(folder / "robot.c")], check=True)
    program = str(folder / "main")
    strict = ("-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1")
    subprocess.run(
        ["g++", *strict, "-o", program, str(folder / "main.cpp"), library, "-lm"], check=True
    )
    answer = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    plan = np.zeros((3, 2))
    state = ensemble.update(
        ensemble.initial_state(), np.array([0.1, -0.2]), np.array([0.3, np.nan])
    )
    jacobian = ensemble.jacobian(state, plan)
    expected = [ensemble.predict(state, plan)[2, 1], jacobian[2, 1, 0, 0]]
    np.testing.assert_allclose([float(word) for word in answer.split()], expected, 1e-9)


def test_names_of_columns_end_no_comment(ensemble: PredictiveModel[Any]) -> None:
    from dataclasses import replace

    names = ("*/ int x; /*", "a\\\n#error\n")
    model = ensemble.replaced(signature=replace(ensemble.signature, observation_names=names))
    header = str(exported(model, "c", "robot")["robot.h"])
    assert "*/ int" not in header
    assert "#error" not in header
    assert "0: _/ int x_ /_" in header
