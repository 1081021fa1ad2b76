"""Which loops may run all iterations in lockstep: those whose iterations provably touch different elements of what they write.

Iterations of a loop are independent when for every buffer written below it, each access to that buffer, read or write, tells the
iteration: two accesses from different iterations never meet in one element. Then any interleaving that keeps the order within each
iteration computes the same, bit for bit. Two proofs are known (`_tells_by_stride`, `_tells_by_value`); without one the loop
stays in order. A buffer allocated below the loop has one memory for all iterations, which keeps the loop in order too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from ..ir import (
    Allocate,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    Let,
    LetStmt,
    MatchBufferRegion,
    Node,
    Stmt,
    Var,
    build,
    children,
)
from .affine import Affine, Quotient, Scope, combine, evaluate, interval

LARGEST_ENUMERATION = 1 << 20  # iterations looked at one by one in _tells_by_value

Matches = Mapping[Buffer, MatchBufferRegion]


class Access(msgspec.Struct, frozen=True, eq=False):
    """One load or store: the buffer that owns the memory, its index forms, and the scope it stands in."""

    buffer: Buffer
    forms: tuple[Affine | None, ...]
    is_write: bool
    scope: Scope


class _Facts(msgspec.Struct, eq=False):
    """What stands below a statement."""

    accesses: list[Access]
    inner: set[Var]
    bounds: set[Var]
    in_order: bool = False  # something below needs one iteration at a time

    def join(self, other: _Facts) -> None:
        self.accesses += other.accesses
        self.inner |= other.inner
        self.bounds |= other.bounds
        self.in_order |= other.in_order


def resolve(buffer: Buffer, indices: tuple[Expr, ...], matches: Matches) -> tuple[Buffer, tuple[Expr, ...]]:
    """The buffer that owns the memory, and the indices into it."""
    while buffer in matches:
        source = matches[buffer].source
        lead = len(source.region) - len(indices)
        indices = tuple(
            build.add(r.min, indices[axis - lead]) if axis >= lead else r.min for axis, r in enumerate(source.region)
        )
        buffer = source.buffer
    return buffer, indices


def loop_bounds(scope: Scope, loop: For) -> tuple[int, int] | None:
    """The least and greatest value the loop variable can take; of an empty loop its start. None when unknown."""
    first, extent = scope.form(loop.min), scope.form(loop.extent)
    if first is None or extent is None:
        return None
    start, stop = interval(first, scope.ranges), interval(combine(first, extent), scope.ranges)
    return None if start is None or stop is None else (start[0], max(start[0], stop[1] - 1))


def enter_block(scope: Scope, stmt: BlockRealize) -> Scope:
    """The scope in which a block's iterators stand for their values, and its match_buffers' variables for numbers where known."""
    for iter_, value in zip(stmt.block.iter_vars, stmt.iter_values, strict=True):
        scope = scope.with_value(iter_.var, scope.form(value))
    for match in stmt.block.match_buffers:
        for symbol, value in match_symbols(match, scope):
            scope = scope.with_value(symbol, scope.form(value))
    return scope


def match_symbols(match: MatchBufferRegion, scope: Scope) -> list[tuple[Var, Expr]]:
    """What the free variables in the shape, the strides and the offset of a matched buffer stand for."""
    region, buffer = match.source.region, match.buffer
    strides = source_strides(match)
    pairs = [*zip(buffer.shape, (r.extent for r in region[len(region) - len(buffer.shape) :]), strict=True)]
    if buffer.strides:
        pairs += zip(buffer.strides, strides[len(strides) - len(buffer.strides) :], strict=True)
    if buffer.elem_offset is not None:
        offset: Expr = build.const(0, region[0].min.dtype if region else "int32")
        for range_, stride in zip(region, strides, strict=True):
            offset = build.add(offset, build.mul(range_.min, stride))
        pairs.append((buffer.elem_offset, offset))
    return [(symbol, value) for symbol, value in pairs if isinstance(symbol, Var) and symbol not in scope.forms]


def source_strides(match: MatchBufferRegion) -> tuple[Expr, ...]:
    """The strides of the buffer that a match names, in elements."""
    source = match.source.buffer
    if source.strides:
        return source.strides
    strides: list[Expr] = []
    step: Expr = build.const(1, source.shape[0].dtype if source.shape else "int32")
    for extent in reversed(source.shape):
        strides.append(step)
        step = build.mul(step, extent)
    return tuple(reversed(strides))


def independent_loops(root: Stmt, scope: Scope) -> frozenset[For]:
    """The loops below `root` whose iterations are independent."""
    finder = _Finder()
    finder.visit(root, scope, {})
    return frozenset(finder.found)


class _Finder:
    def __init__(self) -> None:
        self.found: set[For] = set()

    def visit(self, node: Node, scope: Scope, matches: Matches) -> _Facts:
        if isinstance(node, For):
            return self.loop(node, scope, matches)
        if isinstance(node, BlockRealize):
            return self.realize(node, scope, matches)
        facts = _Facts([], set(), set())
        if isinstance(node, LetStmt | Let):
            facts.join(self.visit(node.value, scope, matches))
            facts.join(self.visit(node.body, scope.with_value(node.var, scope.form(node.value)), matches))
            return facts
        if isinstance(node, BufferLoad | BufferStore):
            buffer, indices = resolve(node.buffer, node.indices, matches)
            forms = tuple(map(scope.form, indices))
            facts.accesses.append(Access(buffer, forms, isinstance(node, BufferStore), scope))
        facts.in_order = isinstance(node, Allocate)
        for child in children(node):
            if not isinstance(child, Buffer):
                facts.join(self.visit(child, scope, matches))
        return facts

    def realize(self, node: BlockRealize, scope: Scope, matches: Matches) -> _Facts:
        facts = self.visit(node.predicate, scope, matches)
        for value in node.iter_values:
            facts.join(self.visit(value, scope, matches))
        block: Block = node.block
        scope = enter_block(scope, node)
        matches = {**matches, **{m.buffer: m for m in block.match_buffers}}
        facts.in_order |= bool(block.alloc_buffers)
        for part in (block.init, block.body):
            if part is not None:
                facts.join(self.visit(part, scope, matches))
        return facts

    def loop(self, node: For, scope: Scope, matches: Matches) -> _Facts:
        bounds = loop_bounds(scope, node)
        facts = self.visit(node.body, scope.with_loop(node.loop_var, bounds), matches)
        if bounds is not None and bounds[0] != bounds[1] and _is_independent(node.loop_var, facts, scope, bounds):
            self.found.add(node)
        facts.inner.add(node.loop_var)
        for expr in (node.min, node.extent):
            form = scope.form(expr)
            facts.in_order |= form is None
            facts.bounds |= set() if form is None else set(form.variables())
        return facts


def _is_independent(var: Var, facts: _Facts, outside: Scope, bounds: tuple[int, int]) -> bool:
    if facts.in_order or var in facts.bounds:
        return False
    by_buffer: dict[Buffer, list[Access]] = {}
    for access in facts.accesses:
        by_buffer.setdefault(access.buffer, []).append(access)
    for accesses in by_buffer.values():
        if any(a.is_write for a in accesses):
            ranks = {len(a.forms) for a in accesses}
            if len(ranks) != 1:
                return False
            by_stride = any(_tells_by_stride(var, accesses, axis, facts.inner) for axis in range(min(ranks)))
            if not by_stride and not _tells_by_value(var, accesses, facts.inner, bounds):
                return False
    return True


def _is_inner(atom: Var | Quotient, inner: set[Var]) -> bool:
    return atom in inner if isinstance(atom, Var) else any(v in inner for v in atom.variables())


def _tells_by_stride(var: Var, accesses: Sequence[Access], axis: int, inner: set[Var]) -> bool:
    """Whether the index is `c * var + outside + rest`, the first two alike for all accesses and the rest within one step of `c`."""
    seen: set[tuple[int, Affine]] = set()
    lows: list[int] = []
    highs: list[int] = []
    for access in accesses:
        form = access.forms[axis]
        if form is None or any(not isinstance(a, Var) and var in a.variables() for a, _ in form.terms):
            return False
        step = next((c for a, c in form.terms if a is var), 0)
        below = frozenset((a, c) for a, c in form.terms if _is_inner(a, inner))
        outside = Affine(frozenset((a, c) for a, c in form.terms if a is not var) - below, 0)
        rest = interval(Affine(below, form.constant), access.scope.ranges)
        if rest is None:
            return False
        seen.add((step, outside))
        lows.append(rest[0])
        highs.append(rest[1])
    step = next(iter(seen))[0]
    return len(seen) == 1 and max(highs) - min(lows) < abs(step)


def _tells_by_value(var: Var, accesses: Sequence[Access], inner: set[Var], bounds: tuple[int, int]) -> bool:
    """Whether axes that all accesses index alike, by `var` and what is fixed outside only, take another value in each iteration.

    This is for fused loops: `A[f // 16, f % 16]`.
    """
    count = bounds[1] - bounds[0] + 1
    if count > LARGEST_ENUMERATION:
        return False
    values = np.arange(bounds[0], bounds[1] + 1)
    key = np.zeros(count, np.int64)
    size = 1
    for forms in zip(*(a.forms for a in accesses), strict=True):
        form = forms[0]
        if form is None or any(f != form for f in forms) or any(v in inner for v in form.variables()):
            continue
        depends = frozenset(
            (a, c) for a, c in form.terms if a is var or (not isinstance(a, Var) and var in a.variables())
        )
        part = Affine(depends, 0)
        if not depends or any(v is not var for v in part.variables()):
            continue
        column = np.asarray(evaluate(part, lambda _: values))
        column = column - column.min()
        size *= int(column.max()) + 1
        if size >= 2**62:
            return False
        key = key * (int(column.max()) + 1) + column
    return len(np.unique(key)) == count
