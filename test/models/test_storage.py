"""Model files: what is written is read again, and whatever is wrong is said in one sentence."""

import contextlib
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rffpsr_ros.errors import InputError
from rffpsr_ros.models import storage
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.arx.model import LinearARXModel
from rffpsr_ros.models.baselines.last_observation import (
    LastObservationModel,
    LastObservationParts,
)
from rffpsr_ros.models.contract import Signature, TrainingRecord
from rffpsr_ros.models.ensemble.model import EnsembleModel, EnsembleParts
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.models.storage import read_model_file, write_atomically
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory


def a_model() -> LinearARXModel:
    generator = np.random.default_rng(0)
    trajectory = Trajectory(
        generator.normal(size=(40, 2)), generator.normal(size=(40, 1)), 0.1, ["x", "y"], ["u"]
    )
    model = LinearARX(past=2, future=3, ridge=1e-3).fit([trajectory])
    return model.replaced(
        signature=Signature(
            ("x", "y"), ("u",), 0.1, {"rate": 10, "inputs": [{"topic": "/a"}]}, ("m", "rad"), ("V",)
        ),
        record=TrainingRecord(
            {"past": 2}, {"validation_mse": [0.1, 1 / 3, 0.3]}, ("ridge was given",)
        ),
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.psr"
    a_model().save(path)
    return path


def rewrite(path: Path, **changes: object) -> None:
    """Change entries of the header and seal the file anew, as another version would."""
    header, arrays = read_model_file(path)
    header = {**header, **changes}
    header["checksum"] = storage._checksum(header, arrays)
    with path.open("wb") as file:
        storage._write_zip(file, header, arrays)


def assert_same(first: LinearARXModel, second: LinearARXModel) -> None:
    assert first.signature == second.signature
    assert first.record == second.record
    for array, other in zip(flat(first.parts), flat(second.parts), strict=True):
        np.testing.assert_array_equal(array, other)


def flat(parts: Any) -> list[Array]:
    """Return the arrays of parts, in their order."""
    if isinstance(parts, tuple):
        return [array for part in parts for array in flat(part)]
    return [parts]


def test_a_loaded_model_is_the_saved_one(saved: Path) -> None:
    loaded = load_model(saved)
    assert isinstance(loaded, LinearARXModel)
    assert_same(loaded, a_model())


def test_the_same_model_gives_the_same_bytes(saved: Path, tmp_path: Path) -> None:
    load_model(saved).save(tmp_path / "again.psr")
    assert (tmp_path / "again.psr").read_bytes() == saved.read_bytes()


def test_memory_order_of_an_array_does_not_change_the_bytes(tmp_path: Path) -> None:
    contents = []
    for mean in (np.arange(6.0)[::2], np.arange(6.0)[::2].astype(">f8"), np.array([0.0, 2, 4])):
        model = LastObservationModel(
            Signature(("a", "b", "c"), ("u",), 1.0), TrainingRecord(), LastObservationParts(mean)
        )
        model.save(tmp_path / "m")
        contents.append((tmp_path / "m").read_bytes())
    assert contents[0] == contents[1] == contents[2]


def test_numpy_and_unzip_read_the_file_without_this_package(saved: Path) -> None:
    with np.load(saved, allow_pickle=False) as content:
        np.testing.assert_array_equal(content["parts.intercept"], a_model().parts.intercept)
    with zipfile.ZipFile(saved) as archive:
        header = json.loads(archive.read("header.json"))
    assert header["kind"] == "linear_arx"
    assert header["record"]["metrics"]["validation_mse"] == [0.1, 1 / 3, 0.3]
    assert header["signature"]["observation_units"] == ["m", "rad"]


def test_numbers_that_json_lacks_become_null(tmp_path: Path) -> None:
    record = TrainingRecord(metrics={"mse": [np.float64("nan"), np.inf, np.float64(1.5)]})
    a_model().replaced(record=record).save(tmp_path / "m")
    assert load_model(tmp_path / "m").record.metrics == {"mse": [None, None, 1.5]}


def test_saving_leaves_nothing_but_the_file(saved: Path) -> None:
    assert [path.name for path in saved.parent.iterdir()] == ["model.psr"]


def test_a_failed_write_keeps_the_old_file_and_leaves_no_other(saved: Path) -> None:
    before = saved.read_bytes()
    with pytest.raises(RuntimeError, match="power cut"), write_atomically(saved) as file:
        file.write(b"half")
        raise RuntimeError("power cut")
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["model.psr"]


def test_a_written_file_is_as_readable_as_any_other(saved: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    assert saved.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("content", [b"", b"years of work", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_model_is_not_replaced(saved: Path, tmp_path: Path, content: bytes) -> None:
    other = tmp_path / "thesis.docx"
    other.write_bytes(content)
    with pytest.raises(InputError, match="not a model file, so it is not replaced"):
        load_model(saved).save(other)
    assert other.read_bytes() == content
    load_model(saved).save(saved)


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write .*nowhere.*No such file"):
        a_model().save(tmp_path / "nowhere" / "model.psr")


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        load_model(tmp_path / "absent.psr")


def test_a_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        load_model(tmp_path)


def test_a_named_pipe_is_said_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.psr")
    with pytest.raises(InputError, match="cannot be read: it is not a regular file"):
        load_model(tmp_path / "pipe.psr")


@pytest.mark.parametrize("content", [b"", b"rate: 10\n", pickle.dumps([1])])
def test_something_else_is_said(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is not a model file"):
        load_model(path)


def test_another_npz_is_said(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", weights=np.ones(3))
    with pytest.raises(InputError, match="is not a model file"):
        load_model(tmp_path / "other.npz")


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_a_cut_file_is_said(saved: Path, part: float) -> None:
    content = saved.read_bytes()
    saved.write_bytes(content[: int(part * len(content))])
    with pytest.raises(InputError, match="is damaged"):
        load_model(saved)


def test_a_change_that_the_zip_cannot_notice_is_said(saved: Path) -> None:
    header, arrays = read_model_file(saved)
    arrays["parts.intercept"] = arrays["parts.intercept"] + 1e-12
    with saved.open("wb") as file:
        storage._write_zip(file, header, arrays)
    with pytest.raises(InputError, match="is damaged"):
        load_model(saved)


def test_a_pickled_array_is_never_unpickled(saved: Path) -> None:
    header, _ = read_model_file(saved)
    with saved.open("wb") as file:
        np.savez(file, allow_pickle=True, **{"parts.intercept": np.array([{"a": 1}], dtype=object)})
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("header.json", json.dumps(header))
    with pytest.raises(InputError, match="is damaged"):
        load_model(saved)


def test_a_newer_format_is_said(saved: Path) -> None:
    rewrite(saved, format_version=99, package_version="7.0.0")
    with pytest.raises(InputError, match=r"format version 99, written by rffpsr_ros '7\.0\.0'"):
        load_model(saved)


def test_an_older_format_is_said(saved: Path) -> None:
    rewrite(saved, format_version=1)
    with pytest.raises(InputError, match=r"format version 1, which is no longer read; train it"):
        load_model(saved)


def test_an_unknown_kind_is_said(saved: Path) -> None:
    rewrite(saved, kind="crystal_ball")
    with pytest.raises(InputError, match=r"unknown kind 'crystal_ball'.*linear_arx"):
        load_model(saved)


def test_a_header_that_does_not_fit_the_kind_is_said(saved: Path) -> None:
    rewrite(saved, kind="mean")
    with pytest.raises(InputError, match="does not hold a model of kind 'mean'"):
        load_model(saved)


def test_parts_that_do_not_fit_together_are_said(saved: Path) -> None:
    header, arrays = read_model_file(saved)
    arrays["parts.intercept"] = arrays["parts.intercept"][0, 0, :1]
    header["parts"]["intercept"] = "float64 (1,)"
    header["checksum"] = storage._checksum(header, arrays)
    with saved.open("wb") as file:
        storage._write_zip(file, header, arrays)
    with pytest.raises(InputError, match=r"not hold a model of kind 'linear_arx' .*; train it"):
        load_model(saved)


def test_a_member_of_a_kind_that_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    class Private(LinearARXModel):
        kind = "private"

    model = a_model()
    member = Private(model.signature, model.record, model.parts)
    parts = EnsembleParts((model, member), np.full((1, 2, 2), 0.5))
    with pytest.raises(InputError, match="kind 'private' cannot be saved"):
        EnsembleModel(model.signature, model.record, parts).save(tmp_path / "m")
    assert [*tmp_path.iterdir()] == []


def test_members_are_loaded_with_their_own_record(tmp_path: Path) -> None:
    model = a_model()
    member = model.replaced(record=TrainingRecord({"past": 1}))
    parts = EnsembleParts((model, member), np.full((1, 2, 2), 0.5))
    EnsembleModel(model.signature, TrainingRecord(), parts).save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    for before, after in zip((model, member), loaded.parts.members, strict=True):
        assert_same(before, after)


def test_a_kind_that_could_not_be_loaded_is_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LinearARXModel, "kind", "private")
    with pytest.raises(InputError, match="kind 'private' cannot be saved"):
        a_model().save(tmp_path / "m")


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_damage_gives_anything_but_the_model_or_one_sentence(
    saved: Path, data: st.DataObject
) -> None:
    content = bytearray(saved.read_bytes())
    damaged = saved.with_name("damaged.psr")
    size = len(content)
    anywhere = st.integers(0, size - 1)
    near_the_directory = st.integers(size - 700, size - 1)
    position = st.one_of(anywhere, near_the_directory)
    flips = data.draw(st.lists(st.tuples(position, st.integers(1, 255)), max_size=4))
    for place, change in flips:
        content[place] ^= change
    stop = data.draw(st.one_of(st.just(size), st.just(size), st.integers(0, size)))
    damaged.write_bytes(content[:stop])
    with contextlib.suppress(InputError):
        loaded = load_model(damaged)
        assert isinstance(loaded, LinearARXModel)
        assert_same(loaded, a_model())
