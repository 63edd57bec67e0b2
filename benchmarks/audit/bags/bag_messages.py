"""Bags whose topics or messages hold what no robot sends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.audit.bags.small_bags import (
    SECOND,
    START,
    STEP,
    TOPICS,
    Make,
    Message,
    Topic,
    command,
    joints,
    recording,
    written,
)


def by_message(storage: str) -> dict[str, Make]:
    """Return makers of bags by what is wrong with their topics or messages."""
    return {
        **{name: written(storage, TOPICS, made) for name, made in _by_message().items()},
        **{name: written(storage, made, recording()) for name, made in _by_topic().items()},
    }


def _by_topic() -> dict[str, Sequence[Topic]]:
    first, second = TOPICS
    return {
        "a topic twice": (first, second, first),
        "a topic of two types": (first, second, first._replace(type="std_msgs/msg/String")),
        "a topic without a name": (first._replace(name=""), second),
        "a topic of many lines": (first._replace(name="/j\n[ERROR] lost" * 99), second),
        "a topic of a megabyte": (first, second, first._replace(name="/" + "x" * 2**20)),
        "ten thousand topics": tuple(first._replace(name=f"/t{k}") for k in range(10_000)),
        "messages of JSON": (first._replace(serialisation="json"), second),
    }


def _by_message() -> dict[str, Sequence[Message]]:
    good = recording()

    def every(change: Callable[[int, Message], Message]) -> list[Message]:
        return [change(number, one) for number, one in enumerate(good)]

    def data(make: Callable[[int, Message], bytes]) -> list[Message]:
        return every(lambda k, one: one if one.topic else one._replace(data=make(k, one)))

    def stamped(stamp: Callable[[int], int]) -> list[Message]:
        return data(lambda k, one: joints(stamp(k)))

    inner = joints(START)
    place = inner.index(b"elbow") - 4
    return {
        "one message": good[:1],
        "two messages": good[:2],
        "no data": data(lambda k, one: b""),
        "a byte each": data(lambda k, one: b"\0"),
        "half of each": data(lambda k, one: one.data[: len(one.data) // 2]),
        "a text of 4 GB": data(
            lambda k, one: one.data[:place] + b"\xff" * 4 + one.data[place + 4 :]
        ),
        "4 billion texts": data(
            lambda k, one: one.data[: place - 4] + b"\xff" * 4 + one.data[place:]
        ),
        "big-endian they say": data(lambda k, one: b"\0\0" + one.data[2:]),
        "an unknown encapsulation": data(lambda k, one: b"\7\7" + one.data[2:]),
        "stamps of 0": stamped(lambda k: 0),
        "stamps that stand still": stamped(lambda k: START),
        "stamps of the year 1901": stamped(lambda k: -(2**31) * SECOND),
        "stamps far apart": stamped(lambda k: START + k * 10**6 * SECOND),
        "a stamp at the end of time": stamped(
            lambda k: START + k * STEP // 2 if k != 20 else 2**61
        ),
        "a last stamp at the end of time": stamped(
            lambda k: START + k * STEP // 2 if k < 70 else (2**31 - 1) * SECOND
        ),
        "stamps back and forth": stamped(lambda k: START + (k % 2) * 1000 * SECOND),
        "stamps in reverse": stamped(lambda k: START - k * STEP),
        "times of 0": every(lambda k, one: one._replace(time_ns=0)),
        "times of 2^63 - 1": every(lambda k, one: one._replace(time_ns=2**63 - 1)),
        "times of 2^64 - 1": every(lambda k, one: one._replace(time_ns=2**64 - 1)),
        "times in reverse": good[::-1],
        "values of nan": data(lambda k, one: joints(one.time_ns, value=float("nan"))),
        "values of infinity": data(lambda k, one: joints(one.time_ns, value=float("inf"))),
        "values of 1.7e308": data(lambda k, one: joints(one.time_ns, value=1.7e308)),
        "commands of infinity": every(
            lambda k, one: one._replace(data=command(float("inf"))) if one.topic else one
        ),
        "commands of nothing": every(
            lambda k, one: one._replace(data=command()) if one.topic else one
        ),
        "commands longer and longer": every(
            lambda k, one: one._replace(data=command(*range(k))) if one.topic else one
        ),
        "a first command without values": [
            one._replace(data=command()) if k == 0 else one for k, one in enumerate(good)
        ],
        "other names each time": data(lambda k, one: joints(one.time_ns, (f"j{k}", "wrist"))),
        "a thousand joints": data(
            lambda k, one: joints(one.time_ns, [f"j{i}" for i in range(1000)])
        ),
        "names of many lines": data(lambda k, one: joints(one.time_ns, ("a\n[ERROR] lost",))),
        "no joints": data(lambda k, one: joints(one.time_ns, ())),
        "messages of no topic": every(lambda k, one: one._replace(topic=77)),
        "topics exchanged": every(lambda k, one: one._replace(topic=1 - one.topic)),
        "padded": data(lambda k, one: one.data + bytes(k)),
        "zstd they say": data(lambda k, one: b"\x28\xb5\x2f\xfd" + one.data),
    }
