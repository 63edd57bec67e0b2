"""A model file described."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rffpsr_ros import load_model

Run = Callable[..., Any]


def test_description_names_kind_columns_topics_and_errors(run: Run, arx_model: Path) -> None:
    out = run("info", arx_model).out
    for words in (
        "linear_arx, written by rffpsr_ros",
        "0.02 s (50 Hz)",
        "arm.position.elbow (rad)",
        "motor.data (V)",
        "/encoder, /motor",
        "validation last_observation",
    ):
        assert words in out


def test_the_kind_is_the_one_that_was_asked_for(run: Run, arx_model: Path, here: Path) -> None:
    model = load_model(arx_model)
    request = {**model.record.options["request"], "kind": "rff_psr"}
    record = replace(model.record, options={**model.record.options, "request": request})
    model.replaced(record=record).save(here / "m")
    assert "rff_psr (linear_arx), written by" in run("info", "m").out


def test_json_is_the_header_of_the_file(run: Run, arx_model: Path) -> None:
    header = json.loads(run("info", arx_model, "--json").out)
    assert header["kind"] == "linear_arx"
    assert header["signature"]["observation_names"] == ["arm.position.elbow"]
    assert len(header["checksum"]) == 64
