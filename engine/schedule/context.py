"""The interface of primitives: a function with its index as input, a function and handles as output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar, cast

import msgspec
from msgspec.structs import replace as replace_fields
from propcache.api import cached_property

from ..analysis import ProgramIndex, fresh_name, opaque_refusal
from ..execute import ParameterLayout
from ..ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferRegion,
    Expr,
    For,
    Node,
    PrimFunc,
    ProgramSize,
    Range,
    Refusal,
    Stmt,
    Var,
    build,
    free_vars,
    refusing_depth,
    replace_buffers,
    replace_nodes,
    substitute,
    while_loop,
)
from ..lower import PIPELINE_KEYS, Plan, planned
from .errors import ScheduleError, refuse
from .intrin import Intrinsics, process_intrinsics
from .rules.vectors import has_vectors

LoopRV = Var
"""The handle of a loop: its variable."""

BlockRV = str
"""The handle of a block: its unique name."""

BufferLike = int | str | tuple[str, int] | Buffer
"""A buffer of a block: a position among its reads or writes, ("read", i) or ("write", i), a name, or the buffer itself."""

R = TypeVar("R", bound=LoopRV | BlockRV | list[LoopRV] | list[BlockRV] | None)
"""The value of a call."""


class Result(msgspec.Struct, Generic[R], frozen=True, eq=False):
    """The result of a primitive: the new function, and the value that the call returns, as in TVM.

    `layout` is the layout of the caller's array if the call changes that of a parameter. `traced` has the arguments that the trace records
    in another form than given: index maps of functions, positions of names. `unreturned` are handles that only the trace records.
    """

    func: PrimFunc
    value: R
    layout: ParameterLayout | None = None
    traced: Mapping[str, object] = {}
    unreturned: tuple[Var | str, ...] = ()

    @property
    def handles(self) -> tuple[Var | str, ...]:
        """The handles that the trace records."""
        if isinstance(self.value, list):
            return (*self.value, *self.unreturned)
        return self.unreturned if self.value is None else (self.value, *self.unreturned)


class Context:
    """The view of one function for primitives. Lookups of unknown names are refused with specific codes."""

    def __init__(self, func: PrimFunc, before: Context | None = None, intrinsics: Intrinsics | None = None) -> None:
        """`before` is the context of the function from which this one derives; `intrinsics` are those that calls name."""
        self.func = func
        self.intrinsics = process_intrinsics() if intrinsics is None else intrinsics
        self._index_before = None if before is None else before.index
        self._size_before = None if before is None else before.size
        self._after: Context | None = None
        self._plan_source: tuple[Context, Mapping[Buffer, Buffer]] | None = None

    @cached_property
    @refusing_depth(ScheduleError)
    def index(self) -> ProgramIndex:
        before, self._index_before = self._index_before, None
        return ProgramIndex(self.func, before)

    @cached_property
    def size(self) -> ProgramSize:
        """The size of the function, with shared expressions expanded."""
        before, self._size_before = self._size_before, None
        return ProgramSize(self.func.body, before)

    @cached_property
    def plan(self) -> Plan:
        """The planned function. Raises LowerError."""
        if self._plan_source is None:
            return planned(self.func)
        before, renamed = self._plan_source
        return before.plan.with_buffers(renamed)

    @cached_property
    def pipelines(self) -> Mapping[Var, tuple[frozenset[str], ...]]:
        """The pipelined loops, inner ones first, with the blocks in each of their parts; empty if a pipeline cannot be lowered."""
        loops = [
            f.loop_var for f in reversed(self.index.loops) if any(key in PIPELINE_KEYS for key, _ in f.annotations)
        ]
        if not loops:
            return {}
        if any(self.plan.fault(loop) for loop in loops):
            return {}
        return {loop: self.plan.names_of_parts(loop) for loop in loops}

    @cached_property
    def has_vectors(self) -> bool:
        """Whether the function contains vectors, or threads launched in a block."""
        return has_vectors(self.func)

    @cached_property
    def opaque(self) -> Refusal | None:
        """The refusal of all calls, if a part of the function is only read and printed, or if it has no root block."""
        return opaque_refusal(self.func) or _rootless_refusal(self.func)

    @cached_property
    def has_while(self) -> bool:
        """Whether the function contains a `while` loop."""
        return while_loop(self.func.body) is not None

    def require_known(self) -> None:
        """Refuse "opaque-part" and "no-root-block"."""
        if self.opaque is not None:
            raise ScheduleError(self.opaque)

    def after(self, func: PrimFunc) -> Context:
        """The context of a function derived from this one; cached for the last function."""
        if func is self.func:
            return self
        after = self._after
        if after is None or after.func is not func:
            after = self._after = Context(func, self, self.intrinsics)
        return after

    def noted(self, func: PrimFunc, loop: LoopRV) -> Context:
        """The context of a function that differs from this one only in annotations of a loop that planning ignores: it reuses this plan."""
        after = self.after(func)
        after.plan = self.plan.with_notes(loop, after.index.loop(loop).annotations)
        return after

    def renamed(self, new: Mapping[Buffer, Buffer]) -> PrimFunc:
        """The function with these buffers instead of others that planning treats alike. Its context reuses this plan."""
        func = replace_buffers(self.func, new)
        self.after(func)._plan_source = self, new
        return func

    def realize(self, block: BlockRV) -> BlockRealize:
        """The realize of `block`; refuses "unknown-block" and lists the known names."""
        if not self.index.has_block(block):
            names = ", ".join(repr(n) for n in self.index.block_names)
            if isinstance(block, Var):
                raise refuse(
                    "unknown-block", f"{block.name!r} is a loop, not a block", expected=f"one of the blocks {names}"
                )
            raise refuse(
                "unknown-block",
                f"there is no block {block!r} in {self.func.name!r}",
                expected=f"one of {names}",
            )
        return self.index.realize(block)

    def block(self, block: BlockRV) -> Block:
        return self.realize(block).block

    def loop(self, loop: LoopRV | str, block: BlockRV | None = None) -> For:
        """The loop for a handle, or for a name unique among the loops (around `block`); refuses "unknown-loop", "ambiguous-loop"."""
        if isinstance(loop, Var):
            if not self.index.has_loop(loop):
                raise refuse(
                    "unknown-loop",
                    f"loop {loop.name!r} is no longer in the program",
                    found="a loop that was split, fused, moved or inlined away",
                    expected="one of " + self._loop_names(),
                )
            return self.index.loop(loop)
        loops = self.index.loops if block is None else self.index.loops_above(self.realize(block))
        named = [f for f in loops if f.loop_var.name == loop]
        if len(named) == 1:
            return named[0]
        if not named and self.index.has_block(loop):
            around = ", ".join(f.loop_var.name for f in self.index.loops_of(loop))
            raise refuse(
                "unknown-loop",
                f"{loop!r} is a block, not a loop",
                expected=f"one of the loops around it: {around}" if around else "a loop; no loop is around the block",
            )
        if not named:
            where = "" if block is None else f" around block {block!r}"
            raise refuse("unknown-loop", f"there is no loop {loop!r}{where}", expected="one of " + self._loop_names())
        raise refuse(
            "ambiguous-loop",
            f"{len(named)} loops are named {loop!r}",
            *named,
            expected="a handle from get_loops or get_loop(name, block), or the name of a single loop",
        )

    def _loop_names(self) -> str:
        return ", ".join(f.loop_var.name for f in self.index.loops) or "none: the program has no loops"

    def buffer_region(self, block: BlockRV, buffer: BufferLike, *, side: str) -> BufferRegion:
        """The region of `buffer` that `block` accesses. An int counts within `side` ("read" or "write"); ("read", i) names the side
        itself."""
        body = self.block(block)
        if isinstance(buffer, tuple):
            side, buffer = buffer
            if side not in ("read", "write"):
                raise refuse("bad-buffer-index", f"unknown side {side!r}", expected='("read", i) or ("write", i)')
        regions = body.reads if side == "read" else body.writes
        if isinstance(buffer, int):
            if not 0 <= buffer < len(regions):
                names = ", ".join(f"{i}: {r.buffer.name}" for i, r in enumerate(regions))
                raise refuse(
                    "bad-buffer-index",
                    f"block {block!r} has no {side} buffer {buffer}",
                    body,
                    expected=names or f"none: the block has no {side}s",
                )
            return regions[buffer]
        found = [r for r in (*regions, *body.reads, *body.writes) if r.buffer is buffer or r.buffer.name == buffer]
        if not found:
            name = buffer.name if isinstance(buffer, Buffer) else buffer
            touched = ", ".join(dict.fromkeys(r.buffer.name for r in (*body.reads, *body.writes)))
            raise refuse(
                "unknown-buffer",
                f"block {block!r} does not access buffer {name!r}",
                body,
                expected=f"one of {touched}",
            )
        return found[0]

    def buffer_position(self, block: BlockRV, buffer: int | str | Buffer, *, side: str) -> int:
        """The position of a buffer, given by position, name or object, among the block's reads or writes (`side`: "read" or "write")."""
        if isinstance(buffer, int):
            return buffer
        regions = self.block(block).reads if side == "read" else self.block(block).writes
        found = self.buffer_region(block, buffer, side=side)
        return next((n for n, r in enumerate(regions) if r is found), len(regions))

    def buffer_side(self, block: BlockRV, buffer: BufferLike) -> tuple[str, Buffer]:
        """("read" or "write", the buffer). A name or a buffer refers to the block's writes if the block writes it."""
        found = self.buffer_region(block, buffer, side="read").buffer
        if isinstance(buffer, tuple):
            return buffer[0], found
        written = not isinstance(buffer, int) and any(w.buffer is found for w in self.block(block).writes)
        return "write" if written else "read", found

    # Fresh names, and the function with replaced parts.

    def fresh_block_name(self, base: str) -> str:
        return fresh_name(base, set(self.index.block_names))

    def fresh_buffer_name(self, base: str) -> str:
        return fresh_name(base, {b.name for b in self.index.buffers})

    def replaced(self, new: Mapping[Node, Node]) -> PrimFunc:
        """The function with statements (or other nodes) replaced by identity."""
        if not all(isinstance(old, Stmt) for old in new):
            return replace_nodes(self.func, new)
        around: set[Node] = {self.func}
        for old in new:
            around.update(self.index.path(cast("Stmt", old)))
        return replace_nodes(self.func, new, within=around)

    def body_with(self, loop: For, values: Mapping[Var, Expr]) -> Stmt:
        """The loop's body with values for variables; blocks that do not use them are not visited."""
        blocks = (realize.block for realize in self.index.child_blocks(loop))
        still = [block for block in blocks if self.index.fact(free_vars, block).isdisjoint(values)]
        return substitute(loop.body, values, still=still)

    def loop_ranges(self, stmt: Stmt) -> dict[Var, Range]:
        """The range of each loop around `stmt`, through enclosing blocks to the root, and of the blocks' iterators."""
        ranges: dict[Var, Range] = {}
        for outer in self.index.path(stmt):
            if type(outer) is For:
                ranges[outer.loop_var] = Range(outer.min, outer.extent)
            elif type(outer) is Block:
                ranges.update({iv.var: iv.dom for iv in outer.iter_vars})
        return ranges


def _rootless_refusal(func: PrimFunc) -> Refusal | None:
    """The refusal of a function without a root block: a schedule's calls work on blocks."""
    if isinstance(func.body, BlockRealize):
        return None
    return Refusal(
        "no-root-block",
        f"function {func.name!r} has no root block, so it can be run and simulated, but not scheduled",
        expected="a block program, not a lowered one",
        nodes=(func,),
    )


def with_block(realize: BlockRealize, **changes: object) -> BlockRealize:
    """`realize` with changed fields of its block."""
    return replace_fields(realize, block=replace_fields(realize.block, **changes))


def with_allocations(root: Block, buffers: Iterable[Buffer]) -> Block:
    """`root` with `buffers` added to its allocations."""
    return replace_fields(root, alloc_buffers=(*root.alloc_buffers, *buffers))


def loop_with(loop: For, body: Stmt) -> For:
    """`loop` with another body."""
    return replace_fields(loop, body=body)


__all__ = [
    "BlockRV",
    "BufferLike",
    "Context",
    "LoopRV",
    "R",
    "Result",
    "build",
    "loop_with",
    "with_allocations",
    "with_block",
]
