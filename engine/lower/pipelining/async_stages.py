"""Asynchronous pipeline stages: commits of their copies to a queue, and waits with a number of groups in flight.

    with T.attr(0, "async_commit_queue_scope", 0):              the work that stage 0 starts in one step, as one group
        with T.attr(0, "async_scope", 1):
            B[(i + 1) % 2] = load(i + 1)
    with T.attr(0, "async_wait_queue_scope", 0):                a reader waits until at most this many groups of stage 0 are in flight
        with T.attr(0, "async_wait_inflight_count", 1):
            C[i] = use(B[i % 2])
Source: TVM src/s_tir/transform/inject_software_pipeline.cc, PopulateWaitCounts and CompletePipelineLoopStatements.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import msgspec
from msgspec.structs import replace as replace_fields

from ...arith import Analyzer
from ...ir import AttrStmt, Block, BlockRealize, Buffer, Expr, IntImm, Stmt, build
from .stages import as_block

SCOPE, COMMIT, WAIT, COUNT = (
    "async_scope",
    "async_commit_queue_scope",
    "async_wait_queue_scope",
    "async_wait_inflight_count",
)


class Done(msgspec.Struct, frozen=True, eq=False):
    """A part in a section of a pipeline: its block, stage and iteration there, and the predicate under which it runs."""

    block: Block
    stage: int
    iteration: Expr
    predicate: Expr
    is_async: bool

    @property
    def reads(self) -> list[Buffer]:
        return [r.buffer for r in self.block.reads]


class _Group(msgspec.Struct, eq=False):
    """Parts of a stage that are committed together, from the first at `start`."""

    start: int
    members: list[int]


class _Local(msgspec.Struct, eq=False):
    """The state of an asynchronous stage within a section."""

    groups: list[_Group]
    head: Expr | None = None
    predicate: Expr | None = None
    consumed: bool = False
    waits_at: int | None = None
    count: Expr | None = None


class AsyncStages:
    """The asynchronous stages of a pipeline, tracked through its sections in order."""

    def __init__(self) -> None:
        self.filled: dict[int, set[Buffer]] = {}
        # The last iteration that each stage has started; None if unknown.
        self.heads: dict[int, Expr | None] = {}

    def section(self, parts: Sequence[Done], extent: Expr, analyzer: Analyzer) -> list[Stmt]:
        """The parts as statements, with queues and waits. `analyzer` knows the range of the section's loop."""
        if not self.filled and not any(p.is_async for p in parts):
            return [_realize(p.block, p.predicate) for p in parts]
        local, group_of = self._grouped(parts, analyzer)
        self._find_waits(parts, local, group_of, analyzer)
        blocks = _with_waits(parts, local, analyzer)
        self._advance(local, extent, analyzer)
        return _committed(parts, blocks, local)

    def _grouped(self, parts: Sequence[Done], analyzer: Analyzer) -> tuple[dict[int, _Local], dict[Buffer, int]]:
        """The groups of each stage, and the group that fills each buffer. A new group begins after a wait for the last one."""
        local: dict[int, _Local] = {}
        group_of: dict[Buffer, int] = {}
        for place, part in enumerate(parts):
            if part.is_async:
                state = local.setdefault(part.stage, _Local([]))
                if not state.groups or state.consumed:
                    state.groups.append(_Group(place, [place]))
                else:
                    state.groups[-1].members.append(place)
                for write in part.block.writes:
                    self.filled.setdefault(part.stage, set()).add(write.buffer)
                    group_of[write.buffer] = len(state.groups) - 1
                self.heads.setdefault(part.stage, IntImm(-1, part.iteration.dtype))
                state.head = part.iteration
                state.predicate = (
                    part.predicate if state.predicate is None else _both(state.predicate, part.predicate, analyzer)
                )
            for stage in self._sources(part):
                local.setdefault(stage, _Local([])).consumed = True
        return local, group_of

    def _sources(self, part: Done) -> list[int]:
        """The asynchronous stages that fill buffers which the part reads."""
        return [s for s in sorted(self.filled) if s <= part.stage and not self.filled[s].isdisjoint(part.reads)]

    def _find_waits(
        self, parts: Sequence[Done], local: dict[int, _Local], group_of: dict[Buffer, int], analyzer: Analyzer
    ) -> None:
        seen: dict[int, set[Buffer]] = {}
        for place, part in enumerate(parts):
            if part.is_async:
                seen.setdefault(part.stage, set()).update(w.buffer for w in part.block.writes)
            for stage in self._sources(part):
                state = local[stage]
                heads = self._heads(part, stage, state, group_of, seen.get(stage, set()))
                count = _in_flight(heads, part.iteration, analyzer)
                if state.waits_at is None:
                    state.waits_at, state.count = place, count
                elif state.count is not None and build.is_true(analyzer.simplify(build.lt(count, state.count))):
                    state.count = count

    def _heads(
        self, part: Done, stage: int, state: _Local, group_of: dict[Buffer, int], seen: set[Buffer]
    ) -> list[Expr | None]:
        """The last started iteration for each group that the part waits for; None if unknown."""
        if not state.groups:
            return [self.heads[stage]]
        heads: dict[int, Expr | None] = {}
        for buffer in part.reads:
            if buffer in self.filled[stage] and buffer in group_of and group_of[buffer] not in heads:
                # The previous step started it if it comes after the part in this step.
                heads[group_of[buffer]] = (
                    state.head if buffer in seen or state.head is None else build.sub(state.head, 1)
                )
        return list(heads.values())

    def _advance(self, local: dict[int, _Local], extent: Expr, analyzer: Analyzer) -> None:
        for stage, state in local.items():
            head = self.heads[stage]
            always = state.predicate is not None and build.is_true(analyzer.simplify(state.predicate))
            self.heads[stage] = build.add(head, extent) if always and head is not None else None


def _both(a: Expr, b: Expr, analyzer: Analyzer) -> Expr:
    return b if build.is_true(analyzer.simplify(a)) else analyzer.simplify(build.logical_and(a, b))


def _in_flight(heads: Sequence[Expr | None], iteration: Expr, analyzer: Analyzer) -> Expr:
    """The number of groups that may still be in flight when the group of `iteration` is complete; 0 if unknown."""
    total: Expr = build.const(0, iteration.dtype)
    for head in heads:
        if head is None or not build.is_true(analyzer.simplify(build.ge(head, 0))):
            return build.const(0, iteration.dtype)
        total = build.add(total, analyzer.simplify(build.sub(head, iteration)))
    return total


def _with_waits(parts: Sequence[Done], local: dict[int, _Local], analyzer: Analyzer) -> list[Block]:
    blocks = [
        replace_fields(p.block, body=AttrStmt(SCOPE, IntImm(1), p.block.body)) if p.is_async else p.block for p in parts
    ]
    for stage, state in sorted(local.items()):
        if state.waits_at is None or state.count is None:
            continue
        count = state.count
        if state.predicate is not None and not build.is_true(analyzer.simplify(state.predicate)):
            count = build.if_then_else(state.predicate, count, build.const(0, count.dtype))
        block = blocks[state.waits_at]
        waiting = AttrStmt(WAIT, IntImm(stage), AttrStmt(COUNT, count, block.body))
        blocks[state.waits_at] = replace_fields(block, body=waiting)
    return blocks


def _committed(parts: Sequence[Done], blocks: Sequence[Block], local: dict[int, _Local]) -> list[Stmt]:
    """The parts as statements; adjacent parts of one committed stage share a queue scope."""
    stage_of = {
        group.start + n: stage
        for stage, state in local.items()
        for group in state.groups
        for n in range(len(group.members))
    }
    found: list[Stmt] = []
    for stage, places in groupby(range(len(parts)), key=stage_of.get):
        members = list(places)
        if stage is None:
            found.extend(_realize(blocks[n], parts[n].predicate) for n in members)
            continue
        body = build.seq([_bare(blocks[n]) for n in members])
        found.append(_realize(as_block(AttrStmt(COMMIT, IntImm(stage), body)), parts[members[0]].predicate))
    return found


def _bare(block: Block) -> Stmt:
    """The body of a block without allocations and views; otherwise the block."""
    return _realize(block, build.TRUE) if block.alloc_buffers or block.match_buffers else block.body


def _realize(block: Block, predicate: Expr) -> BlockRealize:
    return BlockRealize((), predicate, block)
