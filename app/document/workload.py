"""The workload cell: the program in TVMScript."""

from __future__ import annotations

import ast
import re

from ...engine.ir import Refusal
from ...engine.script import Parsed, find_tree, parse
from ...engine.te import is_te
from .cells import Cell, Document
from .files.read_write import DocumentError
from .places import marker_place


def workload_cell(document: Document) -> Cell | None:
    """The cell with the program: the workload cell, or the preamble in a file without one."""
    cells = document.of_kind("workload")
    if len(cells) > 1:
        raise DocumentError(
            Refusal(
                "two-workloads",
                "the notebook has more than one workload cell",
                expected="one workload cell with a function or a module",
                place=marker_place(cells[1], document),
            )
        )
    candidates = cells or document.of_kind("preamble")
    return candidates[0] if candidates else None


def is_kernel(document: Document) -> bool:
    """Whether the program is a TileLang kernel, whose text has its schedule."""
    cell = workload_cell(document)
    return cell is not None and "tilelang" in cell.body


def read_workload(document: Document) -> Parsed:
    """The program of the workload cell. Raises ParseError with the file's lines, DocumentError "no-workload", "te-workload"."""
    cell = workload_cell(document)
    if cell is None:
        raise DocumentError(Refusal("no-workload", "the notebook has no program", expected="a cell `# %% workload`"))
    if is_te(cell.body):
        raise DocumentError(
            Refusal(
                "te-workload",
                "the workload cell has TE text, whose schedule does not consist of block schedule calls",
                expected="a program in TVMScript",
                fix=(
                    "to convert the TE text with its schedule, save it as a file and run tilewright import FILE -o NOTEBOOK",
                    "or paste the text into the app, at Open or into this cell",
                ),
                place=marker_place(cell, document),
            )
        )
    # Leading empty lines align the parser's line numbers with the file.
    padding = "\n" * (cell.body_line - 1)
    return parse(padding + cell.body.lstrip("\ufeff"), document.path or "")


def program_names(document: Document) -> tuple[str, ...]:
    """The names of the functions or modules that the workload cell defines, and of the kernels that it makes by a call."""
    cell = workload_cell(document)
    if cell is None:
        return ()
    tree = find_tree(cell.body) if '"""' in cell.body or "'''" in cell.body else None
    if tree is not None:  # lines of a string can look like definitions
        defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        return (*defined, *(filter(None, map(_made, tree.body)) if is_kernel(document) else ()))
    made = re.findall(r"(?:^|[\r\n])(\w+) = \w+(?:\.compile|\.get_tir)?\(", cell.body) if is_kernel(document) else []
    return (*re.findall(r"(?:^|[\r\n])(?:def|class)[ \t]+(\w+)", cell.body), *made)


def _made(node: ast.stmt) -> str:
    """The name that a statement gives to the result of a call; "" for another statement."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call()):
            return name
        case _:
            return ""
