"""Changes of whole loop nests: tile, add_unit_loop, loop_partition, merge."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, combinations, pairwise

import msgspec
from msgspec.structs import replace as replace_fields

from ....analysis import accessed_regions, find_carried, fresh_name, shared_buffers
from ....arith import prove_equal
from ....ir import (
    Block,
    BlockRealize,
    Buffer,
    For,
    Node,
    Range,
    SeqStmt,
    Stmt,
    Var,
    allocated_buffers,
    build,
    fresh_vars,
    replace_buffers,
    rewrite,
    substitute,
    uses_var,
    walk,
    walk_stmts,
)
from ...context import BlockRV, Context, LoopRV, Result
from ...errors import refuse
from ...rules.checks import require_in_blocks, used_outside_of_blocks
from .transforms import new_names, reorder, require_one_chain, require_plain, require_unmarked, split


def tile(
    ctx: Context, *loops: LoopRV, factors: Sequence[int], names: Sequence[str] | None = None
) -> Result[list[LoopRV]]:
    """Tile a loop nest: split each loop, and move the loops within a tile inside the loops over tiles.

    Rewrite:
        for i, j in T.grid(n, m):            for i_0, j_0, i_1, j_1 in T.grid(n // 8, m // 4, 8, 4):
            f(i, j)                  =>          f(i_0 * 8 + i_1, j_0 * 4 + j_1)                # tile(i, j, factors=[8, 4])
    `factors` has the size of a tile along each loop. A size need not divide the extent of its loop.
    Requires: the conditions of `split` and `reorder`.
    Returns: the loops over tiles, then the loops within a tile, named `names` in this order. The old loops are removed.
    Errors: bad-factors, bad-names, not-one-chain, and those of split and reorder.
    Source: tile of TVM's TE (te.Stage.tile, up to 0.20), for any number of loops: splits and a reorder in one call.
    """
    nest = [ctx.loop(v) for v in loops]
    if not nest or len(factors) != len(nest):
        raise refuse(
            "bad-factors", "the numbers of loops and factors of tile differ", *nest,
            found=f"{len(nest)} loops, {len(factors)} factors", expected="one factor a loop",
        )  # fmt: skip
    require_one_chain(ctx, nest)
    default = [f"{f.loop_var.name}_{level}" for level in range(2) for f in nest]
    chosen = new_names(nest[0], default, names)
    outer: list[LoopRV] = []
    inner: list[LoopRV] = []
    for position, (loop, factor) in enumerate(zip(nest, factors, strict=True)):
        pair = (chosen[position], chosen[position + len(nest)])
        cut = split(ctx, loop.loop_var, [None, factor], names=pair)
        ctx = ctx.after(cut.func)
        over, inside = cut.value
        outer.append(over)
        inner.append(inside)
    return Result(reorder(ctx, *outer, *inner).func, [*outer, *inner])


def add_unit_loop(ctx: Context, block_or_loop: BlockRV | LoopRV) -> Result[LoopRV]:
    """Add a loop of one iteration around a block or a loop.

    Rewrite:    with T.block("C")   =>   for u in range(1): with T.block("C")
    Requires: not the root block.
    Returns: the new loop, named `u`.
    Errors: root-block.
    Source: TVM src/s_tir/schedule/primitive/loop_transformation.cc, AddUnitLoop.
    """
    old = ctx.realize(block_or_loop) if isinstance(block_or_loop, str) else ctx.loop(block_or_loop)
    if old is ctx.index.root:
        raise refuse("root-block", "a loop cannot enclose the root block", old)
    unit = Var("u", "int32")
    return Result(ctx.replaced({old: build.serial(unit, 1, old)}), unit)


# -- partition


def loop_partition(
    ctx: Context,
    loop: LoopRV | str,
    factors: Sequence[int | None],
    preserve_unit_iters: bool = True,
    *,
    names: Sequence[str] | None = None,
) -> Result[list[LoopRV]]:
    """Partition the range of a loop into consecutive pieces, each with its own copy of the body.

    Rewrite:
        for i in range(n):          with T.block("B_i_common"):
            with T.block("B"):          with T.block("B_i0_partition"):
                f(i)            =>          for i0 in range(0, 8): with T.block("B_i0"): f(i0)
                                        with T.block("B_i1_partition"):
                                            for i1 in range(8, n): with T.block("B_i1"): f(i1)      # loop_partition(i, [8])
    `factors` are the lengths of the pieces. The remaining iterations form one more piece, at the position of None or at the end. The loop
    and the names can be given in one string, as for `split`. `preserve_unit_iters` has no effect, as in TVM.
    Requires: constant bounds; no annotations and no thread binding; the lengths leave some iterations over; no reduction with an init runs
    over the loop.
    Returns: the loops of the pieces, named `names` (default `i0, i1, …`). The old loop and the blocks below it are removed. Their copies
    are named after block and loop, such as `B_i0`.
    Errors: bad-factors, bad-names, loop-annotated, symbolic-extent, reduction-partitioned.
    Source: TVM src/s_tir/schedule/primitive/loop_transformation.cc, LoopPartition; `names` is Tilewright's.
    """
    old = ctx.loop(loop)
    require_unmarked(old, "partition")
    ends = _piece_ends(old, factors)
    chosen = new_names(old, [f"{old.loop_var.name}{i}" for i in range(len(ends) - 1)], names)
    require_init_apart(old)

    below = [n for n in walk(old.body) if isinstance(n, BlockRealize)]
    base = f"{below[0].block.name if below else 'loop'}_{old.loop_var.name}"
    used = {*ctx.index.block_names} - {r.block.name for r in below}
    used_buffers = {b.name for b in ctx.index.buffers}
    variables: list[Var] = []
    pieces: list[Stmt] = []
    common = _fresh(f"{base}_common", used)
    for position, (name, (first, end)) in enumerate(zip(chosen, pairwise(ends), strict=True)):
        var, dtype = Var(name, old.loop_var.dtype), old.loop_var.dtype
        piece = For(var, build.const(first, dtype), build.const(end - first, dtype), "serial", old.body)
        body = _copied(replace_fields(piece, body=_with_domain(old, var, piece)), var, name, used, used_buffers)
        pieces.append(_opaque(_fresh(f"{base}{position}_partition", used), body))
        variables.append(var)
    return Result(ctx.replaced({old: _opaque(common, build.seq(pieces))}), variables)


# A piece has constant bounds.
def _piece_ends(loop: For, factors: Sequence[int | None]) -> list[int]:
    """The boundaries of the pieces, one more than pieces."""
    first, extent = build.int_value(loop.min), build.int_value(loop.extent)
    if first is None or extent is None:
        raise refuse(
            "symbolic-extent", f"cannot partition loop {loop.loop_var.name!r}: its bounds are not constant", loop
        )
    known = [f for f in factors if f is not None]
    if any(isinstance(f, bool) or not isinstance(f, int) or f <= 0 for f in known) or len(factors) - len(known) > 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refuse(
            "bad-factors", "lengths must be positive integers, at most one of them None", loop, found=str(list(factors))
        )
    rest = extent - sum(known)
    if rest <= 0:
        raise refuse(
            "bad-factors", f"the lengths cover all of loop {loop.loop_var.name!r}, which leaves no last part", loop,
            found=f"a sum of {sum(known)}", expected=f"less than {extent}",
        )  # fmt: skip
    lengths = [rest if f is None else f for f in factors]
    if len(known) == len(factors):
        lengths.append(rest)
    return list(accumulate(lengths, initial=first))


# Each piece would restart the reduction.
def require_init_apart(loop: For) -> None:
    for node in walk(loop.body):
        if not isinstance(node, BlockRealize) or node.block.init is None:
            continue
        pairs = zip(node.block.iter_vars, node.iter_values, strict=True)
        if any(iv.iter_type != "spatial" and uses_var(value, loop.loop_var) for iv, value in pairs):
            raise refuse(
                "reduction-partitioned",
                f"loop {loop.loop_var.name!r} runs the reduction of block {node.block.name!r}, which each part would initialize again",
                loop, node, expected="the init in a separate block",
                fix=(f"sch.decompose_reduction({node.block.name!r}, {loop.loop_var.name})",),
            )  # fmt: skip


def _with_domain(old: For, var: Var, piece: For) -> Stmt:
    """The body over `var`. Iterators that are bound to the loop itself get its range."""

    def leave(node: Node) -> Node:
        if not isinstance(node, BlockRealize):
            return node
        pairs = zip(node.block.iter_vars, node.iter_values, strict=True)
        iter_vars = tuple(
            replace_fields(iv, dom=Range(piece.min, piece.extent)) if value is var else iv for iv, value in pairs
        )
        return replace_fields(node, block=replace_fields(node.block, iter_vars=iter_vars))

    return rewrite(substitute(old.body, {old.loop_var: var}), leave)


def _copied(piece: For, var: Var, suffix: str, used: set[str], used_buffers: set[str]) -> For:
    """A copy of the piece with fresh variables, buffers and blocks; `var` is kept."""
    body, _ = fresh_vars(piece.body)
    views = [m.buffer for s in walk_stmts(body) if isinstance(s, Block) for m in s.match_buffers]
    own: dict[Buffer, Buffer] = {
        b: replace_fields(b, name=_fresh(b.name, used_buffers)) for b in (*allocated_buffers(body), *views)
    }
    body = replace_buffers(body, own)

    def named(node: Node) -> Node:
        return replace_fields(node, name=_fresh(f"{node.name}_{suffix}", used)) if isinstance(node, Block) else node

    return replace_fields(piece, body=rewrite(body, named))


def _fresh(name: str, used: set[str]) -> str:
    found = fresh_name(name, used)
    used.add(found)
    return found


def _opaque(name: str, body: Stmt) -> BlockRealize:
    """A block without iterators around `body`, with the regions that it accesses (TVM declares none)."""
    reads, writes = accessed_regions(body)
    block = Block(name, (), reads, writes, body)
    return BlockRealize((), build.const(True, "bool"), block)


# -- merge


class _Nest(msgspec.Struct, frozen=True, eq=False):
    """The loops from the common sequence down to the merged one, outermost first, and the statement's position in the sequence."""

    loops: tuple[For, ...]
    position: int


def merge(ctx: Context, *loops: LoopRV) -> Result[LoopRV]:
    """Merge consecutive loops into one loop, each iteration of which runs the bodies one after the other.

    Rewrite:
        for i in range(n): f(i)             for i_m in range(n):
        for j in range(n): g(j)      =>         f(i_m)
                                                g(i_m)                          # merge(i, j)
    The new loop takes the position of the last old one. Loops around them, up to the common sequence, are merged too.
    Requires: the nests are in one sequence of statements and have equal depths and extents; each loop is the only statement in the loop
    around it; the loops start at 0 and have no annotations and no thread bindings; iteration j of the second nest depends only on iteration
    j of the first one, and the first one does not depend on the second; statements between them do not access the buffers of the nests.
    Returns: the merged loop, `i_m`. The old loops are removed.
    Errors: too-few-loops, other-scope, not-nested, loop-annotated, loop-not-from-zero, different-depth, different-extent, order-dependent,
    not-in-blocks, opaque-access.
    Source: TVM src/s_tir/schedule/primitive/loop_transformation.cc, Merge, which does not check dependences between the nests.
    """
    named = [ctx.loop(v) for v in loops]
    if len(named) < 2 or len(set(named)) != len(named):
        raise refuse("too-few-loops", "merge needs at least two distinct loops", *named)
    sequence, nests = require_same_sequence(ctx, named)
    require_same_extents(ctx, nests)
    for nest in nests:
        require_in_blocks(ctx, nest.loops[0], "merge")
    require_free_way(ctx, sequence, nests)

    variables = [Var(f"{f.loop_var.name}_m", f.loop_var.dtype) for f in nests[0].loops]
    bodies = [
        ctx.body_with(n.loops[-1], {f.loop_var: v for f, v in zip(n.loops, variables, strict=True)}) for n in nests
    ]
    merged = build.nest(
        [build.serial(v, f.extent, f.body) for v, f in zip(variables, _renamed(nests[0], variables), strict=True)],
        build.seq(bodies),
    )
    gone = {n.position for n in nests[:-1]}
    last = nests[-1].position
    kept = [merged if i == last else s for i, s in enumerate(sequence.seq) if i not in gone]
    func = ctx.replaced({sequence: build.seq(kept)})
    require_exchange_in_step(ctx.after(func), ctx, nests, variables)
    return Result(func, variables[-1])


def _renamed(nest: _Nest, variables: Sequence[Var]) -> list[For]:
    """The loops with bounds in terms of the merged variables."""
    new = {f.loop_var: v for f, v in zip(nest.loops, variables, strict=True)}
    return [replace_fields(f, extent=substitute(f.extent, new)) for f in nest.loops]


# Merged loops are in one sequence, each in its own nest without other statements.
def require_same_sequence(ctx: Context, loops: Sequence[For]) -> tuple[SeqStmt, list[_Nest]]:
    scope = ctx.index.scope_of(loops[0])
    for loop in loops:
        if ctx.index.scope_of(loop) is not scope:
            raise refuse(
                "other-scope",
                f"loops {loops[0].loop_var.name!r} and {loop.loop_var.name!r} are in different blocks",
                loops[0],
                loop,
            )
        require_plain(loop, "merge")
    above = [[loop, *ctx.index.path(loop)] for loop in loops]
    common = next(s for s in above[0] if all(any(s is t for t in path) for path in above[1:]))
    if not isinstance(common, SeqStmt):
        raise refuse(
            "not-nested",
            "the loops are not in one sequence of statements",
            *loops,
            expected="loop nests that follow one another in one sequence",
        )
    return common, [_nest(path, common) for path in above]


def _nest(path: Sequence[Stmt], sequence: SeqStmt) -> _Nest:
    chain: list[For] = []
    for stmt, outer in pairwise(path):
        if not isinstance(stmt, For) or (outer is not sequence and not (isinstance(outer, For) and outer.body is stmt)):
            raise refuse(
                "not-nested", "a loop to be merged is not the only statement in its parent", *chain[-1:],
                expected="perfectly nested loops",
            )  # fmt: skip
        require_plain(stmt, "merge")
        chain.append(stmt)
        if outer is sequence:
            break
    position = next(i for i, s in enumerate(sequence.seq) if s is chain[-1])
    return _Nest(tuple(reversed(chain)), position)


# The nests must agree in depth and extents, iteration by iteration.
def require_same_extents(ctx: Context, nests: Sequence[_Nest]) -> None:
    first = nests[0]
    ranges = ctx.loop_ranges(first.loops[-1])
    for nest in nests[1:]:
        if len(nest.loops) != len(first.loops):
            raise refuse(
                "different-depth", "the loops are at different depths", first.loops[-1], nest.loops[-1],
                found=f"{len(first.loops)} and {len(nest.loops)} loops below the common sequence",
            )  # fmt: skip
        same = {g.loop_var: f.loop_var for f, g in zip(first.loops, nest.loops, strict=True)}
        for f, g in zip(first.loops, nest.loops, strict=True):
            if not prove_equal(f.extent, substitute(g.extent, same), ranges):
                raise refuse(
                    "different-extent", f"loops {f.loop_var.name!r} and {g.loop_var.name!r} have different extents", f, g,
                    expected="equal extents",
                )  # fmt: skip


# A nest that moves down to the last one crosses the statements between them, and nests that change their order with it.
def require_free_way(ctx: Context, sequence: SeqStmt, nests: Sequence[_Nest]) -> None:
    mine = {n.position for n in nests}
    loose = ctx.index.touched_loosely(ctx.index.scope_of(sequence))
    for number, nest in enumerate(nests):
        low, high = sorted((nest.position, nests[-1].position))
        crossed = [p for p in range(low + 1, high) if p not in mine]
        turned = [m.position for m in nests[number + 1 :] if m.position < nest.position]
        for position in (*crossed, *turned):
            if ctx.index.is_bare(sequence.seq[position]):
                raise refuse(
                    "not-in-blocks", "a statement outside of blocks is between the loops", sequence.seq[position]
                )
            _require_apart(ctx, sequence.seq[nest.position], sequence.seq[position])
        for realize in ctx.index.child_blocks(nest.loops[0]):
            written = next((w.buffer for w in realize.block.writes if w.buffer in loose), None)
            if written is not None:
                raise used_outside_of_blocks(written, realize)


def _require_apart(ctx: Context, a: Stmt, b: Stmt) -> None:
    def blocks(stmt: Stmt) -> Sequence[BlockRealize]:
        return (stmt,) if isinstance(stmt, BlockRealize) else ctx.index.child_blocks(stmt)

    for first in blocks(a):
        for second in blocks(b):
            for buffer in shared_buffers(first.block, second.block):
                raise refuse(
                    "order-dependent",
                    f"cannot merge: {first.block.name!r} and {second.block.name!r} would be reordered, and both access {buffer.name!r}",
                    first, second, expected="loops without accesses to the same buffers between them",
                )  # fmt: skip


# After the merge, an iteration may use values of earlier nests only from the same iteration, and none from later iterations.
def require_exchange_in_step(new: Context, old: Context, nests: Sequence[_Nest], variables: Sequence[Var]) -> None:
    names = [[r.block.name for r in old.index.child_blocks(n.loops[0])] for n in nests]
    for before, after in combinations(names, 2):
        for first in map(new.index.realize, before):
            for second in map(new.index.realize, after):
                carried = find_carried(new.index, first, second, variables)
                if carried is not None:
                    raise refuse(
                        "order-dependent",
                        f"cannot merge: blocks {first.block.name!r} and {second.block.name!r} access elements of {carried.buffer.name!r} "
                        "in different iterations",
                        *(old.index.realize(r.block.name) for r in (first, second)), found=carried.detail,
                        expected="accesses to the same element in equal iterations only",
                    )  # fmt: skip
