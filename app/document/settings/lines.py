"""Lines of a notebook that give a name a dictionary: `sizes = {...}`, `on_chip = {...}`. They are settings, no calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ....engine.ir import Place
from ....engine.script import find_tree
from ..cells import Cell, Document, lines_of, read_document


def dictionary_lines(cell: Cell, name: str) -> list[ast.Assign]:
    """Return the statements of a cell that give `name` a dictionary. A cell with a syntax error has none; `read_calls` reports it."""
    tree = find_tree(cell.body) if name in cell.body else None
    return [
        node
        for node in (tree.body if tree is not None else ())
        if isinstance(node, ast.Assign)
        and [ast.unparse(t) for t in node.targets] == [name]
        and isinstance(node.value, ast.Dict)
    ]


def entries(node: ast.Assign) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """Yield the keys and values of the dictionary; the key of `**other` is None."""
    assert isinstance(node.value, ast.Dict)
    yield from zip(node.value.keys, node.value.values, strict=True)


def calls_text(cell: Cell, names: Sequence[str]) -> str:
    """The cell's body with the lines of these dictionaries emptied; line numbers stay valid."""
    lines = lines_of(cell.body)
    for node in (node for name in names for node in dictionary_lines(cell, name)):
        for number in range(node.lineno - 1, node.end_lineno or node.lineno):
            lines[number] = "\n"
    return "".join(lines)


def place_of(cell: Cell, node: ast.Assign, document: Document) -> Place:
    """The place of a statement of a cell in the file."""
    above = cell.body_line - 1
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    return Place(above + node.lineno, node.col_offset + 1, above + end_line, end_column + 1, document.path or "")


def with_dictionary_line(document: Document, name: str, line: str) -> Document:
    """The document with `line` as its dictionary: in place of its last such line, else at the end of its machine cell or before its
    schedule."""
    cells = (*document.of_kind("machine"), *document.of_kind("schedule"))
    for cell in reversed(cells):
        for node in reversed(dictionary_lines(cell, name)):
            lines = lines_of(cell.body)
            lines[node.lineno - 1 : node.end_lineno] = [line + document.newline] if line else []
            return _with_body(document, cell, "".join(lines))
    if not line:
        return document
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


def with_entries(document: Document, name: str, line: str) -> Document:
    """The document with the entries of `line` in its dictionary, beside its other entries."""
    cells = (*document.of_kind("machine"), *document.of_kind("schedule"))
    before = [node for cell in cells for node in dictionary_lines(cell, name)]
    after = find_tree(line)
    new = after.body[0] if after is not None and after.body else None
    if not before or not isinstance(new, ast.Assign):
        return with_dictionary_line(document, name, line)
    found = {ast.unparse(key): ast.unparse(value) for node in (before[-1], new) for key, value in entries(node) if key}
    text = ", ".join(f"{key}: {value}" for key, value in found.items()).replace("'", '"')
    return with_dictionary_line(document, name, f"{name} = {{{text}}}")


def fields_of(line: str, names: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The name of a line's dictionary, if it is one of `names`, and its values as text; otherwise "" and none."""
    tree = find_tree(line)
    match tree.body if tree is not None else []:
        case [ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict()) as node] if name in names:
            return name, {ast.literal_eval(key): ast.unparse(value) for key, value in entries(node) if key is not None}
        case _:
            return "", {}


def _with_body(document: Document, cell: Cell, body: str) -> Document:
    text = cell.marker + body
    return read_document("".join(text if c is cell else c.text for c in document.cells), document.path)


__all__ = ["calls_text", "dictionary_lines", "entries", "fields_of", "place_of", "with_dictionary_line", "with_entries"]
