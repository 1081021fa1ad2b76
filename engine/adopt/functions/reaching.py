"""Values with which the functions around a program reach it, as far as the form of their conditions tells."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from .needs import Definition, Need, other_names

OTHER = "other"
"""A word that is none of those with which a condition compares."""


def reaching(around: Sequence[Definition], node: ast.AST, needs: Sequence[Need]) -> list[Need]:
    """Return the needs whose known value keeps the functions from a definition, without that value, and with an example that reaches it."""
    return _with_values(needs, dict(pair for function in around for pair in _conditions(function, node)))


def leading(around: Sequence[Definition], node: ast.AST, needs: Sequence[Need]) -> Iterator[Need]:
    """Yield the needs, those without a value with an example that leads to a definition and with which assertions on numbers hold. A number
    of threads that is too small for the groups of threads in the code has no value."""
    wanted = dict(pair for function in around for pair in _conditions(function, node))
    asserted = [pair for function in around for part in ast.walk(function) for pair in _asserted(part)]
    threads = threads_of_groups(around[-1] if around else node)  # the groups may be in a macro beside the kernel
    for need in needs:
        value = wanted.get(need.name)
        is_decided = isinstance(value, str) or (isinstance(value, bool) and (need.kind == "flag" or not value))
        number = int(shown) if (shown := need.value or need.example).isdecimal() else None
        if "threads" in need.name and number is not None and number < threads:
            yield replace(_sampled(need, threads), optional=False)
        elif is_decided and not need.value and value is not None:
            yield _sampled(need, value)
        else:
            is_free = number is not None and not need.value and need.kind == "size"
            found = (n for test, holds in asserted for n in _instead(test, need.name, number or 0, holds=holds))
            instead = next(found, None) if is_free else None
            yield need if instead is None else _sampled(need, instead)


def _asserted(part: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """Yield a condition that a statement requires, and whether it must hold."""
    match part:
        case ast.Assert(test=test):
            yield test, True
        case ast.If(test=test, body=[*_, ast.Raise()]):
            yield test, False
        case _:
            pass


def _instead(test: ast.expr, name: str, number: int, *, holds: bool) -> Iterator[int]:
    """Yield a number with which a condition on a name holds or not, if that is not so with `number`."""
    match test:
        case ast.Compare(left=ast.Name(id=found), ops=[op], comparators=[ast.Constant(value=int(known))]) if (
            found == name
        ):
            compare = _COMPARED.get(type(op))
            if compare is not None and compare(number, known) is not holds:
                yield from (value for _, value in _values(test, holds=holds) if isinstance(value, int))
        case ast.BoolOp(op=ast.And() | ast.Or() as op, values=values) if holds is isinstance(op, ast.And):
            for value in values:
                yield from _instead(value, name, number, holds=holds)
        case _:
            pass


_COMPARED: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


def threads_of_groups(node: ast.AST) -> int:
    """Return how many threads the branches of a kernel ask for, `if tx < 128: … elif tx < 256: … else: …`; 0 without such branches."""
    numbers = {name for part in ast.walk(node) for name in _thread_names(part)}
    least = 0
    for part in ast.walk(node):
        if isinstance(part, ast.If):
            for test in (n for n in ast.walk(part.test) if isinstance(n, ast.Compare)):
                match test:
                    case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(value=int(known))]):
                        is_group = name in numbers and known > 0 and known % _GROUP == 0
                        more = isinstance(op, ast.GtE) or (isinstance(op, ast.Lt) and bool(part.orelse))
                        least = max(least, known + _GROUP * more) if is_group else least
                    case _:
                        pass
    return least


_GROUP = 128


def _thread_names(part: ast.AST) -> Iterator[str]:
    """Yield the name that gets the number of a thread."""
    match part:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="get_thread_binding"))):
            yield name
        case _:
            pass


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
    names = other_names(function)
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
            elif isinstance(known, str) and isinstance(op, ast.Eq | ast.NotEq):
                yield name, OTHER
            elif type(known) is int and (step := _STEPS.get((type(op), holds))) is not None:
                yield name, known + step
        case _:
            pass


_STEPS: Mapping[tuple[type[ast.cmpop], bool], int] = {
    (ast.NotEq, True): 1, (ast.Eq, False): 1, (ast.Gt, True): 1, (ast.Gt, False): 0, (ast.GtE, True): 0, (ast.GtE, False): -1,
    (ast.Lt, True): -1, (ast.Lt, False): 0, (ast.LtE, True): 0, (ast.LtE, False): 1,
}  # fmt: skip
"""What is added to the constant of a comparison for a value with which it holds or not."""

__all__ = ["holding", "leading", "reaching", "threads_of_groups"]
