"""Values with which the functions around a program reach it, as far as the form of their conditions tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from .needs import Definition, Need


def reaching(around: Sequence[Definition], node: ast.AST, needs: Sequence[Need]) -> list[Need]:
    """Return the needs whose known value keeps the functions from a definition, without that value, and with an example that reaches it."""
    return _with_values(needs, dict(pair for function in around for pair in _conditions(function, node)))


def leading(around: Sequence[Definition], node: ast.AST, needs: Sequence[Need]) -> Iterator[Need]:
    """Yield the needs, those without a value with an example that leads to a definition, if a flag or a word decides it."""
    wanted = dict(pair for function in around for pair in _conditions(function, node))
    for need in needs:
        value = wanted.get(need.name)
        is_decided = isinstance(value, str) or (isinstance(value, bool) and (need.kind == "flag" or not value))
        yield _sampled(need, value) if is_decided and not need.value and value is not None else need


def holding(asserted: Sequence[ast.Assert], needs: Sequence[Need]) -> list[Need]:
    """Return the needs with whose known value an assertion does not hold, without that value, and with an example with which it does."""
    return _with_values(needs, dict(pair for node in asserted for pair in _values(node.test, holds=True)))


def _with_values(needs: Sequence[Need], wanted: Mapping[str, bool | int | str]) -> list[Need]:
    found: list[Need] = []
    for need in needs:
        value = wanted.get(need.name)
        if need.value and value is not None and repr(value) != need.value:
            found.append(_sampled(need, value))
    return found


def _sampled(need: Need, value: bool | int | str) -> Need:
    return replace(need, value="", sample=str(int(value)) if isinstance(value, bool) else str(value))


def _conditions(function: ast.AST, node: ast.AST) -> Iterator[tuple[str, bool | int | str]]:
    """Yield the parameters that the conditions around a definition, and those in front of it that leave the function, ask for, each with
    the value that leads to it. Another name of a parameter, `is_varlen = IS_VARLEN`, counts as the parameter."""
    names = dict(pair for part in ast.walk(function) for pair in _renamed(part))
    for part in ast.walk(function):
        if isinstance(part, ast.If):
            for body, holds in ((part.body, True), (part.orelse, False)):
                is_around = any(inner is node for statement in body for inner in ast.walk(statement))
                leaves = (
                    bool(body)
                    and isinstance(body[-1], ast.Return | ast.Raise)
                    and body[-1].lineno < getattr(node, "lineno", 0)
                )
                if is_around or (leaves and part in getattr(function, "body", ())):
                    for name, value in _values(part.test, holds=holds is is_around):
                        yield names.get(name, name), value


def _renamed(part: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the names that an assignment gives to other names."""
    match part:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            pairs = zip(targets, values, strict=False)
        case ast.Assign(targets=[target], value=value):
            pairs = [(target, value)]
        case _:
            return
    for target, value in pairs:
        if isinstance(target, ast.Name) and isinstance(value, ast.Name):
            yield target.id, value.id


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
            left=ast.Name(id=name),
            ops=[ast.In() | ast.NotIn() as op],
            comparators=[ast.Tuple(elts=[first, *_]) | ast.List(elts=[first, *_]) | ast.Set(elts=[first, *_])],
        ):
            if (
                isinstance(first, ast.Constant)
                and isinstance(first.value, int | str)
                and holds == isinstance(op, ast.In)
            ):
                yield name, first.value
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

__all__ = ["holding", "leading", "reaching"]
