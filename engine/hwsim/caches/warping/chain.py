"""Misses of a chain of levels without simulating every access: each level's misses are a tree of loops, the stream of the next level."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from math import gcd
from typing import Any

import numpy as np

from ....ir import Buffer
from ...machine.parts import Cache
from ...tasks.nest import Loop
from ..accesses import Accesses, Tally
from ..budget import CacheBudget
from .affine import TreeReader
from .cold import Cold
from .line_trees import CLEAN, DIRTY, Forest, Placed
from .requests import Requests, Totals, Trees
from .strides import Strides
from .tree_maps import Classes, Lines, Prefetches, TaskInstances
from .warp import Warp

MOST_SPAN = 1 << 24
"""Lines between the first and the last access up to which a cache is tested for holding all of them."""


def chain_of(accesses: Accesses) -> tuple[int, ...] | None:
    """Returns the levels that all accesses pass; None if engines have levels of their own."""
    found = set(accesses.first) - {-1}
    if len(found) > 1:
        return None
    chain: list[int] = []
    level = next(iter(found), -1)
    while level >= 0:
        chain.append(level)
        level = accesses.behind[level]
    return tuple(chain)


@contextmanager
def _without_collection() -> Generator[None]:
    """Pauses the search for reference cycles, which visits each of the nodes, and of all other objects, and takes a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_without_collection()
def count_by_warping(accesses: Accesses, chain: tuple[int, ...], budget: CacheBudget) -> Tally:
    """Counts the accesses and misses of a chain of levels."""
    tally = accesses.tally()
    forest, tree = _read(accesses, budget)
    if tree is None:
        return tally
    levels = [accesses.caches[n] for n in chain]
    events = len(accesses.first)
    front, probe = levels[0], 2 * events
    ahead = Strides(forest, front, events, probe, budget).of(tree) if front.prefetches_strides else tree
    lines = Lines(forest, front.line_bytes).of(ahead)
    if front.prefetch_lines and not front.prefetches_strides:
        lines = Prefetches(forest, front, probe).of(lines)
    in_lines = [Lines(forest, c.line_bytes // levels[0].line_bytes).of(lines) for c in levels]
    roomy = len(levels)
    trees = Trees(forest)
    last: Requests[Any] = trees if forest.width > forest.buffers else Totals()
    cold: Cold[Any] = Cold(forest, events, budget, last)
    while roomy and _holds_all(levels[roomy - 1], in_lines[roomy - 1], forest, cold):
        roomy -= 1
    asked, sizes = trees.by_event([tree]), _class_bytes(levels)
    outs: list[Any] = [in_lines[0]]
    for n, level in enumerate(chain):
        requests = last if n + 1 >= roomy else trees
        if n >= roomy:
            outs = [cold.misses(in_lines[n], c) for c in in_lines[n][0].buffers]
        else:
            ratio = levels[n].line_bytes // levels[max(0, n - 1)].line_bytes
            classes = Classes(forest, sizes[n] // levels[n].line_bytes, levels[-1].line_bytes // levels[n].line_bytes)
            warp: Warp[Any] = Warp(forest, levels[n], _is_exclusive(levels, n + 1), classes, events, budget, requests)
            longer = Lines(forest, ratio)
            before = [None if o is None else longer.of(o) for o in outs] if ratio > 1 else outs
            number = classes.modulus // classes.width
            outs = [warp.misses(classes.of(before[g % len(before)], g)) for g in range(number)]
        missed = requests.by_event(outs)
        asked = _tally(accesses, tally, level, asked, missed)
        if forest.width > forest.buffers:
            _add_instances(accesses, tally, level, outs, forest)
    tally.simulated = budget.spent
    return tally


def _is_exclusive(levels: list[Cache], n: int) -> bool:
    return n < len(levels) and levels[n].inclusion == "exclusive"


def _tally(
    accesses: Accesses, tally: Tally, level: int, asked: Mapping[int, int], missed: Counter[int]
) -> dict[int, int]:
    """Adds a level's accesses and misses by event; returns what it requests from the next."""
    tally.returned[level] = missed.pop(DIRTY, 0)
    missed.pop(CLEAN, None)
    events = len(accesses.first)
    for event, count in asked.items():
        if 0 <= event < events:
            tally.asked[level, event] = count
    for event, count in missed.items():
        if event >= events:
            tally.prefetched[level, event - events] = count
            continue
        tally.missed[level, event] = count
        task = accesses.task_of.get(event)
        if task is not None and not accesses.tasks[task]:
            tally.cycles[task] += accesses.cost[level] * count
    return missed


def _add_instances(accesses: Accesses, tally: Tally, level: int, outs: list[Placed | None], forest: Forest) -> None:
    """Adds the cycles of a level's misses to the instances of tasks."""
    for coordinate, task in enumerate(_numbered(accesses), forest.buffers):
        flat, instances = tally.cycles[task].reshape(-1), TaskInstances(coordinate)
        for out in outs:
            if out is not None and out[0].live[coordinate]:
                found, start = instances.of(out[0]), out[1][coordinate]
                flat[start : start + len(found)] += accesses.cost[level] * found


def _numbered(accesses: Accesses) -> list[int]:
    """Returns the tasks of several instances."""
    return [n for n, loops in enumerate(accesses.tasks) if loops]


def _read(accesses: Accesses, budget: CacheBudget) -> tuple[Forest, Placed | None]:
    """Returns the tree of all accesses in bytes."""
    coordinates, count = _coordinates(accesses)
    tasks = {task: n for n, task in enumerate(_numbered(accesses), count)}
    instances: dict[int, tuple[int, tuple[Loop, ...]]] = {
        event: (tasks[task], accesses.tasks[task]) for event, task in accesses.task_of.items() if task in tasks
    }
    forest = Forest(count, count + len(tasks), budget)
    cached = [level >= 0 for level in accesses.first]
    reader = TreeReader(forest, accesses.stream, cached, coordinates, instances, budget)
    return forest, reader.nodes(accesses.stream.nodes, {})


def _coordinates(accesses: Accesses) -> tuple[dict[Buffer, int], int]:
    """Numbers the buffers; those that share a line, also one that is prefetched, have one number."""
    line = max(c.line_bytes for c in accesses.caches)
    reach = max(c.prefetch_reach for c in accesses.caches)
    back = max(c.prefetch_reach_back for c in accesses.caches)
    found: dict[Buffer, int] = {}
    number, end = -1, -1
    for buffer, base in sorted(accesses.stream.bases.items(), key=lambda item: item[1]):
        if number < 0 or (base - back) // line > end:
            number += 1
        end = max(end, (base + accesses.stream.bytes_of[buffer] - 1 + reach) // line)
        found[buffer] = number
    return found, number + 1


def _class_bytes(levels: list[Cache]) -> list[int]:
    """Returns for each level the distance of addresses of one class. A class consists of lines of the last level, and of whole classes of
    the level behind, so that each class has its stream from one class of the level before.
    """
    line = levels[-1].line_bytes
    found: list[int] = []
    size = 0
    for cache in reversed(levels):
        size = gcd(size, cache.sets * cache.line_bytes)
        if size % line:
            size = line
        found.append(size)
    return found[::-1]


def _holds_all(cache: Cache, tree: Placed, forest: Forest, cold: Cold[Any]) -> bool:
    """Returns whether no set of a cache has to hold more lines than it has ways."""
    node, offset = tree
    spans = {c: cold.span(node, c) for c in node.buffers}
    if sum(high - low for low, high in spans.values()) > MOST_SPAN:
        return False
    used = np.zeros(cache.sets, np.int64)
    for c, (low, high) in spans.items():
        raw = cold.lines(node, c).to_bytes((high - low) // 8 + 1, "little")
        lines = np.flatnonzero(np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")) + offset[c] + low
        used += np.bincount(lines % cache.sets, minlength=cache.sets)
    return int(used.max()) <= cache.ways
