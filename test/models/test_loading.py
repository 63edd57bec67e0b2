"""A model file is read once, and its parts must fit each other, its signature and the record."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.models import storage
from rffpsr_ros.models.loading import load, load_model
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.storage import read_model_file
from rffpsr_ros.nodes.filter.model_source import ModelSource
from rffpsr_ros.recordings.trajectory import Trajectory

Arrays = dict[str, Any]
ONE = np.ones(1)


@pytest.fixture(scope="session")
def file_of_model(synthetic_model: RFFPSRModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "model.psr"
    synthetic_model.save(path)
    return path


def changed(source: Path, target: Path, change: Callable[[Any, Arrays], None]) -> Path:
    """Write a file whose contents were changed and sealed anew."""
    header, arrays = read_model_file(source)
    change(header, arrays)
    header["checksum"] = storage._checksum(header, arrays)
    with target.open("wb") as file:
        storage._write_zip(file, header, arrays)
    return target


def with_array(name: str, value: Any) -> Callable[[Any, Arrays], None]:
    """Return a change that puts another array, which the header tells too, into a file."""

    def change(header: Any, arrays: Arrays) -> None:
        arrays[name] = np.asarray(value(arrays[name]) if callable(value) else value)
        node = header
        *path, last = name.split(".")
        for key in path:
            node = node[key] if key in node else next(iter(node.values()))[key]
        if last not in node:
            node = next(iter(node.values()))
        node[last] = f"{arrays[name].dtype.name} {arrays[name].shape}"

    return change


def with_columns(what: str, count: int) -> Callable[[Any, Arrays], None]:
    def change(header: Any, arrays: Arrays) -> None:
        header["signature"][what] = [f"c{i}" for i in range(count)]

    return change


CHANGES: dict[str, Callable[[Any, Arrays], None]] = {
    "one of 60 action columns": with_columns("action_names", 1 + 60),
    "no action column": with_columns("action_names", 0),
    "too many observations": with_columns("observation_names", 5),
    "no number among weights": with_array("parts.parameters.extended", lambda a: a * np.nan),
    "infinite weights": with_array("parts.parameters.arx", lambda a: a + np.inf),
    "a short belief": with_array("parts.parameters.initial", lambda a: a[:-1]),
    "a long start": with_array("parts.structure.start.action", lambda a: np.tile(a, 9)),
    "transposed weights": with_array("parts.parameters.prediction", lambda a: a.T.copy()),
    "half a covariance": with_array("parts.parameters.covariance", lambda a: a[:, :-1].copy()),
    "a deviation of nothing": with_array("parts.observation_scaling.deviation", lambda a: a * 0),
    "integers": with_array("parts.parameters.extended", lambda a: a.astype(np.int64)),
    "frequencies of other windows": with_array(
        "parts.structure.narx.frequencies", lambda a: a[:, 1:].copy()
    ),
    "a longer window": lambda header, _: header["parts"]["structure"].update(arx_past=10**9),
    "a window before the first": lambda header, _: header["parts"]["history"].update(past=-1),
    "a tick of no time": lambda header, _: header["signature"].update(period=0.0),
    "a tick of ages": lambda header, _: header["signature"].update(period=1e300),
    "errors that are none": lambda header, _: header["record"].update(metrics=[1]),
    "an error that is a word": lambda header, _: header["record"].update(
        metrics={"validation_mse_by_observation": [["x"]]}
    ),
    "ragged errors": lambda header, _: header["record"].update(
        metrics={"validation_mse_by_observation": [[1.0], [1.0, 2.0]]}
    ),
    "a note that is a number": lambda header, _: header["record"].update(notes=[3]),
    "a kind that is a list": lambda header, _: header.update(kind=["rff_psr"]),
    "a version that is a word": lambda header, _: header.update(format_version="2"),
    "a version without end": lambda header, _: header.update(format_version=10**4000),
    "a text that UTF-8 lacks": lambda header, _: header["signature"].update(
        observation_names=["\ud800"]
    ),
    "a name of many lines": lambda header, _: header["parts"].update({"x\n" * 900: 1}),
    "a belief without end": with_array("parts.parameters.extended", lambda a: a * 0 + 1e308),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_that_does_not_fit_together_is_one_sentence(
    name: str, file_of_model: Path, tmp_path: Path
) -> None:
    path = changed(file_of_model, tmp_path / "m.psr", CHANGES[name])
    with pytest.raises(InputError) as refused:
        load_model(path)
    sentence = str(refused.value)
    assert sentence.isprintable()
    assert len(sentence) < 600 + len(str(path))


def test_header_and_arrays_are_of_one_reading(
    file_of_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, path = [], tmp_path / "m.psr"
    path.write_bytes(file_of_model.read_bytes())
    real = storage._read_bytes

    def reading(place: Any) -> bytes:
        content = real(place)
        read.append(place)
        path.write_bytes(b"PK: another file by now")
        return content

    monkeypatch.setattr(storage, "_read_bytes", reading)
    loaded = load(path)
    assert loaded.checksum == read_model_file(file_of_model).header["checksum"]
    path.write_bytes(file_of_model.read_bytes())
    source = ModelSource()
    source.look_for(str(path))
    served = source.load()
    assert served.checksum == loaded.checksum
    assert read.count(path) == 2


def test_a_file_that_is_being_written_is_no_newer_one_yet(tmp_path: Path) -> None:
    path = tmp_path / "model.psr"
    path.write_bytes(b"half")
    source = ModelSource()
    source.look_for(str(path))
    with pytest.raises(InputError):
        source.load()
    assert not source.written()
    for content in (b"more of it", b"more of it, and more"):
        path.write_bytes(content)
        assert source.changed
        assert not source.written()
    assert source.written()
    path.unlink()
    assert source.gone
    assert not source.changed
    assert not source.written()


@pytest.mark.parametrize("number", ["1e999", "NaN", "-Infinity", "9" * 5000])
def test_a_number_that_json_lacks_is_damage(file_of_model: Path, number: str) -> None:
    header = json.dumps(dict(read_model_file(file_of_model).header)).encode()
    with pytest.raises(ValueError, match=r"number|digits"):
        storage._parse_header(header[:-1] + f', "x": {number}}}'.encode())


def test_a_file_without_end_is_not_read_whole(tmp_path: Path) -> None:
    with (tmp_path / "m.psr").open("wb") as file:
        file.truncate(storage.LARGEST_FILE + 1)
    with pytest.raises(InputError, match="more than 128 MiB"):
        load_model(tmp_path / "m.psr")


def test_a_small_file_does_not_make_a_huge_model(file_of_model: Path, tmp_path: Path) -> None:
    def change(header: Any, arrays: Arrays) -> None:
        header["parts"]["structure"]["narx_past"] = 1000
        structure = "parts.structure"
        for name, form in {
            "narx.frequencies": lambda a: np.zeros((1, 2001)),
            "narx.projection": lambda a: np.zeros((2, a.shape[1])),
            "observation.frequencies": lambda a: np.zeros((10**5, 1)),
            "observation.projection": lambda a: np.zeros((2 * 10**5, a.shape[1])),
        }.items():
            with_array(f"{structure}.{name}", form)(header, arrays)

    path = changed(file_of_model, tmp_path / "m.psr", change)
    with pytest.raises(InputError, match=r"\d+ frequencies of .* more than any model has"):
        load_model(path)


def test_a_model_without_actions_is_one(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    runs = [Trajectory(generator.normal(size=(40, 2)), np.zeros((40, 0)), 0.1) for _ in range(3)]
    model = SingleRFFPSR(past=3, future=2, features=10, rank=4, iterations=2).fit(runs)
    model.save(tmp_path / "m.psr")
    plain, live = load_model(tmp_path / "m.psr"), model.inference_model(compiled=True)
    state = plain.state_from_history(runs[0].observations, runs[0].actions)
    seen = live.state_from_history(runs[0].observations, runs[0].actions)
    forecast = plain.predict(state, np.zeros((4, 0)))
    np.testing.assert_allclose(live.predict(seen, np.zeros((4, 0))), forecast, atol=1e-4)
    header, arrays = read_model_file(tmp_path / "m.psr")
    header["parts"]["structure"]["start"]["action"] = "float64 (1,)"
    header["checksum"] = storage._checksum(header, arrays | {"parts.structure.start.action": ONE})
    with (tmp_path / "m.psr").open("wb") as file:
        storage._write_zip(file, header, arrays | {"parts.structure.start.action": ONE})
    with pytest.raises(InputError, match="not d_a = 0"):
        load_model(tmp_path / "m.psr")
