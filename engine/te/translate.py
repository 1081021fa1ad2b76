"""Translation of a TE schedule to calls on the block program.

TE resolves its lines at the end; calls act immediately, so they are made in this order:

    1. caches and scopes in textual order              buffers that each stage reads
    2. inlined stages                                  remaining stages
    3. stages from the outputs up: compute_at, then own splits, orders and fusions, then loop kinds
    4. layouts, alignment, double buffers              after the last move

In 3, the consumer's loops exist before a producer moves into them, and the producer's own splits act on its loops at the new position, as
in TE's bound inference. Threads are bound before a shared producer moves in, because its required region depends on them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace as replace_fields

from ..export import unique_name
from ..ir import IndexMap, Place, Refusal, Var, uses_var
from ..schedule import PRIMITIVES, Schedule, ScheduleError
from .model import Axis, CacheOperation, Compute, Operation
from .prim_func import MadeProgram
from .reader import TEReader
from .stages import Stage, StageRequest, TESchedule

_RESERVED = ("sch", "main", "machine", "report", "tilewright", "T", "I", "print", "np")
_KINDS = {
    "vectorize": "vectorize",
    "unroll": "unroll",
    "parallel": "parallel",
    "bind": "bind",
    "pragma": "annotate",
    "tensorize": "blockize",
}


class Translated(msgspec.Struct, frozen=True, eq=False):
    """The schedule, variables for its loops and blocks, and for each step of the trace the place of the text's line."""

    schedule: Schedule
    names: Mapping[str, Var | str]
    sources: tuple[Place, ...]


def translate(reader: TEReader, made: MadeProgram) -> Translated:
    """Apply the text's schedule to `made.func`. Raises ScheduleError with the text's line."""
    translator = _Translator(reader, made)
    if reader.record.schedule is not None:
        translator.run(reader.record.schedule)
    return Translated(translator.schedule, translator.names, tuple(translator.sources))


class _Translator:
    def __init__(self, reader: TEReader, made: MadeProgram) -> None:
        self.reader = reader
        self.made = made
        self.schedule = Schedule(made.func)
        self.names: dict[str, Var | str] = {}
        self.sources: list[Place] = []
        self.loops: dict[Axis, Var] = {}
        self.blocks: dict[Stage, str] = {}
        self.iterators: dict[Stage, list[Axis]] = {}  # of the stage's block in order, if it differs from the axis order

    def run(self, te: TESchedule) -> None:
        for stage in te.order:
            if not isinstance(stage.op, CacheOperation):
                self._find(stage, te)
        made = {"cache_read": self._cache_read, "cache_write": self._cache_write, "rfactor": self._rfactor}
        for stage, event in te.events:
            made[event.method](stage, event)
        for stage in te.order:
            self._store(stage, ("set_scope",))
        for stage in te.order:
            if stage.attach == "inline":
                self.call(stage.attached_by, "compute_inline", block=self._block(stage, stage.attached_by))
        hosts = {s.attach[0] for s in te.order if isinstance(s.attach, tuple)}
        for stage in reversed(te.order):
            if stage.attach != "inline":
                self._loops(stage, wanted=stage in hosts)
        for stage, event in te.events:
            self._relayout(stage, event.node)
        for stage in te.order:
            self._store(stage, ("transform_layout", "set_layout", "storage_align", "double_buffer"))
        self._came_from(self.reader.source.place(self.reader.source.tree))

    def call(self, node: ast.AST, method: str, *args: Any, **kwargs: Any) -> Any:
        """Make one call of the schedule; a refusal points at the text's line."""
        place = self.reader.source.place(node)
        if method not in PRIMITIVES:
            raise ScheduleError(Refusal("unsupported", f"there is no primitive {method}", place=place))
        try:
            made = getattr(self.schedule, method)(*args, **kwargs)
            self._came_from(place)
            return made
        except ScheduleError as error:
            found = error.refusal.found or self.reader.source.text(node)
            raise ScheduleError(replace_fields(error.refusal, place=place, found=found)) from error

    def _came_from(self, place: Place) -> None:
        """Attribute the steps since the last call, including preparatory queries, to the line at `place`."""
        self.sources += [place] * (len(self.schedule.trace) - len(self.sources))

    # --- 1. blocks

    def _find(self, stage: Stage, te: TESchedule) -> None:
        """Find the block of an operation; `get_block` is called only if the text refers to it."""
        ops = [op for op, found in te.stages.items() if found is stage and isinstance(op, Compute)]
        names = self.made.blocks.get(ops[0], ()) if ops else ()
        if not names:
            return
        self.blocks[stage] = names[0]
        touched = (
            stage.events
            or stage.storage
            or stage.attach != "root"
            or any(isinstance(s.attach, tuple) and s.attach[0] is stage for s in te.order)
            or any(stage in (e.options.get("of"), *e.options.get("readers", ())) for _, e in te.events)
        )
        if touched:
            self.schedule.get_block(names[0])
            self._name(stage.op, names[0])

    def _block(self, stage: Stage, node: ast.AST) -> str:
        found = self.blocks.get(stage)
        if found is None:
            raise self.reader.error(node, "unsupported", f"{stage.op.name} is an input, or not computed for the parameters",
                                    expected="a stage of te.compute or of a cache")  # fmt: skip
        return found

    def _cache_read(self, stage: Stage, event: StageRequest) -> None:
        readers = [self._block(s, event.node) for s in event.options["readers"]]
        name = self._buffer_name(event)
        reads = [r.buffer.name for r in self.schedule.index.realize(readers[0]).block.reads]
        if name not in reads:
            raise self.reader.error(event.node, "wrong-arguments", f"{readers[0]} does not read {name}",
                                    expected="a stage that does, as one of the readers")  # fmt: skip
        others = set(self.schedule.index.readers(self._buffer(readers[0], name))) - {*readers}
        made = self.call(event.node, "cache_read", readers[0], reads.index(name), event.options["scope"],
                         **({"consumer_blocks": readers} if others or len(readers) > 1 else {}))  # fmt: skip
        self._born(stage, made)

    def _buffer_name(self, event: StageRequest) -> str:
        """Return the name of the buffer that holds a tensor: its own, or that of the cache that the text names."""
        op = event.options["tensor"].op
        stages = [s for s in self.blocks if s.op is op]
        if isinstance(op, CacheOperation) and stages:
            return self.schedule.index.realize(self.blocks[stages[0]]).block.writes[0].buffer.name
        return event.options["tensor"].buffer.name

    def _buffer(self, block: str, name: str) -> Any:
        return next(r.buffer for r in self.schedule.index.realize(block).block.reads if r.buffer.name == name)

    def _cache_write(self, stage: Stage, event: StageRequest) -> None:
        """Keep the computation in the block, which now writes the cache; the new block copies and belongs to the old stage."""
        block = self._block(event.options["of"], event.node)
        made = self.call(event.node, "cache_write", block, 0, event.options["scope"])
        copied: Stage = event.options["of"]
        wanted = [n for n, handle in self.names.items() if handle == block]
        for name in wanted:
            del self.names[name]
        self._born(stage, block)
        self._born(copied, made)

    def _rfactor(self, stage: Stage, event: StageRequest) -> None:
        """Give the partial results' block the split loops of the old one; both blocks have the new axis as first iterator."""
        of: Stage = event.options["of"]
        block, axis, moved = self._block(of, event.node), event.options["axis"], event.options["moved"]
        axes, reduce_axes, events = event.options["before"]
        self._own_loops(block, 0, [*axes, *reduce_axes], event.node)
        for earlier in events:
            self._loop_event(earlier)
        nest = [loop.loop_var for loop in self.schedule.index.loops_of(block)]
        old = [next(a for a, loop in self.loops.items() if loop is var) for var in nest]
        made = self.call(event.node, "rfactor", self.loops[axis], event.options["factor_axis"])
        self.blocks[stage] = made
        self._name(stage.op, made)
        self.iterators[stage] = self._iterators(made, [moved[a] for a in old])
        kept = [event.options["left"] if a is axis else a for a in old if a is axis or a.kind == "spatial"]
        self.iterators[of] = self._iterators(block, kept)

    def _iterators(self, block: str, axes: Sequence[Axis]) -> list[Axis]:
        """Return the axes of a block's iterators; `axes` are those of the loops around it."""
        loops = [loop.loop_var for loop in self.schedule.index.loops_of(block)]
        by_loop = dict(zip(loops, axes, strict=True))
        return [by_loop[value] for value in self.schedule.index.realize(block).iter_values if isinstance(value, Var)]

    def _born(self, stage: Stage, block: str) -> None:
        self.blocks[stage] = block
        self._name(stage.op, block)

    # --- 3. loops

    def _loops(self, stage: Stage, *, wanted: bool) -> None:
        block = self.blocks.get(stage)
        if block is None:
            if stage.events or isinstance(stage.attach, tuple):
                self._block(stage, stage.events[0].node if stage.events else stage.attached_by)
            return
        depth = 0
        if isinstance(stage.attach, tuple):
            parent, axis = stage.attach
            if axis not in parent.leaves or axis not in self.loops:
                raise self.reader.error(stage.attached_by, "unknown-axis",
                                        f"{axis.name} is not a loop of {parent.op.name} in the final schedule",
                                        expected="one of " + ", ".join(a.name for a in parent.leaves))  # fmt: skip
            loop = self.loops[axis]
            self.call(stage.attached_by, "compute_at", block, loop, preserve_unit_loops=True)
            depth = [f.loop_var for f in self.schedule.index.loops_of(block)].index(loop) + 1
        axes = self.iterators.get(stage, _iterators(stage))
        moved = depth > 0 and axes != [*stage.axes, *stage.reduce_axes]
        if stage.events or wanted or moved or (isinstance(stage.op, CacheOperation) and stage.op.order):
            self._own_loops(block, depth, axes, stage.attached_by)
            self._in_order(stage)
            for event in stage.events:
                self._loop_event(event)
            self._kinds(stage)

    def _own_loops(self, block: str, depth: int, axes: Sequence[Axis], node: ast.AST) -> None:
        """Map the loops below the first `depth` loops to `axes`; each loop drives the iterator of one axis."""
        loops = self.schedule.get_loops(block)[depth:]
        values = self.schedule.index.realize(block).iter_values
        driven = [[axis for axis, value in zip(axes, values, strict=False) if uses_var(value, loop)] for loop in loops]
        if len(loops) != len(axes) or any(len(found) != 1 for found in driven):
            raise self.reader.error(node, "unsupported", f"the axes of {block} do not match its loops",
                                    expected=f"{len(axes)} loops, there are {len(loops)}")  # fmt: skip
        for (axis,), loop in zip(driven, loops, strict=True):
            self._set(axis, loop)

    def _in_order(self, stage: Stage) -> None:
        """Reorder loops that a move created in iterator order to the order of the stage's axes."""
        wanted = [self.loops[axis] for axis in (*stage.axes, *stage.reduce_axes)]
        now = [loop.loop_var for loop in self.schedule.index.loops_of(self.blocks[stage])]
        if [loop for loop in now if loop in wanted] != wanted:
            self.call(stage.attached_by, "reorder", *wanted)

    def _loop_event(self, event: StageRequest) -> None:
        loops = [self.loops[axis] for axis in event.axes]
        match event.method:
            case "split":
                factor, parts = event.options.get("factor"), event.options.get("nparts")
                factors = [None, factor] if factor is not None else [parts, None]
                named = [self.reader.record.names.get(axis) for axis in event.results]
                names = {"names": named} if all(named) else {}
                made = self.call(event.node, "split", loops[0], factors=factors, **names)
            case "fuse":
                made = [self.call(event.node, "fuse", *loops)]
            case "reorder":
                made = []
                self.call(event.node, "reorder", *loops)
            case _:
                return
        for axis, loop in zip(event.results, made, strict=True):
            self._set(axis, loop)

    def _kinds(self, stage: Stage) -> None:
        """Apply loop kinds. A request for a loop that is split later is lost, as in TE."""
        for event in stage.events:
            method = _KINDS.get(event.method)
            if method is None or event.axes[0] not in stage.leaves:
                continue
            loop = self.loops[event.axes[0]]
            if method == "blockize":
                self.call(event.node, method, loop)
            elif method == "annotate":
                self.call(event.node, method, loop, event.options["key"], event.options["value"])
            else:
                self.call(event.node, method, loop, **event.options)

    def _set(self, axis: Axis, loop: Var) -> None:
        self.loops[axis] = loop
        self._name(axis, loop)

    # --- 1 and 4. storage

    def _store(self, stage: Stage, methods: tuple[str, ...]) -> None:
        for event in stage.storage:
            if event.method not in methods:
                continue
            block = self._block(stage, event.node)
            match event.method:
                case "transform_layout" | "set_layout":
                    self.call(event.node, event.method, block, ("write", 0), **event.options)
                case "double_buffer":
                    self.call(event.node, event.method, block)
                case _:
                    self.call(event.node, event.method, block, 0, **event.options)

    def _relayout(self, stage: Stage, node: ast.AST) -> None:
        """Store a cache in axis order."""
        order = stage.op.order if isinstance(stage.op, CacheOperation) else ()
        if list(order) == sorted(order):
            return
        params = tuple(Var(f"i{n}", stage.axes[0].var.dtype) for n in range(len(order)))
        index_map = IndexMap(params, tuple(params[position] for position in order))
        self.call(node, "transform_layout", self.blocks[stage], ("write", 0), index_map)

    # --- names

    def _name(self, target: Axis | Operation, handle: Var | str) -> None:
        """Choose a variable for a handle: the text's own, or one named after the axis."""
        if handle in self.names.values():
            return
        names = self.reader.record.names
        op_names = [
            n
            for key, n in names.items()
            if isinstance(key, Operation) and isinstance(target, Operation) and key.name == target.name
        ]
        wanted = names.get(target) or (op_names[0] if op_names else target.name)
        self.names[unique_name(wanted, {*self.names, *_RESERVED})] = handle


def _iterators(stage: Stage) -> list[Axis]:
    """Return the axes of the block's iterators: a permutation of the stage's axes if a cache has another order."""
    if not isinstance(stage.op, CacheOperation) or not stage.op.order:
        return [*stage.axes, *stage.reduce_axes]
    places = [stage.op.order.index(position) for position in range(len(stage.axes))]
    return [*(stage.axes[place] for place in places), *stage.reduce_axes]
