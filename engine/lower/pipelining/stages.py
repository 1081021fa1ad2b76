"""Reading of pipelined loops: the parts of a loop's body, with the stage and order of each.

TVM's annotations of the loop, lists with an entry for each part:
    software_pipeline_stage = [0, 1]           a part of stage s does iteration i - s while stage 0 does iteration i
    software_pipeline_order = [0, 1]           the order of the parts in the new body
    software_pipeline_async_stages = [0]       stages that the hardware runs asynchronously
The parts are the statements of the body. The statements of an opaque block in the body (the prologue, body and epilogue of an inner
pipeline, an init and its update) count separately.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import msgspec
from msgspec.structs import replace as replace_fields

from ...analysis import accessed_regions
from ...ir import (
    Annotations,
    Block,
    BlockRealize,
    Buffer,
    BufferRegion,
    For,
    IntImm,
    SeqStmt,
    Stmt,
    build,
    substitute,
    walk_stmts,
)
from ..errors import refuse
from ..init_block import without_init
from ..match_buffer import without_matches

STAGE, ORDER, ASYNC = "software_pipeline_stage", "software_pipeline_order", "software_pipeline_async_stages"
PIPELINE_KEYS = (STAGE, ORDER, ASYNC)

MOST_STAGES = 1024


class PipelinePart(msgspec.Struct, frozen=True, eq=False):
    """A part of the body as a block without iterators; messages refer to it by `name`. `regions` are all that it reads (False) or writes
    (True): those that the block declares and those of its body."""

    block: Block
    stage: int
    order: int
    name: str
    regions: tuple[tuple[BufferRegion, bool], ...]


class Pipeline(msgspec.Struct, frozen=True, eq=False):
    """A loop to be pipelined, with its `parts` in program order and the `buffers` that it allocates per iteration."""

    loop: For
    parts: tuple[PipelinePart, ...]
    buffers: tuple[Buffer, ...]
    asynchronous: frozenset[int]

    @property
    def depth(self) -> int:
        """The last stage."""
        return max(p.stage for p in self.parts)

    @property
    def in_order(self) -> list[PipelinePart]:
        return sorted(self.parts, key=lambda p: p.order)


def is_pipelined(loop: For) -> bool:
    """Whether the loop is annotated. Refuses "half-a-pipeline": stages without orders, or the other way round."""
    keys = {key for key, _ in loop.annotations}
    if (STAGE in keys) != (ORDER in keys):
        raise refuse("half-a-pipeline", f"loop {loop.loop_var.name!r} has stages or orders of a pipeline, but not both", loop,
                     found=STAGE if STAGE in keys else ORDER, expected=f"{STAGE} and {ORDER}")  # fmt: skip
    return STAGE in keys


def stages_and_orders(loop: For) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The stages and orders of a pipelined loop. Refuses "pipeline-stage" for annotations that are no lists of numbers."""
    notes = dict(loop.annotations)
    return _numbers(loop, STAGE, notes), _numbers(loop, ORDER, notes)


def read_pipeline(loop: For) -> Pipeline:
    """The pipeline of a loop. Refuses mismatches with the body: "pipeline-size", "pipeline-order", "pipeline-stage", "pipeline-body",
    "pipeline-loop"."""
    stmts, buffers = parts_of(loop)
    blocks = [as_block(stmt) for stmt in stmts]
    notes = dict(loop.annotations)
    stages, orders = stages_and_orders(loop)
    for key, values in ((STAGE, stages), (ORDER, orders)):
        if len(values) != len(blocks):
            raise refuse("pipeline-size", f"{key} does not have one entry for each statement of loop {loop.loop_var.name!r}", loop,
                         found=f"{len(values)} entries", expected=f"{len(blocks)}: {', '.join(map(part_name, blocks))}")  # fmt: skip
    require_serial(loop)
    require_permutation(loop, orders)
    require_stages(loop, stages)
    parts = tuple(
        PipelinePart(block, stage, order, part_name(block), tuple(_touched(block, stmt)))
        for stmt, block, stage, order in zip(stmts, blocks, stages, orders, strict=True)
    )
    asynchronous = frozenset(_numbers(loop, ASYNC, notes)) if ASYNC in notes else frozenset[int]()
    return Pipeline(loop, parts, buffers, asynchronous)


def parts_of(loop: For) -> tuple[tuple[Stmt, ...], tuple[Buffer, ...]]:
    """The parts of the loop's body, and the buffers that the body allocates. Refuses "pipeline-body"."""
    stmts, buffers = _body_of(loop)
    groups = [_parts(stmt) for stmt in stmts]
    return tuple(part for parts, _ in groups for part in parts), (*buffers, *(b for _, own in groups for b in own))


def groups_of(loop: For) -> tuple[tuple[Block, ...], ...]:
    """The parts of each statement of the body, without their accessed regions. Refuses "pipeline-body"."""
    return tuple(tuple(map(_unnamed, _parts(stmt)[0])) for stmt in _body_of(loop)[0])


def _body_of(loop: For) -> tuple[tuple[Stmt, ...], tuple[Buffer, ...]]:
    """The statements of the body and its buffers, unwrapped from the block that owns the buffers, if there is one."""
    body, buffers = loop.body, tuple[Buffer, ...]()
    if isinstance(body, BlockRealize) and build.is_true(body.predicate):
        owner = opened(body)
        body, buffers = owner.body, owner.alloc_buffers
    if not isinstance(body, SeqStmt):
        raise refuse("pipeline-body", f"the body of loop {loop.loop_var.name!r} is a single statement, which has nothing to overlap with",
                     loop, expected="two or more statements, or blocks, in the loop")  # fmt: skip
    return body.seq, buffers


def _parts(stmt: Stmt) -> tuple[tuple[Stmt, ...], tuple[Buffer, ...]]:
    """The parts of a statement of the body, and the buffers that it allocates for them."""
    if isinstance(stmt, BlockRealize) and build.is_true(stmt.predicate):
        block = without_matches(opened(stmt))
        if isinstance(block.body, SeqStmt):
            return block.body.seq, block.alloc_buffers
    return (stmt,), ()


def opened(realize: BlockRealize) -> Block:
    """The block with its iterators replaced by their bindings, and its init as a branch."""
    block = without_init(realize.block)
    values = dict(zip((iv.var for iv in block.iter_vars), realize.iter_values, strict=True))
    return substitute(replace_fields(block, iter_vars=()), values) if values else block


def _touched(block: Block, stmt: Stmt) -> Iterator[tuple[BufferRegion, bool]]:
    """The regions of a part, a statement as a block."""
    yield from ((region, False) for region in block.reads)
    yield from ((region, True) for region in block.writes)
    if block.body is stmt:
        return  # the block declares the regions of its body
    reads, writes = accessed_regions(block.body)
    yield from ((region, False) for region in reads)
    yield from ((region, True) for region in writes)


def as_block(stmt: Stmt) -> Block:
    """`stmt` as an opaque block with its accessed regions; for a realize that only runs a block, the block itself."""
    block = _unnamed(stmt)
    if block.body is not stmt:
        return block
    reads, writes = accessed_regions(stmt)
    return replace_fields(block, reads=reads, writes=writes)


def _unnamed(stmt: Stmt) -> Block:
    """`as_block` without the regions."""
    if (
        isinstance(stmt, BlockRealize)
        and build.is_true(stmt.predicate)
        and not stmt.iter_values
        and stmt.block.init is None
    ):
        return stmt.block
    return Block("", (), (), (), stmt)


def part_name(block: Block) -> str:
    """The first block name in the part, otherwise the kind of its statement."""
    found = next((b.name for b in _blocks(block) if b.name), "")
    return found or f"({type(block.body).__name__})"


def part_names(block: Block) -> frozenset[str]:
    """All block names in the part."""
    return frozenset(b.name for b in _blocks(block) if b.name)


def _blocks(block: Block) -> list[Block]:
    return [s for s in walk_stmts(block) if isinstance(s, Block)]


def without_pipeline(annotations: Annotations) -> Annotations:
    return tuple((key, value) for key, value in annotations if key not in PIPELINE_KEYS)


# Concurrent iterations cannot form stages.
def require_serial(loop: For) -> None:
    if loop.kind not in ("serial", "unrolled"):
        raise refuse("pipeline-loop", f"loop {loop.loop_var.name!r} is {loop.kind}: its iterations are not sequential", loop,
                     found=loop.kind, expected="a serial loop")  # fmt: skip


# The orders must be a permutation of the parts.
def require_permutation(loop: For, orders: tuple[int, ...]) -> None:
    if sorted(orders) != list(range(len(orders))):
        raise refuse("pipeline-order", f"the orders of loop {loop.loop_var.name!r} are not a permutation", loop,
                     found=", ".join(map(str, orders)), expected=f"0 to {len(orders) - 1}, each once")  # fmt: skip


def require_stages(loop: For, stages: tuple[int, ...]) -> None:
    if min(stages) < 0 or max(stages) > MOST_STAGES:
        raise refuse("pipeline-stage", f"the stages of loop {loop.loop_var.name!r} are out of range", loop,
                     found=", ".join(map(str, stages)), expected=f"0 to {MOST_STAGES}")  # fmt: skip


def _numbers(loop: For, key: str, notes: Mapping[str, object]) -> tuple[int, ...]:
    values = notes[key]
    items = cast("tuple[object, ...]", values) if isinstance(values, tuple) else ()
    numbers = tuple(v.value for v in items if isinstance(v, IntImm))
    if not isinstance(values, tuple) or len(numbers) != len(items):
        raise refuse(
            "pipeline-stage",
            f"{key} of loop {loop.loop_var.name!r} is not a list of numbers",
            loop,
            expected=f"{key}=[0, 1]",
        )
    return numbers
