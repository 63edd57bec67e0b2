"""How Sphinx makes the site of these pages: `scripts/docs` runs it, and rosdoc2 can.

The pages are Markdown that a repository browser shows as well. What stands outside of this folder
(changelog, contributing, ...) and a table of all modules are written into ``generated`` first.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import rffpsr_ros

project = "rffpsr_ros"
author = "The rffpsr_ros contributors"
copyright = "The rffpsr_ros contributors. Apache License 2.0"
release = rffpsr_ros.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
default_role = "py:obj"
suppress_warnings = ["ref.python"]  # a name in backticks that several classes have is no link

html_theme = "furo"
html_title = "rffpsr_ros"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False

# Equations are drawn by one script that lies beside the pages: nothing is asked of a network. Where
# the package that carries it is missing, Sphinx names a public host instead.
_MATHJAX = find_spec("sphinx-mathjax-offline")
if _MATHJAX is not None and _MATHJAX.submodule_search_locations:
    _SCRIPT = "tex-svg.js"
    html_static_path += [
        str(Path(_MATHJAX.submodule_search_locations[0], "static/mathjax", _SCRIPT))
    ]
    mathjax_path = _SCRIPT

myst_heading_anchors = 3
myst_fence_as_directive = {"math"}  # a repository browser knows ```math, too
nb_execution_mode = "off"  # notebooks hold what they showed when `scripts/notebooks` ran them

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_use_ivar = True
napoleon_use_rtype = False
copybutton_exclude = ".linenos, .gp, .go"

# rosdoc2 puts its own theme in the place of this one, and adds a page for each of 400 modules and
# for what stands here already.
exclude_patterns += [
    "index.rst",
    "modules.rst",
    "rffpsr_ros.rst",
    "rffpsr_ros.*.rst",
    "standard*",
    "__*",
]
rosdoc2_settings = {"support_markdown": False, "enable_intersphinx": False}
rosdoc2_settings["automatically_extend_intersphinx_mapping"] = False

PACKAGE = Path(rffpsr_ros.__file__).parent
OUTSIDE = {
    "changelog.rst": "CHANGELOG.rst",
    "contributing.md": "CONTRIBUTING.md",
    "quality.md": "QUALITY_DECLARATION.md",
    "reporting.md": "SECURITY.md",
}
"""Pages of the site, and the files of the repository that they show."""


def write_generated(app: Any) -> None:
    """Write the pages that are made of something else."""
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    for page, name in OUTSIDE.items():
        _write(folder / page, _outside(Path(app.srcdir), name))
    _write(folder / "modules.md", "\n".join(_module_table()) + "\n")


def _write(path: Path, text: str) -> None:
    """Write a file unless it says so already: Sphinx reads anew what is newer."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _outside(source: Path, name: str) -> str:
    """Return a file of the repository with its links as they are from here."""
    for folder in (*source.resolve().parents, PACKAGE.parent):
        if (folder / name).is_file():
            text = (folder / name).read_text(encoding="utf-8")
            text = re.sub(r"\]\(docs/", "](../", text)
            for shown, outside in OUTSIDE.items():
                text = text.replace(f"]({outside})", f"]({shown})")
            return text
    return f"{name}\n{'=' * len(name)}\n\nIt stands in the repository.\n"


def _module_table() -> Iterator[str]:
    yield "# All modules\n"
    yield "What each file of the package is for, in its own first line. Only what the other pages"
    yield "of this reference show is kept stable; the rest is there to be read.\n"
    for room in sorted({path.parent for path in PACKAGE.rglob("*.py")}):
        modules = [path for path in sorted(room.glob("*.py")) if path.name != "__init__.py"]
        dotted = ".".join(room.relative_to(PACKAGE.parent).parts)
        yield f"## {dotted}\n"
        yield _first_line(room / "__init__.py") + "\n"
        if modules:
            yield "| module | what it is |\n|---|---|"
            for path in modules:
                yield f"| `{path.stem}` | {_first_line(path).replace('|', chr(92) + '|')} |"
        yield ""


def _first_line(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return re.sub(r"\s+", " ", docstring.split("\n\n")[0]).replace("``", "`")


def link_outside(app: Any, page: str, source: list[str]) -> None:
    """Let links to files beside this folder lead to the pages that show them."""
    for shown, name in OUTSIDE.items():
        source[0] = source[0].replace(f"](../{name})", f"](generated/{shown})")


def skip_member(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> Any:
    """Leave out what Python itself writes of the fields of a named tuple."""
    return True if str(member.__doc__).startswith("Alias for field number") else None


def setup(app: Any) -> None:
    """Tell Sphinx of the above."""
    app.connect("builder-inited", write_generated)
    app.connect("source-read", link_outside)
    app.connect("autodoc-skip-member", skip_member)
