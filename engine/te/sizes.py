"""Limits on expression size: a line that uses an expression twice doubles it, and every later pass walks the whole tree. Sizes as users
write them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from ..ir import MOST_NODES, Expr, Node, Size, expanded_size
from ..script.reading.reader import Reader
from ..script.targets import TargetName, is_target

MAX_LEVELS = 150


def require_small(reader: Reader, exprs: Iterable[Expr], node: ast.AST) -> None:
    """Raise "too-large" if an expression, as an expanded tree, has too many nodes or levels."""
    sizes: dict[Node, Size] = {}
    for expr in exprs:
        nodes, levels = expanded_size(expr, sizes)
        if nodes > MOST_NODES or levels > MAX_LEVELS:
            raise reader.error(
                node, "too-large", f"the expanded expression has {nodes} nodes in {levels} levels",
                expected=f"at most {MOST_NODES} nodes and {MAX_LEVELS} levels",
                fix=("compute parts of it in separate te.compute operations",),
            )  # fmt: skip


def sizes_in(value: Any) -> list[int]:
    """Return the numbers of 16x64."""
    return [int(part) for part in str(value).split("x") if part.isdecimal()]


def written_value(value: Any) -> Any:
    """Return the list, tuple or dict of constants that users write, `{"heads": 8}`; other values as they are."""
    if not isinstance(value, str) or not value.startswith(("{", "[", "(")) or len(value) > _MOST_CHARACTERS:
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return value


_MOST_CHARACTERS = 10_000


def typed_variable(name: str, value: Any) -> Any:
    """Return the given value of a variable: 16x64 is a list, the value of `target` a target."""
    if is_target(name) and isinstance(value, str):
        return TargetName(value)
    value = written_value(value)
    return sizes_in(value) if re.fullmatch(r"\d+(x\d+)+", str(value)) else value
