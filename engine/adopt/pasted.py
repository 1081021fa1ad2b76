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
from ..script import Note, Parsed, parse
from ..script.reading.source import Source
from ..te import is_te, read_te
from .schedule_reader import SHOWN, ScheduleReader

_PROGRAM = re.compile(r"^[ \t]*@[ \t]*[\w.]*(?:prim_func|ir_module|script\.tir)\b", re.MULTILINE)
_MAKING = re.compile(
    r"^[ \t]*\w+[ \t]*=[^#\n]*\b(?:Schedule|create_schedule)\(|^[ \t]*def \w+\(\w+: [\w.]*Schedule\b", re.MULTILINE
)
_BLOCK_SCHEDULE = re.compile(r"(?<!\w)Schedule\(")
_CONSTANT = (
    ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Tuple, ast.List, ast.Name, ast.expr_context,
)  # fmt: skip


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
    if program is None and is_te(text) and _BLOCK_SCHEDULE.search(text) is None:
        found = read_te(text, filename, sizes, assumes=assumes)
        return Snippet(found.program, found.schedule, found.names, found.notes, found.sources)
    source = Source(text, filename)
    parsed = _parsed(source, filename) if program is None and not is_te(text) else {}
    reader = ScheduleReader(source, {n: p.program for n, p in parsed.items()}, program, sizes, assumes=assumes)
    notes = tuple(note for found in parsed.values() for note in found.notes)
    known = program if program is not None else next((found.program for found in parsed.values()), None)
    body = source.tree.body
    for number, node in enumerate(body):
        undo = reader.mark()
        try:
            reader.statement(node)
            if node is body[-1]:
                reader.finish()
        except TilewrightError as error:
            undo()
            rest = tuple(source.place(n) for n in body[number:] if _is_schedule(n, parsed))
            stopped = _placed(error, source.place(node))
            if reader.schedule is None and known is None:
                raise stopped from error
            return _snippet(reader, known, notes, stopped, rest)
    if reader.schedule is None and len(parsed) > 1:
        parse(text, filename)  # raises: the text has several programs
    return _snippet(reader, known, notes)


def _snippet(
    reader: ScheduleReader, program: IRModule | PrimFunc | None, notes: tuple[Note, ...],
    stopped: TilewrightError | None = None, rest: tuple[Place, ...] = (),
) -> Snippet:  # fmt: skip
    """Return what was read; `program` is that of a text without a schedule."""
    made = reader.schedule
    notes = (*notes, *reader.notes, *reader.passed_notes())
    if made is None:
        assert program is not None
        return Snippet(program, Schedule(program), {}, notes, (), stopped, rest)
    return Snippet(made.program, made.replay.schedule, reader.handles, notes, tuple(made.sources), stopped, rest)


def _parsed(source: Source, filename: str) -> dict[str, Parsed]:
    """Return the programs of a text by the names of their definitions. Raises ParseError if there is none."""
    shared = _shared(source)
    defined = [
        node
        for node in source.tree.body
        if (isinstance(node, ast.ClassDef) and any(isinstance(part, ast.FunctionDef) for part in node.body))
        or (isinstance(node, ast.FunctionDef) and _is_script(node))
    ]
    if not defined:
        parse(_only(source, shared), filename)
    return {node.name: parse(_only(source, [*shared, node]), filename) for node in defined}


def _is_script(node: ast.FunctionDef) -> bool:
    return any(_PROGRAM.match(f"@{ast.unparse(d)}") for d in node.decorator_list)


def _shared(source: Source) -> list[ast.stmt]:
    """Return the statements that programs use: imports and constants."""
    found: list[ast.stmt] = []
    constants: set[str] = set()
    for node in source.tree.body:
        match node:
            case ast.ImportFrom() | ast.Import():
                found.append(node)
            case ast.Assign(value=value) if all(isinstance(n, _CONSTANT) for n in ast.walk(value)):
                names = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
                if names <= constants:
                    constants |= {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
                    found.append(node)
            case _:
                pass
    return found


def _is_schedule(node: ast.stmt, programs: Mapping[str, object]) -> bool:
    """Whether a statement may belong to the schedule."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name not in programs
        case ast.ImportFrom() | ast.Import() | ast.Pass() | ast.Expr(value=ast.Constant()):
            return False
        case ast.Expr(value=ast.Call() as call):
            return ast.unparse(call.func).rpartition(".")[2] not in SHOWN
        case ast.Assign(value=value):
            return any(isinstance(n, ast.Call) for n in ast.walk(value))
        case _:
            return True


def _placed(error: TilewrightError, place: Place) -> TilewrightError:
    """Return the error with the place of its line."""
    if error.refusal.place is not None:
        return error
    placed = type(error)(replace_fields(error.refusal, place=place))
    placed.__cause__ = error
    return placed


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
