"""Bags whose message definitions are endless, malformed or code."""

from __future__ import annotations

from benchmarks.audit.bags.small_bags import JOINTS, TOPICS, Make, Topic, recording, written

SELF = "float64 x\nJointState inner\n"
_LINE = "=" * 80 + "\n"


def _chain(length: int, count: str = "") -> str:
    """Return a definition of types within each other."""
    parts = [f"p/Inner0{count} a\n"]
    parts += [f"{_LINE}MSG: p/Inner{k}\np/Inner{k + 1}{count} a\n" for k in range(length)]
    return "".join(parts) + f"{_LINE}MSG: p/Inner{length}\nfloat64{count} a\n"


def _idl(body: str) -> str:
    return f"module sensor_msgs {{ module msg {{ {body} }}; }};\n"


_DOUBLING = "const long long A0 = 3; " + "".join(
    f"const long long A{k} = A{k - 1} * A{k - 1}; " for k in range(1, 60)
)
_CODE = "__import__('pathlib').Path('/tmp/rffpsr_audit_owned').touch() or 3"


def by_definition(storage: str) -> dict[str, Make]:
    """Return makers of bags by what is wrong with their definitions."""
    msg = {
        "an empty definition": "",
        "a binary definition": "\x00\x01\x02",
        "a message within itself": SELF,
        "messages within each other": f"Other a\n{_LINE}MSG: sensor_msgs/Other\nJointState a\n",
        "an array of 4 billion": "float64[4294967295] x\n",
        "an array of 10^30": f"float64[{10**30}] x\n",
        "an array of nothing": "float64[0] x\n",
        "arrays within arrays": _chain(8, "[1000]"),
        "two hundred messages within each other": _chain(200),
        "two thousand messages within each other": _chain(2000),
        "a definition of 4 MB": "float64 x\n" * 400_000,
        "ten thousand fields": "".join(f"float64 x{k}\n" for k in range(10_001)),
        "a constant of 100 000 digits": "int64 A=" + "9" * 100_000 + "\n",
        "fields of Python": "".join(f"float64 {k}\n" for k in ("__class__", "None", "import")),
        "a field twice": "float64 x\nfloat64 x\n",
        "a type that is not there": "missing_msgs/Thing x\n",
        "a definition of spaces": " " * 500_000,
        "brackets": "float64" + "[" * 5000 + "] x\n",
        "a text bound of code": f"string<={_CODE} x\n",
    }
    idl = {
        "IDL with code in a bound": _idl(
            f'struct JointState {{ sequence<double, "{_CODE}"> x; }};'
        ),
        "IDL with code in an array": _idl(f'struct JointState {{ double x["{_CODE}"]; }};'),
        "IDL that shifts": _idl(
            "const long long A = 1 << 100000000000; struct JointState { double x[A]; };"
        ),
        "IDL that shifts by a constant": _idl(
            "const long long A = 99999999999; const long long B = 1 << A;"
            " struct JointState { double x[B]; };"
        ),
        "IDL that multiplies": _idl(_DOUBLING + "struct JointState { double x[A59]; };"),
        "IDL of brackets": _idl(
            "struct JointState { double x[" + "(" * 3000 + "3" + ")" * 3000 + "]; };"
        ),
        "IDL of some brackets": _idl(
            "struct JointState { double x[" + "(" * 14 + "3" + ")" * 14 + "]; };"
        ),
        "IDL of signs": _idl("struct JointState { double x[" + "-" * 3000 + "3]; };"),
        "IDL of sequences": _idl(
            "struct JointState { " + "sequence<" * 500 + "double" + ">" * 500 + " x; };"
        ),
        "IDL cut short": _idl("struct JointState { double x")[:50],
        "IDL of comments": "/*" * 200_000,
        "IDL of words": "module " * 50_000,
        "IDL divided by zero": _idl("struct JointState { double x[1 / 0]; };"),
        "IDL within itself": _idl("typedef A A; struct JointState { A x; };"),
        "IDL types in a circle": _idl("typedef B A; typedef A B; struct JointState { A x; };"),
    }
    found = {name: _defined(storage, made, "ros2msg") for name, made in msg.items()}
    found.update({name: _defined(storage, made, "ros2idl") for name, made in idl.items()})
    found["an unknown kind of definition"] = _defined(storage, "x", "protobuf")
    found["a type of another name"] = written(
        storage, (TOPICS[0]._replace(type="a/b/c/d"), TOPICS[1]), recording()
    )
    found["a type of many lines"] = written(
        storage, (TOPICS[0]._replace(type="a/msg/B\n[ERROR] lost"), TOPICS[1]), recording()
    )
    return found


def _defined(storage: str, definition: str, encoding: str) -> Make:
    topic = Topic("/joints", JOINTS, definition, encoding)
    return written(storage, (topic, TOPICS[1]), recording())
