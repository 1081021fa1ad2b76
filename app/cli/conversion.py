"""Conversion of code to a notebook, and its output: for `import` and `new`."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...engine.hwsim import load_machine
from ...engine.ir import IRModule, PrimFunc, Refusal
from ...engine.schedule import ScheduleError
from ...engine.te import parse
from ..actions.opening import as_notebook
from ..document import (
    DEFAULT_MACHINE,
    Converted,
    Document,
    DocumentError,
    evaluate,
    read_document,
    save_document,
)
from ..document.editing.machine_parameters import with_machine
from ..document.pasted import machine_for, workload_text
from .exit_codes import EXIT_OK, RefusedError
from .opened import of_program, source, split_program
from .output import print_json, print_text

_DECORATOR = re.compile(r"^[ \t]*@(?:(?P<name>\w+)\.(?P<what>prim_func|ir_module)\b|.*)", re.MULTILINE)
_TVM_IMPORT = re.compile(r"^(?:from tvm\b.* import .*|import tvm\b.*)(?:\n|\Z)", re.MULTILINE)


def as_cells(file: str, sizes: Mapping[str, int | str]) -> Converted:
    """Convert FILE, any text that contains a program, or FILE#2 or FILE#NAME to a notebook."""
    path, number = split_program(file)
    found = source(path)
    made = of_program(found, path, number, sizes)
    if any(cell.kind != "preamble" for cell in made.document.cells):
        return made
    program = parse(found.text, found.path or "").program
    func = program if isinstance(program, PrimFunc) else program.functions[0]
    return Converted(
        read_document(as_notebook(_runnable(found.text, program), machine_for(func, DEFAULT_MACHINE))), made.notes
    )


def _runnable(text: str, program: IRModule | PrimFunc) -> str:
    """TVMScript that Python runs without TVM: the text with imports from Tilewright; a text in another form is reprinted."""
    decorators = list(_DECORATOR.finditer(text))
    if not decorators or any(found["what"] is None for found in decorators):
        return workload_text(program)
    names = {found["what"]: found["name"] for found in decorators}
    imported = [f"ir as {names['ir_module']}"] if "ir_module" in names else []
    imported.append(f"tirx as {names.get('prim_func', 'T')}")
    body = _TVM_IMPORT.sub("", text.lstrip("\ufeff")).strip("\n")
    return f"from tilewright.script import {', '.join(imported)}\n\n\n{body}"


def on_machine(document: Document, machine: str | None) -> Document:
    if machine is None:
        return document
    load_machine(machine)  # raises for an unknown machine
    return with_machine(document, machine)


def write_notebook(arguments: Namespace, document: Document, more: Mapping[str, Any]) -> int:
    """Write the notebook to its file, or to standard output. Errors of the notebook are raised before anything is written."""
    notebook = evaluate(document)
    if notebook.error is not None:
        raise RefusedError(notebook.error) if isinstance(notebook.error, ScheduleError) else notebook.error
    if arguments.output is not None:
        if Path(arguments.output).exists() and not arguments.force:
            raise DocumentError(Refusal("file-exists", f"{arguments.output} already exists", fix=("--force",)))
        save_document(document, arguments.output)
    if arguments.json:
        steps = [step.text for step in notebook.steps]
        print_json({"output": arguments.output, "steps": steps, "text": document.text, **more})
    elif arguments.output is None:
        print_text(document.text)
    return EXIT_OK
