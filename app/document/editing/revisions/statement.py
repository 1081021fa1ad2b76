"""Edits of one statement of a schedule: only the text of the changed arguments is replaced."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .....engine.export import signature_of
from .....engine.ir import Refusal
from .....engine.schedule.value_text import BLOCK_PARAMETERS, quoted
from .....engine.script import python_tree
from ...files.read_write import DocumentError

Edit = tuple[int, int, str]
"""A replacement: start and end in bytes of the text, and the new text."""

NAMING_PARAMETERS = BLOCK_PARAMETERS | {
    "loop", "loops", "ordered_loops", "read_buffer_index", "write_buffer_index", "buffer", "buffer_index",
}  # fmt: skip
"""Parameters whose strings name a loop, a block or a buffer of the program."""


def with_arguments(
    text: str,
    method: str,
    arguments: Mapping[str, Any],
    old: Mapping[str, Any],
    text_of: Callable[[str, Any], str],
    new_method: str = "",
) -> str:
    """The statement `text`, a call of `method`, with other `arguments` by parameter name; `old` are the present ones, and `text_of` writes
    one. Items of a list that stay equal keep their text."""
    call = _call_of(text)
    edits: list[Edit] = []
    if new_method not in ("", method):
        assert isinstance(call.func, ast.Attribute)
        end = _offset(text, call.func.end_lineno, call.func.end_col_offset)
        edits.append((end - len(method), end, new_method))
    for name, value in arguments.items():
        node = _argument_node(call, method, name)
        if node is None:
            end = _offset(text, call.end_lineno, call.end_col_offset) - 1
            edits.append((end, end, f", {name}={text_of(name, value)}"))
        elif isinstance(value, list | tuple) and isinstance(node, ast.List | ast.Tuple):
            edits += _item_edits(text, node, value, old.get(name), lambda v, n=name: text_of(n, v))
        else:
            edits.append((*_range(text, node), text_of(name, value)))
    return _edited(text, edits)


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Statements with other names of loops, blocks and buffers where an argument names them by a string: old name -> new name."""
    if not any(name in text for name in names):
        return text
    edits = [
        (*_range(text, node), quoted(names[node.value]))
        for call in ast.walk(python_tree(text))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        for argument in _naming_arguments(call, call.func.attr)
        for node in ast.walk(argument)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names
    ]
    return _edited(text, edits)


def _naming_arguments(call: ast.Call, method: str) -> Iterator[ast.expr]:
    """The arguments of a call that name loops, blocks or buffers."""
    is_query = method.startswith("get_")
    try:
        parameters = list(signature_of(method).parameters.values())[1:]
    except KeyError:
        return
    wanted = NAMING_PARAMETERS | {"name"} if is_query else NAMING_PARAMETERS
    for position, argument in enumerate(call.args):
        listed = next((p for p in parameters[: position + 1] if p.kind is p.VAR_POSITIONAL), None)
        named = listed or (parameters[position] if position < len(parameters) else None)
        if named is not None and named.name in wanted:
            yield argument
    yield from (keyword.value for keyword in call.keywords if keyword.arg in wanted)


def _edited(text: str, edits: Sequence[Edit]) -> str:
    data = text.encode()
    for start, end, new in sorted(edits, reverse=True):
        data = data[:start] + new.encode() + data[end:]
    return data.decode()


def _item_edits(
    text: str, node: ast.List | ast.Tuple, value: Sequence[Any], old: Any, text_of: Callable[[Any], str]
) -> list[Edit]:
    """The edits of the items that differ; of the whole list if its length differs."""
    if not isinstance(old, list | tuple) or not len(old) == len(value) == len(node.elts):
        return [(*_range(text, node), text_of(value))]
    items = zip(node.elts, value, old, strict=True)
    return [(*_range(text, item), text_of(new)) for item, new, before in items if new != before]


def _call_of(text: str) -> ast.Call:
    """The call of a statement: `x = call`, `x = call[0]`, or `call`."""
    (statement,) = python_tree(text).body
    assert isinstance(statement, ast.Assign | ast.Expr)
    value = statement.value
    if isinstance(value, ast.Subscript):
        value = value.value
    assert isinstance(value, ast.Call)
    return value


def _argument_node(call: ast.Call, method: str, name: str) -> ast.expr | None:
    """The expression of a parameter in a call; None if the call leaves it out. Raises DocumentError for `*arguments`."""
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        raise DocumentError(
            Refusal("spread-arguments", f"the line passes {name} in a list of arguments", expected="separate arguments")
        )
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    position = list(signature_of(method).parameters).index(name) - 1
    return call.args[position] if position < len(call.args) else None


def _range(text: str, node: ast.expr) -> tuple[int, int]:
    return _offset(text, node.lineno, node.col_offset), _offset(text, node.end_lineno, node.end_col_offset)


def _offset(text: str, line: int | None, column: int | None) -> int:
    """The position of a line and byte column of `ast` in the UTF-8 text."""
    assert line is not None
    assert column is not None
    return sum(len(part.encode()) for part in text.splitlines(keepends=True)[: line - 1]) + column


__all__ = ["with_arguments", "with_names"]
