"""Derives a space from a program and a machine: tile sizes from memory capacities, copies at legal loops, one slot or two.

The result is a schedule with holes as a person would write it, to read, edit and search:

    tile_i = tilewright.choose("tile i", [64, 16, 32, 128])
    i_o, i_i = sch.split(i, [None, tile_i], names=["i_o", "i_i"])
    order = tilewright.choose("order", [["i_o", "j_o", "k_o"], ["j_o", "i_o", "k_o"]])
    sch.reorder(*order, i_i, j_i, k_i)
    A_in = sch.cache_read(C, 0, "local.vtcm")
    A_at = tilewright.choose("A at", ["k_o", "j_o", "i_o"])
    sch.compute_at(A_in, A_at)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...hwsim import Engine, Machine, MachineError, Memory, copy_path, simulate
from ...ir import IRModule, PrimFunc, Var, build
from ...lower import with_sizes
from ...schedule import Intrinsics, Schedule
from ..space.layout_choices import column_layouts, layout_texts
from ..space.neighbours import followers_of, pads_in_flight, producers_of, vector_engine
from ..space.schedule_builder import ScheduleBuilder, listed
from ..space.tiling_target import Dim, TiledOperand, find_tiling_target, loop_orders
from .draft import word
from .stage import copy_calls, neighbours_first

FULL = 0.75
"""The largest part of a memory that the default tiles use; other buffers need the rest."""


class MainBlock:
    """Writes the schedule of a program around its main block."""

    def __init__(
        self,
        program: IRModule | PrimFunc,
        machine: Machine,
        sizes: Mapping[str, int],
        name: str,
        intrinsics: Intrinsics | None,
    ) -> None:
        self.program, self.machine, self.sizes, self.intrinsics = program, machine, sizes, intrinsics
        self.author = ScheduleBuilder(program, name, intrinsics)
        self.sch = name
        sized = Schedule(with_sizes(self.author.schedule.func, sizes).func)
        self.target = find_tiling_target(sized.index, machine)
        self.index = sized.index
        self.far = machine.far.scope
        self.outer: list[str] = []
        self.dims: dict[str, Dim] = {}
        self.first: Mapping[Var, int] = {}
        self.root = ""
        self.copies: dict[str, str] = {}
        self.producers = producers_of(self.index, self.target)
        self.at = ""

    def written(self) -> ScheduleBuilder:
        """The lines. Each was tried."""
        author, target = self.author, self.target
        self.block = author.fresh(word(target.block))
        author.write(f'{self.block} = {self.sch}.get_block("{target.block}")')
        self._tiled()
        after = self._result()
        self._operands()
        for consumer in after:
            self._follower(consumer)
        self._laid_out()
        return author

    # Tiles.

    def _tiled(self) -> None:
        """Splits the loops of the main block. The order of the outer loops is a hole; the inner ones are below them."""
        author, dims = self.author, self.target.dims
        names = [author.fresh(word(d.name)) for d in dims]
        author.write(f"{', '.join(names)}{',' if len(names) == 1 else ''} = {self.sch}.get_loops({self.block})")
        self._rooted(names[0])
        first = self.first = self._first_tiles()
        outer: dict[Dim, str] = {}
        inner: list[str] = []
        for dim, name in zip(dims, names, strict=True):
            sizes = [n for n in dim.tiles if self._may_fit(dim, n)] or [dim.tiles[0]]
            if sizes == [dim.extent]:
                inner.append(name)
                continue
            size, o, i = author.fresh(f"tile_{name}"), author.fresh(f"{name}_o"), author.fresh(f"{name}_i")
            at = sizes.index(first[dim.iterator]) if first[dim.iterator] in sizes else 0
            author.hole(size, f"tile {dim.name}", [str(n) for n in sizes], at)
            author.write(f'{o}, {i} = {self.sch}.split({name}, [None, {size}], names=["{o}", "{i}"])')
            outer[dim] = o
            self.dims[o] = dim
            inner.append(i)
        self._ordered(outer, inner)

    def _rooted(self, name: str) -> None:
        """Adds a loop of one iteration around all others, at which an operand may be copied whole before anything else runs."""
        if any(map(self._fits_whole, self.target.reads)):
            root = self.author.fresh("root")
            if self.author.write(
                f'{root}, {name} = {self.sch}.split({name}, [1, None], names=["{root}", "{name}_all"])'
            ):
                self.root = root

    def _fits_whole(self, operand: TiledOperand) -> bool:
        memory = self._memory_for(operand)
        whole = {d.iterator: d.extent for d in self.target.dims}
        return memory is not None and operand.footprint(whole) <= FULL * memory.capacity_bytes

    def _ordered(self, outer: Mapping[Dim, str], inner: Sequence[str]) -> None:
        spatial = [o for d, o in outer.items() if not d.is_reduction]
        summed = [o for d, o in outer.items() if d.is_reduction]
        orders = [[*some, *summed] for some in loop_orders(spatial)]
        if not spatial and not summed:
            return
        if len(orders) > 1:
            self.author.hole("order", "order", [listed(order) for order in orders])
            self.author.write(f"{self.sch}.reorder(*order, {', '.join(inner)})")
            self.at = f"order[{len(spatial) - 1}]" if spatial else ""
        else:
            self.author.write(f"{self.sch}.reorder({', '.join([*orders[0], *inner])})")
            self.at = spatial[-1] if spatial else ""
        self.outer = list(reversed(orders[0]))

    def _may_fit(self, dim: Dim, size: int) -> bool:
        """Whether a tile of this size fits with the smallest tiles of the other dimensions."""
        tile = {d.iterator: d.tiles[0] for d in self.target.dims} | {dim.iterator: size}
        return self._fits(tile, 1.0)

    def _fits(self, tile: Mapping[Var, int], part: float, slots: int = 1) -> bool:
        target = self.target
        held: dict[str, int] = {}
        for operand in target.reads:
            memory = self._memory_for(operand)
            if memory is not None:
                copies = 2 if operand.buffer in self.producers else 1
                held[memory.name] = held.get(memory.name, 0) + copies * slots * operand.footprint(tile)
        memory = self._memory_of_result()
        if memory is not None:
            held[memory.name] = held.get(memory.name, 0) + target.result.footprint(tile)
        return all(size <= part * self.machine.memory(name).capacity_bytes for name, size in held.items())

    def _first_tiles(self) -> dict[Var, int]:
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

    def _fits_banks(self, tile: Mapping[Var, int]) -> bool:
        """Whether tiles fit with a margin, the result in one physical block of its memory."""
        memory = self._memory_of_result()
        if memory is not None and self.target.result.footprint(tile) > memory.capacity_bytes // memory.blocks:
            return False
        return self._fits(tile, FULL, slots=2)

    # Staging.

    def _memory_for(self, operand: TiledOperand) -> Memory | None:
        """The memory that the engine reads an operand from; None if the engine reads the far memory."""
        return self._nearest(self.target.engine.reads, self.target.reads.index(operand))

    def _memory_of_result(self) -> Memory | None:
        return self._nearest(self.target.engine.writes, 0)

    def _nearest(self, names: Sequence[str], turn: int) -> Memory | None:
        memories = [self.machine.memory(name) for name in names]
        if any(m.scope == self.far for m in memories):
            return None
        return memories[min(turn, len(memories) - 1)]

    def _result(self) -> tuple[str, ...]:
        """Keeps the sums in the memory of the engine. Returns the blocks that follow if they read the sums there; otherwise the sums are
        copied out tile by tile."""
        author, target, index = self.author, self.target, self.index
        memory = self._memory_of_result()
        followers = followers_of(self.index, target.block)
        if memory is None:
            return followers
        if followers and author.write(f'{self.sch}.set_scope({self.block}, 0, "{memory.scope}")'):
            self._banked(memory)
            return followers
        home = self.machine.find_memory(index.block(target.block).writes[0].buffer.scope)
        if home is None or home.name in target.engine.writes:
            return ()
        author.remark(f"The sums stay in {memory.scope} until a tile is done.")
        path = [self.machine.find_memory(scope) for scope in copy_path(self.machine, (memory.name,), (home.name,))[:-1]]
        for stage in reversed([m for m in path if m is not None]):
            copy = author.fresh(f"{self.block}_out")
            author.write(f'{copy} = {self.sch}.cache_write({self.block}, 0, "{stage.scope}")')
            self._moved("reverse_compute_at", copy, self.at)
        self._banked(memory)
        return ()

    def _banked(self, memory: Memory) -> None:
        """Distributes groups of columns of the result over the blocks of its memory, so that a tile may occupy several."""
        shape = [int(n) for n in (build.int_value(e) or 0 for e in self.target.result.buffer.shape)]
        columns = self.target.spatial[-1].grain if self.target.spatial else 1
        if memory.blocks < 2 or not shape or shape[-1] % (columns * memory.blocks) or columns < 2:
            return
        layout = self.author.fresh("layout")
        self.author.hole(
            layout, f"{self.target.block} layout", list(column_layouts(len(shape), columns, memory.blocks))
        )
        if not self.author.write(f'{self.sch}.transform_layout({self.block}, ("write", 0), {layout})'):
            self.author.lines.pop()
            self.author.calls.pop()

    def _operands(self) -> None:
        """Brings each operand to the memory that the engine reads, at a loop to choose, in one slot or two."""
        for turn, operand in enumerate(self.target.reads):
            memory = self._memory_for(operand)
            if memory is None or self._produced(operand, memory, turn):
                continue
            buffer = operand.buffer
            loops = [*self.outer, self.root] if self.root and self._fits_whole(operand) else self.outer
            self._staged(self.block, self.target.engine, buffer.name, buffer.scope, operand.position, turn, loops)
            padding = self.producers.get(operand.buffer)
            if padding is not None and padding.is_padding and pads_in_flight(self.machine, memory):
                self.author.write(f'{self.sch}.compute_inline("{padding.block}")')

    def _produced(self, operand: TiledOperand, memory: Memory, turn: int) -> bool:
        """Computes an operand in the memory of the engine, tile by tile, from copies of what it is computed from. Returns whether it is."""
        author, producer = self.author, self.producers.get(operand.buffer)
        engine = vector_engine(self.machine, memory)
        if producer is None or engine is None or memory.name not in engine.writes:
            return False
        if producer.is_padding and pads_in_flight(self.machine, memory):
            return False
        block = author.fresh(word(producer.block))
        if not author.write(
            f'{block} = {self.sch}.get_block("{producer.block}")', f'{self.sch}.set_scope({block}, 0, "{memory.scope}")'
        ):
            return False
        at = self._placed(block, operand.buffer.name, self._once_first(operand, memory))
        if at:
            self._slots(block, word(operand.buffer.name), operand.buffer.name, memory, turn)
        for position, read in enumerate(self.index.block(producer.block).reads):
            self._staged(block, engine, read.buffer.name, read.buffer.scope, position, turn, [at] if at else [])
        return True

    def _once_first(self, operand: TiledOperand, memory: Memory) -> list[str]:
        """The outer loops, first the outermost one at which two slots of the operand and of what it is computed from fit beside the rest:
        in the loops inside of it no element is computed again."""
        tile, fit = dict(self.first), self.outer[:1]
        for loop in self.outer[:-1]:
            dim = self.dims[loop]
            tile[dim.iterator] = dim.extent
            others = sum(2 * o.footprint(self.first) for o in self.target.reads if o is not operand)
            if 4 * operand.footprint(tile) + others <= memory.capacity_bytes:
                fit = [self.outer[self.outer.index(loop) + 1]]
        return [*fit, *(loop for loop in self.outer if loop not in fit)]

    def _staged(
        self, block: str, engine: Engine, buffer: str, scope: str, position: int, turn: int, around: Sequence[str]
    ) -> None:
        author = self.author
        home = self.machine.find_memory(scope)
        memory = self._nearest(engine.reads, turn)
        if home is None or memory is None or home.name in engine.reads:
            return
        name = word(buffer)
        for stage in copy_path(self.machine, (home.name,), (memory.name,))[1:]:
            copy = author.fresh(f"{name}_in")
            calls = copy_calls(author.schedule.index.block(author.value(block)), block, buffer, str(position), stage)
            if not any(author.write(f"{copy} = {self.sch}.{call}") for call in calls):
                return
            if self._placed(copy, buffer, around):
                self.copies[copy] = buffer
                self._slots(copy, name, buffer, self.machine.find_memory(stage), turn)

    def _placed(self, block: str, buffer: str, around: Sequence[str]) -> str:
        """Moves the block that writes a buffer to one of these loops. Returns the variable of the loop, "" if none is legal."""
        author = self.author
        if len(around) == 1 and around[0] in author.state.names:
            self._moved("compute_at", block, around[0])
            return around[0]
        at = author.fresh(f"{word(buffer)}_at")
        loops = [loop for loop in around if self._is_legal(block, loop)]
        if not loops:
            return ""
        author.hole(at, f"{buffer} at", [f'"{loop}"' for loop in loops])
        self._moved("compute_at", block, at)
        return at

    def _slots(self, copy: str, name: str, buffer: str, memory: Memory | None, turn: int) -> None:
        author = self.author
        slots, banks = author.fresh(f"{name}_slots"), author.fresh(f"{name}_banks")
        author.hole(slots, f"{buffer} slots", ["2", "1"])
        if memory is None or memory.blocks < 2:
            author.write(f"{self.sch}.double_buffer({copy}, slots={slots})")
            return
        author.hole(banks, f"{buffer} banks", neighbours_first(memory, turn))
        author.write(f"{self.sch}.double_buffer({copy}, banks={banks}, slots={slots})")

    def _laid_out(self) -> None:
        """Offers the layout picker's layouts of the copies: over the blocks of their memory, and others if bank conflicts cost cycles."""
        author, func = self.author, with_sizes(self.author.schedule.described, self.sizes).func
        try:
            report = simulate(func, self.machine)
        except MachineError:
            return
        for copy, buffer in self.copies.items():
            block = author.value(copy)
            maps = layout_texts(report, author.schedule.index.block(block))
            layout = author.fresh(f"{word(buffer)}_layout")
            fit = [m for m in maps if author.would(f'{self.sch}.transform_layout({copy}, ("write", 0), {m})')]
            if len(fit) > 1:
                author.hole(layout, f"{buffer} layout", fit)
                author.write(f'{self.sch}.transform_layout({copy}, ("write", 0), {layout})')

    def _is_legal(self, copy: str, loop: str) -> bool:
        block = self.author.value(copy)
        targets = self.author.schedule.legal_targets(block)
        return any(t.legal and t.primitive == "compute_at" and t.loop.name == loop for t in targets)

    def _moved(self, method: str, copy: str, at: str) -> None:
        if at:
            self.author.write(f"{self.sch}.{method}({copy}, {at})")

    # What follows.

    def _follower(self, block: str) -> None:
        """Computes a following block at the tile on the vector engine, with its other operands staged and its result copied out."""
        author, index = self.author, self.index
        name = author.fresh(word(block))
        author.write(f'{name} = {self.sch}.get_block("{block}")')
        self._moved("reverse_compute_at", name, self.at)
        engine = vector_engine(self.machine, self._memory_of_result())
        if engine is None:
            return
        node = index.block(block)
        for position, read in enumerate(node.reads):
            if index.is_param(read.buffer):
                self._staged(name, engine, read.buffer.name, read.buffer.scope, position, 0, self.outer)
        written = node.writes[0].buffer
        if not index.is_param(written):
            near = next((m for n in engine.writes if (m := self.machine.memory(n)).scope != self.far), None)
            if near is not None:
                author.write(f'{self.sch}.set_scope({name}, 0, "{near.scope}")')
            return
        home, memory = self.machine.find_memory(written.scope), self._nearest(engine.writes, 0)
        if home is None or memory is None or home.name in engine.writes:
            return
        for stage in reversed(copy_path(self.machine, (memory.name,), (home.name,))[:-1]):
            copy = author.fresh(f"{name}_out")
            author.write(f'{copy} = {self.sch}.cache_write({name}, 0, "{stage}")')
            self._moved("reverse_compute_at", copy, self.at)
