"""InjectSoftwarePipeline: loops annotated with stages become a prologue, a body and an epilogue with overlapping stages.

    for i in range(n):            B[0 % 2] = load(0)                       prologue: stage 0 of the body's first step
        B = load(i)         =>    for i in range(n - 1):                   body: each stage, of different iterations
        C[i] = use(B)                 B[(i + 1) % 2] = load(i + 1)
                                      C[i] = use(B[i % 2])
                                  C[n - 1] = use(B[(n - 1) % 2])           epilogue: the remaining work of the other stages
Source: TVM src/s_tir/transform/inject_software_pipeline.cc. Both passes accept any buffer; this one keeps axis separators and banks, and
proves that no dependence is broken (`hazards`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from msgspec.structs import replace as replace_fields

from ...analysis import accessed_regions
from ...arith import Analyzer, prove
from ...ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferData,
    Call,
    Evaluate,
    Expr,
    For,
    IntImm,
    Node,
    PrimFunc,
    Range,
    SeqStmt,
    Stmt,
    Var,
    addressed_buffers,
    build,
    child_stmts,
    map_stmts,
    rewrite,
    walk_stmts,
)
from ..access import BufferChange, change_buffers
from ..copies import Copies
from ..errors import LowerError, refuse
from ..rewrite_result import RewriteResult
from .async_stages import AsyncStages, Done
from .hazards import Hazard, find_hazard, versions_needed
from .slots import (
    Banks,
    Slots,
    bank_notes,
    marked_buffers,
    marks_of,
    slot_change,
    slot_in_turn,
    with_slots,
    without_marks,
)
from .stages import (
    Pipeline,
    PipelinePart,
    as_block,
    groups_of,
    is_pipelined,
    read_pipeline,
    without_pipeline,
)

Ranges = Mapping[Var, Range]

Injected = dict[For, tuple[Stmt, Mapping[Buffer, Buffer]]]
"""Pipelined loops of planned programs that differ only in annotations of loops, each with its pipeline and the slotted buffers. Programs
that contain the same loop share them."""


def inject_software_pipeline(func: PrimFunc) -> PrimFunc:
    """Pipeline the annotated loops. Buffers that outlive a step get a slot axis of the size that the stages need, at least the requested
    slots for buffers marked for double buffering.

    Refuses "broken-dependence" if a part would run before one that it depends on, "opaque-access" if a buffer that needs versions is
    accessed by its address, and annotations that do not fit the body (`read_pipeline`).
    """
    return pipelined(func).func


def pipelined(func: PrimFunc, known: Injected | None = None) -> RewriteResult:
    """`inject_software_pipeline`, with the map from each buffer that gets several versions to its slotted buffer."""
    if not any(is_pipelined(f) for f in walk_stmts(func.body) if isinstance(f, For)):
        return RewriteResult(func, {})
    injector = _Injector(marked_buffers(func), {} if known is None else known)
    return RewriteResult(replace_fields(func, body=injector.visit(func.body, {})), injector.versions)


def pipeline_groups(func: PrimFunc, loop: Var, known: Injected) -> tuple[tuple[Block, ...], ...]:
    """The parts of a pipeline that each statement in the body of a loop of a planned program forms.

    Inner pipelines count as their prologue, body and epilogue. Refuses "pipeline-body" for a single statement.
    """
    found, ranges = _find_loop(func.body, loop, {})
    injector = _Injector(marked_buffers(func), known)
    return groups_of(replace_fields(found, body=injector.visit(found.body, ranges)))


def pipeline_fault(func: PrimFunc, loop: Var, known: Injected) -> LowerError | None:
    """The lowering error of the pipeline over a loop of a planned program, or of the pipelines inside; None if there is none."""
    found, ranges = _find_loop(func.body, loop, {})
    try:
        _Injector(marked_buffers(func), known).visit(found, ranges)
    except LowerError as error:
        return error
    return None


def _find_loop(stmt: Stmt, loop: Var, ranges: Ranges) -> tuple[For, Ranges]:
    """The loop, and the ranges of the loops around it."""
    path: list[tuple[Stmt, Ranges]] = [(stmt, ranges)]
    while path:
        node, around = path.pop()
        if isinstance(node, For):
            if node.loop_var is loop:
                return node, around
            around = {**around, node.loop_var: Range(node.min, node.extent)}
        path.extend((child, around) for child in child_stmts(node) if isinstance(child, Stmt))
    raise KeyError(loop.name)


class _Injector:
    """A rewriter of pipelined loops, inner ones first: their prologue, body and epilogue are parts of an outer pipeline."""

    def __init__(self, marked: Mapping[Buffer, Slots], known: Injected) -> None:
        self.marked = marked
        self.known = known
        self.versions: dict[Buffer, Buffer] = {}

    def visit(self, node: Stmt, ranges: Ranges) -> Stmt:
        if not isinstance(node, For):
            return self._below(node, ranges)
        if not is_pipelined(node):
            return self._below(node, {**ranges, node.loop_var: Range(node.min, node.extent)})
        if node not in self.known:
            inside = _Injector(self.marked, self.known)
            done = inside.pipeline(node, ranges)
            self.known[node] = done, inside.versions
        done, versions = self.known[node]
        self.versions.update(versions)
        return done

    def _below(self, node: Stmt, ranges: Ranges) -> Stmt:
        return cast("Stmt", map_stmts(node, lambda child: self.visit(cast("Stmt", child), ranges)))

    def pipeline(self, node: For, ranges: Ranges) -> Stmt:
        """The pipeline of a loop, after those inside of it."""
        loop = cast("For", self._below(node, {**ranges, node.loop_var: Range(node.min, node.extent)}))
        pipeline = read_pipeline(loop)
        versions = versions_needed(pipeline, self.marked, ranges)
        hazard = find_hazard(pipeline, versions, ranges)
        if hazard is not None:
            raise refuse_hazard(pipeline, hazard)
        slotted = {b: with_slots(b, n, self.marked.get(b, Slots()).banks) for b, n in versions.items() if n > 1}
        require_plain_accesses(pipeline, slotted)
        self.versions.update(slotted)
        banks = {slotted[b]: self.marked[b].banks for b in slotted if b in self.marked}
        return _Emitter(pipeline, slotted, ranges).emitted(banks)


def refuse_hazard(pipeline: Pipeline, hazard: Hazard):
    """The refusal that names both places."""
    first, second, loop = hazard.first, hazard.second, pipeline.loop.loop_var.name
    later = (
        f"{hazard.distance} iteration{'s' * (hazard.distance > 1)} later"
        if hazard.distance
        else "in the same iteration"
    )
    return refuse(
        "broken-dependence",
        f"in the pipeline over {loop!r}, {second.name!r} {hazard.kind} {hazard.buffer.name!r} {later} and would run before "
        f"{first.name!r}, which precedes it in the program",
        first.block, second.block, found=f"{_placed(first)}, {_placed(second)}: {hazard.detail}",
        expected=f"{first.name!r} in an earlier stage than {second.name!r}, or before it in the same stage",
    )  # fmt: skip


def _placed(part: PipelinePart) -> str:
    return f"{part.name!r} in stage {part.stage} at position {part.order}"


# A buffer with several versions must be accessed by index, or through a pointer with an explicit offset.
def require_plain_accesses(pipeline: Pipeline, slotted: Mapping[Buffer, Buffer]) -> None:
    for part in pipeline.parts:
        if addressed_buffers(part.block).isdisjoint(slotted):
            continue
        seen = rewrite(part.block, lambda node: IntImm(0) if _pointed(node) is not None else node, kinds={Call})
        hidden = [b for b in addressed_buffers(seen) if b in slotted]
        if hidden:
            raise refuse("opaque-access", f"{hidden[0].name!r} needs several versions, but {part.name!r} accesses it by its address",
                         part.block, expected="accesses by index, or by T.tvm_access_ptr")  # fmt: skip


class _Emitter:
    """A builder for the three sections of one pipeline."""

    def __init__(self, pipeline: Pipeline, slotted: Mapping[Buffer, Buffer], ranges: Ranges) -> None:
        self.pipeline = pipeline
        self.slotted = slotted
        self.ranges = ranges
        self.loop = pipeline.loop
        self.asynchronous = AsyncStages()
        changes = {old: _version(pipeline, new) for old, new in slotted.items()}
        self.copies = {p: Copies(change_buffers(_prepared(p.block, changes), changes)) for p in pipeline.parts}

    def emitted(self, banks: Mapping[Buffer, Banks]) -> Stmt:
        start, end, depth = self.loop.min, build.add(self.loop.min, self.loop.extent), self.pipeline.depth
        filled = build.add(start, depth)
        epilogue, least = end, None
        if depth > 1 and not self._proves(build.ge(self.loop.extent, depth)):
            # In a loop shorter than the pipeline's depth, the prologue runs the steps up to `filled`.
            if build.int_value(end) is not None:
                epilogue = build.maximum(end, filled)
            else:
                least = filled
        sections = (
            self._section(start, filled, None, unrolled=True),
            self._section(filled, end, None, unrolled=False),
            self._section(epilogue, build.add(end, depth), least, unrolled=True),
        )
        buffers = tuple(self.slotted.get(b, b) for b in self.pipeline.buffers)
        return BlockRealize((), build.TRUE, _owner(SeqStmt(sections), buffers, banks))

    def _section(self, start: Expr, end: Expr, least: Expr | None, *, unrolled: bool) -> BlockRealize:
        """The steps from `start` to `end`; an earlier section runs those before `least`."""
        extent = self._simplified(build.sub(end, start))
        if self._proves(build.le(extent, 0)):
            return _realize(_nothing())
        loop = self.loop
        var = Var(loop.loop_var.name, loop.loop_var.dtype)
        once = build.is_const(extent, 1)
        step = start if once else build.add(var, build.sub(start, loop.min))
        known = self.ranges if once else {**self.ranges, var: Range(loop.min, extent)}
        parts = [done for part in self.pipeline.in_order if (done := self._at(part, step, least, known)) is not None]
        stmts = self.asynchronous.section(parts, extent, Analyzer(known))
        if not stmts:
            return _realize(_nothing())
        body = stmts[0] if len(stmts) == 1 else SeqStmt(tuple(stmts))
        if not once:
            kind = "unrolled" if unrolled else loop.kind
            body = For(var, loop.min, extent, kind, body, None, without_pipeline(loop.annotations))
        return _realize(as_block(body))

    def _at(self, part: PipelinePart, step: Expr, least: Expr | None, known: Ranges) -> Done | None:
        """The part at its iteration of this step; None if it provably does nothing there."""
        analyzer = Analyzer(known)
        loop = self.loop
        iteration = analyzer.simplify(build.sub(step, part.stage))
        begun = analyzer.simplify(build.le(loop.min, iteration))
        going = analyzer.simplify(build.lt(iteration, build.add(loop.min, loop.extent)))
        fresh = build.TRUE if least is None else analyzer.simplify(build.ge(step, least))
        terms = [t for t in (begun, going, fresh) if not build.is_true(t)]
        if any(build.is_const(t, 0) or prove(build.logical_not(t), known) for t in terms):
            return None
        block = self.copies[part].at({loop.loop_var: iteration})
        return Done(block, part.stage, iteration, build.logical_and(*terms), part.stage in self.pipeline.asynchronous)

    def _simplified(self, expr: Expr) -> Expr:
        return Analyzer(self.ranges).simplify(expr)

    def _proves(self, condition: Expr) -> bool:
        return prove(condition, self.ranges)


def _nothing() -> Block:
    return Block("", (), (), (), Evaluate(IntImm(0)))


def _realize(block: Block) -> BlockRealize:
    return BlockRealize((), build.TRUE, block)


def _owner(body: Stmt, buffers: tuple[Buffer, ...], banks: Mapping[Buffer, Banks]) -> Block:
    reads, writes = accessed_regions(body)
    mine = set(buffers)
    return Block(
        "", (), tuple(r for r in reads if r.buffer not in mine), tuple(w for w in writes if w.buffer not in mine), body,
        alloc_buffers=buffers, annotations=bank_notes(banks),
    )  # fmt: skip


def _version(pipeline: Pipeline, slotted: Buffer) -> BufferChange:
    count = build.int_value(slotted.shape[0])
    assert count is not None, "the number of versions is an integer"
    return slot_change(slotted, slot_in_turn(pipeline.loop, count), all_slots=pipeline.depth != 1)


# Accesses by `T.tvm_access_ptr(type, data, offset, extent, mask)`.


def _pointed(node: Node) -> Buffer | None:
    match node:
        case Call(op="tvm_access_ptr", args=(_, BufferData(buffer=buffer), _, *_)):
            return buffer
        case _:
            return None


def _prepared(block: Block, changes: Mapping[Buffer, BufferChange]) -> Block:
    """The block with pointers into slotted buffers offset to the slot, and without the double-buffer marks of these buffers."""

    def leave(node: Node) -> Node:
        if isinstance(node, Block) and any(b in changes for b in marks_of(node)):
            return replace_fields(node, annotations=without_marks(node.annotations))
        buffer = _pointed(node)
        if not isinstance(node, Call) or buffer is None or buffer not in changes:
            return node
        kind, data, offset, *rest = node.args
        slot = changes[buffer].indices(())[0]
        size: Expr = build.const(1, slot.dtype)
        for extent in buffer.shape:
            size = build.mul(size, extent)
        stride = build.mul(buffer.strides[0], buffer.shape[0]) if buffer.strides else size
        return replace_fields(node, args=(kind, data, build.add(offset, build.mul(slot, stride)), *rest))

    return rewrite(block, leave, kinds={Block, Call}) if changes else block
