"""The package as pip, colcon and rosdep see it."""

import ast
import importlib
import os
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import setuptools
from catkin_pkg.package import Package, parse_package

import rffpsr_ros

# Python requirement -> its rosdep key.
ROSDEP_KEYS = {
    "numpy": "python3-numpy",
    "scipy": "python3-scipy",
    "threadpoolctl": "python3-threadpoolctl",
    "PyYAML": "python3-yaml",
    "rosbags": "python3-rosbags-pip",
    "tqdm": "python3-tqdm",
    "matplotlib": "python3-matplotlib",
    "Pillow": "python3-pil",
    "pytest": "python3-pytest",
    "hypothesis": "python3-hypothesis",
    "catkin_pkg": "python3-catkin-pkg-modules",
}

WITHOUT_KEYS = {"test", "lint", "docs", "sdf", "cluster", "fast", "export"}
"""Extras whose requirements need no rosdep keys."""


@pytest.fixture(scope="module")
def manifest(checkout: Path) -> Package:
    warnings: list[str] = []
    package = parse_package(str(checkout / "package.xml"), warnings=warnings)
    assert not warnings
    return package


@pytest.fixture
def setup_options(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    options: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, "setup", options.update)
    monkeypatch.chdir(checkout)
    runpy.run_path("setup.py")
    return options


def run_time_requirements(setup_options: dict[str, Any]) -> list[str]:
    extras = setup_options["extras_require"]
    return [
        *setup_options["install_requires"],
        *(requirement for extra in extras.keys() - WITHOUT_KEYS for requirement in extras[extra]),
    ]


def distribution_name(requirement: str) -> str:
    return re.split(r"[<>=!~\[ ]", requirement, maxsplit=1)[0]


def test_manifest_is_of_format_3_and_built_by_ament_python(manifest: Package) -> None:
    assert manifest.package_format == 3
    build, pages = map(str, manifest.exports)
    assert build == "<build_type>ament_python</build_type>"
    assert pages == "<rosdoc2>rosdoc2.yaml</rosdoc2>"
    assert not manifest.buildtool_depends  # there is no rosdep key for ament_python


def test_manifest_and_setup_tell_the_same(manifest: Package, setup_options: dict[str, Any]) -> None:
    (maintainer,) = manifest.maintainers
    assert setup_options["name"] == manifest.name
    assert setup_options["version"] == manifest.version
    assert [setup_options["license"]] == manifest.licenses
    assert setup_options["maintainer"] == maintainer.name
    assert setup_options["maintainer_email"] == maintainer.email


def test_every_requirement_has_its_rosdep_key(
    manifest: Package, setup_options: dict[str, Any]
) -> None:
    keys = {dependency.name for dependency in manifest.exec_depends}
    for requirement in run_time_requirements(setup_options):
        assert ROSDEP_KEYS[distribution_name(requirement)] in keys
    test_keys = {dependency.name for dependency in manifest.test_depends}
    for requirement in setup_options["extras_require"]["test"]:
        name = distribution_name(requirement)
        # Tests of exported models are skipped where there is no onnxruntime, which has no key.
        assert name in {"setuptools", "onnxruntime"} or ROSDEP_KEYS[name] in test_keys


def test_every_ros_package_that_is_used_stands_in_the_manifest(
    checkout: Path, manifest: Package
) -> None:
    keys = {dependency.name for dependency in manifest.exec_depends}
    files = [*(checkout / "rffpsr_ros").rglob("*.py"), *(checkout / "launch").glob("*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    imported = set(re.findall(r"^ *(?:from|import) (\w+)", text, re.MULTILINE))
    named = set(re.findall(r"\b(\w+_(?:interfaces|msgs|srvs))/(?:msg|srv)/\w+", text))
    of_ros = {name for name in imported | named if name.endswith(("_msgs", "_srvs", "_interfaces"))}
    of_ros |= imported & {"rclpy", "launch", "launch_ros", "ament_index_python"}
    assert of_ros - keys - {"ros_gz_interfaces"} == set()  # that one only beside Gazebo
    assert {"builtin_interfaces", "rcl_interfaces", "rclpy"} <= of_ros


def test_run_time_requirements_have_lower_bounds_only(setup_options: dict[str, Any]) -> None:
    for requirement in run_time_requirements(setup_options):
        assert re.fullmatch(r"\w+>=[\d.]+", requirement)


def test_version_is_the_same_everywhere(checkout: Path, manifest: Package) -> None:
    changelog = (checkout / "CHANGELOG.rst").read_text(encoding="utf-8")
    newest = re.search(r"^(?:Forthcoming: )?(\d+\.\d+\.\d+)", changelog, re.MULTILINE)
    assert newest
    assert newest[1] == manifest.version
    assert rffpsr_ros.__version__ == manifest.version
    citation = (checkout / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {manifest.version}\n" in citation


def test_entry_points_resolve(setup_options: dict[str, Any]) -> None:
    for entry_point in setup_options["entry_points"]["console_scripts"]:
        module, function = entry_point.split("=")[1].strip().split(":")
        assert callable(getattr(importlib.import_module(module), function))


def test_data_files_exist(checkout: Path, setup_options: dict[str, Any]) -> None:
    installed = dict(setup_options["data_files"])
    for files in installed.values():
        assert files
        assert all((checkout / file).is_file() for file in files)
    assert installed["share/ament_index/resource_index/packages"] == ["resource/rffpsr_ros"]
    assert installed["share/rffpsr_ros"] == ["package.xml"]
    assert (checkout / "rffpsr_ros" / "py.typed").is_file()


def test_executables_run_an_existing_main(checkout: Path, setup_options: dict[str, Any]) -> None:
    executables = dict(setup_options["data_files"])["lib/rffpsr_ros"]
    assert executables
    for executable in map(Path, executables):
        source = (checkout / executable).read_text(encoding="utf-8")
        assert source.startswith("#!/usr/bin/env python3\n")
        assert os.access(checkout / executable, os.X_OK)
        (imported,) = (
            node
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rffpsr_ros")
        )
        assert imported.module is not None
        module = checkout / Path(*imported.module.split(".")).with_suffix(".py")
        defined = {
            node.name
            for node in ast.parse(module.read_text(encoding="utf-8")).body
            if isinstance(node, ast.FunctionDef)
        }
        assert [alias.name for alias in imported.names] == ["main"]
        assert "main" in defined


def test_every_node_has_its_executable(checkout: Path) -> None:
    nodes = {path.stem for path in (checkout / "rffpsr_ros" / "nodes").glob("*_node.py")}
    executables = {path.name for path in (checkout / "executables").iterdir()}
    assert nodes <= executables
