"""InjectDoubleBuffer: buffers that a `double_buffer_scope` block fills get a slot axis of two, used in turns.

Step `i` of the loop writes and reads slot `i % 2`. Nothing is moved in time: a machine that lets the load of step `i + 1` start while
step `i` computes can do so because they touch different slots. (A software pipeline with prologue and epilogue is a pass of its own.)
TVM's pass (src/s_tir/transform/inject_double_buffer.cc) takes flat 1-D buffers only; this one takes any, axis separators included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from msgspec.structs import replace as replace_fields

from ..analysis import accessed_regions
from ..ir import (
    Allocate,
    Block,
    BlockRealize,
    Buffer,
    Expr,
    For,
    IntImm,
    Node,
    PrimFunc,
    Var,
    addressed_buffers,
    build,
    map_children,
    walk_stmts,
)
from .access import Axes, Change, Indices, change_buffers
from .owning import owning_block
from .renewed import Renewed

N = TypeVar("N", bound=Node)

KEY = "double_buffer_scope"
"""The block annotation: the position, among the block's writes, of the buffer to double."""


def inject_double_buffer(func: PrimFunc) -> PrimFunc:
    """`A[64, 64]` allocated under `for ko` becomes `A[2, 64, 64]` around it, indexed by `ko % 2` in front.

    With axis separators the slot axis joins the first group: `[1 | 64, 64]` becomes `[2, 1 | 64, 64]`. A buffer keeps one slot when it
    lives under no loop of more than one trip, or under one whose iterations run at the same time, or when its address is taken (`A.data`).
    The annotations are taken off.
    """
    return doubled(func).func


def doubled(func: PrimFunc) -> Renewed:
    """`inject_double_buffer`, with the doubled buffer for each."""
    marked = _all_marked(func)
    if not marked:
        return Renewed(func, {})
    loops = {b: loop for b, loop in slot_loops(func).items() if b in marked}
    changes = {b: _change(b, loop) for b, loop in loops.items()}
    moved = _Hoister(loops).visit(func)
    return Renewed(change_buffers(moved, changes), {old: c.buffer for old, c in changes.items()})


def doubled_buffers(func: PrimFunc) -> dict[Buffer, Buffer]:
    """What `doubled` would put in place of each buffer that gets two slots."""
    marked = _all_marked(func)
    return {b: _change(b, loop).buffer for b, loop in slot_loops(func).items() if b in marked} if marked else {}


def _all_marked(func: PrimFunc) -> set[Buffer]:
    found = {b for s in walk_stmts(func.body) if isinstance(s, Block) and (b := _marked(s)) is not None}
    return found - addressed_buffers(func.body) if found else found


def slot_loops(func: PrimFunc) -> dict[Buffer, For]:
    """For each allocated buffer the innermost loop of more than one trip around its allocation, where that one runs in order."""
    found: dict[Buffer, For] = {}

    def visit(node: Node, loop: For | None) -> Node:
        if isinstance(node, Expr | Buffer):
            return node
        if isinstance(node, For) and not build.is_const(node.extent, 1):
            loop = node
        owned = node.alloc_buffers if isinstance(node, Block) else (node.buffer,) if isinstance(node, Allocate) else ()
        if loop is not None and loop.kind in ("serial", "unrolled"):
            found.update((b, loop) for b in owned)
        return map_children(node, lambda child: visit(child, loop))

    visit(func.body, None)
    return found


def _marked(block: Block) -> Buffer | None:
    """The buffer that the block asks to double."""
    for key, value in block.annotations:
        if key == KEY and isinstance(value, IntImm) and value.value < len(block.writes):
            return block.writes[value.value].buffer
    return None


def _change(buffer: Buffer, loop: For) -> Change:
    two = build.const(2, buffer.shape[0].dtype if buffer.shape else "int32")
    slots = replace_fields(
        buffer,
        shape=(two, *buffer.shape),
        strides=_strides(buffer),
        axis_separators=tuple(s + 1 for s in buffer.axis_separators),
    )
    slot = build.floormod(_steps(loop), build.cast(two, loop.loop_var.dtype))

    def indices(old: Indices) -> Indices:
        return (slot, *old)

    def region(old: Axes) -> Axes:
        return (build.point(slot), *old)

    return Change(slots, indices, region)


def _strides(buffer: Buffer) -> tuple[Expr, ...]:
    if not buffer.strides:
        return ()
    return (build.mul(buffer.strides[0], buffer.shape[0]), *buffer.strides)


def _steps(loop: For) -> Expr:
    """How many iterations came before this one."""
    return build.sub(loop.loop_var, loop.min)


class _Hoister:
    """Moves the allocations out of their loops, so that a slot outlives the step that filled it; drops the annotations."""

    def __init__(self, loops: Mapping[Buffer, For]) -> None:
        self.loops = loops
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
            return cast("N", owning_block(done, tuple(buffers)))
        return done

    def _realize(self, realize: BlockRealize) -> BlockRealize:
        done = map_children(realize, self.visit)
        block = done.block
        moved = {b for b in block.alloc_buffers if b in self.loops}
        block = replace_fields(
            block,
            annotations=tuple(a for a in block.annotations if a[0] != KEY),
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
