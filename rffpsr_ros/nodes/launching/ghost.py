"""A robot's ghost: its description with the joints' names that forecasts have.

``~/predicted`` names what it holds by the model's observations, such as ``joints.position.elbow``.
robot_state_publisher moves the joints that a JointState names and leaves out all else; so a
description whose joints are called like that is moved by forecasts, and by nothing but them.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as Xml

from rffpsr_ros.errors import InputError, shown

MOVING = "revolute", "continuous", "prismatic"


def robot_description(file: Path) -> str:
    """Return what stands in a URDF file.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    try:
        return file.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(f"cannot read the robot's description {file}: {problem}") from None


def ghost(description: str, channel: str) -> str:
    """Return a URDF whose moving joints are called as a channel's positions are forecast.

    Raises
    ------
    InputError
        If the text is no URDF.
    """
    root = _parsed(description)
    renamed = {}
    for joint in root.findall("joint"):
        if joint.get("type") in MOVING:
            name = joint.get("name", "")
            renamed[name] = f"{channel}.position{_step(name)}"
            joint.set("name", renamed[name])
    for mimic in root.iter("mimic"):
        name = mimic.get("joint", "")
        mimic.set("joint", renamed.get(name, name))
    return Xml.tostring(root, encoding="unicode")


def root_link(description: str) -> str:
    """Return the link of a URDF that hangs on no other.

    Raises
    ------
    InputError
        If the text is no URDF.
    """
    root = _parsed(description)
    children = {child.get("link") for child in root.findall("joint/child")}
    links = [str(link.get("name")) for link in root.findall("link")]
    (first, *_) = [name for name in links if name not in children] or links
    return first


def _parsed(description: str) -> Xml.Element:
    try:
        root = Xml.fromstring(description)
    except Xml.ParseError as problem:
        raise InputError(f"the robot's description is no XML: {shown(str(problem))}") from None
    if root.tag != "robot" or root.find("link") is None:
        raise InputError(
            f"the robot's description must be a URDF with links, not <{shown(root.tag)}>"
        )
    return root


def _step(name: str) -> str:
    """Return a joint's name as the grammar of field paths writes it."""
    if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        return f".{name}"
    quote = '"' if "'" in name else "'"
    return f"[{quote}{name}{quote}]"
