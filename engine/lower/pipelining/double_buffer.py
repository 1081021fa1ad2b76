"""InjectDoubleBuffer: buffers that a `double_buffer_scope` block fills get a slot axis of two or more, used in turn.

Step `i` of the loop writes and reads slot `i % 2`. The pass does not reorder statements: a machine that can start the load of step `i + 1`
during the compute of step `i` may do so because the two use different slots. (InjectSoftwarePipeline, which runs earlier, creates prologue
and epilogue and gives the buffers of its loops slots itself.) TVM's pass (src/s_tir/transform/inject_double_buffer.cc) accepts flat 1-D
buffers only; this one accepts any, including axis separators.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from msgspec.structs import replace as replace_fields

from ...analysis import accessed_regions
from ...ir import BlockRealize, Buffer, Expr, For, Node, PrimFunc, Var, build, loops_around_allocations, map_children
from ..access import BufferChange, change_buffers
from ..rewrite_result import RewriteResult
from ..storage.owning import owning_block
from .slots import Slots, bank_notes, marked_buffers, sliceable, slot_change, slot_in_turn, with_slots, without_marks

N = TypeVar("N", bound=Node)


def inject_double_buffer(func: PrimFunc) -> PrimFunc:
    """Double the marked buffers: `A[64, 64]` allocated under `for ko` becomes `A[2, 64, 64]` around it, indexed by `ko % 2` in front.

    With axis separators, the slot axis joins the first group: `[1 | 64, 64]` becomes `[2, 1 | 64, 64]`; with `double_buffer_banks` it
    becomes a separate group if the buffer has no separators. With `double_buffer_slots = 3` it is `[3, …]`, indexed by `ko % 3`. A buffer
    keeps one slot if it is under no loop of more than one trip, under a loop with concurrent iterations, or accessed by its address
    (`A.data`). The annotations are removed.
    """
    return doubled(func).func


def doubled(func: PrimFunc) -> RewriteResult:
    """`inject_double_buffer`, with the map from each buffer to its doubled buffer."""
    marked = marked_buffers(func)
    if not marked:
        return RewriteResult(func, {})
    loops = _loops_that_turn(func, marked)
    changes = {b: _change(b, loop, marked[b]) for b, loop in loops.items()}
    moved = _Hoister(loops, marked).visit(func)
    return RewriteResult(change_buffers(moved, changes), {old: c.buffer for old, c in changes.items()})


def doubled_buffers(func: PrimFunc) -> dict[Buffer, Buffer]:
    """The replacement that `doubled` would create for each buffer that gets two slots."""
    marked = marked_buffers(func)
    return (
        {b: with_slots(b, marked[b].count, marked[b].banks) for b in _loops_that_turn(func, marked)} if marked else {}
    )


def _loops_that_turn(func: PrimFunc, marked: Mapping[Buffer, Slots]) -> dict[Buffer, For]:
    chosen = sliceable(func, marked)
    return {b: loop for b, loop in slot_loops(func).items() if b in chosen}


def slot_loops(func: PrimFunc) -> dict[Buffer, For]:
    """For each allocated buffer, the innermost loop of more than one trip around its allocation, if that loop is sequential."""
    around = loops_around_allocations(func.body).items()
    turning = {b: next((f for f in reversed(loops) if not build.is_const(f.extent, 1)), None) for b, loops in around}
    return {b: loop for b, loop in turning.items() if loop is not None and loop.kind in ("serial", "unrolled")}


def _change(buffer: Buffer, loop: For, slots: Slots) -> BufferChange:
    return slot_change(with_slots(buffer, slots.count, slots.banks), slot_in_turn(loop, slots.count))


class _Hoister:
    """Moves the allocations out of their loops, so that a slot outlives the step that filled it; removes the annotations."""

    def __init__(self, loops: Mapping[Buffer, For], slots: Mapping[Buffer, Slots]) -> None:
        self.loops = loops
        self.slots = slots
        self.moved: dict[Var, list[Buffer]] = {}
        for buffer, loop in loops.items():
            self.moved.setdefault(loop.loop_var, []).append(buffer)

    def visit(self, node: N) -> N:
        if isinstance(node, Expr | Buffer):
            return node
        if isinstance(node, BlockRealize):
            return cast("N", self._realize(node))
        done = map_children(node, self.visit)
        if isinstance(done, For) and (buffers := self.moved.get(done.loop_var)):
            notes = bank_notes({b: self.slots[b].banks for b in buffers})
            return cast("N", owning_block(done, tuple(buffers), notes))
        return done

    def _realize(self, realize: BlockRealize) -> BlockRealize:
        done = map_children(realize, self.visit)
        block = done.block
        moved = {b for b in block.alloc_buffers if b in self.loops}
        block = replace_fields(
            block,
            annotations=without_marks(block.annotations),
            alloc_buffers=tuple(b for b in block.alloc_buffers if b not in moved),
        )
        if moved:
            reads, writes = accessed_regions(block)
            block = replace_fields(
                block,
                reads=(*block.reads, *(r for r in reads if r.buffer in moved)),
                writes=(*block.writes, *(w for w in writes if w.buffer in moved)),
            )
        return replace_fields(done, block=block)
