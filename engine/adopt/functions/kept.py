"""The text of a kernel that functions make: the statements that it depends on, and a call with the values of its parameters."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from ...script.subset.bindings import EVERY_NAME, bound_names, free_names
from .needs import defaults_of, parameters_of
from .nested import NestedProgram


def kept_text(text: str, tree: ast.Module, wanted: NestedProgram, given: Mapping[str, Any]) -> str | None:
    """Return the statements of a text that a kernel depends on, with their comments, and the call that makes the kernel; None if no
    function of the text makes it."""
    made = wanted.called[0] if wanted.called else wanted.node
    outer = next((node for node in tree.body if node.lineno == made.lineno), None)
    if not isinstance(outer, ast.FunctionDef):
        return None
    kept: set[ast.stmt] = {outer}
    names = set(_used(outer))
    size = 0
    while size != len(names):
        size = len(names)
        for node in tree.body:
            if node not in kept and bound_names(node) & (names | {EVERY_NAME}):
                kept.add(node)
                names |= _used(node)
    lines = text.split("\n")
    found: list[str] = []
    for node in tree.body:
        if node in kept:
            gap = "\n\n" if isinstance(node, ast.FunctionDef | ast.ClassDef) and found else ""
            found.append(gap + "\n".join(lines[_first(lines, node) : node.end_lineno]))
    return "\n".join([*found, "\n", _call(outer, wanted, given)])


def _used(node: ast.stmt) -> frozenset[str]:
    return frozenset(free_names(node) | bound_names(node) if isinstance(node, ast.FunctionDef) else free_names(node))


def _first(lines: list[str], node: ast.stmt) -> int:
    """Return the number of the first line of a statement, with its decorators and the comments above it, from 0."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))]) - 1
    while first > 0 and lines[first - 1].startswith("#"):
        first -= 1
    return first


def _call(outer: ast.FunctionDef, wanted: NestedProgram, given: Mapping[str, Any]) -> str:
    """Return the line that makes the kernel: `main = matmul(M=1024)`, or `matmul = matmul.compile(M=1024)`."""
    needs = {need.name: need for need in wanted.needs}
    names = [a.arg for a in parameters_of(outer)]
    usual = {name: ast.unparse(value) for name, value in defaults_of(outer).items()}
    shown = {name: _value(need.kind, given[name]) if name in given else need.value for name, need in needs.items()}
    defaults = {name for name, value in shown.items() if usual.get(name) == value}
    values = ", ".join(
        f"{n}={shown[n]}" for n in needs if shown[n] and n not in defaults and (n in names or wanted.is_eager)
    )
    name = getattr(wanted.node, "name", "main")
    return f"{name} = {outer.name}{'.compile' if wanted.is_eager else ''}({values})"


def _value(kind: str, value: Any) -> str:
    """Return a given value as Python writes it."""
    if kind == "flag":
        return str(bool(value))
    if kind == "function":
        return str(value)
    if kind == "list" and isinstance(value, int | str):
        return "[" + ", ".join(part for part in str(value).split("x") if part) + "]"
    return repr(value)


__all__ = ["kept_text"]
