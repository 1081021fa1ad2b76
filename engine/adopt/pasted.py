"""Code as people post it: a program in TVMScript of any generation and the schedule code that goes with it, in one text.

`sch = tir.Schedule(func)` makes the schedule, its calls follow; prints and `.show()` say nothing of either. TE text is `te`'s to read.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import msgspec

from ..ir import IRModule, PrimFunc
from ..schedule import Schedule
from ..script import CallStep, Note, ParseError, Ref, parse, read_calls
from ..script.errors import parse_error
from ..script.source import Source
from ..te import is_te, read_te
from .instructions import of_call
from .trace import replayed

_MAKERS = ("Schedule", "create_schedule")
_SHOWN = ("print", "show")


class Pasted(msgspec.Struct, frozen=True, eq=False):
    """What a text says: its program, and the schedule that its lines make of it (no calls when it has none).

    `names` are the text's variables for loops and blocks.
    """

    program: IRModule | PrimFunc
    schedule: Schedule
    names: Mapping[str, Any]
    notes: tuple[Note, ...] = ()


def read_pasted(text: str, program: IRModule | PrimFunc | None = None, filename: str = "") -> Pasted:
    """The program of `text` (or `program`, when the text has the schedule only) with its schedule applied.

    Raises ParseError for a line that is not read, and the ScheduleError of a call that is refused.
    """
    if program is None and is_te(text):
        found = read_te(text, filename)
        return Pasted(found.program, found.schedule, found.names)
    source = Source(text, filename)
    lines = _lines(source)
    names: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    if program is None:
        parsed = parse(_only(source, lines.program), filename)
        program, notes = parsed.program, parsed.notes
        names = tuple(n.name for n in source.tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef))
    calls = read_calls(_only(source, lines.schedule), filename)
    receiver = _maker(calls[0], names) if calls else ""
    for call in calls[1:]:
        _require_receiver(call, receiver)
    replay = replayed(Schedule(program), map(of_call, calls[1:]))
    return Pasted(program, replay.schedule, replay.values, notes)


class _Lines(msgspec.Struct, frozen=True):
    """The statements of a text by what they are of."""

    program: list[ast.stmt]
    schedule: list[ast.stmt]


def _lines(source: Source) -> _Lines:
    found = _Lines([], [])
    for node in source.tree.body:
        match node:
            case ast.FunctionDef() | ast.ClassDef() | ast.ImportFrom() | ast.Import():
                found.program.append(node)
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call() as call) if ast.unparse(call.func).rpartition(".")[2] in _SHOWN:
                pass
            case ast.Assign(value=value) if not any(isinstance(n, ast.Call) for n in ast.walk(value)):
                found.program.append(node)
            case _:
                found.schedule.append(node)
    return found


def _only(source: Source, nodes: list[ast.stmt]) -> str:
    """The text with all other lines left empty, so that places stay."""
    kept = [""] * len(source.lines)
    first_program = min((_first(n) for n in nodes), default=0)
    for number, line in enumerate(source.lines):
        if number < first_program and line.startswith("#"):
            kept[number] = line  # imports that TVM prints as comments
    for node in nodes:
        for number in range(_first(node) - 1, node.end_lineno or node.lineno):
            kept[number] = source.lines[number]
    return "\n".join(kept)


def _first(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
    return min([node.lineno, *(d.lineno for d in decorators)])


def _maker(call: CallStep, names: tuple[str, ...]) -> str:
    """The schedule's variable, from the line that makes it."""
    wanted = f"sch = tir.Schedule({names[0]})" if names else "sch = tir.Schedule(mod)"
    match call.args:
        case [Ref(name=name, index=None)] if call.method in _MAKERS and len(call.targets) == 1 and not call.kwargs:
            if not names or name in names:
                return call.targets[0]
        case _:
            pass
    raise _error(call, "no-schedule-line", "schedule code starts by making the schedule", wanted)


def _require_receiver(call: CallStep, receiver: str) -> None:
    if call.receiver != receiver:
        raise _error(call, "unknown-name", f"the schedule is {receiver!r}", f"{receiver}.{call.method}(…)")


def _error(call: CallStep, code: str, message: str, expected: str) -> ParseError:
    return parse_error(code, message, call.place, found=call.text[:80], expected=expected)
