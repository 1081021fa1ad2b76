"""Values with which the functions around a program reach it, as far as the form of their conditions tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from .needs import Definition, Need


def reaching(around: Sequence[Definition], node: ast.AST, needs: Sequence[Need]) -> list[Need]:
    """Return the needs whose known value keeps the functions from a definition, without that value, and with an example that reaches it."""
    return _with_values(needs, dict(pair for function in around for pair in _conditions(function, node)))


def holding(asserted: Sequence[ast.Assert], needs: Sequence[Need]) -> list[Need]:
    """Return the needs with whose known value an assertion does not hold, without that value, and with an example with which it does."""
    return _with_values(needs, dict(pair for node in asserted for pair in _values(node.test, holds=True)))


def _with_values(needs: Sequence[Need], wanted: Mapping[str, bool | int | str]) -> list[Need]:
    found: list[Need] = []
    for need in needs:
        value = wanted.get(need.name)
        if need.value and value is not None and repr(value) != need.value:
            sample = str(int(value)) if isinstance(value, bool) else str(value)
            found.append(replace(need, value="", sample=sample))
    return found


def _conditions(function: ast.AST, node: ast.AST) -> Iterator[tuple[str, bool | int | str]]:
    """Yield the parameters that the conditions around a definition ask for, each with the value that leads to it."""
    for part in ast.walk(function):
        if isinstance(part, ast.If):
            for body, holds in ((part.body, True), (part.orelse, False)):
                if any(inner is node for statement in body for inner in ast.walk(statement)):
                    yield from _values(part.test, holds=holds)


def _values(test: ast.expr, *, holds: bool) -> Iterator[tuple[str, bool | int | str]]:
    match test:
        case ast.Name(id=name):
            yield name, holds
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from _values(inner, holds=not holds)
        case ast.BoolOp(op=ast.And(), values=values) if holds:
            for value in values:
                yield from _values(value, holds=True)
        case ast.Compare(
            left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(value=bool() | int() | str() as known)]
        ):
            equals = holds == isinstance(op, ast.Eq | ast.Is)
            if equals and isinstance(op, ast.Eq | ast.Is | ast.NotEq | ast.IsNot):
                yield name, known
            elif isinstance(known, bool) and isinstance(op, ast.Eq | ast.Is | ast.NotEq | ast.IsNot):
                yield name, not known
            elif type(known) is int and (step := _STEPS.get((type(op), holds))) is not None:
                yield name, known + step
        case _:
            pass


_STEPS: Mapping[tuple[type[ast.cmpop], bool], int] = {
    (ast.NotEq, True): 1, (ast.Eq, False): 1, (ast.Gt, True): 1, (ast.Gt, False): 0, (ast.GtE, True): 0, (ast.GtE, False): -1,
    (ast.Lt, True): -1, (ast.Lt, False): 0, (ast.LtE, True): 0, (ast.LtE, False): 1,
}  # fmt: skip
"""What is added to the constant of a comparison for a value with which it holds or not."""

__all__ = ["holding", "reaching"]
