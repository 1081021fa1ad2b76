"""Rules for block motion: conditions under which a moved block computes the same values.

A value is *final* at a read if no later statement changes it. A moved block reads its inputs at another time. The result is the same
if the inputs are final at both times, or if the same iterations of the surrounding loops separate the write and the read.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import cast

from ...analysis import (
    is_covered,
    is_update,
    joined_splits,
    only_guards_domain,
    provably_runs,
    realized,
    separated_loops,
    stays_inside,
    writes_distinct,
)
from ...arith import bounds, detect_iter_map, interval, linear, prove, prove_equal
from ...ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    IterVar,
    Node,
    Range,
    SeqStmt,
    Stmt,
    Var,
    build,
    free_vars,
    replace_nodes,
    uses_var,
    walk,
)
from ...script import expr_text
from ..context import Context
from ..errors import refuse
from .checks import (
    require_buffer_of_block,
    require_free_block,
    require_iterators_only,
    require_one_sum,
    used_outside_of_blocks,
)


# A block must be movable as a whole: no other block reads its partial results or writes its buffers.
def require_complete_or_reduction(ctx: Context, realize: BlockRealize) -> None:
    name = realize.block.name
    if not (ctx.index.is_complete(name) or ctx.index.is_reduction(name)):
        raise refuse(
            "not-complete", f"block {name!r} is neither a complete block nor a reduction block", realize,
            found=_why_incomplete(ctx, name),
            expected="the only writer of its buffers, with spatial iterators, or a reduction with T.init()",
        )  # fmt: skip


# An inlined block becomes an expression, so it cannot be a reduction or share its buffer with a second writer.
def require_complete(ctx: Context, realize: BlockRealize) -> None:
    name = realize.block.name
    if not ctx.index.is_complete(name):
        raise refuse(
            "not-complete", f"block {name!r} is not a complete block", realize,
            found=_why_incomplete(ctx, name),
            expected="the only writer of its buffers, with spatial iterators, not reading what it writes",
        )  # fmt: skip


def _why_incomplete(ctx: Context, name: str) -> str:
    block = ctx.index.block(name)
    if not ctx.index.is_dominant(name):
        written = {w.buffer for w in block.writes}
        others = [n for b in written for n in ctx.index.writers(b) if n != name]
        return "other writers of its buffers: " + ", ".join(dict.fromkeys(others))
    kinds = [iv.iter_type for iv in block.iter_vars if iv.iter_type != "spatial"]
    if kinds:
        return f"{kinds[0]} iterators"
    return "it reads a buffer that it writes"


# An output of the function must be computed at its original place: no consumer below the loop reads all of it.
def require_intermediate(ctx: Context, realize: BlockRealize) -> None:
    name = realize.block.name
    if ctx.index.is_output(name):
        outside = next(
            w.buffer for w in realize.block.writes if w.buffer not in ctx.index.scope_of(realize).alloc_buffers
        )
        require_buffer_of_block(ctx, outside, "output-block")
        raise refuse(
            "output-block", f"block {name!r} writes {outside.name!r}, which is used outside its scope", realize,
            expected="a block that writes only intermediate buffers", fix=(f'sch.cache_write({name!r}, 0, "local")',),
        )  # fmt: skip


# Every reader of the block must read elements that the block wrote for it.
def require_covered(ctx: Context, first: BlockRealize, second: BlockRealize) -> None:
    for buffer in written_for(first, second):
        covered = is_covered(ctx.index, first, second, buffer)
        if not covered:
            raise refuse(
                "region-not-covered",
                f"block {second.block.name!r} may read elements of {buffer.name!r} that {first.block.name!r} did not write "
                "in the same iteration",
                first, second, found=covered.detail,
                expected=f"iterations that read only elements that {first.block.name!r} wrote in the same iteration",
            )  # fmt: skip


def written_for(first: BlockRealize, second: BlockRealize) -> list[Buffer]:
    """The buffers that `first` writes and `second` reads."""
    read = {r.buffer for r in second.block.reads}
    return [b for b in dict.fromkeys(w.buffer for w in first.block.writes) if b in read]


# A condition or a loop bound that reads the block's buffer does not move with the block.
def require_not_loose(ctx: Context, realize: BlockRealize, apart: Container[Node] = ()) -> None:
    loose = ctx.index.touched_loosely(ctx.index.scope_of(realize), apart)
    for region in realize.block.writes:
        if region.buffer in loose:
            raise used_outside_of_blocks(region.buffer, realize)


# Between the old place and the new one, no block may overwrite the block's inputs or read its outputs.
def require_read_before_write(ctx: Context, realize: BlockRealize, apart: Container[Node] = ()) -> None:
    """Refuse write-after-read conflicts. The caller handles reads outside of blocks in the nodes `apart`."""
    block = realize.block
    require_not_loose(ctx, realize, apart)
    read, written = {r.buffer for r in block.reads}, {w.buffer for w in block.writes}
    siblings = ctx.index.siblings(block.name)
    position = siblings.index(realize)
    for other in siblings[position + 1 :]:
        conflicting = next((w.buffer for w in other.block.writes if w.buffer in read - written), None)
        if conflicting is not None:
            raise _overwritten(realize, other, conflicting)
    for other in siblings[:position]:
        conflicting = next((r.buffer for r in other.block.reads if r.buffer in written), None)
        if conflicting is not None:
            raise _overwritten(other, realize, conflicting)


def _overwritten(reader: BlockRealize, writer: BlockRealize, buffer: Buffer):
    return refuse(
        "write-after-read", f"block {writer.block.name!r} overwrites {buffer.name!r} after block {reader.block.name!r} reads it",
        reader, writer,
        expected="buffers that are written before they are read", fix=(f'sch.cache_write({writer.block.name!r}, 0, "local")',),
    )  # fmt: skip


# A moved block runs in a different order: its results must not depend on the order.
def require_own_order(ctx: Context, realize: BlockRealize, what: str) -> None:
    loops = ctx.index.loops_above(realize)
    require_iterators_only(ctx, realize, loops, what)
    require_free_block(ctx, realize, {f.loop_var: Range(f.min, f.extent) for f in loops}, what)
    require_one_sum(ctx, realize, what)


# Between an iteration of the `lost` loops and the end of these loops, the written values must not change.
def require_final(ctx: Context, writer: BlockRealize, reader: BlockRealize, lost: Iterable[For]) -> None:
    loops = [f for f in lost if not build.is_const(f.extent, 1)]
    if not loops:
        return
    require_whole_sum(writer, reader, loops)
    if not ctx.index.fact(writes_distinct, writer.block) or not _is_final(ctx, writer, loops, set()):
        raise refuse(
            "not-final",
            f"block {writer.block.name!r} writes the same element in several iterations of {loops[0].loop_var.name!r}: "
            f"{reader.block.name!r} would see the last one instead of its own",
            writer, reader, loops[0],
        )  # fmt: skip


def _is_final(ctx: Context, writer: BlockRealize, loops: Sequence[For], seen: set[str]) -> bool:
    """Whether the writer writes the same values in every iteration of the loops."""
    again = [f for f in loops if f in ctx.index.loops_above(writer)]
    apart = _loops_that_separate(ctx, writer) if again else set[Var]()
    again = [f for f in again if f.loop_var not in apart]
    if not again:
        return True
    block = writer.block
    if block.name in seen or any(f.loop_var in ctx.index.fact(free_vars, block) for f in again):
        return False
    if ctx.index.fact(is_update, block) and (block.init is None or any(drives_reduction(writer, f) for f in again)):
        return False
    read, written = {r.buffer for r in block.reads}, {w.buffer for w in block.writes}
    makers = [r for r in ctx.index.siblings(block.name) if any(w.buffer in read - written for w in r.block.writes)]
    return all(_is_final(ctx, maker, again, seen | {block.name}) for maker in makers)


def _loops_that_separate(ctx: Context, writer: BlockRealize) -> set[Var]:
    """The loops whose iterations provably write different elements."""
    loops = {f.loop_var: Range(f.min, f.extent) for f in ctx.index.loops_above(writer)}
    boxes = [realized(w, writer).region for w in writer.block.writes]
    found = set(loops)
    for box in boxes:
        found &= separated_loops(box, box, loops)
    return found


# Inside of a reduction loop, only a partial sum exists.
def require_whole_sum(writer: BlockRealize, reader: BlockRealize, loops: Iterable[For]) -> None:
    for loop in loops:
        if not build.is_const(loop.extent, 1) and drives_reduction(writer, loop):
            name, first = loop.loop_var.name, expr_text(loop.min)
            raise refuse(
                "partial-sum",
                f"loop {name!r} runs a reduction of block {writer.block.name!r}: inside it, "
                f"{reader.block.name!r} would read a partial result",
                loop, writer,
                found=f"{name!r} drives {_driven_name(writer, loop)!r}: at {name} = {first} the sum lacks the terms of later iterations",
                expected=f"a loop outside the reduction of {writer.block.name!r}",
            )  # fmt: skip


def overwriting_loops(ctx: Context, producer: BlockRealize, realize: BlockRealize, around: Iterable[For]) -> list[For]:
    """The producer's reduction loops among `around` in which a copy may repeat: the last iteration overwrites the partial sums."""
    loops = [f for f in around if drives_reduction(producer, f)]
    readers = map(ctx.index.realize, ctx.index.consumers(realize.block.name))
    if not loops or not _is_copy(realize.block) or any(ctx.index.is_inside(r, loops[0]) for r in readers):
        return []
    spatial = [
        v for iv, v in zip(producer.block.iter_vars, producer.iter_values, strict=True) if iv.iter_type == "spatial"
    ]
    own = (f for f in loops if not any(uses_var(v, f.loop_var) for v in spatial))
    return [f for f in own if f.kind in ("serial", "unrolled")]


def _is_copy(block: Block) -> bool:
    store = block.body
    if not isinstance(store, BufferStore) or not isinstance(store.value, BufferLoad):
        return False
    indices = (*store.indices, *store.value.indices)
    return not any(isinstance(part, BufferLoad) for index in indices for part in walk(index))


def drives_reduction(realize: BlockRealize, loop: For) -> bool:
    """Whether a non-spatial iterator of the block depends on the loop."""
    return _driven_name(realize, loop) is not None


def _driven_name(realize: BlockRealize, loop: For) -> str | None:
    pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    return next((iv.var.name for iv, v in pairs if iv.iter_type != "spatial" and uses_var(v, loop.loop_var)), None)


# A block that skips a part of its domain would compute all of it at the new place.
def require_full_domain(ctx: Context, realize: BlockRealize) -> None:
    if not _fills_domain(ctx, realize):
        raise refuse(
            "partial-domain", f"cannot prove that the loops of block {realize.block.name!r} cover its whole domain", realize,
            expected="loops that cover each iterator, with bounds checks as the only conditions",
        )  # fmt: skip


# A moved block may run iterations that its loops skipped. These must stay inside their buffers.
def require_safe_domain(ctx: Context, realize: BlockRealize) -> None:
    if not ctx.index.fact(stays_inside, realize.block):
        require_full_domain(ctx, realize)


def _fills_domain(ctx: Context, realize: BlockRealize) -> bool:
    around = {f.loop_var: Range(f.min, f.extent) for f in ctx.index.loops_above(realize)}
    if not provably_runs(ctx.index, realize, ()):
        return False
    realize, loops = joined_splits(realize, around)
    if not only_guards_domain(realize):
        return False
    pairs = list(zip(realize.block.iter_vars, realize.iter_values, strict=True))
    values = [v for _, v in pairs]
    used = {v: r for v, r in loops.items() if any(uses_var(value, v) for value in values)}
    if any((free_vars(r.min) | free_vars(r.extent)) & loops.keys() for r in used.values()):
        return False  # a triangular domain
    found = detect_iter_map(values, used)
    if found is not None and found.bijective:
        return all(_reaches_ends(iv, value, used) for iv, value in pairs)
    owners = [v for value in values for v in used if uses_var(value, v)]
    return len(owners) == len(set(owners)) and all(_is_dense(iv, value, used) for iv, value in pairs)


def _reaches_ends(iter_var: IterVar, value: Expr, loops: Mapping[Var, Range]) -> bool:
    known, first, extent = bounds(value, loops), build.int_value(iter_var.dom.min), build.int_value(iter_var.dom.extent)
    if first is not None and extent is not None and known.high is not None:
        return known.low == first and known.high >= first + extent - 1
    span, dom = interval(value, loops), iter_var.dom
    if span is None or not span.exact or not prove_equal(span.min, dom.min):
        return False
    return prove(build.ge(build.add(span.max, 1), build.add(dom.min, dom.extent)))


def _is_dense(iter_var: IterVar, value: Expr, loops: Mapping[Var, Range]) -> bool:
    """Whether the value, a sum of multiples of loops, covers every value of the domain."""
    form = linear(value)
    if form is None or not all(isinstance(a, Var) and a in loops and f > 0 for a, f in form.terms):
        return False
    reach = 1
    for atom, factor in sorted(form.terms, key=lambda term: term[1]):
        trips = build.int_value(loops[atom].extent) if isinstance(atom, Var) else None
        if trips is None or factor > reach:
            return False
        reach += factor * (trips - 1)
    return _reaches_ends(iter_var, value, loops)


def lost_loops(ctx: Context, first: BlockRealize, second: BlockRealize, kept: Sequence[For]) -> list[For]:
    """The loops around both blocks that are not among `kept`."""
    around = set(ctx.index.loops_above(second))
    return [f for f in ctx.index.loops_above(first) if f in around and f not in kept]


def removal(ctx: Context, realize: BlockRealize) -> dict[Node, Node]:
    """The replacement that removes the block and the loops that contain only it. Refuses "only-block"."""
    below: Stmt = realize
    for outer in ctx.index.path(realize):
        if isinstance(outer, SeqStmt):
            return {outer: build.seq([s for s in outer.seq if s is not below])}
        if not isinstance(outer, For):
            break
        below = outer
    raise refuse(
        "only-block",
        f"block {realize.block.name!r} is the only one in its scope",
        realize,
        expected="another block in the same scope",
    )


def scope_without(ctx: Context, realize: BlockRealize, new: Mapping[Stmt, Stmt]) -> Block:
    """The block's scope without the block, and with the keys of `new` replaced. Visits only the statements around them."""
    around = {*ctx.index.path(realize), *(outer for stmt in new for outer in ctx.index.path(stmt))}
    nodes = cast("Mapping[Node, Node]", new)
    gone = {old: replace_nodes(left, nodes, within={*around, left}) for old, left in removal(ctx, realize).items()}
    return replace_nodes(ctx.index.scope_of(realize), {**nodes, **gone}, within=around)
