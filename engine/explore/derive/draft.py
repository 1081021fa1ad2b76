"""The draft of a schedule: what the rules have written so far, for one group of blocks at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy

import msgspec

from ...analysis import ProgramIndex
from ...hwsim import Engine, Machine, MatrixEngine, Memory, SystolicEngine
from ...ir import Block, Buffer, For, IRModule, PrimFunc, SeqStmt, Var
from ...lower import with_sizes
from ...schedule import Intrinsics
from ..space.schedule_builder import ScheduleBuilder
from .flow import Flow


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


class Draft:
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
        self.flow: Flow
        self.engines: dict[str, Engine]
        self.grains: dict[str, int]
        self.fills: dict[str, int]
        self.periods: dict[str, int]
        self.loops: dict[str, str]
        self.spatial: int
        self.near: set[str]
        self.memories: dict[str, list[Memory]]

    def begin(self, group: Group) -> Draft:
        """The draft for a group; it adds lines to the same schedule.

        `loops` maps the name of a tiled loop to the variable of its loop over tiles, outermost first; the first `spatial` are no
        reductions. `engines` are those of the blocks, `near` the names of buffers on chip, `memories` those on chip that can hold the
        result of a block, `grains` the iterations of a loop that engines process at once, `fills` those whose multiples leave no cell of a
        matrix unit empty, `periods` those in which a factor of a product stays in its place: tiles do not cross them.
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
        return part

    def flow_of_group(self) -> Flow:
        return Flow(self.index, self.group.members, self.group.after)

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
        """The variables of a loop over tiles and of those around it."""
        order = list(self.loops.values())
        return order[: order.index(loop) + 1][::-1] if loop else ()

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


def word(name: str) -> str:
    """A variable name derived from `name`."""
    text = "".join(c if c.isalnum() and c.isascii() else "_" for c in name).strip("_") or "x"
    return f"_{text}" if text[0].isdigit() else text


__all__ = ["Draft", "Group", "word"]
