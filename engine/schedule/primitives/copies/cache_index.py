"""Expressions of a block's iterators, precomputed in tables: cache_index."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import cast

import msgspec
from msgspec.structs import replace as replace_fields

from ....arith import interval, prove, simplify
from ....execute import DIVISIONS, PURE_CALLS
from ....ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferData,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Expr,
    FloatImm,
    For,
    IntImm,
    IterVar,
    LaunchThread,
    Let,
    LetStmt,
    Node,
    Range,
    SeqStmt,
    Stmt,
    StringImm,
    Var,
    build,
    child_stmts,
    children,
    free_vars,
    map_children,
    replace_nodes,
    structural_equal,
    substitute,
    walk,
)
from ...context import BlockRV, Context, Result, with_allocations
from ...errors import refuse
from ...rules.checks import require_in_body, require_scope_name


def cache_index(ctx: Context, block: BlockRV, storage_scope: str, cse_thresh: int = 0) -> Result[list[BlockRV]]:
    """Precompute expressions of the iterators of `block`, such as indices, in tables, and look them up.

    Rewrite:
        for i in range(n):                      for ax0 in range(n):
            B[i] = A[i // 4 + 1]          =>        index_var_0[ax0] = ax0 // 4 + 1      # block "index_0"
                                                for i in range(n):
                                                    B[i] = A[index_var_0[i]]
    `cse_thresh`: the number of occurrences in a store from which an expression gets a table; the parts of rarer expressions are counted
    too. 0 takes the whole expressions, whatever their number of occurrences.
    Requires: iterators that start at 0; loops whose bounds do not depend on each other. The indices of the block's stores are kept.
    Returns: the blocks that fill the tables, the largest expression first; an empty list if there is nothing to compute. They are placed
    before the outermost loop of the block.
    Errors: bad-scope, bad-threshold, outside-domain, opaque-iterator, dependent-bounds, in-init.
    Source: TVM src/s_tir/schedule/primitive/cache_index.cc, CacheIndex.
    """
    require_scope_name(storage_scope)
    if cse_thresh < 0:
        raise refuse("bad-threshold", f"an expression cannot occur {cse_thresh} times", expected="0 or more")
    realize = ctx.realize(block)
    require_in_body(ctx, realize)
    simplified = cache(simplify)
    found = _worth_caching(realize.block, cse_thresh, simplified)
    tables = [_table(ctx, realize, n, expr, storage_scope) for n, expr in enumerate(found)]
    if not tables:
        return Result(ctx.func, [])

    scope = ctx.index.scope_of(realize)
    new = _looking_up(realize, tables, simplified)
    parts = list(scope.body.seq) if isinstance(scope.body, SeqStmt) else [scope.body]
    position = next(n for n, part in enumerate(parts) if ctx.index.is_inside(realize, part))
    parts[position] = replace_nodes(parts[position], {realize: new})
    parts[position:position] = [table.nest for table in tables]
    done = with_allocations(replace_fields(scope, body=build.seq(parts)), [t.buffer for t in tables])
    return Result(ctx.replaced({scope: done}), [t.name for t in tables])


_Simplified = Callable[[Expr], Expr]
"""`simplify` with a memory for one call, because each expression is compared with several others."""


class Table(msgspec.Struct, frozen=True, eq=False):
    """The values of an expression for all iterations of a block, and the nest that computes them."""

    expr: Expr
    buffer: Buffer
    iters: tuple[Var, ...]
    name: str
    nest: Stmt


# -- expressions worth a table


def _worth_caching(block: Block, threshold: int, simplified: _Simplified) -> list[Expr]:
    """Expressions that occur at least `threshold` times in a store of the block, the largest first.

    Expressions with variables that the block's body defines are left out.
    """
    found: list[Expr] = []
    own = _defined_in(block)
    for store in _stores(block):
        counted = [expr for expr, count in _counted(store, threshold, simplified) if count >= threshold]
        usable = [expr for expr in counted if (used := free_vars(expr)) and not used & own]
        for node in _post_order(store.value):
            for expr in usable:
                if not any(expr is known for known in found) and _same(node, expr, simplified):
                    found.append(expr)
    return sorted(found, key=_size, reverse=True)


def _defined_in(block: Block) -> set[Var]:
    nodes = [n for part in (block.init, block.body) if part is not None for n in walk(part)]
    return {n.loop_var for n in nodes if isinstance(n, For)} | {n.var for n in nodes if isinstance(n, Let | LetStmt)}


def _stores(stmt: Stmt) -> Iterator[BufferStore]:
    """The stores of a block, those of its init first, without those of inner blocks."""
    if isinstance(stmt, BufferStore):
        yield stmt
    parts = [p for p in (stmt.init, stmt.body) if p is not None] if isinstance(stmt, Block) else child_stmts(stmt)
    for part in parts:
        if isinstance(part, Stmt) and not isinstance(part, BlockRealize):
            yield from _stores(part)


def _counted(store: BufferStore, threshold: int, simplified: _Simplified) -> list[tuple[Expr, int]]:
    """The largest pure expressions of a store, with their numbers of occurrences; below the threshold, their parts too."""
    found: list[tuple[Expr, int]] = []
    for expr in (e for part in (store.value, *store.indices) for e in _largest_pure(part)):
        _count(found, expr, 1, simplified)
    position = 0
    while position < len(found):
        expr, count = found[position]
        if count < threshold:
            for part in [p for child in children(expr) for p in _largest_pure(child)]:
                _count(found, part, count, simplified, by_size=True)
        position += 1
    return found


def _count(
    found: list[tuple[Expr, int]], expr: Expr, times: int, simplified: _Simplified, *, by_size: bool = False
) -> None:
    """Count `expr` another `times` times. A new expression goes to the end, or with `by_size` before the first smaller one."""
    for position, (known, count) in enumerate(found):
        if _same(known, expr, simplified):
            found[position] = known, count + times
            return
    place = bisect_right(found, -_size(expr), key=lambda item: -_size(item[0])) if by_size else len(found)
    found.insert(place, (expr, times))


def _largest_pure(node: Node) -> Iterator[Expr]:
    """The largest parts of an expression or store that are pure and not trivial."""
    if isinstance(node, Expr) and _size(node) > 1 and _is_pure(node):
        yield node
        return
    for child in children(node):
        if not isinstance(child, Buffer):
            yield from _largest_pure(child)


def _is_pure(expr: Expr) -> bool:
    """Whether it reads no memory, has no effects, and cannot fail when it is evaluated speculatively."""
    for node in walk(expr):
        if isinstance(node, BufferLoad | BufferData | Let | StringImm):
            return False
        if isinstance(node, Call) and node.op not in PURE_CALLS:
            return False
        if isinstance(node, DIVISIONS) and not (isinstance(node.b, IntImm | FloatImm) and node.b.value):
            return False
    return True


def _size(expr: Expr) -> int:
    return sum(1 for node in walk(expr) if isinstance(node, Expr))


def _same(a: Expr, b: Expr, simplified: _Simplified) -> bool:
    return a is b or (a.dtype == b.dtype and structural_equal(simplified(a), simplified(b)))


def _post_order(expr: Expr) -> Iterator[Expr]:
    for child in children(expr):
        if isinstance(child, Expr):
            yield from _post_order(child)
    yield expr


# -- the tables, and the block that reads them


def _table(ctx: Context, realize: BlockRealize, number: int, expr: Expr, storage_scope: str) -> Table:
    """The table of an expression, over the iterators that it uses and the loops that they are bound to."""
    bound = dict(zip((iv.var for iv in realize.block.iter_vars), realize.iter_values, strict=True))
    used = list(dict.fromkeys(n for n in _post_order(expr) if isinstance(n, Var) and n in bound))
    loops = require_own_bounds(ctx, realize, expr, [bound[v] for v in used])
    shape = [require_from_zero(realize, v, bound[v], loops) for v in used]
    name = f"index_var_{number}"
    buffer = Buffer(ctx.fresh_buffer_name(name), tuple(shape), expr.dtype, storage_scope)

    iters = {v: Var(f"v{n}", v.dtype) for n, v in enumerate(used)}
    fresh = {v: Var(f"ax{n}", v.dtype) for n, v in enumerate(loops)}
    places = tuple(iters.values())
    block = Block(
        name=ctx.fresh_block_name(f"index_{number}"),
        iter_vars=tuple(IterVar(v, Range(build.const(0, v.dtype), e)) for v, e in zip(places, shape, strict=True)),
        reads=(),
        writes=(BufferRegion(buffer, tuple(map(build.point, places))),),
        body=BufferStore(buffer, substitute(expr, iters), places),
    )
    nest: Stmt = BlockRealize(tuple(substitute(bound[v], fresh) for v in used), build.TRUE, block)
    for var, own in reversed(fresh.items()):
        nest = replace_fields(build.serial(own, loops[var].extent, nest), min=loops[var].min)
    return Table(expr, buffer, tuple(used), block.name, nest)


# A table is filled outside of the block's loops, by its own loops.
def require_own_bounds(ctx: Context, realize: BlockRealize, expr: Expr, bindings: Sequence[Expr]) -> dict[Var, Range]:
    """The loops that the bindings use, in order of their use."""
    above = {f.loop_var: Range(f.min, f.extent) for f in ctx.index.loops_above(realize)}
    inside = {n.loop_var for n in walk(realize.block) if isinstance(n, For)}
    inside |= {n.var for n in walk(realize.block) if isinstance(n, LaunchThread)}
    if any(v in above or v in inside for v in free_vars(expr)) or _reads_memory(bindings):
        raise refuse(
            "opaque-iterator", f"block {realize.block.name!r} computes with variables other than its iterators", realize,
            expected="expressions over iterators that are bound to loops",
        )  # fmt: skip
    loops = {n: above[n] for value in bindings for n in _post_order(value) if isinstance(n, Var) and n in above}
    if any(free_vars(end) & above.keys() for r in loops.values() for end in (r.min, r.extent)):
        raise refuse(
            "dependent-bounds", f"the bounds of a loop around block {realize.block.name!r} depend on another loop", realize,
            expected="loops whose bounds do not depend on other loops",
        )  # fmt: skip
    return loops


def _reads_memory(exprs: Sequence[Expr]) -> bool:
    return any(isinstance(n, BufferLoad) for e in exprs for n in walk(e))


# The table is indexed by the iterator, so the iterator needs a known start and end.
def require_from_zero(realize: BlockRealize, iter_var: Var, value: Expr, loops: dict[Var, Range]) -> Expr:
    """The extent of the table along an iterator."""
    span = interval(value, loops)
    if span is None or not prove(build.ge(span.min, 0)):
        raise refuse(
            "outside-domain", f"iterator {iter_var.name!r} of block {realize.block.name!r} may be negative, or has no known upper bound",
            realize, expected="iterators with a domain that starts at 0",
        )  # fmt: skip
    return simplify(build.add(span.max, 1))


def _looking_up(realize: BlockRealize, tables: Sequence[Table], simplified: _Simplified) -> BlockRealize:
    """The block with each expression replaced by a lookup in its table. The indices of its stores are kept."""
    found: set[Buffer] = set()

    def visit(node: Node) -> Node:
        if isinstance(node, BufferStore):
            return replace_fields(node, value=looked_up(node.value))
        return node if isinstance(node, Expr | Buffer | BlockRealize) else map_children(node, visit)

    def looked_up(value: Expr) -> Expr:
        for table in tables:
            value = cast("Expr", one(value, table))
        return value

    def one(node: Node, table: Table) -> Node:
        if isinstance(node, Buffer):
            return node
        if isinstance(node, Expr) and _same(node, table.expr, simplified):
            found.add(table.buffer)
            return build.load(table.buffer, table.iters)
        return map_children(node, lambda child: one(child, table))

    block = realize.block
    init = None if block.init is None else visit(block.init)
    block = replace_fields(block, body=visit(block.body), init=init)
    reads = [BufferRegion(t.buffer, tuple(map(build.point, t.iters))) for t in tables if t.buffer in found]
    return replace_fields(realize, block=replace_fields(block, reads=(*block.reads, *reads)))
