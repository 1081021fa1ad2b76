"""The draft of a schedule: the calls that the rules have made so far, for one group of blocks at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import msgspec

from ...analysis import ProgramIndex
from ...hwsim import Engine, Machine, MatrixEngine, Memory, SystolicEngine, copy_path
from ...ir import Block, Buffer, For, IRModule, Parameter, PrimFunc, SeqStmt, Var
from ...lower import with_sizes
from ...schedule import Intrinsics
from ..space.schedule_builder import ScheduleBuilder
from .flow import GroupFlow
from .main_tiles import MainTiles

DYNAMIC = "shared.dyn"
"""The scope of shared memory whose size a launch states."""


class Group(msgspec.Struct, frozen=True, eq=False):
    """Blocks that are computed tile by tile together, in text order. The loops of the last one are tiled: `tiled` names them from the
    outermost on. `after` are blocks that process its results element by element, each those of the one before."""

    members: tuple[str, ...]
    tiled: tuple[str, ...]
    after: tuple[str, ...] = ()

    @property
    def last(self) -> str:
        return self.members[-1]

    @property
    def every(self) -> tuple[str, ...]:
        return (*self.members, *self.after)

    @property
    def result(self) -> str:
        """The block that writes the result of the group."""
        return self.every[-1]

    def without(self, block: str) -> Group:
        """The group without a block that became part of another one."""
        members, after = (tuple(n for n in names if n != block) for names in (self.members, self.after))
        return msgspec.structs.replace(self, members=members, after=after)


class WarpTile(msgspec.Struct, frozen=True, eq=False):
    """A product in warps: `outer` is its outermost reduction, `step` the loop over the depth in which operands are copied, `inner` that
    over the fragments of a copy, `tile` the outermost loop of a fragment's product, `stored` the block that stores the fragments of sums,
    `loads` those that load operands."""

    block: str
    outer: Var
    step: Var
    inner: Var
    tile: Var
    stored: str
    loads: list[str] = msgspec.field(default_factory=list)


class InnerTile(msgspec.Struct, frozen=True, eq=False):
    """The loop over the tiles of one block, inside of those of its group, and the iterator of the block that it divides."""

    iterator: Var
    loop: Var


class ScheduleDraft:
    """The calls so far, and what rules tell each other about the current group; `shared` are the holes that all groups share. With
    `tiles_inside`, single blocks may have tiles of their own inside of those of their group."""

    def __init__(
        self,
        program: IRModule | PrimFunc,
        machine: Machine,
        sizes: Mapping[str, int],
        name: str,
        intrinsics: Intrinsics | None,
        *,
        tiles_inside: bool = False,
    ) -> None:
        self.program, self.machine, self.sizes, self.intrinsics = program, machine, sizes, intrinsics
        self.tiles_inside = tiles_inside
        self.builder = ScheduleBuilder(program, name, intrinsics)
        self.decisions: list[str] = []
        self.omissions: list[str] = []
        self.shared: dict[str, Parameter] = {}
        self.group: Group
        self.flow: GroupFlow
        self.part: str | None
        self.engines: dict[str, Engine]
        self.grains: dict[str, int]
        self.fills: dict[str, int]
        self.periods: dict[str, int]
        self.loops: dict[str, Var]
        self.spatial: int
        self.inner: dict[str, InnerTile]
        self.near: set[str]
        self.memories: dict[str, list[Memory]]
        self.grid: Var | None
        self.in_fragments: set[str]
        self.warp_tiles: list[WarpTile]
        self.main: MainTiles

    def begin(self, group: Group) -> ScheduleDraft:
        """The draft for a group; it adds calls to the same schedule.

        `loops` maps the name of a tiled loop to its loop over tiles, outermost first; the first `spatial` are no reductions; `inner` has
        those of single blocks inside of them. `part` is the block that stores the results to their part of a buffer. `engines` are those of
        the blocks, `near` the names of buffers on chip, `memories` those on chip that can hold the result of a block, `grains` the
        iterations of a loop that engines process at once, `fills` those whose multiples leave no cell of a matrix unit empty, `periods`
        those in which a factor of a product stays in its place: tiles do not cross them. `grid` is the loop over blocks of threads, None
        without threads, `in_fragments` are the products on tensor cores in fragments, `warp_tiles` those that are divided over warps.
        `main` is what the rules of the main block tell each other.
        """
        part = copy(self)
        part.group = group
        part.flow = part.flow_of_group()
        part.part = None
        part.engines = {}
        part.grains = {}
        part.fills = {}
        part.periods = {}
        part.loops = {}
        part.spatial = 0
        part.inner = {}
        part.near = set()
        part.memories = {}
        part.grid = None
        part.in_fragments = set()
        part.warp_tiles = []
        return part

    def flow_of_group(self) -> GroupFlow:
        return GroupFlow(self.index, self.group.members, self.group.after)

    @property
    def index(self) -> ProgramIndex:
        """The index of the present program with numeric sizes."""
        if not self.sizes:
            return self.builder.schedule.index
        return ProgramIndex(with_sizes(self.builder.schedule.func, self.sizes).func)

    def block(self, name: str) -> Block:
        return self.index.block(name)

    def decide(self, text: str) -> None:
        """Records what was decided, for the explanation of the space."""
        self.decisions.append(text)

    def leave_out(self, what: str, reason: str) -> None:
        """Records what was not done, and why."""
        self.omissions.append(f"{what}: {reason}")

    def name(self, loop: Var) -> str:
        """The variable of a loop."""
        return self.builder.names.get(loop, loop.name)

    def choice(self, variable: str, name: str, values: Sequence[Any]) -> Parameter:
        """A hole of the schedule, named also after the group if another one has its name."""
        taken = any(known.name == name and len(known.values) > 1 for known in self.builder.parameters)
        return self.builder.choice(variable, f"{name} of {self.group.last}" if taken else name, values)

    def first_accepted(self, method: str, block: str, loops: Sequence[Var]) -> Var | None:
        """Moves a block to the first of these loops that the schedule accepts, and returns it."""
        return next((o for o in loops if self.builder.accepts(method, block, o, **self.unit_loops)), None)

    @property
    def matrix_names(self) -> set[str]:
        return {e.name for e in self.machine.engines if isinstance(e, MatrixEngine | SystolicEngine)}

    def innermost(self, loops: frozenset[str]) -> Var | None:
        """The innermost loop over tiles among these; None if there is none."""
        return next((o for name, o in reversed(self.loops.items()) if name in loops), None)

    def of_result(self) -> Var | None:
        """The innermost loop over tiles outside of reductions; None if there is none."""
        return next(reversed([*self.loops.values()][: self.spatial]), None)

    def tiled_around(self, block: str) -> frozenset[str]:
        """The names of the tiled loops whose loops over tiles are around a block."""
        around = {loop.loop_var for loop in self.loops_of(block)}
        return frozenset(name for name, o in self.loops.items() if o in around)

    def outward(self, loop: Var | None) -> Sequence[Var]:
        """A loop over tiles and those around it; of None the loop over blocks of threads, if there is one."""
        order = list(self.loops.values())
        owner = next((name for name, tile in self.inner.items() if tile.loop is loop), None)
        if owner is not None:
            around = {f.loop_var for f in self.loops_of(owner)}
            order = [*(o for o in order if o in around), self.inner[owner].loop]
        within = order[: order.index(loop) + 1][::-1] if loop is not None else []
        return [*within, *([self.grid] if self.grid is not None else [])]

    @property
    def binds_threads(self) -> bool:
        """Whether loops of the group are bound to threads: on a machine that executes threads, if all its products on tensor cores are in
        fragments."""
        on_matrix = {name for name, engine in self.engines.items() if engine.name in self.matrix_names}
        return executes_threads(self.machine) and on_matrix <= self.in_fragments

    @property
    def unit_loops(self) -> Mapping[str, Any]:
        """The argument that keeps loops of one iteration, so that threads find the same loops for each size of a tile."""
        return {"preserve_unit_loops": True} if self.binds_threads or self.grid is not None else {}

    def on_chip(self, names: Sequence[str]) -> list[Memory]:
        """Those of the memories that are on chip; for threads the one that they share, which their registers are loaded from."""
        found = [m for n in names if not self.is_far(m := self.machine.memory(n))]
        return [*self.machine.thread_memories] if found and self.binds_threads else found

    def scope_in(self, memory: Memory) -> str:
        """The scope of buffers in a memory; for work of threads `shared.dyn` if it has that, as CUDA limits `shared` to 48 KiB."""
        return DYNAMIC if self.binds_threads and DYNAMIC in memory.scopes else memory.scope

    def copy_path(self, source: Memory, target: Memory) -> tuple[str, ...]:
        """The scopes on the shortest path of copies from one memory to another."""
        scopes = copy_path(self.machine, (source.name,), (target.name,))
        return tuple(s if (m := self.machine.find_memory(s)) is None else self.scope_in(m) for s in scopes)

    def is_far(self, memory: Memory | None) -> bool:
        return memory is None or memory is self.machine.far or memory.scope == self.machine.far.scope

    def memory_of(self, buffer: Buffer) -> Memory | None:
        return self.machine.find_memory(buffer.scope)

    def parts(self, loop: Var) -> Sequence[tuple[str, ...]]:
        """The statements of the body of a loop over tiles, each as the names of its blocks."""
        index = self.index
        body = index.loop(loop).body
        parts = body.seq if isinstance(body, SeqStmt) else (body,)
        return [tuple(n for n in index.block_names[1:] if index.is_inside(index.realize(n), part)) for part in parts]

    def loops_of(self, block: str) -> tuple[For, ...]:
        return self.index.loops_of(block)


def executes_threads(machine: Machine) -> bool:
    """Whether threads do the work of a machine: one of its memories on chip is that which the threads of a block share."""
    return bool(machine.thread_memories)


__all__ = ["Group", "InnerTile", "ScheduleDraft", "WarpTile", "executes_threads"]
