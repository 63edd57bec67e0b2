"""What is said of ROS distributions and Pythons is one thing wherever it stands."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml


def text_of(checkout: Path, name: str) -> str:
    return (checkout / name).read_text(encoding="utf-8")


@pytest.fixture
def workflow(checkout: Path) -> Any:
    """Return the workflow of hosted checks."""
    return yaml.safe_load(text_of(checkout, ".github/workflows/checks.yml"))


def wheels(checkout: Path) -> set[str]:
    """Return the distributions that scripts/setup knows as wheels."""
    return set(re.findall(r"^    (\w+)\) rclpy=", text_of(checkout, "scripts/setup"), re.MULTILINE))


def test_the_matrix_has_every_distribution_there_are_wheels_of(
    checkout: Path, workflow: Any
) -> None:
    everything = workflow["jobs"]["everything"]
    asked = {one["ros"] for one in everything["strategy"]["matrix"]["include"]}
    assert asked == wheels(checkout) == {"kilted", "jazzy"}
    assert set(workflow["jobs"]["workspace"]["strategy"]["matrix"]["ros"]) == asked
    assert "scripts/test --ros ${{ matrix.ros }}" in everything["steps"][-1]["run"]


def test_the_matrix_has_pythons_that_the_package_allows(checkout: Path, workflow: Any) -> None:
    least = re.search(r'python_requires=">=3\.(\d+)"', text_of(checkout, "setup.py"))
    assert least
    pythons = {
        int(one["python"].removeprefix("3."))
        for one in workflow["jobs"]["everything"]["strategy"]["matrix"]["include"]
    }
    assert {11, 13} <= pythons
    assert min(pythons) >= int(least[1])


def test_the_pages_name_the_same_distributions(checkout: Path) -> None:
    for page in ("README.md", "docs/installation.md", "QUALITY_DECLARATION.md"):
        said = text_of(checkout, page).lower()
        assert all(name in said for name in wheels(checkout)), page


def test_another_distribution_is_refused_in_a_sentence(checkout: Path, tmp_path: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "ROS_WHEELS": "foxy", "PYTHON": "python3"}
    result = subprocess.run(
        [checkout / "scripts" / "setup"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert result.returncode == 1
    assert "there are wheels of kilted and of jazzy" in result.stderr


def test_the_container_is_of_a_distribution_that_is_checked(checkout: Path) -> None:
    said = text_of(checkout, "Dockerfile")
    default = re.search(r"^ARG ROS=(\w+)$", said, re.MULTILINE)
    assert default
    assert default[1] in wheels(checkout)
    keys = set(re.findall(r"python3-[\w-]+", said))
    manifest = text_of(checkout, "package.xml")
    needed = set(re.findall(r"<exec_depend>(python3-[\w-]+)</exec_depend>", manifest))
    assert needed - keys == {"python3-rosbags-pip"}  # that one by pip, into an environment
    assert "rosbags>=" in said


def test_the_quality_declaration_has_the_headings_of_rep_2004(checkout: Path) -> None:
    said = text_of(checkout, "QUALITY_DECLARATION.md")
    headings = re.findall(r"^## (\d) (.+)$", said, re.MULTILINE)
    assert [number for number, _ in headings] == list("1234567")
    assert [title for _, title in headings] == [
        "Version policy",
        "Change control",
        "Documentation",
        "Testing",
        "Dependencies",
        "Platform support",
        "Security",
    ]
