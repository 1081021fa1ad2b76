"""Runs of a kernel's loops and branches with numbers: long loops run their first and their last iterations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ....arith import bounds, simplify
from ....ir import Call, Expr, For, IntImm, Node, Range, Var, build, free_vars, rewrite, substitute
from ...reading.operators import bitwise

FIRST = 3
BIT_OPERATIONS = ("bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right")


class UntraceableError(Exception):
    """A kernel whose order is known only in a run, or that is too long."""


class Run:
    """The values of the loops in a run. A loop runs so many iterations, then its last ones, which begin a multiple of `period` later, so
    that they use slots and phases alike."""

    period = 12

    def __init__(self, grid: Collection[Var]) -> None:
        self.at: dict[Var, int] = dict.fromkeys(grid, 0)
        self.known: dict[tuple[Expr, tuple[int, ...]], tuple[int, int] | None] = {}
        self.used: dict[Expr, tuple[Var, ...]] = {}

    def iterations(self, loop: For) -> Iterator[int]:
        if loop.thread_tag is not None:
            yield 0  # the first block of a grid
            return
        low, extent = self.value(loop.min), self.value(loop.extent)
        yield from range(low, low + min(extent, FIRST))
        if extent > FIRST:
            yield from range(low + FIRST + (extent - FIRST - 1) // self.period * self.period, low + extent)

    def value(self, expr: Expr) -> int:
        found = self.bounds(expr)
        if found is None or found[0] != found[1]:
            raise UntraceableError
        return found[0]

    def holds(self, condition: Expr) -> bool:
        numbers = {v: build.const(n, v.dtype) for v, n in self.at.items()}
        found = simplify(rewrite(substitute(condition, numbers), _folded))
        if not isinstance(found, IntImm):
            raise UntraceableError
        return bool(found.value)

    def bounds(self, expr: Expr, own: Mapping[Var, Range] | None = None) -> tuple[int, int] | None:
        """Return the least and the largest value of an expression, for all values of the variables in `own`."""
        if isinstance(expr, IntImm):
            return expr.value, expr.value
        if expr not in self.used:
            self.used[expr] = tuple(v for v in dict.fromkeys(free_vars(expr)) if own is None or v not in own)
        used = self.used[expr]
        if any(v not in self.at for v in used):
            return None
        key = (expr, tuple(self.at[v] for v in used))
        if key not in self.known:
            numbers = {v: build.const(self.at[v], v.dtype) for v in used}
            fixed = simplify(rewrite(substitute(expr, numbers), _folded), own or {})
            found = bounds(fixed, own or {})
            self.known[key] = None if found.low is None or found.high is None else (found.low, found.high)
        return self.known[key]


def _folded(node: Node) -> Node:
    """Return the value of a bit operation on numbers."""
    if isinstance(node, Call) and node.op in BIT_OPERATIONS:
        args = [simplify(argument) for argument in node.args]
        return bitwise(node.op, *args) if all(isinstance(a, IntImm) for a in args) else node
    return node


__all__ = ["FIRST", "Run", "UntraceableError"]
