"""Hits and misses of a cache that cores share: the blocks of a wave run their tasks in step, in the order in which they are handed out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import msgspec
import numpy as np
import numpy.typing as npt

from ....cancellation import checkpoint
from ....ir import Var
from ...machine.parts import Cache
from ...replay.cores.dispatch import BlockOrder, block_indices
from ...replay.cores.waves import grid_loops, has_grid
from ...tasks.grid import UnknownValueError, Values
from ...tasks.nest import Loop
from ...tasks.tree import TaskLoop, TaskNode, TaskProgram, Template
from .atoms import NONE, atoms_of
from .batches import Columns, batch_of
from .folded import FoldedCache, FoldedWave, NotAlikeError
from .results import CacheContents, SharedCacheRow, TaskMisses
from .sites import Place, Site, UnknownRegionError, sites_of
from .stepwise import LruCache
from .tally import Tally

MOST_STEPS = 3_000
"""Limit on the waves times the tasks of a block, if they are replayed one by one."""

MOST_WAVES = 1_000
"""Limit on the waves of blocks."""

MOST_PLACES = 1 << 14


class _Launch(msgspec.Struct, frozen=True, eq=False):
    """The blocks of a loop over blocks, and the nodes that each runs, with the iterations of the loops around."""

    nodes: tuple[TaskNode, ...]
    grid: tuple[Loop, ...]
    blocks: dict[Var, Values]
    around: Place

    @property
    def count(self) -> int:
        return len(next(iter(self.blocks.values()), (0,)))


class _Fold(msgspec.Struct, frozen=True, eq=False):
    """The tasks before a loop of `trips` iterations, in its first one, and behind it."""

    trips: int
    parts: tuple[Sequence[Columns], Sequence[Columns], Sequence[Columns]]


class _Visit(msgspec.Struct, frozen=True, eq=False):
    """The accesses of tasks at a place of their block."""

    sites: list[int]
    place: Place


def grids_of(program: TaskProgram) -> list[tuple[Loop, ...]]:
    """Returns the loops over blocks of each grid."""
    found: list[tuple[Loop, ...]] = []
    rest = list(program.tree)
    while rest:
        node = rest.pop(0)
        if isinstance(node, TaskLoop):
            grid = grid_loops(node)
            found += [grid] if grid else []
            rest += [] if grid else node.children
    return found


class CacheReplay:
    """The accesses of a program's blocks, of which each core holds `residents` at a time, to a memory behind a shared cache."""

    def __init__(self, program: TaskProgram, cache: Cache, residents: int) -> None:
        self._program, self._cache, self._residents = program, cache, residents
        self._sites: list[Site] = []
        self._folds: _Fold | None = None
        self._columns_of: list[list[Columns]] | None = None
        self._refused = ""
        try:
            self._read()
        except (UnknownRegionError, UnknownValueError) as error:
            self._refused = str(error) or "addresses depend on data"

    def _read(self) -> None:
        self._launches = list(self._found_launches(self._program.tree, {}))
        held = self._program.machine.cores * self._residents
        if not self._launches or sum(-(-launch.count // held) for launch in self._launches) > MOST_WAVES:
            raise UnknownRegionError("the program has too many waves of blocks")
        self._visits = [list(self._walk(launch, launch.nodes, launch.around, {})) for launch in self._launches]
        places: dict[int, tuple[list[Place], Mapping[Var, Values]]] = {}
        for launch, tasks in zip(self._launches, self._visits, strict=True):
            for visit in tasks:
                for number in visit.sites:
                    places.setdefault(number, ([], launch.blocks))[0].append(visit.place)
        self._atoms = atoms_of(((self._sites[n], *at) for n, at in places.items()), self._cache.line_bytes)
        if len(self._launches) == 1:
            self._folds = self._fold_of(self._launches[0], self._visits[0])

    def contents(self, order: BlockOrder) -> CacheContents:
        """Returns the hits and misses if blocks are handed out in an order."""
        try:
            if self._refused:
                raise UnknownRegionError(self._refused)
            return self._result(self._tally(order), order)
        except (UnknownRegionError, UnknownValueError) as error:
            return CacheContents(order, refused=str(error) or "addresses depend on data")

    def _tally(self, order: BlockOrder) -> Tally:
        waves = [list(self._waves(launch, order)) for launch in self._launches]
        if self._folds is not None:
            try:
                return self._folded(self._folds, waves[0])
            except NotAlikeError:
                pass
        return self._stepped(waves)

    # The tasks of a block.

    def _found_launches(self, nodes: Sequence[TaskNode], around: Place) -> Iterator[_Launch]:
        rest: list[TaskNode] = []
        for node in nodes:
            if isinstance(node, TaskLoop) and node.grid:
                yield from self._alone(rest, around)
                rest = []
                grid = grid_loops(node)
                rows = np.indices([loop.extent for loop in grid]).reshape(len(grid), -1)
                yield _Launch((node,), grid, {loop.var: rows[n] for n, loop in enumerate(grid)}, around)
            elif isinstance(node, TaskLoop) and has_grid(node):
                yield from self._alone(rest, around)
                rest = []
                for place in _iterations(node):
                    yield from self._found_launches(node.children, {**around, **place})
            else:
                rest.append(node)
        yield from self._alone(rest, around)

    def _alone(self, nodes: Sequence[TaskNode], around: Place) -> Iterator[_Launch]:
        """Yields the work between loops over blocks: one block."""
        if nodes:
            yield _Launch(tuple(nodes), (), {}, around)

    def _waves(self, launch: _Launch, order: BlockOrder) -> Iterator[Values]:
        """Yields the blocks of each wave, in order."""
        if not launch.grid:
            yield np.zeros(1, np.int64)
            return
        machine = self._program.machine
        assert machine.core is not None
        cores, held, blocks = machine.cores, self._residents, launch.count
        rows = block_indices(launch.grid, order)
        numbers = _numbers(rows, [loop.extent for loop in launch.grid])
        if machine.core.dispatch != "static":
            for first in range(0, blocks, cores * held):
                yield numbers[first : first + cores * held]
            return
        per_core = -(-blocks // cores)
        turn = np.arange(blocks) % per_core
        for first in range(0, per_core, held):
            yield numbers[(turn >= first) & (turn < first + held)]

    def _walk(
        self, launch: _Launch, nodes: Sequence[TaskNode], at: Place, known: dict[int, list[int]]
    ) -> Iterator[_Visit]:
        for node in nodes:
            if isinstance(node, Template):
                sites = self._of_template(launch, node, known)
                if sites:
                    yield _Visit(sites, at)
            elif node.grid:
                yield from self._walk(launch, node.children, at, known)
            elif any(self._of_template(launch, t, known) for t in _templates(node)):
                for place in _iterations(node):
                    yield from self._walk(launch, node.children, {**at, **place}, known)

    def _of_template(self, launch: _Launch, template: Template, known: dict[int, list[int]]) -> list[int]:
        if template.number not in known:
            found = sites_of(self._program, template, self._cache.memory, launch.grid, launch.blocks)
            known[template.number] = list(range(len(self._sites), len(self._sites) + len(found)))
            self._sites += found
        return known[template.number]

    # The replay.

    def _columns(self, launch: _Launch, visit: _Visit) -> Columns:
        checkpoint()
        parts = [self._atoms.of(self._sites[n], visit.place, launch.blocks) for n in visit.sites]
        owners = [np.full(part.shape[1], n, np.int64) for part, n in zip(parts, visit.sites, strict=True)]
        return Columns(np.concatenate(parts, axis=1), np.concatenate(owners))

    @property
    def _is_write(self) -> npt.NDArray[np.bool_]:
        return np.array([site.written for site in self._sites], np.bool_)

    @property
    def _capacity(self) -> int:
        return self._cache.size_bytes // self._cache.line_bytes

    def _stepped(self, waves: Sequence[Sequence[Values]]) -> Tally:
        """Replays the tasks of all blocks one by one."""
        if sum(len(own) * len(of) for own, of in zip(self._visits, waves, strict=True)) > MOST_STEPS:
            raise UnknownRegionError("its blocks run too many different tasks")
        if self._columns_of is None:
            both = zip(self._launches, self._visits, strict=True)
            self._columns_of = [[self._columns(launch, visit) for visit in own] for launch, own in both]
        tally, is_write = Tally(len(self._sites)), self._is_write
        batches = (
            batch_of([each], blocks, is_write)
            for columns, of in zip(self._columns_of, waves, strict=True)
            for blocks in of
            for each in columns
        )
        LruCache(self._capacity, self._atoms.lines, tally).replay(batches, is_write)
        return tally

    def _folded(self, fold: _Fold, waves: Sequence[Values]) -> Tally:
        """Replays a loop of each block once for all of its iterations. Raises NotAlikeError."""
        tally, is_write = Tally(len(self._sites)), self._is_write
        folded = (FoldedWave(*(batch_of(part, blocks, is_write) for part in fold.parts)) for blocks in waves)
        FoldedCache(self._capacity, fold.trips, self._atoms.lines, len(waves), tally).replay(folded)
        return tally

    def _fold_of(self, launch: _Launch, visits: Sequence[_Visit]) -> _Fold | None:
        """Returns the tasks before, in and behind the longest loop of a block; None if its iterations are not alike."""
        loop = _longest_loop(launch.nodes, visits)
        if loop is None:
            return None
        variables = {inner.var for inner in loop.loops}
        inside = [n for n, visit in enumerate(visits) if variables <= visit.place.keys()]
        first, last = inside[0], inside[-1] + 1
        body = (last - first) // loop.extent
        rows = [self._columns(launch, v) for v in (*visits[: first + body], *visits[last:])]
        fold = _Fold(loop.extent, (rows[:first], rows[first : first + body], rows[first + body :]))
        return (
            fold if self._is_alike(launch, visits[first:last], body, (*rows[:first], *rows[first + body :])) else None
        )

    def _is_alike(self, launch: _Launch, visits: Sequence[_Visit], body: int, others: Sequence[Columns]) -> bool:
        """Returns whether each iteration accesses other atoms than the first, of the same sizes, and the rest of the block none of them."""
        atoms = self._atoms
        is_used = np.zeros(len(atoms.lines), np.bool_)
        for columns in others:
            is_used[columns.atoms[columns.atoms != NONE]] = True
        chosen = [[self._different(launch, self._sites[n]) for n in visit.sites] for visit in visits[:body]]
        firsts: Values | None = None
        for start in range(0, len(visits), body):
            checkpoint()
            here = np.concatenate([
                atoms.of(site, visit.place, blocks).reshape(-1)
                for visit, of in zip(visits[start : start + body], chosen, strict=True)
                for site, blocks in of
            ])  # fmt: skip
            firsts = here if firsts is None else firsts
            if len(here) != len(firsts) or (here == NONE).any() or (atoms.lines[here] != atoms.lines[firsts]).any():
                return False
            pairs = np.unique(np.stack([firsts, here]), axis=1)
            if any(len(np.unique(side)) != len(side) for side in pairs) or is_used[pairs[1]].any():
                return False
            is_used[pairs[1]] = True
        return True

    def _different(self, launch: _Launch, site: Site) -> tuple[Site, Mapping[Var, Values]]:
        """Returns a site in blocks that stand for all others."""
        if not launch.blocks or site.conditions or any(c.is_mixed for c in site.corners):
            return site, launch.blocks
        numbers = np.unique(np.stack([c.of_block for c in site.corners]), axis=1, return_index=True)[1]
        corners = tuple(msgspec.structs.replace(c, of_block=c.of_block[numbers]) for c in site.corners)
        blocks = {var: column[numbers] for var, column in launch.blocks.items()}
        return msgspec.structs.replace(site, corners=corners), blocks

    # The result.

    def _result(self, tally: Tally, order: BlockOrder) -> CacheContents:
        size = self._cache.line_bytes
        rows: list[SharedCacheRow] = []
        by_template: dict[int, list[int]] = {}
        for n, site in enumerate(self._sites):
            behind = tally.returned[n] if site.written else tally.missed[n]
            rows.append(
                SharedCacheRow(
                    site.block, site.buffer.name, site.written, int(tally.lines[n]) * size, int(behind) * size
                )
            )
            by_template.setdefault(site.template, []).append(n)
        misses = {t: self._of_sites(numbers, tally) for t, numbers in by_template.items()}
        return CacheContents(order, tuple(rows), misses, "", self._atoms.reasons)

    def _of_sites(self, numbers: Sequence[int], tally: Tally) -> TaskMisses:
        reads = [n for n in numbers if not self._sites[n].written]

        def share(part: Values, of: Values) -> Fraction:
            return Fraction(int(part.sum()), max(int(of.sum()), 1))

        return TaskMisses(
            share(tally.missed[reads], tally.lines[reads]),
            share(tally.returned, tally.lines),
            share(tally.delayed[reads], tally.accesses[reads]),
        )


def _numbers(rows: Values, extents: Sequence[int]) -> Values:
    """Returns iterations of nested loops as numbers, the last loop the fastest."""
    found = np.zeros(len(rows), np.int64)
    for n, extent in enumerate(extents):
        found = found * extent + rows[:, n]
    return found


def _iterations(node: TaskLoop) -> Iterator[dict[Var, int]]:
    if node.extent > MOST_PLACES:
        raise UnknownRegionError("its loops are too long")
    return node.iterations()


def _longest_loop(nodes: Sequence[TaskNode], visits: Sequence[_Visit]) -> TaskLoop | None:
    """Returns the loop of a block with the most iterations, if there is one around accesses."""
    while len(nodes) == 1 and isinstance(nodes[0], TaskLoop) and nodes[0].grid:
        nodes = nodes[0].children
    used = {var for visit in visits for var in visit.place}
    loops = [n for n in nodes if isinstance(n, TaskLoop) and (n.grid or n.loops[0].var in used)]
    longest = max(loops, key=lambda loop: loop.extent, default=None)
    return None if longest is None or any(loop.grid for loop in loops) else longest


def _templates(node: TaskNode) -> Iterator[Template]:
    if isinstance(node, Template):
        yield node
    else:
        for child in node.children:
            yield from _templates(child)


__all__ = ["CacheReplay", "grids_of"]
