"""The pages name files, folders and modules that are there."""

import re
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
PACKAGE = CHECKOUT / "rffpsr_ros"
PAGES = [
    *sorted(CHECKOUT.glob("*.md")),
    CHECKOUT / "CHANGELOG.rst",
    *sorted((CHECKOUT / "docs").glob("*.md")),
    *sorted((CHECKOUT / "benchmarks").rglob("*.md")),
]
OF_BUILDING = [CHECKOUT / "docs" / "architecture.md", CHECKOUT / "CONTRIBUTING.md"]
"""Pages that speak of folders of the checkout and of the package only."""

MODULE_FILE = re.compile(r"(?<![\w/.<>{}*-])(?:[\w-]+/)*[\w-]+\.py\b")
MODULE = re.compile(r"\b(?:rffpsr_ros|benchmarks)(?:\.[a-z_]\w*)+")
FOLDER = re.compile(r"`((?:[\w-]+/)+)`")
KNOWN_NAMES = {
    path.name
    for folder in ("rffpsr_ros", "benchmarks", "test", "scripts", "launch")
    for path in (CHECKOUT / folder).rglob("*.py")
} | {path.name for path in CHECKOUT.glob("*.py")}

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def is_there(name: str) -> bool:
    return (CHECKOUT / name).exists() or (PACKAGE / name).exists()


def missing_files(text: str) -> list[str]:
    """Return the module files that are neither in the checkout nor in the package."""
    named = MODULE_FILE.findall(text)
    return [one for one in named if not (is_there(one) if "/" in one else one in KNOWN_NAMES)]


def missing_modules(text: str) -> list[str]:
    """Return the dotted names that are neither modules nor in one."""
    return [name for name in MODULE.findall(text) if not is_importable(name)]


def is_importable(name: str) -> bool:
    parent, _, last = name.rpartition(".")
    with suppress(ModuleNotFoundError):  # The parent is no package.
        if find_spec(name) is not None:
            return True
    with suppress(ModuleNotFoundError):
        return hasattr(import_module(parent), last)
    return False


@every_page
def test_files_named_are_there(page: Path) -> None:
    assert missing_files(page.read_text(encoding="utf-8")) == []


@every_page
def test_modules_named_are_there(page: Path) -> None:
    assert missing_modules(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", OF_BUILDING, ids=lambda page: page.stem)
def test_folders_named_are_there(page: Path) -> None:
    named = FOLDER.findall(page.read_text(encoding="utf-8"))
    assert named
    assert [folder for folder in named if not is_there(folder)] == []


def test_the_readme_lists_every_room() -> None:
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    layout = text.split("## Layout")[1].split("```")[1]
    listed = re.findall(r"^  (\w+)/", layout, flags=re.MULTILINE)
    rooms = [path.parent.name for path in PACKAGE.glob("*/__init__.py")]
    assert sorted(listed) == sorted(rooms)


def test_what_is_not_there_is_found() -> None:
    text = "`signals/pace.py`, pace.py, `signals/place.py`, plaice.py, test/test_pages.py"
    assert missing_files(text) == ["signals/place.py", "plaice.py"]
    text = "rffpsr_ros.errors.InputError, rffpsr_ros.signs.x, rffpsr_ros.signals.y"
    assert missing_modules(text) == ["rffpsr_ros.signs.x", "rffpsr_ros.signals.y"]
