"""What the parts of the direct executor gain is measured fairly, and told as it was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.live_parts import RECORD, in_turn, table


def test_the_page_shows_the_record(checkout: Path) -> None:
    page = (checkout / "docs" / "scaling.md").read_text(encoding="utf-8")
    assert table(json.loads(RECORD.read_text(encoding="utf-8"))) in page


def test_every_part_gains_on_rclpys_own_way() -> None:
    """Else it would have to go."""
    parts = json.loads(RECORD.read_text(encoding="utf-8"))["parts"]
    own = [ways[name] for ways in parts.values() for name in ways if name.startswith("`")]
    assert len(own) == len(parts)
    assert all(one["upper"] < 1 for one in own)
    assert {name for ways in parts.values() for name in ways if name.startswith("`")} == {
        "`message_wait`",
        "`message_layout`",
        "`prepared_message`",
    }


def test_ways_take_turns_and_are_compared_within_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("benchmarks.live_parts.process_time", lambda: now[0])
    done: list[str] = []
    seconds = {"rclpy": iter([1.0, 3.0, 2.0]), "ours": iter([0.5, 1.5, 1.5])}

    def work(way: str) -> int:
        done.append(way)
        now[0] += next(seconds[way])
        return 10

    figures = in_turn({"rclpy": lambda: work("rclpy"), "ours": lambda: work("ours")}, 3)
    assert done == ["rclpy", "ours"] * 3
    assert figures["rclpy"] == {"microseconds": 2e5, "ratio": 1.0, "lower": 1.0, "upper": 1.0}
    assert figures["ours"]["microseconds"] == 1.5e5
    assert figures["ours"]["ratio"] == 0.5


def test_all_ways_of_reading_and_making_messages_give_the_same() -> None:
    pytest.importorskip("rclpy", reason="needs ROS 2: rclpy is not installed")
    from benchmarks.live_messages import decoding, publishing

    counts = [
        work()
        for parts in (decoding, publishing)
        for _, ways in parts(5)  # which exit if the ways do not give the same
        for work in ways.values()
    ]
    assert counts == [5] * 12
