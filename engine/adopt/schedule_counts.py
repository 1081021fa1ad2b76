"""How many schedules code makes, as far as its form tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from ..script.language import SCHEDULE_MAKERS, called_name

Functions: TypeAlias = Mapping[str, ast.FunctionDef]
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)
MANY = 2
"""The number that stands for several in a loop."""


def schedules_in(tree: ast.Module) -> int:
    """Return how many schedules the statements of a text make, with the functions that they call; `MANY` or more for several. A text that
    only defines functions counts as if it called the last one that makes schedules."""
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    found = _count(tree.body, functions, ())
    makers = [n for n in reversed(tree.body) if isinstance(n, ast.FunctionDef)] if not found else []
    return next((count for node in makers if (count := _count(node.body, functions, (node,)))), found)


def schedules_of(node: ast.FunctionDef) -> int:
    """Return how many schedules a function makes itself; `MANY` or more for several."""
    return _count(node.body, {}, (node,))


def _count(body: Sequence[ast.stmt], functions: Functions, inside: tuple[ast.FunctionDef, ...]) -> int:
    total = 0
    functions = {**functions, **{node.name: node for node in body if isinstance(node, ast.FunctionDef)}}
    for number, node in enumerate(body):
        if isinstance(node, ast.If):
            branches = [_count(node.body, functions, inside), _count(node.orelse, functions, inside)]
            if node.body and isinstance(node.body[-1], ast.Return | ast.Raise):
                branches[1] += _count(body[number + 1 :], functions, inside)
                return total + max(branches)
            total += max(branches)
        elif not isinstance(node, ast.FunctionDef | ast.ClassDef):
            total += sum(_of(part, functions, inside) for part in _parts(node))
    return total


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a statement, those of a loop as one, without lambdas and definitions."""
    pending = [node]
    while pending:
        part = pending.pop()
        yield part
        if not isinstance(part, (*_LOOPS, ast.Lambda, ast.FunctionDef, ast.ClassDef)):
            pending += ast.iter_child_nodes(part)


def _of(part: ast.AST, functions: Functions, inside: tuple[ast.FunctionDef, ...]) -> int:
    if isinstance(part, _LOOPS):
        makes = any(_of(inner, functions, inside) for child in ast.iter_child_nodes(part) for inner in _parts(child))
        return MANY if makes else 0
    if not isinstance(part, ast.Call):
        return 0
    if called_name(part) in SCHEDULE_MAKERS:
        return 1
    function = functions.get(called_name(part)) if isinstance(part.func, ast.Name) else None
    if function is None or function in inside:
        return 0
    names = (argument.arg for argument in (*function.args.posonlyargs, *function.args.args))
    given = dict(zip(names, part.args, strict=False))
    passed = {n: functions[v.id] for n, v in given.items() if isinstance(v, ast.Name) and v.id in functions}
    return _count(function.body, {**functions, **passed}, (*inside, function))


__all__ = ["MANY", "schedules_in", "schedules_of"]
