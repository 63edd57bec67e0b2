"""The site of docs/: every page is on it, and the reference tells of all that is offered."""

import importlib
import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import rffpsr_ros
from rffpsr_ros.models.registry import offered_kinds

DOCS = Path(__file__).resolve().parents[1] / "docs"


def listed(page: Path) -> Iterator[str]:
    """Yield the pages that the tables of contents of a page name."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)  # of Markdown
    blocks += re.findall(r"\.\. toctree::\n((?:\s*\n|   .*\n)+)", text)  # of reStructuredText
    for block in blocks:
        for line in map(str.strip, block.splitlines()):
            if line and not line.startswith(":"):
                yield str((page.parent / line).resolve().relative_to(DOCS))


def names_in_the_reference() -> set[str]:
    texts = [page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.rst")]
    current = r"\.\. auto(?:class|function|exception|module):: (\S+)"
    named = {name for text in texts for name in re.findall(current, text)}
    return {name if "." in name else f"rffpsr_ros.{name}" for name in named}


def test_every_page_is_in_a_table_of_contents() -> None:
    pages = {
        str(path.relative_to(DOCS).with_suffix(""))
        for pattern in ("*.md", "api/*.rst", "tutorials/*.ipynb")
        for path in DOCS.glob(pattern)
    }
    named = [*listed(DOCS / "index.md"), *listed(DOCS / "api" / "index.rst")]
    assert len(named) == len(set(named))
    assert {name for name in named if not name.startswith("generated/")} == pages - {"index"}


def test_the_first_page_links_to_what_it_lists() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    linked = {re.sub(r"\.\w+$", "", target) for target in re.findall(r"\]\(([^)]+)\)", text)}
    assert set(listed(DOCS / "index.md")) <= linked


def test_the_reference_tells_of_everything_that_is_exported() -> None:
    exported = {f"rffpsr_ros.{name}" for name in rffpsr_ros.__all__} - {"rffpsr_ros.__version__"}
    assert exported - names_in_the_reference() == set()


def test_the_reference_tells_of_every_learner_that_is_offered() -> None:
    learners = {str(kind.learner).replace(":", ".") for kind in offered_kinds()}
    learners.discard("rffpsr_ros.recipe.learner.RFFPSR")  # it stands there as rffpsr_ros.RFFPSR
    assert learners
    assert learners - names_in_the_reference() == set()


def test_what_the_reference_names_is_there() -> None:
    for name in sorted(names_in_the_reference()):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            module, _, member = name.rpartition(".")
            assert hasattr(importlib.import_module(module), member), name


@pytest.fixture
def configuration() -> dict[str, Any]:
    """Return what stands in conf.py."""
    return runpy.run_path(str(DOCS / "conf.py"))


def test_pages_from_outside_have_links_that_lead_back(
    configuration: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "SECURITY.md").write_text("See [there](docs/security.md).", encoding="utf-8")
    outside = configuration["_outside"](tmp_path / "docs", "SECURITY.md")
    assert outside == "See [there](../security.md)."
    source = ["As [SECURITY.md](../SECURITY.md) says."]
    configuration["link_outside"](None, "security", source)
    assert source == ["As [SECURITY.md](generated/reporting.md) says."]


def test_the_table_of_modules_has_every_module(configuration: dict[str, Any]) -> None:
    lines = list(configuration["_module_table"]())
    rows = [line for line in "\n".join(lines).splitlines() if line.startswith("| `")]
    modules = list((DOCS.parent / "rffpsr_ros").rglob("*.py"))
    assert len(rows) == sum(path.name != "__init__.py" for path in modules)
    assert not any(row.endswith("|  |") for row in rows)


def test_rosdoc2_is_led_to_the_pages(checkout: Path) -> None:
    first, second = yaml.safe_load_all((checkout / "rosdoc2.yaml").read_text(encoding="utf-8"))
    assert first == {"type": "rosdoc2 config", "version": 1}
    (builder,) = second["builders"]
    assert (checkout / builder["sphinx"]["sphinx_sourcedir"] / "conf.py").is_file()
    assert (checkout / second["settings"]["python_source"]).is_dir()


@pytest.mark.parametrize("path", sorted(DOCS.glob("tutorials/*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_hold_what_they_showed_when_run_from_their_first_cell(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    kinds = {output["output_type"] for output in outputs}
    assert kinds == {"stream", "display_data"}  # no errors
    assert not any(output.get("name") == "stderr" for output in outputs)
    shown = "".join("".join(output.get("text", "")) for output in outputs)
    assert "/tmp" not in shown  # the same on every machine
