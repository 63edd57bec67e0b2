"""The way of the data is the way of the imports: from the ground up, never down again."""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
PACKAGE = CHECKOUT / "rffpsr_ros"
MODULES = {
    ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
PACKAGES = {name for name, path in MODULES.items() if path.name == "__init__.py"}

# From the ground up; the longest prefix that fits decides. A module imports its own floor and
# those below. The package itself offers names of every floor, so only the top may import it. What
# all kinds of models share stands below every kind.
FLOORS = {
    "rffpsr_ros.errors": 0,
    "rffpsr_ros.progress": 0,
    "rffpsr_ros.numerics": 1,
    "rffpsr_ros.parallel": 1,
    "rffpsr_ros.signals": 2,
    "rffpsr_ros.recordings": 3,
    "rffpsr_ros.data": 4,
    "rffpsr_ros.psr": 5,
    "rffpsr_ros.psr.runtime": 6,
    "rffpsr_ros.psr.refinement": 6,
    "rffpsr_ros.models": 7,
    **dict.fromkeys((name for name in PACKAGES if name.startswith("rffpsr_ros.models.")), 8),
    "rffpsr_ros.exploration": 9,
    "rffpsr_ros.forecasting": 9,
    "rffpsr_ros.control": 9,
    "rffpsr_ros.evaluation": 9,
    "rffpsr_ros.export": 9,
    "rffpsr_ros.simulation": 9,
    "rffpsr_ros.recipe": 9,
    "rffpsr_ros.training": 10,
    "rffpsr_ros.report": 11,
    "rffpsr_ros": 12,
    "rffpsr_ros.cli": 12,
    "rffpsr_ros.nodes": 12,
}
NUMERICAL = {"numpy", "scipy"}
DEPENDENCIES = NUMERICAL | {"threadpoolctl", "yaml", "rosbags", "tqdm"}
# Imported where they are used, never with the module.
EXTRAS = {"matplotlib", "PIL", "pydrake", "distributed", "onnx", "casadi"}
ALSO_NUMERICAL = {
    "rffpsr_ros.parallel.blas_threads": {"threadpoolctl"},
    "rffpsr_ros.psr.runtime.compiling": {"llvmlite", "numba"},  # only where installed
}
LEARNING = tuple(
    f"rffpsr_ros.{room}" for room in ("numerics", "parallel", "data", "psr", "models", "recipe")
)
"""Rooms that know numpy and scipy alone; Dask is handed in, never imported."""
COMPRESSION_OF_ROSBAGS = {"lz4", "zstandard", "backports", "compression"}
ROS = {
    *("rclpy", "builtin_interfaces", "rcl_interfaces", "lifecycle_msgs", "std_srvs"),
    *("diagnostic_msgs", "geometry_msgs", "nav_msgs", "rosgraph_msgs", "sensor_msgs"),
    *("std_msgs", "trajectory_msgs", "ament_index_python", "launch", "launch_ros"),
}

LINES_OF_A_FILE = 350
MODULES_OF_A_FOLDER = 20


def floor(module: str) -> int:
    while module not in FLOORS:
        module = module.rpartition(".")[0]
    return FLOORS[module]


def runs_later(node: ast.AST) -> bool:
    """Whether importing the file leaves this part alone: a function, or what types alone need."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> tuple[tuple[str, int, bool], ...]:
    """Return every imported module, its line, and whether merely importing the file imports it."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[tuple[str, int, bool]]:
    tree = parsed(path)
    later = {id(node) for part in ast.walk(tree) if runs_later(part) for node in ast.walk(part)}
    for node in ast.walk(tree):
        at_once = id(node) not in later
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno, at_once
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            assert node.module is not None
            for alias in node.names:
                if (node.module, alias.name) == ("rffpsr_ros", "__version__"):
                    continue
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module, node.lineno, at_once


def imported_in_the_end(path: Path) -> set[str]:
    """Return the modules of this package that a file imports, but for what types alone need."""
    tree = parsed(path)
    for_types = (node for node in ast.walk(tree) if isinstance(node, ast.If) and runs_later(node))
    unread = {line for node in for_types for line in range(node.lineno, 1 + (node.end_lineno or 0))}
    return {name for name, line, _ in imports(path) if name in MODULES and line not in unread}


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return modules that import each other in a circle, if there are any."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as fault:
        found: list[str] = fault.args[1]
        return found
    return []


def third_parties(path: Path) -> Iterator[tuple[str, int, bool]]:
    for name, line, at_once in imports(path):
        root = name.partition(".")[0]
        if root not in sys.stdlib_module_names and root != "rffpsr_ros":
            yield root, line, at_once


every_module = pytest.mark.parametrize("module", MODULES)


@every_module
def test_no_import_goes_up(module: str) -> None:
    up = [
        f"line {line}: {imported}"
        for imported, line, _ in imports(MODULES[module])
        if imported.partition(".")[0] == "rffpsr_ros" and floor(imported) > floor(module)
    ]
    assert not up


NODES = [module for module in MODULES if module.startswith("rffpsr_ros.nodes")]


@pytest.mark.parametrize("module", NODES)
def test_nodes_do_without_the_command_line(module: str) -> None:
    imported = [name for name, _, _ in imports(MODULES[module])]
    assert [name for name in imported if name.startswith("rffpsr_ros.cli")] == []


@every_module
def test_third_parties_are_those_of_its_floor(module: str) -> None:
    allowed, lazily = DEPENDENCIES, EXTRAS
    if module.startswith(LEARNING):
        allowed, lazily = NUMERICAL | ALSO_NUMERICAL.get(module, set()), set()
    elif module.startswith("rffpsr_ros.recordings"):
        allowed = DEPENDENCIES | COMPRESSION_OF_ROSBAGS
    elif module.startswith("rffpsr_ros.nodes"):
        allowed = DEPENDENCIES | ROS
    strangers = [
        f"line {line}: {root}"
        for root, line, at_once in third_parties(MODULES[module])
        if root not in (allowed if at_once else allowed | lazily)
    ]
    assert not strangers


@every_module
def test_module_says_what_it_is(module: str) -> None:
    assert ast.get_docstring(ast.parse(MODULES[module].read_text(encoding="utf-8")))


@every_module
def test_file_is_short_enough_to_hold_one_idea(module: str) -> None:
    assert len(MODULES[module].read_text(encoding="utf-8").splitlines()) <= LINES_OF_A_FILE


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in MODULES.values()}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_every_room_stands_on_a_floor() -> None:
    assert {name for name in PACKAGES if name.count(".") <= 1} <= FLOORS.keys()


def test_the_page_of_the_architecture_has_these_floors() -> None:
    page = (CHECKOUT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.*?) \|", page, flags=re.MULTILINE)
    written = {
        f"rffpsr_ros.{place.removesuffix('.py').strip('/').replace('/', '.')}": int(number)
        for number, places in rows
        for place in re.findall(r"`(.*?)`", places)
    }
    kinds = {name for name in FLOORS if name.startswith("rffpsr_ros.models.")}
    kept = {name: level for name, level in FLOORS.items() if name not in kinds | {"rffpsr_ros"}}
    assert written == kept | {"rffpsr_ros.models.<kind>": floor(min(kinds))}


def test_every_folder_of_tests_mirrors_one_of_modules() -> None:
    mirrored = {path.parent for path in (CHECKOUT / "test").rglob("test_*.py")}
    rooms = {PACKAGE / folder.relative_to(CHECKOUT / "test") for folder in mirrored}
    assert [str(room) for room in rooms - {PACKAGE / "benchmarks"} if not room.is_dir()] == []


def test_no_folder_is_flat_and_long() -> None:
    counted = Counter(path.parent for path in MODULES.values() if path.name != "__init__.py")
    assert [folder for folder, count in counted.items() if count > MODULES_OF_A_FOLDER] == []


def test_no_class_has_the_name_of_another() -> None:
    places: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(module)
    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Imports inside functions count: they hide a circle, they do not open it."""
    assert circle({module: imported_in_the_end(path) for module, path in MODULES.items()}) == []


def test_a_circle_is_found_wherever_its_imports_stand(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    sample.write_text(
        "if TYPE_CHECKING:\n"
        "    from rffpsr_ros.models.contract import PredictiveModel\n"
        "def lazy():\n"
        "    from rffpsr_ros import errors\n"
    )
    assert imported_in_the_end(sample) == {"rffpsr_ros.errors"}
    assert circle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"b"}})) == {"b", "c"}


def test_no_two_test_modules_have_one_name() -> None:
    """Some plugins of pytest, such as that of ROS's launch_testing, know a module by it alone."""
    names = Counter(path.name for path in (CHECKOUT / "test").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_the_walk_sees_imports_in_every_form(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    sample.write_text(
        "import numpy as np, rclpy.node\n"
        "from rffpsr_ros import errors, __version__\n"
        "def lazy():\n"
        "    from rffpsr_ros.models.contract import PredictiveModel\n"
        "if TYPE_CHECKING:\n"
        "    import matplotlib\n"
    )
    assert list(imports(sample)) == [
        ("numpy", 1, True),
        ("rclpy.node", 1, True),
        ("rffpsr_ros.errors", 2, True),
        ("rffpsr_ros.models.contract", 4, False),
        ("matplotlib", 6, False),
    ]
    assert floor("rffpsr_ros.models.rff_psr.model") > floor("rffpsr_ros.models.contract")
