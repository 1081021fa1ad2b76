"""Cache model: set-associative, write-allocate, write-back, in several levels.

With LRU replacement, the counts of non-inclusive levels equal those of cachegrind on the same stream: a level serves the misses of the
level before it, reads as reads and writes as writes. A write-back marks its line in the next level and moves nothing there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import msgspec
import numpy as np
import numpy.typing as npt

from ..machine.parts import Cache
from .policies import Policy, policy_of

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


Evicted = tuple[Ints, Ints, Flags]


class Asked(msgspec.Struct, frozen=True, eq=False):
    """Requests to a level, in order: positions in the program's stream, addresses, and whether the access makes the line dirty.

    `returned` are lines that a level before evicted: positions, addresses, and whether they are dirty.
    """

    position: Ints
    address: Ints
    dirty: Flags
    returned: Evicted


def joined(several: Sequence[Asked]) -> Asked:
    """Merges the requests of several levels and engines to one level."""
    if len(several) == 1:
        return several[0]
    position = np.concatenate([a.position for a in several])
    order = np.argsort(position, kind="stable")
    returned = (
        np.concatenate([a.returned[0] for a in several]),
        np.concatenate([a.returned[1] for a in several]),
        np.concatenate([a.returned[2] for a in several]),
    )
    dirty = np.concatenate([a.dirty for a in several])[order]
    return Asked(position[order], np.concatenate([a.address for a in several])[order], dirty, returned)


class Missed(msgspec.Struct, frozen=True, eq=False):
    """The requests that missed (by number), and the lines evicted on the way, as the next level has to know them."""

    which: Ints
    returned: Evicted


class CacheLevel:
    """One cache with its lines: for each set a dict from line number to whether it is dirty, the least recently used in front."""

    def __init__(self, cache: Cache, clean: bool = False, scale: int = 1) -> None:
        """With `clean`, the next level has to know of clean lines that are evicted. Positions that are no multiples of `scale` are those of
        prefetches; the level that makes them drops those of lines that it holds.
        """
        self.cache, self.clean, self.scale = cache, clean, scale if cache.prefetch_lines else 1
        self.sets: list[dict[int, bool]] = [{} for _ in range(cache.sets)]
        is_plain = cache.replacement == "lru" and cache.inclusion == "non-inclusive" and not clean
        is_plain = is_plain and not cache.prefetch_lines
        self.policy = None if is_plain else policy_of(cache)
        self.ordered = [] if self.policy is None else [self.policy.empty] * cache.sets

    def ask(self, asked: Asked) -> Missed:
        """Serves all requests."""
        lines = asked.address // self.cache.line_bytes
        if self.policy is not None:
            return self._by_policy(self.policy, lines, asked)
        if len(asked.returned[0]):
            missed, back = self._one_by_one(lines, asked)
        else:
            missed, back = self._run_by_run(lines, asked)
        return self._missed(missed, [(p, v, True) for p, v in back])

    def _missed(self, missed: Ints, back: Sequence[tuple[int, int, bool]]) -> Missed:
        where = np.array([p for p, _, _ in back], np.int64)
        line = np.array([v for _, v, _ in back], np.int64)
        return Missed(missed, (where, line * self.cache.line_bytes, np.array([d for _, _, d in back], np.bool_)))

    def _run_by_run(self, lines: Ints, asked: Asked) -> tuple[Ints, list[tuple[int, int]]]:
        """Serves set by set: in a run of accesses to one line (within a set) only the first can miss."""
        order = np.argsort(lines % len(self.sets), kind="stable")
        ordered = lines[order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))) if len(ordered) else order
        if not len(starts):
            return starts, []
        dirty = np.logical_or.reduceat(asked.dirty[order], starts)
        firsts = order[starts]
        missed: list[int] = []
        back: list[tuple[int, int]] = []
        sets, count, ways = self.sets, len(self.sets), self.cache.ways
        coming = cast(
            "Iterable[tuple[int, int, bool]]",
            zip(firsts.tolist(), ordered[starts].tolist(), dirty.tolist(), strict=True),
        )
        for place, line, wet in coming:
            held = sets[line % count]
            old = held.pop(line, None)
            if old is None:
                missed.append(place)
                if len(held) == ways and held.pop(victim := next(iter(held))):
                    back.append((place, victim))
                held[line] = wet
            else:
                held[line] = old or wet
        found = np.sort(np.array(missed, np.int64))
        back.sort()
        return found, [(int(asked.position[p]), v) for p, v in back]

    def _one_by_one(self, lines: Ints, asked: Asked) -> tuple[Ints, list[tuple[int, int]]]:
        """Serves in order; a line written back precedes the access that evicted it."""
        places = np.concatenate((asked.returned[0], asked.position))
        returns = len(asked.returned[0])
        coming = np.concatenate((asked.returned[1] // self.cache.line_bytes, lines))
        order = cast("list[int]", np.argsort(places, kind="stable").tolist())
        position, line_of = cast("list[int]", places.tolist()), cast("list[int]", coming.tolist())
        dirty = cast("list[bool]", asked.dirty.tolist())
        missed: list[int] = []
        back: list[tuple[int, int]] = []
        count, ways = len(self.sets), self.cache.ways
        for n in order:
            line = line_of[n]
            held = self.sets[line % count]
            if n < returns:
                if line in held:
                    held[line] = True
                else:
                    back.append((position[n], line))
                continue
            old = held.pop(line, None)
            if old is None:
                missed.append(n - returns)
                if len(held) == ways and held.pop(victim := next(iter(held))):
                    back.append((position[n], victim))
                old = False
            held[line] = old or dirty[n - returns]
        return np.array(missed, np.int64), back

    def _by_policy(self, policy: Policy, lines: Ints, asked: Asked) -> Missed:
        """Serves in order, as `_one_by_one`, with sets of another policy."""
        returned = asked.returned[1] // self.cache.line_bytes
        line_of = cast("list[int]", np.concatenate((returned, lines)).tolist())
        position = cast("list[int]", np.concatenate((asked.returned[0], asked.position)).tolist())
        dirty = cast("list[bool]", np.concatenate((asked.returned[2], asked.dirty)).tolist())
        missed: list[int] = []
        back: list[tuple[int, int, bool]] = []
        for n in cast("list[int]", np.argsort(position, kind="stable").tolist()):
            line, place = line_of[n], line_of[n] % self.cache.sets
            held = self.ordered[place]
            if n < len(returned):
                taken = policy.put(held, 0, line, dirty[n])
                self.ordered[place], victim = taken or (held, (0, line, 1))
            elif position[n] % self.scale and policy.holds(held, 0, line):
                continue
            else:
                hit, self.ordered[place], victim = policy.access(held, 0, line, dirty[n])
                if not hit:
                    missed.append(n - len(returned))
            if victim is not None and (victim[2] or self.clean):
                back.append((position[n], victim[1], bool(victim[2])))
        return self._missed(np.array(missed, np.int64), back)
