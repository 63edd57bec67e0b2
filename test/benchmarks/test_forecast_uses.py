"""What controllers take of a model costs what the page says."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.forecast_uses import RECORD, table


def test_the_page_of_exports_shows_the_record(checkout: Path) -> None:
    page = (checkout / "docs" / "export.md").read_text(encoding="utf-8")
    assert table(json.loads(RECORD.read_text(encoding="utf-8"))) in page


def test_derivatives_cost_less_than_twenty_forecasts() -> None:
    """Else a controller would rather compare plans."""
    models = json.loads(RECORD.read_text(encoding="utf-8"))["models"]
    for ways in models.values():
        for figures in ways.values():
            assert figures["Jacobian"] <= 20 * figures["forecast"]
