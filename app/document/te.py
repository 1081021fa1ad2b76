"""A notebook made of TE text: its program as TVMScript, its schedule as the equivalent calls, each under the line that asked for it."""

from __future__ import annotations

from pathlib import Path

from ...engine.export import call_text, unique_name
from ...engine.ir import Place, Var
from ...engine.schedule import Step
from ...engine.script import to_script
from ...engine.te import TEProgram, is_te, read_te
from .cells import Document, read_document

_LISTS = frozenset({"split", "get_loops"})
"""Methods that give a list, of one element too."""


def converted(document: Document, machine: str) -> Document:
    """A plain file of TE text as a notebook on a machine by name; every other document as it is.

    The notebook gets a path of its own beside the file. Raises ParseError and ScheduleError with the lines of the TE text.
    """
    if any(cell.kind != "preamble" for cell in document.cells) or not is_te(document.text):
        return document
    text = document.text.lstrip("\ufeff")
    made = te_notebook(text, read_te(text, document.path or ""), machine)
    return read_document(made, _beside(document.path) if document.path else None)


def _beside(path: str) -> str:
    """A path that no file has: `matmul_blocks.py` for `matmul.py`."""
    number, found = 1, Path(path).with_name(f"{Path(path).stem}_blocks.py")
    while found.exists():
        number, found = number + 1, Path(path).with_name(f"{Path(path).stem}_blocks_{number}.py")
    return str(found)


def te_notebook(text: str, found: TEProgram, machine: str) -> str:
    """The notebook's text; `found` is what `text` says."""
    script = to_script(found.program)
    program = script[script.index("@T.prim_func") :].strip()
    schedule = "\n".join([f"sch = tilewright.Schedule({found.program.name})", *_lines(text, found)])
    return (
        f'# %% machine\nimport tilewright\n\nmachine = tilewright.machine("{machine}")\n\n'
        f"# %% workload\nfrom tilewright.script import tirx as T\n\n\n{program}\n\n\n# %% schedule\n{schedule}\n"
    )


def _lines(text: str, found: TEProgram) -> list[str]:
    """The calls, and above those of one line of the text that line as a comment."""
    variables: dict[Var | str, str] = {handle: name for name, handle in found.names.items()}
    lines: list[str] = []
    said: Place | None = None
    for step, place in zip(found.schedule.trace.steps, found.sources, strict=True):
        if place != said and place.line > 0:
            lines.append(f"# {_quoted(text, place)}")
        said = place
        lines.append(_line(step, variables))
    return lines


def _quoted(text: str, place: Place) -> str:
    """The text at a place, in one line."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[place.line - 1 : place.end_line]
    return " ".join(" ".join(lines).split())


def _line(step: Step, variables: dict[Var | str, str]) -> str:
    arguments = dict(step.arguments)
    call = call_text(
        "sch", step.method, arguments, lambda handle: variables[handle], separator="tilewright.AXIS_SEPARATOR"
    )
    for handle in step.results:
        if handle not in variables:
            name = handle.name if isinstance(handle, Var) else handle
            variables[handle] = unique_name(name, {*variables.values(), "sch", "machine", "tilewright", "T", "main"})
    targets = [variables[handle] for handle in step.results]
    if not targets:
        return call
    if step.method in _LISTS and len(targets) == 1:
        return f"({targets[0]},) = {call}"
    return f"{', '.join(targets)} = {call}"
