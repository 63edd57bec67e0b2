#!/usr/bin/env python3
"""Run the notebooks of docs/tutorials from a clean kernel, and keep in them what they showed.

scripts/notebooks.py           run them and write them
scripts/notebooks.py NAME      only those whose names hold this word
scripts/notebooks.py --check   only tell whether they run, and show what they showed when written
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

CHECKOUT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((CHECKOUT / "docs" / "tutorials").glob("*.ipynb"))
PATIENCE = 1800
"""Seconds that a cell may take, on any machine."""


def executed(path: Path) -> Any:
    """Return a notebook with what it shows when it is run from a clean kernel.

    Its commands are those of this interpreter's environment, and its package is this checkout's.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell fails; it tells which and how.
    """
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    found = os.environ.get("PATH", ""), os.environ.get("PYTHONPATH", "")
    places = str(Path(sys.executable).parent), str(CHECKOUT)
    os.environ["PATH"], os.environ["PYTHONPATH"] = (
        os.pathsep.join(filter(None, pair)) for pair in zip(places, found, strict=True)
    )
    NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3").execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # the times of day it was run at
        if cell.cell_type == "code":
            cell.outputs = list(_joined(cell.outputs))
    notebook.metadata.language_info = {"name": "python", "pygments_lexer": "ipython3"}
    return notebook


def _joined(outputs: list[Any]) -> Iterator[Any]:
    """Yield outputs with what was printed in pieces as one."""
    printed = None
    for output in outputs:
        if output.output_type != "stream":
            printed = None
        elif printed is not None and printed.name == output.name:
            printed.text += output.text
            continue
        else:
            printed = output
        yield output


def kinds_of_output(notebook: Any) -> list[list[str]]:
    """Return what sort of thing each cell showed."""
    return [
        [str(output.output_type) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def main() -> int:
    """Run all notebooks and write them, or check them."""
    words = [word for word in sys.argv[1:] if word != "--check"]
    stale = []
    for path in NOTEBOOKS:
        if words and not any(word in path.stem for word in words):
            continue
        notebook = executed(path)
        if "--check" not in sys.argv:
            nbformat.write(notebook, path)
        elif kinds_of_output(notebook) != kinds_of_output(nbformat.read(path, as_version=4)):
            stale.append(path.name)
    if stale:
        print(f"run scripts/notebooks.py: {', '.join(stale)} shows something else", file=sys.stderr)
    return len(stale)


if __name__ == "__main__":
    raise SystemExit(main())
