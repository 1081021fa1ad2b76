"""A program as tasks: maximal subtrees that one engine runs, under the remaining outer loops.

A copy is one DMA descriptor, so each DMA task is one leaf; other engines merge all neighbours inside of a loop that they run alone. Loops
stay outside if slots rotate over them, if they are blocks of threads, or, outermost in a subtree, if they select the physical block, so
that a task accesses one block, or if conditions inside leave out iterations that are too many to count in one task. A replay walks the
tree of tasks; classes of equivalent iterations are known without a walk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

import msgspec
import numpy as np

from ...arith import Analyzer
from ...cancellation import checkpoint
from ...ir import Block, PrimFunc, Var, free_vars
from ...script.tilelang.names import ATOMIC
from ..access.placement import Places
from ..access.ports import PortSpec, contended
from ..caches.report import CacheResults, Waits
from ..caches.shared.results import Behind
from ..machine.model import Machine
from ..machine.parts import DmaEngine
from .engine_selection import Choice, choose
from .grid import UnknownValueError, is_known, used_vars, values
from .nest import ComputeBlock, Loop, LoopNode, Nest, NestNode, leaves_of
from .periodicity import IterationClass, Run, runs_of, together
from .triangles import SHORT, TriangleLevel, growing
from .variants import TaskVariant, Tokens, Variants, part_of, pieces_of
from .work import Access, Work, read_pieces

MAX_KINDS = 1 << 12
"""Limit on the iterations of a loop that differ in the conditions inside, for a loop that would stay outside of tasks only for these."""

MAX_WORK = 1 << 28
"""Limit on the points of the tasks in all these iterations."""


class Template(msgspec.Struct, frozen=True, eq=False):
    """A task under its outer loops: one instance for each of their iterations, numbered row-major."""

    number: int
    choices: tuple[Choice, ...]
    outer: tuple[Loop, ...]
    inner: tuple[Loop, ...]
    variants: Variants

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

    def indices(self, place: tuple[int, ...]) -> tuple[tuple[str, int], ...]:
        """Returns the loops around an instance, by name, with their values."""
        return tuple((loop.name, i) for loop, i in zip(self.outer, place, strict=True))


class LoopPiece(NamedTuple):
    """The iterations of a loop between two edges, and the runs that they are cut into."""

    whole: Run
    runs: tuple[Run, ...]


class TaskLoop(msgspec.Struct, frozen=True, eq=False):
    """A loop around tasks; or several perfectly nested loops whose iterations are all equivalent: they run as one.

    `engines` (by unit) and `cells` are all that its tasks may use; `matters` the loops around it that they depend on.
    """

    loops: tuple[Loop, ...]
    children: tuple[TaskNode, ...]
    engines: tuple[int, ...]
    cells: tuple[int, ...]
    iteration_class: IterationClass
    matters: tuple[Var, ...]
    analyzer: Analyzer
    known: dict[tuple[int, ...], tuple[LoopPiece, ...]]

    @property
    def extent(self) -> int:
        """Iterations of all loops together."""
        return prod(loop.extent for loop in self.loops)

    @property
    def grid(self) -> bool:
        """Whether the iterations are blocks."""
        return self.loops[0].grid

    @property
    def depth(self) -> int:
        """The number of nested loops from this one on."""
        return len(self.loops) + max((c.depth for c in self.children if isinstance(c, TaskLoop)), default=0)

    def iterations(self) -> Iterator[dict[Var, int]]:
        """Yields the iterations of all loops together, one after the other."""
        for index in product(*(range(loop.extent) for loop in self.loops)):
            yield {loop.var: i for loop, i in zip(self.loops, index, strict=True)}

    def place(self, i: int) -> dict[Var, int]:
        """Returns the loops at an iteration; several are all at 0, since their iterations are equivalent."""
        return {loop.var: i if len(self.loops) == 1 else 0 for loop in self.loops}

    def paired(self, at: Mapping[Var, int], like: Mapping[Var, int]) -> Iterator[tuple[Run, Run, Mapping[Var, int]]]:
        """Yields the runs with loops around at `at`, each with the same run at the equivalent iterations `like`, which has another trip
        count, and the iterations that it belongs to. Ranges of a triangle have lengths of their own, so these are their own equivalents.
        """
        pieces, same = self.pieces(at), self.pieces(like)
        matches = len(pieces) == len(same)
        for n, (piece, runs) in enumerate(pieces):
            if (
                matches
                and (runs, same[n].runs) == ((piece,), (same[n].whole,))
                and piece.period == same[n].whole.period
            ):
                yield piece, same[n].whole, like
            else:
                for run in runs:
                    yield run, run, at

    def pieces(self, at: Mapping[Var, int]) -> tuple[LoopPiece, ...]:
        """Returns the runs of equivalent iterations, with the loops around at iterations `at`."""
        key = tuple(at[v] for v in self.matters)
        found = self.known.get(key)
        if found is None:
            near = dict(zip(self.matters, key, strict=True))
            found = self.known[key] = tuple(self._cut(near))
        return found

    def _cut(self, at: Mapping[Var, int]) -> Iterator[LoopPiece]:
        first, *inner = self.loops
        if inner:
            whole = Run(0, self.extent, 1)
            yield LoopPiece(whole, (whole,))
            return
        for run in runs_of(first.var, first.extent, self.iteration_class, at, self.analyzer):
            is_long = run.period == run.stop - run.start > SHORT
            yield LoopPiece(run, tuple(growing(self.level(), run, at, self.analyzer)) if is_long else (run,))

    def level(self) -> TriangleLevel:
        """Returns the loops, and what decides about the iterations of all that is inside of them."""
        inside = tuple(c.level() if isinstance(c, TaskLoop) else c.variants.iteration_class for c in self.children)
        found = TriangleLevel(self.loops[-1].var, self.loops[-1].extent, self.iteration_class, inside)
        for loop in self.loops[-2::-1]:
            found = TriangleLevel(loop.var, loop.extent, self.iteration_class, (found,))
        return found


TaskNode = TaskLoop | Template


class TaskProgram(msgspec.Struct, frozen=True, eq=False):
    """All tasks as a tree in program order. `variants` are the kinds of task found up to now: a replay adds more as it walks. `ports` are
    those that tasks may have to share, `counts` the tasks of each variant by the limit on distinct tasks, as `counts_of` found them.
    `source` is the simulated program, `nest` that program after planning. If a core holds several blocks, the variants are those of each,
    and `base` has those of one.
    """

    source: PrimFunc
    nest: Nest
    places: Places
    tree: tuple[TaskNode, ...]
    templates: tuple[Template, ...]
    variants: list[TaskVariant]
    ports: tuple[PortSpec, ...]
    cached: CacheResults = CacheResults()
    behind: Behind | None = None
    counts: dict[int, dict[int, int]] = msgspec.field(default_factory=dict[int, dict[int, int]])
    base: TaskProgram | None = None

    @property
    def machine(self) -> Machine:
        return self.places.machine


def make_tasks(
    source: PrimFunc, nest: Nest, places: Places, waits: Waits | None = None, behind: Behind | None = None
) -> TaskProgram:
    """Returns the tasks of the program `source`, planned and read as `nest`; `waits` are the stalls on caches, `behind` is what moves
    behind a cache that cores share.

    Raises MachineError if no engine reaches an operand.
    """
    builder = _Builder(nest, places, waits or {}, behind)
    tree = tuple(builder.nodes(nest.children, ()))
    builder.synchronise()
    return TaskProgram(
        source, nest, places, tree, tuple(builder.templates), builder.variants, builder.share(), behind=behind
    )


class _Builder:
    def __init__(self, nest: Nest, places: Places, waits: Waits, behind: Behind | None) -> None:
        self.nest = nest
        self.waits, self.behind = waits, behind
        self.places = places
        self.units = places.machine.units
        self.templates: list[Template] = []
        self.variants: list[TaskVariant] = []
        self.shared: list[dict[PortSpec, int]] = []
        self.choices: dict[ComputeBlock, Choice] = {}
        self.allocating = {loop.var for s in nest.sites for loop in (*s.loops, *s.threads)}
        # The loops over several blocks around each leaf.
        self.grids = {
            leaf: [loop for loop in path if loop.grid and loop.extent > 1]
            for node in nest.children
            for leaf, path in _paths(node)
        }
        self.turning = {s.slot_loop.var for s in nest.sites if s.slot_loop is not None}

    def nodes(self, nodes: Iterable[NestNode], outer: tuple[Loop, ...]) -> list[TaskNode]:
        found: list[TaskNode] = []
        for node in nodes:
            if isinstance(node, ComputeBlock) or self._is_task(node):
                found.append(self._template(node, outer))
            else:
                found.append(self._loop(node.loop, self.nodes(node.children, (*outer, node.loop)), outer))
        return found

    def _loop(self, loop: Loop, children: Sequence[TaskNode], outer: tuple[Loop, ...]) -> TaskLoop:
        checkpoint()
        iteration_class = together(
            [c.iteration_class if isinstance(c, TaskLoop) else c.variants.iteration_class for c in children]
        )
        used = iteration_class.variables()
        only = children[0] if len(children) == 1 else None
        if (
            isinstance(only, TaskLoop)
            and not used & {loop.var, *(inner.var for inner in only.loops)}
            and (only.loops[0].grid == loop.grid or not self.places.machine.levels)
        ):
            return msgspec.structs.replace(only, loops=(loop, *only.loops))
        return TaskLoop(
            (loop,),
            tuple(children),
            tuple(
                sorted(
                    {n for c in children for n in (c.engines if isinstance(c, TaskLoop) else (self.units[c.engine],))}
                )
            ),
            tuple(sorted({n for c in children for n in (c if isinstance(c, TaskLoop) else c.variants).cells})),
            iteration_class,
            tuple(around.var for around in outer if around.var in used),
            self.nest.analyzer,
            {},
        )

    def synchronise(self) -> None:
        """Counts the tokens of each task, if any engine takes cycles for them: one from and one to each unit with a task that it must not
        overlap."""
        if not any(e.wait_cycles or e.signal_cycles for e in self.places.machine.engines):
            return
        kinds = [(self.units[t.engine], frozenset(t.variants.cells), t.variants.changed_cells) for t in self.templates]
        for template, (unit, cells, changed) in zip(self.templates, kinds, strict=True):
            partners = {
                other
                for other, theirs, written in kinds
                if other != unit and not (changed.isdisjoint(theirs) and written.isdisjoint(cells))
            }
            template.variants.synchronise(len(partners))

    def share(self) -> tuple[PortSpec, ...]:
        """Numbers the ports that tasks may have to share."""
        users = [template.variants.port_user for template in self.templates]
        found = contended(users, self.places.machine.shared_levels)
        for port, (spec, rivals) in enumerate(found.items()):
            for number in rivals:
                self.shared[number][spec] = port
        return tuple(found)

    # Criteria for a task.

    def _is_task(self, node: LoopNode) -> bool:
        leaves = list(leaves_of((node,)))
        choices = [self._choice(leaf) for leaf in leaves]
        if len({c.engine for c in choices}) != 1:
            return False
        if len(leaves) > 1 and isinstance(self.places.machine.engines[choices[0].engine], DmaEngine):
            return False
        if any(loop.grid or loop.var in self.turning for loop in _loops(node)):
            return False
        return not (self._picks_block(node, choices) or self._is_uncountable(node, choices))

    def _is_uncountable(self, node: LoopNode, choices: Sequence[Choice]) -> bool:
        """Returns whether the iterations of a loop are too many to count in one task, and those of the loop in few kinds of tasks."""
        paths = {leaf: tuple(loops) for leaf, loops in _paths(node)}
        works = [(c.works, paths[c.leaf]) for c in choices]
        pieces = pieces_of(works, (), self.nest.analyzer, self.allocating)
        conditions = [c for p in pieces if p.is_large for c in p.conditions]
        if not conditions or not any(p.is_bound(dict.fromkeys(self.nest.analyzer.ranges, 0)) for p in pieces):
            return False
        loop, own = node.loop, IterationClass(tuple(c for c in conditions if is_known(c)))
        runs = runs_of(loop.var, loop.extent, own, {}, self.nest.analyzer)
        kinds = sum(min(run.period, run.stop - run.start) for run in runs)
        points = max(prod(p.measured.inner.values()) // loop.extent for p in pieces)
        return kinds <= MAX_KINDS and kinds * points <= MAX_WORK

    def _choice(self, leaf: ComputeBlock) -> Choice:
        found = self.choices.get(leaf)
        if found is None:
            works = tuple(self._read(leaf, work) for work in read_pieces(leaf.pieces, self.nest.analyzer))
            found = self.choices[leaf] = choose(leaf, works, self.nest, self.places)
        return found

    def _read(self, leaf: ComputeBlock, work: Work) -> Work:
        """Returns the work of a leaf; its updates are atomic if the text says so, or if several blocks of the grid make them."""
        target = self.places.by_buffer[work.writes[0].buffer] if work.updates else None
        core = self.places.machine.core
        level = core.name if core is not None else ""
        if target is None or not target.memory.atomic_bytes_per_cycle or (level and target.memory.level == level):
            return work
        used = {v for index in work.writes[0].indices for v in free_vars(index)}
        is_common = any(loop.var not in used for loop in self.grids.get(leaf, ()))
        is_atomic = is_common or any(key == ATOMIC for key, _ in leaf.block.annotations)
        return msgspec.structs.replace(work, atomic=is_atomic)

    def _picks_block(self, node: LoopNode, choices: Sequence[Choice]) -> bool:
        """Returns whether each step of the loop (or of the only loop in it, if it runs once) moves to another block."""
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
        part = part_of(placement, access, self.nest.analyzer)
        if not used_vars(part, {loop.var: 0}):
            return False
        others = dict.fromkeys(used_vars(part, self.nest.analyzer.ranges), 0)
        try:
            steps = values(part, {**others, loop.var: np.arange(loop.extent)})
        except UnknownValueError:
            return False
        return bool((np.diff(steps) != 0).all())

    def _template(self, node: NestNode, outer: tuple[Loop, ...]) -> Template:
        checkpoint()
        choices = tuple(self._choice(leaf) for leaf in leaves_of((node,)))
        paths = {leaf: tuple(loops) for leaf, loops in _paths(node)}
        works = [(c.works, paths[c.leaf]) for c in choices]
        pieces = pieces_of(works, outer, self.nest.analyzer, self.allocating)
        number = len(self.templates)
        waits = self.waits.get(number)
        self.shared.append({})
        engine = choices[0].engine
        instances = None if waits is None else waits.reshape([loop.extent for loop in outer])
        leaves = [c.leaf for c in choices]
        tokens = Tokens(
            tuple(t for leaf in leaves for t in leaf.awaits), tuple(t for leaf in leaves for t in leaf.signals)
        )
        variants = Variants(self.variants, number, engine, self.units[engine], outer, pieces, self.places, self.nest.analyzer,
                            self.shared[number], instances, tokens, self.behind)  # fmt: skip
        self.templates.append(Template(number, choices, outer, _loops(node), variants))
        return self.templates[-1]


def _paths(node: NestNode, above: tuple[Loop, ...] = ()) -> Iterable[tuple[ComputeBlock, tuple[Loop, ...]]]:
    if isinstance(node, ComputeBlock):
        yield node, above
    else:
        for child in node.children:
            yield from _paths(child, (*above, node.loop))


def _loops(node: NestNode) -> tuple[Loop, ...]:
    """Returns all loops of a subtree, in text order."""
    if isinstance(node, ComputeBlock):
        return ()
    return (node.loop, *(loop for child in node.children for loop in _loops(child)))
