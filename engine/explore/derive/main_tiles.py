"""The tiles of the main block: which of them fit in the memories of a machine, and what its rules tell each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...analysis import ProgramIndex
from ...hwsim import Machine, Memory
from ...ir import ParameterItem, Var
from ..space.neighbours import producers_of
from ..space.tiling_target import Dim, TiledOperand, find_tiling_target

FULL = 0.75
"""The largest part of a memory that the default tiles use; other buffers need the rest."""


class MainTiles:
    """`outer` are the loops over tiles, the innermost first, `dims` what they divide; `first` are the default tiles, `root` is the loop
    around all others, `at` that at which a tile is complete. `copies` are the blocks that bring operands, with the names of their buffers;
    `followers` are the blocks that follow tile by tile. `index` is that of the program before the first call."""

    def __init__(self, index: ProgramIndex, machine: Machine) -> None:
        """Raises TilingTargetError "no-main-block"."""
        self.index, self.machine = index, machine
        self.target = find_tiling_target(index, machine)
        self.producers = producers_of(index, self.target)
        self.first: Mapping[Var, int] = {}
        self.outer: Sequence[Var] = ()
        self.dims: Mapping[Var, Dim] = {}
        self.root: Var | None = None
        self.at: Var | ParameterItem | None = None
        self.copies: dict[str, str] = {}
        self.followers: tuple[str, ...] = ()

    @property
    def block(self) -> str:
        return self.target.block

    def first_tiles(self) -> dict[Var, int]:
        """Default tiles: grown in turn, reduction dimensions last, while two slots of each operand fit."""
        tile = {d.iterator: d.tiles[0] for d in self.target.dims}
        for dims in (self.target.spatial, self.target.summed):
            growing = list(dims)
            while growing:
                dim = min(growing, key=lambda d: tile[d.iterator])
                larger = [n for n in dim.tiles if n > tile[dim.iterator]]
                if larger and self._fits_banks({**tile, dim.iterator: larger[0]}):
                    tile[dim.iterator] = larger[0]
                else:
                    growing.remove(dim)
        return tile

    def may_fit(self, dim: Dim, size: int) -> bool:
        """Whether a tile of this size fits with the smallest tiles of the other dimensions."""
        tile = {d.iterator: d.tiles[0] for d in self.target.dims} | {dim.iterator: size}
        return self._fits(tile, 1.0)

    def fits_whole(self, operand: TiledOperand) -> bool:
        memory = self.memory_for(operand)
        whole = {d.iterator: d.extent for d in self.target.dims}
        return memory is not None and operand.footprint(whole) <= FULL * memory.capacity_bytes

    def once_first(self, operand: TiledOperand, memory: Memory) -> list[Var]:
        """The loops over tiles, first the outermost one at which two slots of the operand and of what it is computed from fit beside the
        rest: in the loops inside of it no element is computed again."""
        tile, fit = dict(self.first), list(self.outer[:1])
        for n, loop in enumerate(self.outer[:-1]):
            dim = self.dims[loop]
            tile[dim.iterator] = dim.extent
            others = sum(2 * o.footprint(self.first) for o in self.target.reads if o is not operand)
            if 4 * operand.footprint(tile) + others <= memory.capacity_bytes:
                fit = [self.outer[n + 1]]
        return [*fit, *(loop for loop in self.outer if loop not in fit)]

    def memory_for(self, operand: TiledOperand) -> Memory | None:
        """The memory that the engine reads an operand from; None if the engine reads the far memory."""
        return self.nearest(self.target.engine.reads, self.target.reads.index(operand))

    def memory_of_result(self) -> Memory | None:
        return self.nearest(self.target.engine.writes, 0)

    def nearest(self, names: Sequence[str], turn: int) -> Memory | None:
        """The memory on chip among those of an engine that an operand in this turn uses; None if it reaches the far memory."""
        memories = [self.machine.memory(name) for name in names]
        if any(m.scope == self.machine.far.scope for m in memories):
            return None
        return memories[min(turn, len(memories) - 1)]

    def _fits(self, tile: Mapping[Var, int], part: float, slots: int = 1) -> bool:
        held: dict[str, int] = {}
        for operand in self.target.reads:
            memory = self.memory_for(operand)
            if memory is not None:
                copies = 2 if operand.buffer in self.producers else 1
                held[memory.name] = held.get(memory.name, 0) + copies * slots * operand.footprint(tile)
        memory = self.memory_of_result()
        if memory is not None:
            held[memory.name] = held.get(memory.name, 0) + self.target.result.footprint(tile)
        return all(size <= part * self.machine.memory(name).capacity_bytes for name, size in held.items())

    def _fits_banks(self, tile: Mapping[Var, int]) -> bool:
        """Whether tiles fit with a margin, the result in one physical block of its memory."""
        memory = self.memory_of_result()
        if memory is not None and self.target.result.footprint(tile) > memory.capacity_bytes // memory.blocks:
            return False
        return self._fits(tile, FULL, slots=2)


__all__ = ["MainTiles"]
