"""The pages say what the records say: figures cannot grow stale."""

from pathlib import Path

from benchmarks.method_figures import BEGIN, END, method_figures, with_figures
from benchmarks.page import page
from benchmarks.records import RESULTS

COMMAND = "`python -m benchmarks.page --no-plots` writes the pages anew"


def test_the_results_page_is_that_of_the_records(checkout: Path) -> None:
    written = (checkout / "docs" / "results.md").read_text(encoding="utf-8")
    assert written == page(RESULTS, checkout / "docs" / "images"), COMMAND


def test_the_figures_of_the_method_are_those_of_the_records(checkout: Path) -> None:
    written = (checkout / "docs" / "method.md").read_text(encoding="utf-8")
    assert written == with_figures(written, method_figures(RESULTS)), COMMAND


def test_only_what_stands_between_the_marks_is_replaced() -> None:
    old = f"before\n\n{BEGIN}\n\nold\n\n{END}\n\nafter\n"
    assert with_figures(old, "new") == f"before\n\n{BEGIN}\n\nnew\n\n{END}\n\nafter\n"
