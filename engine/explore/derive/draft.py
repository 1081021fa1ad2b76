"""The draft of a schedule: what the rules have written so far, for one group of blocks at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy

import msgspec

from ...analysis import ProgramIndex
from ...hwsim import Engine, Machine, MatrixEngine, Memory, SystolicEngine, copy_path
from ...ir import Block, Buffer, For, IRModule, PrimFunc, SeqStmt, Var
from ...lower import with_sizes
from ...schedule import Intrinsics
from ..space.schedule_builder import ScheduleBuilder
from .flow import GroupFlow

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
    outer: str
    step: str
    inner: str
    tile: str
    stored: str
    loads: list[str] = msgspec.field(default_factory=list)


class ScheduleDraft:
    """The lines so far, and what rules tell each other about the current group."""

    def __init__(
        self,
        program: IRModule | PrimFunc,
        machine: Machine,
        sizes: Mapping[str, int],
        name: str,
        intrinsics: Intrinsics | None,
    ) -> None:
        self.program, self.machine, self.sizes, self.intrinsics = program, machine, sizes, intrinsics
        self.builder = ScheduleBuilder(program, name, intrinsics)
        self.sch = name
        self.decisions: list[str] = []
        self.omissions: list[str] = []
        self.group: Group
        self.flow: GroupFlow
        self.engines: dict[str, Engine]
        self.grains: dict[str, int]
        self.fills: dict[str, int]
        self.periods: dict[str, int]
        self.loops: dict[str, str]
        self.spatial: int
        self.near: set[str]
        self.memories: dict[str, list[Memory]]
        self.grid: str
        self.in_fragments: set[str]
        self.warp_tiles: list[WarpTile]

    def begin(self, group: Group) -> ScheduleDraft:
        """The draft for a group; it adds lines to the same schedule.

        `loops` maps the name of a tiled loop to the variable of its loop over tiles, outermost first; the first `spatial` are no
        reductions. `engines` are those of the blocks, `near` the names of buffers on chip, `memories` those on chip that can hold the
        result of a block, `grains` the iterations of a loop that engines process at once, `fills` those whose multiples leave no cell of a
        matrix unit empty, `periods` those in which a factor of a product stays in its place: tiles do not cross them. `grid` is the loop
        over blocks of threads, "" without threads, `in_fragments` are the products on tensor cores in fragments, `warp_tiles` those that
        are divided over warps.
        """
        part = copy(self)
        part.group = group
        part.flow = part.flow_of_group()
        part.engines = {}
        part.grains = {}
        part.fills = {}
        part.periods = {}
        part.loops = {}
        part.spatial = 0
        part.near = set()
        part.memories = {}
        part.grid = ""
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

    def write(self, *lines: str) -> bool:
        """Adds all of these calls of the schedule, or none if one is refused; returns whether they were added."""
        return self.builder.write(*(line.replace("$", self.sch) for line in lines))

    def decide(self, text: str) -> None:
        """Records what was decided, for the explanation of the space."""
        self.decisions.append(text)

    def leave_out(self, what: str, reason: str) -> None:
        """Records what was not done, and why."""
        self.omissions.append(f"{what}: {reason}")

    def hole(self, wanted: str) -> str:
        """A name for a hole that no line has yet."""
        taken = any(f'"{wanted}"' in line for line in self.builder.lines)
        return f"{wanted} of {self.group.last}" if taken else wanted

    @property
    def matrix_names(self) -> set[str]:
        return {e.name for e in self.machine.engines if isinstance(e, MatrixEngine | SystolicEngine)}

    def named_loops(self, block: str) -> tuple[list[str], dict[Var, str]]:
        """The lines that give each loop around a block a variable, and the variables: those that lines have set, and new ones."""
        builder, known = self.builder, {v: name for name, v in self.builder.state.names.items() if isinstance(v, Var)}
        loops = self.loops_of(block)
        missing = [f.loop_var for f in loops if f.loop_var not in known]
        if not missing:
            return [], known
        known |= {v: builder.fresh(word(v.name)) for v in missing}
        targets = [known[f.loop_var] if f.loop_var in missing else "_" for f in loops]
        return [f'{", ".join(targets)}{"," if len(targets) == 1 else ""} = $.get_loops("{block}")'], known

    def innermost(self, loops: frozenset[str]) -> str:
        """The variable of the innermost loop over tiles among these; "" if there is none."""
        return next((o for name, o in reversed(self.loops.items()) if name in loops), "")

    def of_result(self) -> str:
        """The variable of the innermost loop over tiles outside of reductions; "" if there is none."""
        return next(reversed([*self.loops.values()][: self.spatial]), "")

    def tiled_around(self, block: str) -> frozenset[str]:
        """The names of the tiled loops whose loops over tiles are around a block."""
        around = {loop.loop_var.name for loop in self.loops_of(block)}
        return frozenset(name for name, o in self.loops.items() if self.builder.value(o).name in around)

    def outward(self, loop: str) -> Sequence[str]:
        """The variables of a loop over tiles and of those around it; of "" the loop over blocks of threads, if there is one."""
        order = list(self.loops.values())
        within = order[: order.index(loop) + 1][::-1] if loop else []
        return [*within, *([self.grid] if self.grid else [])]

    @property
    def binds_threads(self) -> bool:
        """Whether loops of the group are bound to threads: on a machine that executes threads, if all its products on tensor cores are in
        fragments."""
        on_matrix = {name for name, engine in self.engines.items() if engine.name in self.matrix_names}
        return executes_threads(self.machine) and on_matrix <= self.in_fragments

    @property
    def unit_loops(self) -> str:
        """The argument that keeps loops of one iteration, so that threads find the same loops for each size of a tile."""
        return ", preserve_unit_loops=True" if self.binds_threads else ""

    def on_chip(self, names: Sequence[str]) -> list[Memory]:
        """Those of the memories that are on chip; for threads the one that they share, which their registers are loaded from."""
        found = [m for n in names if not self.is_far(m := self.machine.memory(n))]
        return _shared_memories(self.machine) if found and self.binds_threads else found

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

    def parts(self, loop: str) -> Sequence[tuple[str, ...]]:
        """The statements of the body of a loop over tiles, each as the names of its blocks."""
        found = self.builder.value(loop)
        assert isinstance(found, Var)
        index = self.index
        body = index.loop(found).body
        parts = body.seq if isinstance(body, SeqStmt) else (body,)
        return [tuple(n for n in index.block_names[1:] if index.is_inside(index.realize(n), part)) for part in parts]

    def loops_of(self, block: str) -> tuple[For, ...]:
        return self.index.loops_of(block)


def executes_threads(machine: Machine) -> bool:
    """Whether threads do the work of a machine: one of its memories on chip is that which the threads of a block share."""
    return bool(_shared_memories(machine))


def _shared_memories(machine: Machine) -> list[Memory]:
    """The memories on chip that the threads of a block share, while their registers are elsewhere."""
    kinds = {m.name: {scope.partition(".")[0] for scope in m.scopes} for m in machine.memories}
    return [
        m
        for m in machine.memories
        if m is not machine.far and "shared" in kinds[m.name] and "local" not in kinds[m.name]
    ]


def word(name: str) -> str:
    """A variable name derived from `name`."""
    text = "".join(c if c.isalnum() and c.isascii() else "_" for c in name).strip("_") or "x"
    return f"_{text}" if text[0].isdigit() else text


__all__ = ["Group", "ScheduleDraft", "WarpTile", "executes_threads", "word"]
