"""A program as tasks: maximal subtrees that one engine runs, under the loops that are left outside.

A copy is one DMA descriptor, so each DMA task is one leaf; other engines take all neighbours inside of a loop that they run alone. Loops
stay outside where slots take turns, and, outermost in a subtree, where they pick the physical block, so that a task
touches one block. The tree of tasks is what a replay runs over; here it is laid out flat, in program order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod

import msgspec
import numpy as np

from ..arith import Analyzer
from ..ir import Block, Expr, Var, build
from .choose import Choice, choose
from .cost import Cost, Measured, Touched, cost, measure
from .errors import refuse
from .geometry import domain
from .grid import UnknownValueError, Values, axes, used_vars, values
from .machine import DmaEngine, Machine
from .nest import Leaf, Loop, LoopNode, Nest, NestNode
from .place import Placement, Places
from .replay import Variant
from .work import Access, read_piece

MAX_TASKS = 5_000_000
MAX_EDGE_CASES = 200_000


class Template(msgspec.Struct, frozen=True, eq=False):
    """A task under its outer loops: one instance for each of their iterations, numbered row-major.

    `variant_of` has, for each instance, its variant in the program's table, or -1 where a predicate leaves nothing to do.
    """

    number: int
    choices: tuple[Choice, ...]
    outer: tuple[Loop, ...]
    inner: tuple[Loop, ...]
    first_instance: int
    variant_of: Values

    @property
    def engine(self) -> int:
        return self.choices[0].engine

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(c.leaf.block for c in self.choices)

    @property
    def name(self) -> str:
        """The block's name, or those of all blocks that the task runs."""
        return " + ".join(dict.fromkeys(b.name or "root" for b in self.blocks))

    @property
    def count(self) -> int:
        return prod(loop.extent for loop in self.outer)

    def indices(self, instance: int) -> tuple[tuple[str, int], ...]:
        """The loops around an instance, by name, with their values."""
        found: list[tuple[str, int]] = []
        for loop in reversed(self.outer):
            instance, value = divmod(instance, loop.extent)
            found.append((loop.name, value))
        return tuple(reversed(found))


class TaskVariant(msgspec.Struct, frozen=True, eq=False):
    """A kind of task with what it costs; `replay` is what the replay needs to know of it."""

    template: int
    cost: Cost
    replay: Variant
    updates: tuple[int, ...] = ()


class TaskLoop(msgspec.Struct, frozen=True, eq=False):
    loop: Loop
    children: tuple[TaskNode, ...]


TaskNode = TaskLoop | Template


class TaskProgram(msgspec.Struct, frozen=True, eq=False):
    """All tasks: the tree, and flat in program order the `variants` to run (`sequence`) and the instance each is of (`instances`).

    Instances are numbered through all templates: a template's are `first_instance + its own number`.
    """

    nest: Nest
    places: Places
    tree: tuple[TaskNode, ...]
    templates: tuple[Template, ...]
    variants: tuple[TaskVariant, ...]
    sequence: list[int]
    instances: list[int]

    @property
    def machine(self) -> Machine:
        return self.places.machine


def make_tasks(nest: Nest, places: Places, max_tasks: int = MAX_TASKS) -> TaskProgram:
    """The tasks of a program. Raises MachineError where no engine reaches an operand, or for more than `max_tasks` tasks."""
    builder = _Builder(nest, places, max_tasks)
    tree = tuple(builder.nodes(nest.children, ()))
    order = _order(tree)
    table = np.concatenate([t.variant_of for t in builder.templates]) if builder.templates else np.zeros(0, np.int64)
    chosen = table[order]
    runs = chosen >= 0
    return TaskProgram(
        nest,
        places,
        tree,
        tuple(builder.templates),
        tuple(builder.variants),
        chosen[runs].tolist(),
        order[runs].tolist(),
    )


def _order(tree: Sequence[TaskNode]) -> Values:
    """The instances of all templates in program order."""

    def expand(nodes: Sequence[TaskNode], runs: int) -> Values:
        columns = [
            node.first_instance + np.arange(runs, dtype=np.int64).reshape(runs, 1)
            if isinstance(node, Template)
            else expand(node.children, runs * node.loop.extent).reshape(runs, -1)
            for node in nodes
        ]
        return np.concatenate(columns, axis=1) if columns else np.zeros((runs, 0), np.int64)

    return expand(tree, 1).reshape(-1)


class _Builder:
    def __init__(self, nest: Nest, places: Places, max_tasks: int) -> None:
        self.nest = nest
        self.places = places
        self.max_tasks = max_tasks
        self.templates: list[Template] = []
        self.variants: list[TaskVariant] = []
        self.instances = 0
        self.choices: dict[Leaf, Choice] = {}
        self.turning = {s.slot_loop.var for s in nest.sites if s.slot_loop is not None}

    def nodes(self, nodes: Iterable[NestNode], outer: tuple[Loop, ...]) -> list[TaskNode]:
        found: list[TaskNode] = []
        for node in nodes:
            if isinstance(node, Leaf) or self._is_task(node):
                found.append(self._template(node, outer))
            else:
                children = self.nodes(node.children, (*outer, node.loop))
                found.append(TaskLoop(node.loop, tuple(children)))
        return found

    # What is a task.

    def _is_task(self, node: LoopNode) -> bool:
        leaves = list(_leaves(node))
        choices = [self._choice(leaf) for leaf in leaves]
        if len({c.engine for c in choices}) != 1:
            return False
        if len(leaves) > 1 and isinstance(self.places.machine.engines[choices[0].engine], DmaEngine):
            return False
        if any(loop.var in self.turning for loop in _loops(node)):
            return False
        return not self._picks_block(node, choices)

    def _choice(self, leaf: Leaf) -> Choice:
        found = self.choices.get(leaf)
        if found is None:
            works = tuple(read_piece(p, self.nest.analyzer) for p in leaf.pieces)
            found = self.choices[leaf] = choose(leaf, works, self.nest, self.places)
        return found

    def _picks_block(self, node: LoopNode, choices: Sequence[Choice]) -> bool:
        """Whether the loop, or one in it with only such loops around, goes to another block at each step."""
        if node.loop.extent > 1:
            return any(
                self._steps_blocks(node.loop, a) for c in choices for w in c.works for a in (*w.reads, *w.writes)
            )
        only = node.children[0] if len(node.children) == 1 else None
        return isinstance(only, LoopNode) and self._picks_block(only, choices)

    def _steps_blocks(self, loop: Loop, access: Access) -> bool:
        placement = self.places.by_buffer[access.buffer]
        if placement.indexed_cells == 1 or (placement.memory.blocks == 1 and not placement.site.indexed):
            return False
        part = self._part(placement, access)
        if not used_vars(part, {loop.var: 0}):
            return False
        others = dict.fromkeys(used_vars(part, self.nest.analyzer.ranges), 0)
        try:
            steps = values(part, {**others, loop.var: np.arange(loop.extent)})
        except UnknownValueError:
            return False
        return bool((np.diff(steps) != 0).all())

    def _part(self, placement: Placement, access: Access) -> Expr:
        """Which part of its buffer an access is to: the first group of axes, row-major; an indexed slot is among them."""
        lead = placement.site.lead
        part: Expr = build.const(0, "int32")
        for index, extent in zip(access.indices[:lead], placement.buffer.shape[:lead], strict=True):
            part = build.add(build.mul(part, extent), index)
        return self.nest.analyzer.simplify(part)

    # What a task costs.

    def _template(self, node: NestNode, outer: tuple[Loop, ...]) -> Template:
        choices = tuple(self._choice(leaf) for leaf in _leaves(node))
        count = prod(loop.extent for loop in outer)
        if self.instances + count > self.max_tasks:
            raise refuse("too-many-tasks", f"the schedule makes more than {self.max_tasks} tasks: too many to replay one by one",
                         *(c.leaf.block for c in choices), found=f"at least {self.instances + count}",
                         expected="larger tiles")  # fmt: skip
        task = _Task(self, node, choices, outer)
        template = Template(len(self.templates), choices, outer, _loops(node), self.instances, task.variants())
        self.templates.append(template)
        self.instances += count
        return template


class _Task:
    """Works out the variants of one template."""

    def __init__(self, builder: _Builder, node: NestNode, choices: Sequence[Choice], outer: tuple[Loop, ...]) -> None:
        self.builder = builder
        self.outer = outer
        self.analyzer: Analyzer = builder.nest.analyzer
        self.engine = builder.places.machine.engines[choices[0].engine]
        self.engine_number = choices[0].engine
        around = {loop.var for loop in outer}
        paths = {leaf: tuple(loops) for leaf, loops in _paths(node)}
        self.pieces: list[tuple[Measured, tuple[Expr, ...]]] = []
        for choice in choices:
            for work in choice.works:
                own = work.piece.loops
                path = paths[choice.leaf]
                inner = {loop.var: loop.extent for loop in (*path, *own) if loop.var not in around}
                measured = measure(work, inner, self.analyzer)
                conditions = tuple(self.analyzer.simplify(c) for c in work.piece.conditions)
                self.pieces.append((measured, conditions))

    def variants(self) -> Values:
        """The variant of each instance; new ones are added to the builder's table."""
        shape = tuple(loop.extent for loop in self.outer)
        costs, cost_of = self._costs(shape)
        columns, sides = self._cells(shape)
        key = cost_of
        for column, size in columns:
            key = key * size + column
        found, first, number = np.unique(key.reshape(-1), return_index=True, return_inverse=True)
        table: list[int] = []
        for position in first.tolist():
            at = [int(np.broadcast_to(c, shape).reshape(-1)[position]) for c, _ in columns]
            chosen = costs[int(np.broadcast_to(cost_of, shape).reshape(-1)[position])]
            table.append(-1 if chosen is None else self._variant(chosen, at, sides))
        assert len(found) == len(table)
        return np.array(table, np.int64)[np.asarray(number).reshape(-1)]

    def _variant(self, chosen: Cost, at: Sequence[int], sides: Sequence[_Side]) -> int:
        variants = self.builder.variants
        reads: list[int] = []
        writes: list[int] = []
        updates: list[int] = []
        for side in sides:
            start = side.placement.first_cell + at[side.column] * side.placement.parts + at[side.column + 1]
            cells = range(start, start + at[side.column + 2])
            (writes if side.written else reads).extend(cells)
            if side.updated:
                updates.extend(cells)
        written = tuple(dict.fromkeys(writes))
        # A cell that the task also fills itself is no input of it.
        read = tuple(c for c in dict.fromkeys(reads) if c not in written)
        replayed = Variant(self.engine_number, chosen.duration, chosen.latency, read, written)
        variants.append(TaskVariant(len(self.builder.templates), chosen, replayed, tuple(dict.fromkeys(updates))))
        return len(variants) - 1

    def _costs(self, shape: tuple[int, ...]) -> tuple[list[Cost | None], Values]:
        """The costs there are, and which of them each instance has: they differ only where conditions or patterns depend on the loops."""
        matters: set[Var] = set()
        around = {loop.var: loop.extent for loop in self.outer}
        for measured, conditions in self.pieces:
            matters |= {v for c in conditions for v in used_vars(c, around)}
            matters |= {v for x in measured.layouts for v in x.mixed if v in around}
        cases = prod(around[v] for v in matters)
        if cases > MAX_EDGE_CASES:
            raise refuse("too-many-tasks", f"the tasks have {cases} different shapes to look at: too many", found=str(cases),
                         expected=f"at most {MAX_EDGE_CASES}: larger tiles, or extents that divide evenly")  # fmt: skip
        varying = [v for v in around if v in matters]
        costs: list[Cost | None] = []
        known: dict[object, int] = {}
        table: list[int] = []
        for values_of in product(*(range(around[v]) for v in varying)):
            at = dict(zip(varying, values_of, strict=True))
            pieces = [(m, domain(m.inner, conditions, at)) for m, conditions in self.pieces]
            found = cost(self.engine, pieces, self.builder.places)
            key = None if found is None else (found.duration, found.latency, found.operations, _sizes(found.touched))
            if key not in known:
                known[key] = len(costs)
                costs.append(found)
            table.append(known[key])
        sizes = [around[v] if v in matters else 1 for v in around]
        return costs, np.array(table, np.int64).reshape(sizes) + np.zeros(shape, np.int64)

    def _cells(self, shape: tuple[int, ...]) -> tuple[list[tuple[Values, int]], list[_Side]]:
        """For each buffer read or written: columns over the instances for the slot, the first part and the number of parts touched."""
        columns: list[tuple[Values, int]] = []
        sides: list[_Side] = []
        grouped: dict[tuple[Placement, bool], list[tuple[Measured, Access]]] = {}
        updated: set[Placement] = set()
        for measured, _ in self.pieces:
            for access in measured.accesses:
                placement = self.builder.places.by_buffer[access.buffer]
                written = any(access is w for w in measured.work.writes)
                grouped.setdefault((placement, written), []).append((measured, access))
                if written and measured.work.updates:
                    updated.add(placement)
        for (placement, written), accesses in grouped.items():
            low, high = self._part_range(placement, accesses, shape)
            sides.append(_Side(placement, written, written and placement in updated, len(columns)))
            columns.append((self._slots(placement, shape), placement.slots))
            columns.append((low, placement.indexed_cells))
            columns.append((high - low + 1, placement.indexed_cells + 1))
        return columns, sides

    def _slots(self, placement: Placement, shape: tuple[int, ...]) -> Values:
        loop = placement.site.slot_loop
        for axis, around in enumerate(self.outer):
            if loop is not None and around.var is loop.var:
                column = np.arange(around.extent, dtype=np.int64) % placement.slots
                return column.reshape([-1 if i == axis else 1 for i in range(len(shape))])
        return np.zeros((), np.int64)

    def _part_range(
        self, placement: Placement, accesses: Sequence[tuple[Measured, Access]], shape: tuple[int, ...]
    ) -> tuple[Values, Values]:
        """The first and the last part that the accesses touch, over the instances."""
        low = high = np.zeros((), np.int64)
        last_cell = placement.indexed_cells - 1
        if last_cell == 0:
            return low, high
        rank = len(shape)
        for number, (measured, access) in enumerate(accesses):
            part = self.builder._part(placement, access)  # pyright: ignore[reportPrivateUsage]
            over = axes({**{loop.var: loop.extent for loop in self.outer}, **measured.inner})
            try:
                spread = values(part, over)
            except UnknownValueError:
                return np.zeros((), np.int64), np.full((), last_cell, np.int64)
            spread = spread.reshape((1,) * (rank + len(measured.inner) - spread.ndim) + spread.shape)
            inside = tuple(range(rank, spread.ndim))
            first, last = (
                np.clip(spread.min(axis=inside), 0, last_cell),
                np.clip(spread.max(axis=inside), 0, last_cell),
            )
            low = first if number == 0 else np.minimum(low, first)
            high = last if number == 0 else np.maximum(high, last)
        return low, high


class _Side(msgspec.Struct, frozen=True, eq=False):
    """A buffer that a task reads or writes; `column` is the first of its three columns."""

    placement: Placement
    written: bool
    updated: bool
    column: int


def _sizes(touched: Sequence[Touched]) -> tuple[tuple[str, bool, int], ...]:
    return tuple((t.buffer.name, t.written, t.size_bytes) for t in touched)


def _leaves(node: NestNode) -> Iterable[Leaf]:
    if isinstance(node, Leaf):
        yield node
    else:
        for child in node.children:
            yield from _leaves(child)


def _paths(node: NestNode, above: tuple[Loop, ...] = ()) -> Iterable[tuple[Leaf, tuple[Loop, ...]]]:
    if isinstance(node, Leaf):
        yield node, above
    else:
        for child in node.children:
            yield from _paths(child, (*above, node.loop))


def _loops(node: NestNode) -> tuple[Loop, ...]:
    """All loops of a subtree, in text order."""
    if isinstance(node, Leaf):
        return ()
    return (node.loop, *(loop for child in node.children for loop in _loops(child)))
