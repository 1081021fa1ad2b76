"""A notebook made of code as people have it: TE text, or a program of any generation with the schedule code under it.

The program becomes TVMScript as it is printed today, the schedule the equivalent calls, each under the line that asked for it. A schedule
line that is not read or refused ends the calls; it and those after it stay as comments.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from ...engine.adopt import Snippet, is_post, read_as_far_as_possible
from ...engine.export import call_text, unique_name
from ...engine.hwsim import DmaEngine, Machine, load_machine, preset_names
from ...engine.ir import Buffer, IRModule, Place, PrimFunc, TilewrightError, Var, walk
from ...engine.schedule import Step
from ...engine.script import Note, to_script
from ...engine.te import is_te
from .cells import Cell, Document, read_document
from .editing.apply import replace_cell
from .workload import read_workload

_LISTS = frozenset({"split", "get_loops"})
"""Methods that give a list, of one element too."""
_OURS = ("sch", "machine", "tilewright", "T", "I", "sizes")
"""Names that the notebook itself uses."""


class Converted(msgspec.Struct, frozen=True, eq=False):
    """A document that has cells, what is to be said of the text it was made of, and the first line of its schedule that was not applied."""

    document: Document
    notes: tuple[Note, ...] = ()
    stopped: TilewrightError | None = None
    sizes_used: frozenset[str] = frozenset()


def converted(document: Document, machine: str, sizes: Mapping[str, int] | None = None) -> Converted:
    """A plain file of TE text, of a post, or of a program without its indentation as a notebook; every other document as it is.

    The machine is the preset `machine`, or the first that has all the program's scopes. The notebook gets a path of its own beside the
    file. `sizes` are numbers for symbolic sizes, put in where the schedule of TE text cannot be made for all: then they are `sizes_used`.
    Raises ParseError, and for TE text ScheduleError, with the lines of the text.
    """
    if any(cell.kind != "preamble" for cell in document.cells):
        return Converted(document)
    text = document.text.lstrip("\ufeff")
    if not is_te(text) and not is_post(text) and not _has_notes(document):
        return Converted(document)
    used: frozenset[str] = frozenset()
    try:
        found = read_as_far_as_possible(text, filename=document.path or "")
    except TilewrightError:
        if not sizes or not is_te(text):
            raise
        found, used = read_as_far_as_possible(text, filename=document.path or "", sizes=sizes), frozenset(sizes)
    made = read_document(
        notebook_of(text, found, machine_for(found.schedule.func, machine)),
        path_beside(document.path) if document.path else None,
    )
    return Converted(made, found.notes, found.stopped, used)


def edited_cell(document: Document, cell: Cell, body: str, machine: str) -> Converted:
    """The document with the text below a marker replaced. TE text or a post in the workload cell becomes workload and schedule.

    Raises as `converted`, with lines of `body`.
    """
    if cell.kind != "workload" or not (is_te(body) or is_post(body)):
        return Converted(replace_cell(document, cell, body))
    made = converted(read_document(body), machine)
    for kind in ("workload", "schedule"):
        (source,) = made.document.of_kind(kind)
        cells = document.of_kind(kind)
        for number, target in reversed(list(enumerate(cells))):
            document = replace_cell(document, target, source.body if number == 0 else "")
        if not cells:
            gap = "" if document.text.endswith(document.newline) else document.newline
            document = read_document(document.text + gap + source.text, document.path)
    return Converted(document, made.notes, made.stopped)


def _has_notes(document: Document) -> bool:
    try:
        return bool(read_workload(document).notes)
    except TilewrightError:
        return False  # said by whoever evaluates it


def path_beside(path: str) -> str:
    """A path that no file has: `matmul_blocks.py` for `matmul.py`."""
    number, found = 1, Path(path).with_name(f"{Path(path).stem}_blocks.py")
    while os.path.lexists(found):  # a link to a file that is not there is taken, too
        number, found = number + 1, Path(path).with_name(f"{Path(path).stem}_blocks_{number}.py")
    return str(found)


def machine_for(func: PrimFunc, default: str) -> str:
    """The default machine when it has all scopes of the scheduled program, else the first preset that has, else the default.

    Presets that copy data into all these memories and out of them come first: a program that says where its data lie is about that.
    """
    scopes = {node.scope for node in walk(func) if isinstance(node, Buffer)}
    if _knows(load_machine(default), scopes):
        return default
    knowing = [m for m in map(load_machine, preset_names()) if _knows(m, scopes)]
    return next((m.name for m in sorted(knowing, key=lambda m: not _copies(m, scopes))), default)


def _copies(machine: Machine, scopes: set[str]) -> bool:
    copiers = [e for e in machine.engines if isinstance(e, DmaEngine)]
    memories = {memory.name for scope in scopes if (memory := machine.find_memory(scope)) is not None}
    read, written = {m for e in copiers for m in e.reads}, {m for e in copiers for m in e.writes}
    return memories <= read and memories <= written


def _knows(machine: Machine, scopes: set[str]) -> bool:
    return all(machine.find_memory(scope) is not None for scope in scopes)


def notebook_of(text: str, found: Snippet, machine: str) -> str:
    """The notebook's text; `found` is what `text` says."""
    schedule = "\n".join([f"sch = tilewright.Schedule({program_name(found.program)})", *_lines(text, found)])
    return (
        f'# %% machine\nimport tilewright\n\nmachine = tilewright.machine("{machine}")\n\n'
        f"# %% workload\n{workload_text(found.program)}\n\n\n# %% schedule\n{schedule}\n"
    )


def workload_text(program: IRModule | PrimFunc) -> str:
    """The printed program under the imports that Python needs to run it."""
    script = to_script(program).strip()
    first = next(n for n, line in enumerate(script.split("\n")) if line.startswith("@"))
    names = "ir as I, tirx as T" if isinstance(program, IRModule) else "tirx as T"
    return f"from tilewright.script import {names}\n\n\n" + "\n".join(script.split("\n")[first:])


def program_name(program: IRModule | PrimFunc) -> str:
    """What the workload's text calls it."""
    return "Module" if isinstance(program, IRModule) else program.name


def _lines(text: str, found: Snippet) -> list[str]:
    """The calls; above those of one line of the text the comments there, or that line where it reads otherwise."""
    variables: dict[Var | str, str] = {}
    for name, handle in found.names.items():
        if isinstance(handle, Var | str):
            variables.setdefault(handle, name)
    source = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    above = _Above(source, min((p.line for p in (*found.sources, *found.rest)), default=1) - 1)
    lines: list[str] = []
    said: Place | None = None
    for step, place in zip(found.schedule.trace.steps, found.sources, strict=True):
        call = trace_line(step, variables)
        if place != said and place.line > 0:
            lines += above.comments(place)
            quoted = _quoted(source, place)
            if _bare(quoted) != _bare(call):
                lines.append(f"# {quoted}")
        said = place
        lines.append(call)
    if found.stopped is not None:
        refusal = found.stopped.refusal
        what = f" ({' '.join(refusal.found.split())})" if refusal.found else ""
        lines.append(f"# Not applied from here on: {refusal.message}{what}")
        for place in found.rest:
            lines += above.comments(place)
            lines.append(f"# {_quoted(source, place)}")
    return lines


class _Above:
    """The comments of a text between one statement and the next."""

    def __init__(self, source: list[str], done: int) -> None:
        self.source, self.done = source, done

    def comments(self, place: Place) -> Iterator[str]:
        """Those above a place, once."""
        for line in self.source[self.done : place.line - 1]:
            if line.strip().startswith("#"):
                yield line.strip()
        self.done = max(self.done, place.end_line)


def _bare(line: str) -> str:
    return line.partition("#")[0].replace(" ", "").replace("'", '"').rstrip()


def _quoted(source: list[str], place: Place) -> str:
    """The text at a place, in one line."""
    return " ".join(" ".join(source[place.line - 1 : place.end_line]).split())


def trace_line(step: Step, variables: dict[Var | str, str]) -> str:
    """A traced call as a line; its results get names in `variables`, those that have none yet."""
    arguments = dict(step.arguments)
    call = call_text(
        "sch",
        step.method,
        arguments,
        lambda handle: variables.get(handle, f'"{handle.name if isinstance(handle, Var) else handle}"'),
        separator="tilewright.AXIS_SEPARATOR",
    )
    for handle in step.results:
        if handle not in variables:
            name = handle.name if isinstance(handle, Var) else handle
            variables[handle] = unique_name(name, {*variables.values(), *_OURS, "main"})
    targets = [variables[handle] for handle in step.results]
    if not targets:
        return call
    if step.method in _LISTS and len(targets) == 1:
        return f"({targets[0]},) = {call}"
    return f"{', '.join(targets)} = {call}"


__all__ = [
    "Converted",
    "converted",
    "edited_cell",
    "machine_for",
    "notebook_of",
    "program_name",
    "trace_line",
    "workload_text",
]
