"""`tilewright import` and `tilewright new`: convert existing code to a notebook, and create notebooks from templates."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from ... import static
from ...engine.adopt import from_tvm_trace, is_post, read_as_far_as_possible
from ...engine.hwsim import load_machine
from ...engine.ir import IRModule, PrimFunc, Refusal
from ...engine.schedule import ScheduleError
from ...engine.te import parse
from ..actions.opening import as_notebook
from ..document import (
    Converted,
    Document,
    DocumentError,
    converted,
    evaluate,
    read_document,
    save_document,
)
from ..document.editing.from_schedule import notebook_of_schedule
from ..document.editing.machine_parameters import with_machine
from ..document.pasted import machine_for, workload_text
from ..document.title import title_of
from ..state.model import DEFAULT_MACHINE
from ..views.shell.gallery import FOLDER as EXAMPLES
from .opened import EXIT_OK, RefusedError, source, takes_file, takes_setting, whole
from .output import print_json, print_line, print_text, takes_json
from .usage import add_command

DEFAULT_TEMPLATE = "matmul"

_DECORATOR = re.compile(r"^[ \t]*@(?:(?P<name>\w+)\.(?P<what>prim_func|ir_module)\b|.*)", re.MULTILINE)
_TVM_IMPORT = re.compile(r"^(?:from tvm\b.* import .*|import tvm\b.*)\n", re.MULTILINE)


def add_import(commands: Any) -> None:
    importing = add_command(
        commands, "import", "convert TVMScript, TE, a forum post, a Python file or a TVM trace to a notebook",
        "matmul_te.py -o matmul.py", "trace.json --program module.py", "- --machine gemmini < post.txt",
        aliases=["convert"],
    )  # fmt: skip
    takes_file(
        importing,
        words="TVMScript, TE text, a program with its schedule code, the JSON of a TVM trace, or a link to a notebook",
    )
    takes_file(importing, "--program", "for a trace: the original program")
    takes_setting(importing)
    takes_json(importing, "the notebook and the notes of the conversion")
    importing.add_argument("-o", "--output", metavar="OUT", help="output file (default: standard output)")
    importing.add_argument("--force", action="store_true", help="overwrite an existing file")
    importing.set_defaults(run=_import)


def add_new(commands: Any) -> None:
    new = add_command(
        commands, "new", "create a notebook from a template, an example, or existing code",
        "kernel.py", "kernel.py --template conv2d --machine gemmini", "kernel.py --source module.py", "--list",
    )  # fmt: skip
    new.add_argument("output", metavar="OUT", nargs="?", help="the notebook to create")
    new.add_argument(
        "--template",
        metavar="NAME",
        help=f"a template or an example (default: {DEFAULT_TEMPLATE}); `--list` prints their names",
    )
    takes_file(new, "--source", "convert this TVMScript, TE text or post instead")
    new.add_argument("--list", action="store_true", help="list the templates and examples")
    takes_setting(new)
    takes_json(new, "the notebook, or the list,")
    new.add_argument("--force", action="store_true", help="overwrite an existing file")
    new.set_defaults(run=_new)


# ---- import.


def _import(arguments: Namespace) -> int:
    document, notes = _imported(arguments)
    return _write(arguments, document, {"notes": notes})


def _imported(arguments: Namespace) -> tuple[Document, list[str]]:
    found = source(arguments.file)
    if _is_trace(found.text):
        return _of_trace(found.text, arguments), []
    if arguments.program is not None:
        raise DocumentError(
            Refusal("not-a-trace", "--program needs the JSON of a trace", found=f"{arguments.file} is not a trace")
        )
    made = _as_cells(found, dict(arguments.size))
    return _on_machine(made.document, arguments.machine), [f"line {n.place.line}: {n.text}" for n in made.notes]


def _is_trace(text: str) -> bool:
    """Whether the text is a trace: its JSON is a list, and no program begins with one."""
    return text.lstrip("\ufeff \t\r\n").startswith("[")


def _as_cells(found: Document, sizes: Mapping[str, int]) -> Converted:
    """Convert any text that contains a program to a notebook."""
    made = whole(lambda: converted(found, DEFAULT_MACHINE, sizes))
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


def _of_trace(text: str, arguments: Namespace) -> Document:
    """Apply the calls of a trace to its original program."""
    if arguments.program is None:
        raise DocumentError(
            Refusal(
                "no-program",
                "a trace does not contain the original program",
                fix=(f"tilewright import {arguments.file} --program PROGRAM.py",),
            )
        )
    program = _program_in(source(arguments.program), arguments.program)
    try:
        schedule = from_tvm_trace(text.strip(), program)
    except ScheduleError as error:
        raise RefusedError(error) from error
    machine = load_machine(arguments.machine or machine_for(schedule.func, DEFAULT_MACHINE))
    return notebook_of_schedule(schedule, machine).document


def _program_in(document: Document, path: str) -> IRModule | PrimFunc:
    """The program of a notebook, of a plain file, or of a file with schedule code, which is ignored."""
    if any(cell.kind != "preamble" for cell in document.cells):
        notebook = evaluate(document)
        if notebook.program is None:
            raise notebook.error or DocumentError(Refusal("no-workload", f"there is no program in {path}"))
        return notebook.program
    if is_post(document.text):
        return read_as_far_as_possible(document.text, filename=path).program
    return parse(document.text, path).program


def _on_machine(document: Document, machine: str | None) -> Document:
    if machine is None:
        return document
    load_machine(machine)  # raises for an unknown machine
    return with_machine(document, machine)


# ---- new.


def templates() -> dict[str, str]:
    """Name -> text of the templates: small programs, and the examples."""
    folder = resources.files(static) / "templates"
    found = {
        entry.name.removesuffix(".py"): entry.read_text("utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".py")
    }
    examples = {file.stem: file.read_text("utf-8") for file in sorted(EXAMPLES.glob("*.py"))}
    return {**dict(sorted(found.items())), **examples}


def _new(arguments: Namespace) -> int:
    known = templates()
    if arguments.list:
        titles = {name: title_of(read_document(text)) for name, text in known.items()}
        if arguments.json:
            print_json([{"name": name, "title": title} for name, title in titles.items()])
        else:
            width = max(map(len, titles))
            print_line("\n".join(f"{name:<{width}}  {title}" for name, title in titles.items()))
        return EXIT_OK
    if arguments.source is not None:
        document = _as_cells(source(arguments.source), dict(arguments.size)).document
    else:
        name = arguments.template or DEFAULT_TEMPLATE
        if name not in known:
            raise DocumentError(
                Refusal("no-such-template", f"there is no template {name!r}", expected=", ".join(known))
            )
        document = read_document(known[name])
    return _write(arguments, _on_machine(document, arguments.machine), {})


def _write(arguments: Namespace, document: Document, more: Mapping[str, Any]) -> int:
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


__all__ = ["add_import", "add_new", "templates"]
