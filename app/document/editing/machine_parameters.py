"""Overrides of machine parameters: adds, changes and removes lines such as `machine = machine.replace("memories.vtcm.banks", 4)` in the
machine cell. The equivalent chain `tilewright.machine("…").replace(…).replace(…)` is edited in place.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from ....engine.hwsim import Machine
from ....engine.ir import Refusal
from ....engine.script import find_tree
from ..cells import Cell, Document, lines_of, read_document
from ..files.read_write import DocumentError
from .apply import replace_cell

NEW = "machine"
"""The variable of a generated machine line."""


class Override(NamedTuple):
    """One call `.replace("path", value)` of a machine cell."""

    cell: Cell
    statement: ast.Assign
    call: ast.Call
    path: str


def unchained(text: str) -> str:
    """`text` with chains split: `m = x(…).replace(…)` becomes `m = x(…); m = m.replace(…)`. Line numbers stay valid."""
    lines = lines_of(text)
    for node in _statements(text):
        calls = list(_chain(node.value))
        if len(calls) < 2:
            continue
        target = ast.unparse(node.targets[0])
        first = f"{target} = {ast.unparse(calls[-1])}"
        later = (f"{target} = {target}.replace({_arguments(call)})" for call in reversed(calls[:-1]))
        last = node.end_lineno or node.lineno
        lines[node.lineno - 1 : last] = ["; ".join((first, *later)) + "\n" * (last - node.lineno + 1)]
    return "".join(lines)


def with_machine(document: Document, name: str) -> Document:
    """The document with `name` in its machine line; a missing machine cell is created. If the machine changes, the parameter overrides,
    which belong to the old machine, are removed."""
    line = f'{NEW} = tilewright.machine("{name}")'
    if named_machine(document) != name:
        document = without_parameters(document)
    for cell in document.of_kind("machine"):
        found = _NAMED.search(cell.body)
        if found is not None:
            start, end = found.span("quoted")
            return replace_cell(document, cell, f'{cell.body[:start]}"{name}"{cell.body[end:]}')
    cells = document.of_kind("machine")
    if cells:
        return replace_cell(document, cells[0], f"{line}{document.newline}{cells[0].body}")
    return _with_machine_cell(document, line)


_NAMED = re.compile(r"tilewright\.machine\(\s*(?P<quoted>\"[^\"]*\"|'[^']*')\s*\)")


def named_machine(document: Document) -> str | None:
    """The name or path in the first machine line."""
    found = (_NAMED.search(cell.body) for cell in document.of_kind("machine"))
    return next((match["quoted"][1:-1] for match in found if match is not None), None)


def with_parameter(document: Document, machine: Machine, path: str, value: object) -> Document:
    """The document with parameter `path` of its machine set to `value`, in the call that already sets it, else in a new line after the
    machine lines. `machine` is the document's machine, or the default machine."""
    wanted = machine.full_path(path)
    for override in reversed(list(_overrides(document))):
        if machine.full_path(override.path) == wanted:
            return _with_span(document, override.cell, override.call.args[1], _literal(value))
    if named_machine(document) is None:
        document = with_machine(document, machine.name)
    cell, statement = _last_line(document)
    name = ast.unparse(statement.targets[0])
    lines = lines_of(cell.body)
    at = statement.end_lineno or statement.lineno
    if not lines[at - 1].endswith(("\n", "\r")):
        lines[at - 1] += document.newline
    lines.insert(at, f'{name} = {name}.replace("{wanted}", {_literal(value)}){document.newline}')
    return replace_cell(document, cell, "".join(lines))


def without_parameters(document: Document, machine: Machine | None = None, path: str | None = None) -> Document:
    """The document without the calls that set machine parameter `path`; None removes all overrides."""
    while True:
        overrides = [t for t in _overrides(document) if path is None or machine is None or _same(machine, t.path, path)]
        if not overrides:
            return document
        document = _without_override(document, overrides[-1])


def overridden_paths(document: Document, machine: Machine) -> tuple[str, ...]:
    """The full paths of the machine parameters that the document overrides."""
    return tuple(dict.fromkeys(machine.full_path(override.path) for override in _overrides(document)))


def _same(machine: Machine, path: str, other: str) -> bool:
    return machine.full_path(path) == machine.full_path(other)


def _overrides(document: Document) -> Iterator[Override]:
    """The parameter overrides in the file's order."""
    for cell in document.of_kind("machine"):
        for node in _statements(cell.body):
            for call in reversed(list(_chain(node.value))):
                match call:
                    case ast.Call(func=ast.Attribute(attr="replace"), args=[ast.Constant(value=str(path)), _]):
                        yield Override(cell, node, call, path)
                    case _:
                        pass


def _statements(text: str) -> list[ast.Assign]:
    """The assignments to a single name; empty for a text with a syntax error, which `evaluate` reports."""
    tree = find_tree(text)
    return (
        []
        if tree is None
        else [
            n
            for n in tree.body
            if isinstance(n, ast.Assign) and len(n.targets) == 1 and isinstance(n.targets[0], ast.Name)
        ]
    )


def _chain(value: ast.expr) -> Iterator[ast.Call]:
    """The calls of `a(…).replace(…).replace(…)`, last call first."""
    while isinstance(value, ast.Call):
        yield value
        if not isinstance(value.func, ast.Attribute) or value.func.attr != "replace":
            return
        value = value.func.value


def _arguments(call: ast.Call) -> str:
    return ", ".join([*map(ast.unparse, call.args), *(f"{k.arg}={ast.unparse(k.value)}" for k in call.keywords)])


def _last_line(document: Document) -> tuple[Cell, ast.Assign]:
    """The last statement that constructs or changes the machine."""
    for cell in reversed(document.of_kind("machine")):
        for node in reversed(_statements(cell.body)):
            if any(True for _ in _chain(node.value)):
                return cell, node
    raise DocumentError(
        Refusal("no-machine-line", "the machine cell cannot be read", expected=f'{NEW} = tilewright.machine("…")')
    )


def _without_override(document: Document, override: Override) -> Document:
    assert isinstance(override.call.func, ast.Attribute)
    before = override.call.func.value
    if isinstance(before, ast.Name):
        lines = lines_of(override.cell.body)
        del lines[override.statement.lineno - 1 : override.statement.end_lineno]
        return replace_cell(document, override.cell, "".join(lines))
    lines = lines_of(override.cell.body)
    start = _offset(lines, before.end_lineno, before.end_col_offset)
    end = _offset(lines, override.call.end_lineno, override.call.end_col_offset)
    return replace_cell(document, override.cell, override.cell.body[:start] + override.cell.body[end:])


def _with_span(document: Document, cell: Cell, node: ast.expr, new: str) -> Document:
    lines = lines_of(cell.body)
    start, end = _offset(lines, node.lineno, node.col_offset), _offset(lines, node.end_lineno, node.end_col_offset)
    return replace_cell(document, cell, cell.body[:start] + new + cell.body[end:])


def _offset(lines: list[str], line: int | None, column: int | None) -> int:
    """The text offset of a syntax tree position, whose columns count bytes."""
    assert line is not None and column is not None
    return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())


def _literal(value: object) -> str:
    """A value as a Python literal, with strings in double quotes like the rest of the line."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _with_machine_cell(document: Document, line: str) -> Document:
    """The document with a machine cell before the workload; a program in the preamble gets a workload marker."""
    newline = document.newline
    made = f"# %% machine{newline}import tilewright{newline}{newline}{line}{newline}{newline}"
    at = next((n for n, cell in enumerate(document.cells) if cell.kind == "workload"), 0)
    if at == 0 and document.cells and document.cells[0].kind == "preamble":
        made += f"# %% workload{newline}"
    texts = [cell.text for cell in document.cells]
    return read_document("".join([*texts[:at], made, *texts[at:]]), document.path)
