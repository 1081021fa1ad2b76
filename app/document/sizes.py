"""The sizes for simulation and tests of a notebook: a line `sizes = {"M": 256, "K": 512}` in its machine or schedule cell."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ...engine.ir import IRModule, Place, PrimFunc, Refusal
from ...engine.lower import size_values, size_variables
from ...engine.script import find_tree
from .cells import Cell, Document, lines_of, read_document
from .files.read_write import DocumentError
from .places import at_place

NAME = "sizes"
EXAMPLE = 'sizes = {"M": 256, "K": 512}'


def read_sizes(document: Document, program: IRModule | PrimFunc | None) -> Mapping[str, int]:
    """The sizes by name; the last line wins, as in Python. Raises DocumentError and LowerError with the file's line."""
    found: Mapping[str, int] = {}
    for cell in (*document.of_kind("machine"), *document.of_kind("schedule")):
        for node in _lines_of_sizes(cell):
            place = _place(cell, node, document)
            found = at_place(place, lambda node=node: _checked(_sizes(node), program))
    return found


def calls_text(cell: Cell) -> str:
    """The cell's body with its `sizes` lines, which are no calls, emptied; line numbers stay valid."""
    lines = lines_of(cell.body)
    for node in _lines_of_sizes(cell):
        for number in range(node.lineno - 1, node.end_lineno or node.lineno):
            lines[number] = "\n"
    return "".join(lines)


def with_sizes_line(document: Document, line: str) -> Document:
    """The document with `line` as its sizes: in place of its last such line, else at the end of its machine cell or before its schedule."""
    cells = (*document.of_kind("machine"), *document.of_kind("schedule"))
    for cell in reversed(cells):
        for node in reversed(_lines_of_sizes(cell)):
            lines = lines_of(cell.body)
            lines[node.lineno - 1 : node.end_lineno] = [line + document.newline]
            return _with_body(document, cell, "".join(lines))
    if not cells:
        text = f"# %% machine{document.newline}{line}{document.newline * 2}"
        at = next((n for n, c in enumerate(document.cells) if c.kind != "preamble"), len(document.cells))
        before, after = document.cells[:at], document.cells[at:]
        head = "".join(c.text for c in before)
        gap = document.newline if head and not head.endswith(("\n", "\r")) else ""
        return read_document(head + gap + text + "".join(c.text for c in after), document.path)
    cell = cells[0]
    if cell.kind == "schedule":
        return _with_body(document, cell, line + document.newline + cell.body)
    kept = cell.body.rstrip()
    rest = cell.body[len(kept) :].lstrip(" \t") or document.newline
    return _with_body(document, cell, f"{kept}{document.newline}{line}{rest}")


def is_sizes_line(text: str) -> bool:
    """Whether a line sets the sizes."""
    return text.startswith(f"{NAME} = {{")


def _with_body(document: Document, cell: Cell, body: str) -> Document:
    text = cell.marker + body
    return read_document("".join(text if c is cell else c.text for c in document.cells), document.path)


def _lines_of_sizes(cell: Cell) -> list[ast.Assign]:
    if NAME not in cell.body:
        return []
    tree = find_tree(cell.body)
    if tree is None:
        return []  # `read_calls` reports the syntax error
    return [
        node
        for node in tree.body
        if isinstance(node, ast.Assign)
        and [ast.unparse(t) for t in node.targets] == [NAME]
        and isinstance(node.value, ast.Dict)
    ]


def _place(cell: Cell, node: ast.Assign, document: Document) -> Place:
    above = cell.body_line - 1
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    return Place(above + node.lineno, node.col_offset + 1, above + end_line, end_column + 1, document.path or "")


def _sizes(node: ast.Assign) -> dict[str, int]:
    assert isinstance(node.value, ast.Dict)
    found: dict[str, int] = {}
    for key, value in zip(node.value.keys, node.value.values, strict=True):
        match key, value:
            case ast.Constant(value=str(name)), ast.Constant(value=int(size)):
                found[name] = size
            case _:
                raise DocumentError(
                    Refusal("bad-sizes", "sizes must map names to integers", found=ast.unparse(node), expected=EXAMPLE)
                )
    return found


def _checked(sizes: dict[str, int], program: IRModule | PrimFunc | None) -> dict[str, int]:
    """The sizes, after a check that each is a size variable of a function of the program."""
    if program is None:
        return sizes
    functions = program.functions if isinstance(program, IRModule) else (program,)
    known = {name: f for f in functions for name in size_variables(f)}
    for name, size in sizes.items():
        size_values(known.get(name, functions[0]), {name: size})
    return sizes


def sizes_for(func: PrimFunc, sizes: Mapping[str, int]) -> dict[str, int]:
    """The entries of `sizes` that `func` uses; another function of the module may use others."""
    known = size_variables(func) if sizes else {}
    return {name: size for name, size in sizes.items() if name in known}


__all__ = ["calls_text", "is_sizes_line", "read_sizes", "sizes_for", "with_sizes_line"]
