"""The control page shows the record of closed loops, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.control.__main__ import RECORD, table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "control.md"


def test_the_page_has_the_table_of_the_record() -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8")
    assert table(record) in page
    settings = record["settings"]
    assert f"{settings['seeds']} seeds" in page
    assert settings["learner"] in page
