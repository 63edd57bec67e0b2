"""Comparisons and their reports: what stands in them is what was measured."""

import builtins
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.comparison import Comparison, compare
from rffpsr_ros.evaluation.horizon_error import horizon_errors
from rffpsr_ros.evaluation.plots import plot_errors, plot_forecast
from rffpsr_ros.evaluation.report import as_json, markdown_table, text_table
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.contract import Learner, PredictiveModel
from rffpsr_ros.recordings.trajectory import Trajectory


def runs(count: int) -> list[Trajectory]:
    generator = np.random.default_rng(0)
    return [
        Trajectory(
            np.cumsum(generator.normal(size=(60, 2)), axis=0),
            generator.normal(size=(60, 1)),
            0.1,
            ["x", "y"],
        )
        for _ in range(count)
    ]


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    train, test = runs(4)[:3], runs(4)[3:]
    compared: dict[str, PredictiveModel[Any] | Learner] = {
        "linear ARX": LinearARX(past=3, future=3),
        "mean": Mean().fit(train),
        "last observation": LastObservation(),
    }
    return compare(compared, test, train, horizon=4, start=5)


def test_learners_and_models_are_judged_alike(comparison: Comparison) -> None:
    train, test = runs(4)[:3], runs(4)[3:]
    assert list(comparison.entries) == ["linear ARX", "mean", "last observation"]
    models: dict[str, PredictiveModel[Any]]
    models = {"mean": Mean().fit(train), "last observation": LastObservation().fit(train)}
    for name, model in models.items():
        alone = horizon_errors(model, test, 4, 5)
        np.testing.assert_array_equal(comparison.errors[name].mse, alone.mse)
    assert comparison.entries["mean"].training_seconds is None
    assert comparison.entries["linear ARX"].training_seconds is not None
    assert comparison.entries["mean"].step_seconds > 0


def test_nothing_to_compare_is_said() -> None:
    with pytest.raises(InputError, match="nothing to compare"):
        compare({}, runs(1))


def test_the_text_table_holds_the_errors_in_aligned_columns(comparison: Comparison) -> None:
    heading, rule, *rows = text_table(comparison.errors).splitlines()
    assert heading.split("  ")[0] == "model"
    assert {len(line) for line in (heading, rule, *rows)} == {len(heading)}
    for name, row in zip(comparison.errors, rows, strict=True):
        cells = row.removeprefix(name).split()
        errors = comparison.errors[name]
        shown = [errors.mse[0], errors.mse[1], errors.mse[2], errors.mse[3], errors.mse.mean()]
        assert [float(cell) for cell in cells[:-1]] == pytest.approx(shown, rel=6e-3)
        assert float(cells[-1]) == pytest.approx(errors.fit_percent[3].mean(), abs=0.06)


def test_the_markdown_table_shows_the_horizons_asked_for(comparison: Comparison) -> None:
    lines = markdown_table(comparison.errors, horizons=[2]).splitlines()
    assert lines[0] == "| model | h2 | h4 | mean h1..h4 | fit % h4 |"
    assert lines[1] == "| --- | ---: | ---: | ---: | ---: |"
    assert len(lines) == 5
    assert f"| {comparison.errors['mean'].mse[1]:.3g} |" in lines[3]


def test_json_holds_everything_measured_and_only_json(comparison: Comparison) -> None:
    def refuse(constant: str) -> Any:
        raise AssertionError(f"{constant} is not JSON")

    report = json.loads(as_json(comparison), parse_constant=refuse)
    assert (report["horizon"], report["start"], report["clipped"]) == (4, 5, False)
    model = report["models"]["linear ARX"]
    errors = comparison.errors["linear ARX"]
    assert model["mse"] == errors.mse.tolist()
    assert model["rmse_by_observation"]["y"] == errors.rmse[:, 1].tolist()
    assert model["scored"] == errors.counts[0].T.tolist()
    assert model["options"]["future"] == 3


def test_json_of_what_could_not_be_measured_is_null() -> None:
    still = [Trajectory(np.ones(20), np.zeros(20))]
    report = json.loads(as_json(compare({"mean": Mean()}, still, still, horizon=2)))
    assert report["models"]["mean"]["fit_percent_by_observation"] == {"observation[0]": [None] * 2}


def test_plots_name_every_line_and_use_a_log_axis(
    comparison: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    drawn: list[Figure] = []
    save = Figure.savefig

    def keep(figure: Figure, *args: Any, **options: Any) -> None:
        drawn.append(figure)
        save(figure, *args, **options)

    monkeypatch.setattr(Figure, "savefig", keep)
    plot_errors(comparison.errors, tmp_path / "errors.png", "a title")
    models = {name: entry.model for name, entry in comparison.entries.items()}
    plot_forecast(models, runs(4)[3], 3, tmp_path / "forecast.svg")
    errors, forecast = drawn
    (axes,) = errors.axes
    assert axes.get_yscale() == "log"
    assert axes.get_title() == "a title"
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == list(comparison.errors)
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), comparison.errors["mean"].mse)
    assert [axes.get_ylabel() for axes in forecast.axes] == ["x", "y"]
    truth, _, _, last = (line.get_ydata() for line in forecast.axes[1].lines)
    # Three ticks ahead of the last observation: what was seen three ticks before.
    np.testing.assert_array_equal(np.asarray(last), np.asarray(truth)[:-3])
    for name in ("errors.png", "forecast.svg"):
        assert (tmp_path / name).stat().st_size > 10_000


def test_a_plot_that_cannot_be_written_is_said(comparison: Comparison, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(InputError, match="cannot write plot"):
        plot_errors(comparison.errors, tmp_path / "absent" / "errors.png")
    with pytest.raises(InputError, match="cannot write plot"):
        plot_errors(comparison.errors, tmp_path / "errors.xyz")
    models = {"mean": comparison.entries["mean"].model}
    with pytest.raises(InputError, match="lead is 61; the trajectory has 60 ticks"):
        plot_forecast(models, runs(1)[0], 61, tmp_path / "f.png")


def test_without_matplotlib_one_sentence_says_what_to_install(
    comparison: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **options)

    for module in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match="pip install matplotlib"):
        plot_errors(comparison.errors, tmp_path / "errors.png")
