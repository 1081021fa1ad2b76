"""The inputs of menus: the program, the memories of the machine, and the intrinsics of the schedule."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ....engine.adopt import KernelText
from ....engine.analysis import ProgramIndex
from ....engine.hwsim import Machine
from ....engine.ir import For, PrimFunc, SeqStmt, Var, build, structural_equal
from ...state.row_ids import row_ids

SCOPES = (
    "local",
    "local.vtcm",
    "local.acc",
    "shared",
    "shared.dyn",
    "wmma.matrix_a",
    "wmma.matrix_b",
    "wmma.accumulator",
    "global",
)
"""Suggestions without a known machine; other scopes are accepted."""

THREADS = (
    *(f"{kind}.{axis}" for kind in ("blockIdx", "threadIdx") for axis in "xyz"),
    "vthread",
    *(f"vthread.{axis}" for axis in "xyz"),
)


def scopes_of(machine: Machine) -> tuple[str, ...]:
    """The scopes of a machine's memories for suggestions: on-chip ones first, in the machine's order."""
    scopes = dict.fromkeys(memory.scope for memory in machine.memories)
    return tuple(sorted(scopes, key=lambda scope: scope == "global"))


class Facts:
    """The program with its row ids and index, scopes, machine and intrinsics; the TileLang kernel whose text calls edit."""

    def __init__(
        self,
        func: PrimFunc,
        scopes: Sequence[str],
        machine: Machine | None,
        intrinsics: Sequence[str],
        kernel: KernelText | None = None,
    ) -> None:
        self.scopes = scopes
        self.machine = machine
        self.intrinsics = intrinsics
        self.kernel = kernel
        self.ids = row_ids(func)
        self.index = ProgramIndex(func)

    def banks(self, scope: str) -> list[str]:
        """The names of a memory's physical blocks: "local.vtcm[0]". Empty for a single block or an unknown memory."""
        memory = self.machine.find_memory(scope) if self.machine is not None else None
        return [f"{scope}[{n}]" for n in range(memory.blocks)] if memory is not None and memory.blocks > 1 else []

    def inner_chain(self, loop: For) -> list[str]:
        """Row ids of the perfectly nested loops below `loop`, outermost first."""
        found: list[str] = []
        body = loop.body
        while isinstance(body, For):
            found.append(self.ids.of(body.loop_var))
            body = body.body
        return found

    def mergeable_loops(self, loop: For) -> list[str]:
        """Row ids of the loops after `loop` in its statement sequence with the same extent."""
        around = self.index.parent(loop)
        if not isinstance(around, SeqStmt):
            return []
        later = around.seq[around.seq.index(loop) + 1 :]
        return [
            self.ids.of(s.loop_var) for s in later if isinstance(s, For) and structural_equal(s.extent, loop.extent)
        ]

    def extent_product(self, loops: Sequence[Var]) -> int | None:
        """The product of the extents of loops; None if one is symbolic."""
        extents = [build.int_value(self.index.loop(loop).extent) for loop in loops]
        return None if None in extents else prod(extent for extent in extents if extent is not None)

    def loops_around(self, block: str) -> list[str]:
        """Row ids of the loops around a block, outermost first."""
        return [self.ids.of(f.loop_var) for f in self.index.loops_of(block)]
