"""Layouts of shared buffers as edits of a TileLang kernel's text: entries of `T.annotate_layout`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ...script.language import called_name
from .edits import TextEdit, TextSpans

MAKERS: Mapping[str, str] = {
    name: f"make_{name}_layout" for name in ("swizzled", "half_bank_swizzled", "quarter_bank_swizzled", "linear")
}
"""Layouts with the functions of `tilelang.layout` that make them."""
PADDED = "padded "
"""A layout with this many elements from one row to the next: "padded 136"."""


def layout_text(tree: ast.Module, buffer: str, layout: str) -> str:
    """Return the text of a layout; "tilelang" is imported under the name that the text gives it."""
    if layout.startswith(PADDED):
        return f"lambda i, j: i * {layout.removeprefix(PADDED)} + j"
    return f"{_module(tree) or 'tilelang'}.layout.{MAKERS[layout]}({buffer})"


def layout_edits(
    tree: ast.Module,
    spans: TextSpans,
    allocation: ast.Assign,
    body: Sequence[ast.stmt],
    buffer: str,
    layout: str,
) -> list[TextEdit]:
    """Return the edits that give a buffer a layout, or with "" leave it to the compiler: of its entry in a call of `T.annotate_layout`, of
    another such call, or of a new one after the allocations."""
    dicts = [_entries(node) for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    known = [found for found in dicts if found is not None]
    for stmt, entries in known:
        for at, key in enumerate(entries.keys):
            if isinstance(key, ast.Name) and key.id == buffer:
                if layout:
                    return [
                        spans.replaced(entries.values[at], layout_text(tree, buffer, layout)),
                        *_import(tree, spans, layout),
                    ]
                return [_without(spans, stmt, entries, at)]
    if not layout:
        return []
    entry = f"{buffer}: {layout_text(tree, buffer, layout)}"
    beside = next((entries for stmt, entries in known if stmt in body and entries.keys), None)
    if beside is not None:
        key, end = beside.keys[-1], spans.span(beside.values[-1])[1]
        is_below = key is not None and len(beside.keys) > 1 and key.lineno > beside.lineno
        gap = f",\n{' ' * key.col_offset}" if is_below and key is not None else ", "
        return [TextEdit(end, end, gap + entry), *_import(tree, spans, layout)]
    last = allocation
    for stmt in body[body.index(allocation) + 1 :]:
        if (
            not isinstance(stmt, ast.Assign)
            or not isinstance(stmt.value, ast.Call)
            or not called_name(stmt.value).startswith("alloc_")
        ):
            break
        last = stmt
    assert isinstance(allocation.value, ast.Call)
    owner = spans.of(allocation.value.func).rpartition(".")[0]
    at = spans.lines(last.lineno, last.end_lineno or last.lineno)[1]
    indent = " " * allocation.col_offset
    return [TextEdit(at, at, f"{indent}{owner}.annotate_layout({{{entry}}})\n"), *_import(tree, spans, layout)]


def _entries(stmt: ast.stmt) -> tuple[ast.Expr, ast.Dict] | None:
    match stmt:
        case ast.Expr(value=ast.Call(args=[ast.Dict() as entries]) as call) if called_name(call) == "annotate_layout":
            return stmt, entries
        case _:
            return None


def _without(spans: TextSpans, stmt: ast.Expr, entries: ast.Dict, at: int) -> TextEdit:
    """Return the edit that removes an entry, and with the last one the call."""
    if len(entries.keys) == 1:
        return TextEdit(*spans.lines(stmt.lineno, stmt.end_lineno or stmt.lineno), "")
    key = entries.keys[at]
    assert key is not None
    if at:
        return TextEdit(spans.span(entries.values[at - 1])[1], spans.span(entries.values[at])[1], "")
    following = entries.keys[1]
    assert following is not None
    return TextEdit(spans.span(key)[0], spans.span(following)[0], "")


def _module(tree: ast.Module) -> str | None:
    """Return the name under which the text imports "tilelang"."""
    for node in tree.body:
        for alias in node.names if isinstance(node, ast.Import) else ():
            if alias.name == "tilelang" or (alias.name.startswith("tilelang.") and alias.asname is None):
                return alias.asname or "tilelang"
    return None


def _import(tree: ast.Module, spans: TextSpans, layout: str) -> list[TextEdit]:
    """Return the edit that imports "tilelang", if a layout needs it."""
    if layout.startswith(PADDED) or _module(tree) is not None:
        return []
    first = next(node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    at = spans.lines(first.lineno, first.lineno)[0]
    return [TextEdit(at, at, "import tilelang\n")]


__all__ = ["MAKERS", "PADDED", "layout_edits"]
