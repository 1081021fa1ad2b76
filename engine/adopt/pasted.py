"""Reader for pasted code: a TVMScript program of any generation and its schedule code in one text.

`sch = tir.Schedule(func)` creates the schedule and its calls follow; prints and `.show()` are ignored. `te` reads TE text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace as replace_fields

from ..ir import IRModule, Place, PrimFunc, TilewrightError
from ..schedule import Schedule
from ..script import CallStep, Note, ParseError, Ref, parse, read_calls
from ..script.errors import parse_error
from ..script.reading.source import Source
from ..te import is_te, read_te
from .instructions import of_call
from .trace import Replay, do_one

_MAKERS = ("Schedule", "create_schedule")
_SHOWN = ("print", "show")
_PROGRAM = re.compile(r"^[ \t]*@[ \t]*[\w.]*(?:prim_func|ir_module|script\.tir)\b", re.MULTILINE)
_MAKING = re.compile(r"^[ \t]*\w+[ \t]*=[ \t]*[\w.]*\b(?:Schedule|create_schedule)\(", re.MULTILINE)
_BLOCK_SCHEDULE = re.compile(r"^\w+[ \t]*=[ \t]*[\w.]*\bSchedule\(", re.MULTILINE)


class Snippet(msgspec.Struct, frozen=True, eq=False):
    """The content of a pasted text: its program, and the schedule after its calls (without calls if the text has none).

    `names` are the text's variables for loops and blocks, `sources` the places of the lines that created the steps of the trace. `stopped`
    is the error of the first schedule line that is not applied; `rest` are the places of that line and of the lines after it.
    """

    program: IRModule | PrimFunc
    schedule: Schedule
    names: Mapping[str, Any]
    notes: tuple[Note, ...] = ()
    sources: tuple[Place, ...] = ()
    stopped: TilewrightError | None = None
    rest: tuple[Place, ...] = ()


def is_post(text: str) -> bool:
    """Whether `text` contains a TVMScript program and code that creates a schedule for it."""
    return _PROGRAM.search(text) is not None and _MAKING.search(text) is not None


def read_pasted(text: str, program: IRModule | PrimFunc | None = None, filename: str = "") -> Snippet:
    """Return the program of `text` (or `program`, if the text contains only the schedule) with its schedule applied.

    Raises ParseError for an unreadable line, and the ScheduleError of a refused call.
    """
    found = read_as_far_as_possible(text, program, filename)
    if found.stopped is not None:
        raise found.stopped
    return found


def read_as_far_as_possible(
    text: str,
    program: IRModule | PrimFunc | None = None,
    filename: str = "",
    sizes: Mapping[str, int] | None = None,
    *,
    assumes: bool = False,
) -> Snippet:
    """Like `read_pasted`, but stop at the first unreadable or refused schedule line; `sizes` and `assumes` are those of `read_te`.

    Raises ParseError when there is no program, and for TE text the errors of `read_te`.
    """
    if program is None and is_te(text):
        found = read_te(text, filename, sizes, assumes=assumes)
        if _BLOCK_SCHEDULE.search(text) is None:
            return Snippet(found.program, found.schedule, found.names, found.notes, found.sources)
        calls = _block_calls(Source(text, filename))
        return replace_fields(read_as_far_as_possible(calls, found.program, filename), notes=found.notes)
    source = Source(text, filename)
    lines = _lines(source)
    names: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    if program is None:
        parsed = parse(_only(source, lines.program), filename)
        program, notes = parsed.program, parsed.notes
        names = tuple(n.name for n in source.tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef))
    replay = Replay(Schedule(program))
    sources: list[Place] = []
    receiver = ""
    groups = _by_lines(lines.schedule)
    for done, nodes in enumerate(groups):
        try:
            for call in read_calls(_only(source, nodes), filename):
                if not receiver:
                    receiver, taken = _maker(call, names)
                    if names and taken not in names:
                        notes = (
                            *notes,
                            Note(f"{taken} is assumed to be {names[0]}, the program in the text", call.place),
                        )
                    continue
                _require_receiver(call, receiver)
                do_one(replay, of_call(call))
                sources += [call.place] * (len(replay.schedule.trace.steps) - len(sources))
        except TilewrightError as error:
            rest = tuple(source.place(node) for group in groups[done:] for node in group)
            stopped = _placed(error, rest[0])
            return Snippet(program, replay.schedule, replay.values, notes, tuple(sources), stopped, rest)
    return Snippet(program, replay.schedule, replay.values, notes, tuple(sources))


def _block_calls(source: Source) -> str:
    """Return the text from the line that creates a TensorIR schedule, with a name in place of its program."""
    body = source.tree.body
    first = next(n for n, node in enumerate(body) if _BLOCK_SCHEDULE.match(f"{ast.unparse(node)}\n"))
    kept = _only(source, [node for node in body[first:] if not isinstance(node, ast.Import | ast.ImportFrom)]).split(
        "\n"
    )
    made = body[first]
    assert isinstance(made, ast.Assign)
    kept[made.lineno - 1 : made.end_lineno] = [
        f"{ast.unparse(made.targets[0])} = Schedule(mod)",
        *[""] * ((made.end_lineno or made.lineno) - made.lineno),
    ]
    return "\n".join(kept)


def _placed(error: TilewrightError, place: Place) -> TilewrightError:
    """Return the error with the place of its line."""
    if error.refusal.place is not None:
        return error
    placed = type(error)(replace_fields(error.refusal, place=place))
    placed.__cause__ = error
    return placed


class _Lines(msgspec.Struct, frozen=True):
    """The statements of a text, divided into program and schedule."""

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


def _by_lines(nodes: list[ast.stmt]) -> list[list[ast.stmt]]:
    """Group statements that share a line, because each line is read once."""
    groups: list[list[ast.stmt]] = []
    for node in nodes:
        if groups and node.lineno <= (groups[-1][-1].end_lineno or 0):
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups


def _only(source: Source, nodes: list[ast.stmt]) -> str:
    """Return the text with all other lines empty, so that places remain valid."""
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


def _maker(call: CallStep, names: tuple[str, ...]) -> tuple[str, str]:
    """Return the schedule's variable and the program's name from the line that creates the schedule; "" for a program passed separately."""
    wanted = f"sch = tir.Schedule({names[0]})" if names else "sch = tir.Schedule(mod)"
    match call.args:
        case [Ref(name=name, index=None)] if call.method in _MAKERS and len(call.targets) == 1 and not call.kwargs:
            return call.targets[0], name if names else ""
        case _:
            pass
    raise _error(call, "no-schedule-line", "the first line of schedule code must create the schedule", wanted)


def _require_receiver(call: CallStep, receiver: str) -> None:
    if call.receiver != receiver:
        raise _error(call, "unknown-name", f"the schedule is {receiver!r}", f"{receiver}.{call.method}(…)")


def _error(call: CallStep, code: str, message: str, expected: str) -> ParseError:
    return parse_error(code, message, call.place, found=call.text[:80], expected=expected)
