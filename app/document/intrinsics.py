"""The intrinsic cells: tensor intrinsics for the schedule, each with two functions and a line that registers them.

# %% intrinsic: mma
@T.prim_func(s_tir=True)
def mma_desc(A: …, B: …, C: …): …

@T.prim_func(s_tir=True)
def mma_impl(A: …, B: …, C: …): …

tilewright.TensorIntrin.register("mma", mma_desc, mma_impl)
"""

from __future__ import annotations

import ast

from ...engine.ir import PrimFunc, Refusal
from ...engine.schedule import Intrinsics
from ...engine.script import CallStep, Ref, find_tree, parse, read_calls
from .cells import Cell, Document, lines_of
from .files.read_write import DocumentError
from .places import at_place

REGISTER = ("tilewright.TensorIntrin", "TensorIntrin")
"""The accepted receivers of `register`."""


def read_intrinsics(document: Document) -> Intrinsics:
    """The intrinsics that the notebook itself defines. Raises ParseError, DocumentError "bad-intrinsic", and the errors of `register`, each
    with the file's line."""
    found = Intrinsics()
    for cell in document.of_kind("intrinsic"):
        functions, calls = _parts(cell, document)
        for call in calls:
            at_place(call.place, lambda call=call, functions=functions: _register(found, call, functions))
    return found


def intrinsic_text(document: Document) -> str:
    """The text of all intrinsic cells; it identifies the intrinsics."""
    return "".join(cell.text for cell in document.of_kind("intrinsic"))


def _parts(cell: Cell, document: Document) -> tuple[dict[str, PrimFunc], tuple[CallStep, ...]]:
    """The cell's functions by name, and its calls. Each is read from a copy of the cell with all other lines empty."""
    tree = find_tree(cell.body) or ast.Module([], [])  # `read_calls` reports the syntax error and its place
    path = document.path or ""
    padding = "\n" * (cell.body_line - 1)
    functions: dict[str, PrimFunc] = {}
    rest = cell.body
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            program = parse(padding + _only(cell.body, first, node.end_lineno or first), path).program
            if isinstance(program, PrimFunc):
                functions[node.name] = program
            rest = _without(rest, first, node.end_lineno or first)
    return functions, read_calls(rest, path, cell.body_line)


def _only(text: str, first: int, last: int) -> str:
    """The text with all lines except `first` to `last` empty, so that line numbers stay valid."""
    return "".join(line if first <= n <= last else "\n" for n, line in enumerate(lines_of(text), 1))


def _without(text: str, first: int, last: int) -> str:
    return "".join("\n" if first <= n <= last else line for n, line in enumerate(lines_of(text), 1))


def _register(found: Intrinsics, call: CallStep, functions: dict[str, PrimFunc]) -> None:
    match call.receiver, call.method, call.args:
        case str(owner), "register", (str(name), Ref(name=desc), Ref(name=impl)) if (
            owner in REGISTER and not call.kwargs and desc in functions and impl in functions
        ):
            found.register(name, functions[desc], functions[impl])
        case _:
            raise DocumentError(
                Refusal(
                    "bad-intrinsic",
                    "an intrinsic cell contains functions and lines that register them",
                    found=call.text,
                    expected='tilewright.TensorIntrin.register("name", desc, impl), of two functions of the cell',
                    place=call.place,
                )
            )
