"""Reader for pasted code: a TVMScript program of any generation and its schedule code in one text.

`sch = tir.Schedule(func)` creates the schedule and its calls follow; prints and `.show()` are ignored. `te` reads TE text.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace as replace_fields

from ..ir import IRModule, Place, PrimFunc, TilewrightError
from ..schedule import Schedule
from ..script import Note, parse, passed_notes
from ..script.language import is_script, makes_schedule, takes_schedule, tree_of
from ..script.reading.source import Source
from ..te import is_te, read_te
from .schedule_reader import SHOWN, ScheduleDialect, schedule_dialect
from .trace import from_tvm_trace


class Snippet(msgspec.Struct, frozen=True, eq=False):
    """The content of a pasted text: its program, and the schedule after its calls (without calls if the text has none).

    `names` are the text's variables for loops and blocks, `sources` the places of the lines that created the steps of the trace. `stopped`
    is the error of the first schedule line that is not applied; `rest` are the places of that line and of the lines after it.
    `schedules` is the number of schedules that the text makes, of which this is the chosen one. `values` are those of the parameters with
    which the text itself makes the program.
    """

    program: IRModule | PrimFunc
    schedule: Schedule
    names: Mapping[str, Any]
    notes: tuple[Note, ...] = ()
    sources: tuple[Place, ...] = ()
    stopped: TilewrightError | None = None
    rest: tuple[Place, ...] = ()
    schedules: int = 0
    values: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])


def is_post(text: str) -> bool:
    """Whether `text` contains a TVMScript program and code that creates a schedule for it."""
    tree = tree_of(text) if any(word in text for word in ("Schedule", "create_schedule")) else None
    if tree is None:
        return False
    nodes = [*ast.walk(tree)]
    makes = any((isinstance(n, ast.Assign) and makes_schedule(n.value)) or takes_schedule(n) for n in nodes)
    return makes and any(map(is_script, nodes))


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
    sizes: Mapping[str, int | str] | None = None,
    *,
    assumes: bool = False,
    home: Path | None = None,
    chosen: int | None = None,
) -> Snippet:
    """Like `read_pasted`, but stop at the first unreadable or refused schedule line; `sizes`, `assumes`, `home` and `chosen` are those of
    `read_te`.

    Raises ParseError when there is no program, and for TE text the errors of `read_te`.
    """
    source = Source(text, filename, home=home)
    is_of_te = program is None and is_te(text)
    if is_of_te and not makes_schedule(source.tree, ("Schedule",)):
        return _te_snippet(text, filename, sizes, assumes=assumes, home=home, chosen=chosen)
    dialect = schedule_dialect(source, program, sizes, assumes=assumes, chosen=chosen)
    body = source.tree.body
    for number, node in enumerate(body):
        undo = dialect.mark()
        try:
            dialect.run.statement(node)
            if node is body[-1]:
                dialect.finish()
        except TilewrightError as error:
            undo()
            rest = tuple(source.place(n) for n in body[number:] if _is_schedule(n, dialect.parsed))
            stopped = _placed(dialect.explained(node, error), source.place(node))
            known = _first(program, dialect)
            if dialect.schedule is None and (dialect.defines(node) or sum(map(dialect.defines, body)) > 1):
                raise stopped from error  # the schedule may be that of a later program
            if dialect.schedule is None and known is None:
                dialect.definitions.require_no_maker(body[:number])
                raise stopped from error
            return snippet_of(dialect, known, stopped, rest)
    if dialect.schedule is None and len(dialect.parsed) > 1:
        parse(text, filename)  # raises: the text has several programs
    known = _first(program, dialect)
    if dialect.schedule is None and known is None:
        if not is_of_te:
            dialect.definitions.fail_count([])  # raises
        return _te_snippet(text, filename, sizes, assumes=assumes, home=home, chosen=chosen)
    return snippet_of(dialect, known)


def with_trace(program: IRModule | PrimFunc, trace: str) -> Snippet:
    """Return a program with the schedule of a trace in JSON, whose calls have no lines. Raises the errors of `from_tvm_trace`."""
    schedule = from_tvm_trace(trace, program)
    return Snippet(program, schedule, {}, (), (Place(0, 1, 0, 1),) * len(schedule.trace.steps))


def _first(program: IRModule | PrimFunc | None, dialect: ScheduleDialect) -> IRModule | PrimFunc | None:
    """Return the given program, or else the first of the text."""
    return program if program is not None else next((found.program for found in dialect.parsed.values()), None)


def _te_snippet(
    text: str,
    filename: str,
    sizes: Mapping[str, int | str] | None,
    *,
    assumes: bool,
    home: Path | None,
    chosen: int | None,
) -> Snippet:
    found = read_te(text, filename, sizes, assumes=assumes, home=home, chosen=chosen)
    return Snippet(found.program, found.schedule, found.names, found.notes, found.sources, schedules=found.schedules)


def snippet_of(
    dialect: ScheduleDialect, program: IRModule | PrimFunc | None,
    stopped: TilewrightError | None = None, rest: tuple[Place, ...] = (), *more: Note,
) -> Snippet:  # fmt: skip
    """Return what was read, with `more` notes; `program` is that of a text without a schedule."""
    made = dialect.schedule
    parsed = tuple(note for found in dialect.parsed.values() for note in found.notes)
    notes = (*parsed, *dialect.reader.notes, *passed_notes(dialect.run.source, dialect.run.passed), *more)
    if made is None:
        assert program is not None
        return Snippet(program, Schedule(program), {}, notes, (), stopped, rest)
    return Snippet(
        made.program, made.replay.schedule, dialect.handles, notes, tuple(made.sources), stopped, rest,
        dialect.reader.schedules,
    )  # fmt: skip


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
