"""A model's C files, put together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rffpsr_ros import __version__
from rffpsr_ros.export.c_language import companions, templates
from rffpsr_ros.export.c_language.functions import Body, ConstantTables
from rffpsr_ros.export.c_language.operations import loop
from rffpsr_ros.export.graph import Node
from rffpsr_ros.export.program import Program
from rffpsr_ros.export.trimming import trimmed
from rffpsr_ros.models.contract import Signature

HELPERS = {
    "combine(": templates.COMBINING,
    "multiply(": templates.MULTIPLYING,
    "waves_of(": templates.WAVES,
    "eliminate(": templates.SOLVING,
}
"""What operations call, by how they call it."""


def c_files(
    program: Program, signature: Signature, name: str, horizon: int = 0
) -> dict[str, str | bytes]:
    """Return the texts of the files by their names: header, source, C++ wrapper, example.

    Functions take any horizon.
    """
    words = {
        "OBSERVED": str(len(signature.observation_names)),
        "ACTED": str(len(signature.action_names)),
        "STATE_SIZE": str(len(program.initial)),
        "CARRY_SIZE": str(program.carried),
        "PERIOD": repr(float(signature.period)),
        "ABOUT": _about(signature),
    }
    smooth = program.by_carry is not None

    def made(template: str, jacobian: str = "") -> str:
        return _filled(template.replace("JACOBIAN\n", jacobian if smooth else ""), name, words)

    return {
        f"{name}.h": made(templates.HEADER, templates.JACOBIAN_HEADER),
        f"{name}.c": _filled(_source(program), name, {}),
        f"{name}.hpp": made(companions.WRAPPER, companions.JACOBIAN_WRAPPER),
        "example.c": made(companions.EXAMPLE),
    }


def _filled(text: str, name: str, words: Mapping[str, str]) -> str:
    for word, value in words.items():
        text = value.join(re.split(rf"\b{word}\b", text))
    text = re.sub(r"\bNAME(_[A-Z_]+)\b", rf"{name.upper()}\1", text)
    text = re.sub(r"\bNAME(?=_|\b)", name, text)
    return re.sub(r"\bVERSION\b", __version__, text)


def _about(signature: Signature) -> str:
    """Return the columns as lines of a comment."""
    lines = ["Observations, in their order:"]
    lines += _columns(signature.observation_names, signature.observation_units)
    lines += ["Actions:", *_columns(signature.action_names, signature.action_units)]
    return "\n * ".join(lines)


def _columns(names: Iterable[str], units: tuple[str, ...]) -> list[str]:
    names = list(names)
    units = units or ("",) * len(names)
    return [
        f"    {i}: {_harmless(name)}" + (f" ({_harmless(unit)})" if unit else "")
        for i, (name, unit) in enumerate(zip(names, units, strict=True))
    ]


def _harmless(text: str) -> str:
    """Return text that ends no comment and begins none."""
    return re.sub(r"[^A-Za-z0-9_.,:()\[\]^/ -]", "_", text).replace("//", "/ /")


def _source(program: Program) -> str:
    """Return the source file, its tables before its functions."""
    tables = ConstantTables()
    functions = [
        *_initial(program, tables),
        *_update(program, tables),
        *_begin(program, tables),
        *_step(program, tables),
        *_last(program, tables),
        templates.PREDICT,
    ]
    if program.by_carry is not None:
        functions += [*_derivatives(program, tables), templates.JACOBIAN]
    text = "\n".join(functions)
    helpers = [template for name, template in HELPERS.items() if name in text]
    return "\n".join([templates.SOURCE_HEAD, *tables.lines, *helpers, text])


def _initial(program: Program, tables: ConstantTables) -> list[str]:
    table = tables(program.initial)
    copied = loop(len(program.initial), f"state->values[i] = {table}[i];")
    return ["", "void NAME_initial(NAME_state *state)", "{", f"    {copied}", "}"]


def _update(program: Program, tables: ConstantTables) -> list[str]:
    given = {"state": "state->values", "action": "action", "observation": "observation"}
    body = Body({"": [program.update]}, {}, given, tables)
    return [
        "",
        "void NAME_update(NAME_state *state, const NAME_real *action,",
        "                 const NAME_real *observation)",
        "{",
        *body.lines(),
        *_unused(body, given),
        _copied(body, program.update, "state->values[i]"),
        "}",
    ]


def _begin(program: Program, tables: ConstantTables) -> list[str]:
    given = {"state": "state"}
    body = Body({"": [program.begin]}, {}, given, tables)
    return [
        "",
        "static void begin(const real *state, real *carry)",
        "{",
        *body.lines(),
        *_unused(body, given),
        _copied(body, program.begin, "carry[i]"),
        "}",
    ]


def _step(program: Program, tables: ConstantTables) -> list[str]:
    given = {"carry": "carry", "action": "action"}
    body = Body({"": [program.step.carry, program.step.observation]}, {}, given, tables)
    return [
        "",
        "static void step(const real *carry, const real *action, real *next, real *forecast)",
        "{",
        *body.lines(),
        *_unused(body, given),
        _copied(body, program.step.carry, "next[i]"),
        _copied(body, program.step.observation, "forecast[i]"),
        "}",
    ]


def _last(program: Program, tables: ConstantTables) -> list[str]:
    """Return the function of a forecast's last tick, after which nothing is carried on."""
    given = {"carry": "carry", "action": "action"}
    (observation,) = trimmed([program.step.observation])
    body = Body({"": [observation]}, {}, given, tables)
    return [
        "",
        "static void last(const real *carry, const real *action, real *forecast)",
        "{",
        *body.lines(),
        *_unused(body, given),
        _copied(body, observation, "forecast[i]"),
        "}",
    ]


def _derivatives(program: Program, tables: ConstantTables) -> list[str]:
    """Return the function that takes a tick's derivatives by all directions before it, and its own.

    What a direction has moved so far is a row of ``work``, which is moved on in place.
    """
    assert program.by_carry is not None
    assert program.by_action is not None
    given = {"carry": "carry", "action": "action", "moved": "moved"}
    ways = {"carry": program.by_carry, "action": program.by_action}
    loops = {name: [way.carry, way.observation] for name, way in ways.items()}
    body = Body(
        {"": [program.step.carry, program.step.observation], **loops},
        {name: way.moved for name, way in ways.items()},
        given,
        tables,
    )
    lines = [
        "",
        "static void step_derivatives(const real *carry, const real *action, real *next,",
        "                             real *forecast, int before, real *work, real *jacobian,",
        "                             int stride)",
        "{",
        *body.lines(),
        *_unused(body, {"carry": "carry", "action": "action"}),
        _copied(body, program.step.carry, "next[i]"),
        _copied(body, program.step.observation, "forecast[i]"),
    ]
    for name, way in ways.items():
        moved = "work + d * NAME_CARRY_SIZE"
        direction, place = f"const real *moved = {moved};", "d"
        count = "before"
        if name == "action":
            count, place = "NAME_ACTIONS", "before + d"
            direction = "real moved[NAME_ACTIONS] = {0};"
        lines.append(f"    for (int d = 0; d < {count}; ++d) {{")
        lines.append(f"        {direction}")
        if name == "action":
            lines.append("        moved[d] = ONE;")
        lines += body.lines((name,), "        ")
        lines.append("        (void)moved;")
        lines.append("        real *row = work + (" + place + ") * NAME_CARRY_SIZE;")
        lines.append("    " + _copied(body, way.carry, "row[i]"))
        lines.append("    " + _copied(body, way.observation, f"jacobian[i * stride + {place}]"))
        lines.append("    }")
    return [*lines, "}"]


def _copied(body: Body, node: Node, target: str) -> str:
    return f"    {loop(node.size, f'{target} = {body.name(node)}[i];')}"


def _unused(body: Body, given: Mapping[str, str]) -> list[str]:
    """Return statements that keep compilers from warning of what a model has no use for."""
    names = {value.partition("->")[0] for name, value in given.items() if name not in body.used}
    return [f"    (void){name};" for name in sorted(names)]
