"""Conversion of existing code to a notebook: TE text, or a TVM program of any version followed by its schedule code.

The program becomes current TVMScript. The schedule becomes the equivalent calls, each below its source line as a comment. Conversion
stops at the first schedule line that cannot be read or is refused; it and the lines after it stay as comments.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace as replace_fields

from ...engine.adopt import Snippet, is_carrier, is_post, kept_text, read_as_far_as_possible, unwrapped
from ...engine.export import trace_line
from ...engine.hwsim import DmaEngine, Machine, load_machine, preset_names
from ...engine.ir import Buffer, IRModule, Place, PrimFunc, TilewrightError, Var, structural_equal, walk
from ...engine.script import Note, Parsed, find_tree, parse, to_script
from ...engine.script.language import uses_tile_language
from ...engine.te import is_te
from .cells import Cell, Document, read_document
from .editing.apply import replace_cell
from .functions import function_of, has_choice
from .machine import target_of
from .posts import Post, PostRead, numbered, numbers, read_post, with_prose_around
from .workload import read_workload

OURS = ("sch", "machine", "tilewright", "T", "I", "sizes", "data", "main")
"""Names that the notebook itself uses."""


class Converted(msgspec.Struct, frozen=True, eq=False):
    """A document with cells, notes on its source text, and the error of the first schedule line that was not applied (`stopped`). `post`
    has the programs of a text with several; `plain` is the parsed program of a document that is a program without cells."""

    document: Document
    notes: tuple[Note, ...] = ()
    stopped: TilewrightError | None = None
    sizes_used: frozenset[str] = frozenset()
    post: Post | None = None
    plain: Parsed | None = None


def converted(
    document: Document,
    machine: str,
    given: Mapping[str, int | str] | None = None,
    program: int | str = 0,
    *,
    home: Path | None = None,
) -> Converted:
    """The notebook for a plain file of TE text, of a snippet with schedule code, of an unindented program, or of one program of a post or
    function of a module, by its number from 1 or its name (`program`; 0 is the first); other documents unchanged.

    The machine is that of the text's target, else the preset `machine`; if it lacks scopes of the program, the first preset that has them.
    The notebook gets a new path beside the file; names that the text imports are read beside `home`, its file or folder.
    `given` are values for symbolic sizes, substituted if the schedule of TE text cannot be built for all sizes, and for parameters of
    functions that make the program; `sizes_used` names them. Raises ParseError, and for TE text ScheduleError, with the lines of the text.
    """
    if not is_plain(document):
        return Converted(document)
    sign, target = target_of(document.text)
    made = _converted(document, target or machine, given, program, home)
    used = _machine_name(made.document) if made.plain is None else ""
    if not target or target == machine or used != target:
        return made
    note = Note(
        f"the text has {sign!r}: the machine is {target} unless another is chosen",
        Place(1, 1, 1, 1, document.path or ""),
    )
    return replace_fields(made, notes=(*made.notes, note))


def _machine_name(document: Document) -> str:
    named = re.search(r'tilewright\.machine\("([\w-]+)"\)', "".join(cell.body for cell in document.of_kind("machine")))
    return named[1] if named else ""


def _converted(
    document: Document, machine: str, given: Mapping[str, int | str] | None, program: int | str, home: Path | None
) -> Converted:
    has_cells = _is_of_other_tools(document)
    if has_cells:
        document = _without_markers(document)
    text = document.text.lstrip("\ufeff")
    carried = _carried_notebook(document)
    if carried is not None:
        return carried
    post = read_post(text, document.path or "", program, given or {}, home)
    if post is not None:
        return _post_notebook(document, post, machine, program)
    if not is_te(text) and not is_post(text):
        parsed = _parsed(document)
        if parsed is not None and isinstance(parsed.program, IRModule) and has_choice(parsed.program, text):
            return _function_notebook(document, parsed, machine, program)
        if not has_cells and (parsed is None or not parsed.notes):
            return Converted(document, plain=parsed)
    used: frozenset[str] = frozenset()
    sizes = numbers(given or {})
    try:
        found = read_as_far_as_possible(text, filename=document.path or "", home=home)
    except TilewrightError:
        if not sizes or not is_te(text):
            raise
        found = read_as_far_as_possible(text, filename=document.path or "", sizes=sizes, home=home)
        used = frozenset(sizes)
    made = read_document(
        notebook_of(text, found, _machine_of(found, machine)),
        path_beside(document.path) if document.path else None,
    )
    return Converted(made, found.notes, found.stopped, used)


def is_plain(document: Document) -> bool:
    """Whether a document has no cells of a Tilewright notebook: those in a carrier do not count, nor cells of other tools with code."""
    has_none = all(cell.kind == "preamble" for cell in document.cells)
    return has_none or _is_of_other_tools(document) or is_carrier(document.text)


def _is_of_other_tools(document: Document) -> bool:
    """Whether a text has percent cells, as of VS Code or Jupytext, with code, and neither a workload nor the name of Tilewright."""
    kinds = {cell.kind for cell in document.cells if cell.body.strip()}
    return "code" in kinds and "workload" not in kinds and "tilewright" not in document.text


def _without_markers(document: Document) -> Document:
    """The document as one plain text: the line that opens a cell becomes a comment with the cell's title."""
    texts = (
        f"# {cell.title}".rstrip() + document.newline + cell.body if cell.marker else cell.text
        for cell in document.cells
    )
    return Document((Cell("preamble", "".join(texts), 1),), document.path)


def _post_notebook(document: Document, post: PostRead, machine: str, wanted: int | str) -> Converted:
    """The notebook of a program of a post; of a text whose only program is a module of functions, that of one function. Raises
    DocumentError "no-such-program"."""
    found, choice, name = post.found, post.post, "blocks"
    module, code = found.program, post.program.text
    is_alone = len(choice.labels) == 1
    is_unscheduled = not found.schedule.trace.steps and found.stopped is None
    if is_alone and is_unscheduled and isinstance(module, IRModule) and has_choice(module, code):
        func, made = function_of(module, code, wanted)
        choice, name = replace_fields(made, text=choice.text), func.name
        written = plain_notebook(workload_text(func), func.name, machine_for(func, machine))
    else:
        if is_alone:
            numbered(wanted, [post.program.name])
        kept = _kept(code, post)
        name_of = program_name(found.program)
        written = (
            notebook_of(code, found, _machine_of(found, machine))
            if kept is None
            else plain_notebook(kept, name_of, _machine_of(found, machine))
        )
    made = read_document(with_prose_around(post, written), path_beside(document.path, name) if document.path else None)
    return Converted(made, post.notes, found.stopped, post.used, choice)


def _kept(text: str, post: PostRead) -> str | None:
    """The text of a kernel of TileLang with a call that has the values of its parameters, if it reads as the same program."""
    wanted, tree = post.program.nested, find_tree(text)
    if wanted is None or tree is None or not uses_tile_language(ast.walk(tree)):
        return None
    given = {name: value for name, value in post.given.items() if name in post.used}
    kept = kept_text(text, tree, wanted, {**post.found.values, **given})
    try:
        return kept if kept is not None and structural_equal(parse(kept).program, post.found.program) else None
    except TilewrightError:
        return None


def _carried_notebook(document: Document) -> Converted | None:
    """The notebook of Tilewright that a carrier has as a whole, such as a patch."""
    content = unwrapped(document.text)
    if content is None or len(content.pieces) != 1:
        return None
    made = read_document(content.pieces[0].text, path_beside(document.path) if document.path else None)
    is_whole = bool(made.of_kind("workload")) and find_tree(made.text) is not None
    return Converted(made, content.notes) if is_whole else None


def edited_cell(document: Document, cell: Cell, body: str, machine: str) -> Converted:
    """The document with the text below a marker replaced. TE text or a snippet in the workload cell becomes workload and schedule.

    Raises the errors of `converted`, with lines of `body`.
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


def _parsed(document: Document) -> Parsed | None:
    """The program of a document without cells; None if it is unreadable."""
    try:
        return read_workload(document)
    except TilewrightError:
        return None  # `evaluate` reports it


def _function_notebook(document: Document, parsed: Parsed, machine: str, wanted: int | str) -> Converted:
    """The notebook of one function of a plain module. Raises DocumentError "no-such-program"."""
    assert isinstance(parsed.program, IRModule), "a module has the functions"
    func, choice = function_of(parsed.program, document.text.lstrip("\ufeff"), wanted)
    written = plain_notebook(workload_text(func), func.name, machine_for(func, machine))
    made = read_document(written, path_beside(document.path, func.name) if document.path else None)
    return Converted(made, parsed.notes, post=choice)


def plain_notebook(workload: str, name: str, machine: str) -> str:
    """The text of a notebook without schedule calls; `name` is that of the program in `workload`."""
    return (
        f'# %% machine\nimport tilewright\n\nmachine = tilewright.machine("{machine}")\n\n'
        f"# %% workload\n{workload.strip()}\n\n# %% schedule\nsch = tilewright.Schedule({name})\n"
    )


def path_beside(path: str, name: str = "blocks") -> str:
    """An unused path beside the file: `matmul_blocks.py` for `matmul.py`."""
    number, found = 1, Path(path).with_name(f"{Path(path).stem}_{name}.py")
    while os.path.lexists(found):  # a dangling link also counts as used
        number, found = number + 1, Path(path).with_name(f"{Path(path).stem}_{name}_{number}.py")
    return str(found)


def machine_for(func: PrimFunc, default: str) -> str:
    """The default machine if it has all scopes of the scheduled program, else the first preset that has them, else the default.

    Presets whose DMA engines read and write all these memories are preferred, since explicit scopes suggest explicit copies.
    """
    scopes = {node.scope for node in walk(func) if isinstance(node, Buffer)}
    if _knows(load_machine(default), scopes):
        return default
    knowing = [m for m in map(load_machine, preset_names()) if _knows(m, scopes)]
    return next((m.name for m in sorted(knowing, key=lambda m: not _copies(m, scopes))), default)


def _machine_of(found: Snippet, default: str) -> str:
    return machine_for(found.schedule.func, default)


def _copies(machine: Machine, scopes: set[str]) -> bool:
    copiers = [e for e in machine.engines if isinstance(e, DmaEngine)]
    memories = {memory.name for scope in scopes if (memory := machine.find_memory(scope)) is not None}
    read, written = {m for e in copiers for m in e.reads}, {m for e in copiers for m in e.writes}
    return memories <= read and memories <= written


def _knows(machine: Machine, scopes: set[str]) -> bool:
    return all(machine.find_memory(scope) is not None for scope in scopes)


def notebook_of(text: str, found: Snippet, machine: str) -> str:
    """The notebook's text; `found` is the parsed `text`."""
    schedule = "\n".join([f"sch = tilewright.Schedule({program_name(found.program)})", *_lines(text, found)])
    return (
        f'# %% machine\nimport tilewright\n\nmachine = tilewright.machine("{machine}")\n\n'
        f"# %% workload\n{workload_text(found.program)}\n\n\n# %% schedule\n{schedule}\n"
    )


def workload_text(program: IRModule | PrimFunc) -> str:
    """The printed program, preceded by the imports that it needs."""
    script = to_script(program).strip()
    first = next(n for n, line in enumerate(script.split("\n")) if line.startswith("@"))
    names = "ir as I, tirx as T" if isinstance(program, IRModule) else "tirx as T"
    return f"from tilewright.script import {names}\n\n\n" + "\n".join(script.split("\n")[first:])


def program_name(program: IRModule | PrimFunc) -> str:
    """The program's name in the workload's text."""
    return "Module" if isinstance(program, IRModule) else program.name


def _lines(text: str, found: Snippet) -> list[str]:
    """The calls. Each source line's calls follow the comments above it, and the line itself as a comment if it reads differently."""
    variables: dict[Var | str, str] = {}
    for name, handle in found.names.items():
        if isinstance(handle, Var | str):
            variables.setdefault(handle, name)
    source = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    done = min((p.line for p in (*found.sources, *found.rest)), default=1) - 1
    while done > 0 and source[done - 1].lstrip().startswith("#"):
        done -= 1
    above = _Above(source, done)
    lines: list[str] = []
    said: Place | None = None
    for step, place in zip(found.schedule.trace.steps, found.sources, strict=True):
        call = trace_line(step, variables, OURS)
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
    """The comments in a text between consecutive statements."""

    def __init__(self, source: list[str], done: int) -> None:
        self.source, self.done = source, done

    def comments(self, place: Place) -> Iterator[str]:
        """The comments above a place; each is yielded once."""
        for line in self.source[self.done : place.line - 1]:
            if line.strip().startswith("#"):
                yield line.strip()
        self.done = max(self.done, place.end_line)


def _bare(line: str) -> str:
    return line.partition("#")[0].replace(" ", "").replace("'", '"').rstrip()


def _quoted(source: list[str], place: Place) -> str:
    """The text at a place, on one line."""
    return " ".join(" ".join(source[place.line - 1 : place.end_line]).split())


__all__ = [
    "OURS",
    "Converted",
    "converted",
    "edited_cell",
    "machine_for",
    "notebook_of",
    "plain_notebook",
    "program_name",
    "workload_text",
]
