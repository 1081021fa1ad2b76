"""Levels that are served together, access by access: an inclusive level takes lines away from the levels before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from ..machine.parts import Cache
from .policies import Policy, policy_of

SLOWDOWN = 4
"""Work on an access, in accesses that are served in batches."""


class Served(msgspec.Struct, eq=False):
    """Requests to a level and misses, by position in the program's stream, and the number of dirty lines that it evicted."""

    asked: list[int]
    missed: list[int]
    returned: int = 0


class Hierarchy:
    """All levels with their lines. `behind` is the number of the next level, -1 for the memory. Positions that are no multiples of `scale`
    are those of prefetches; the level that makes them drops those of lines that it holds.
    """

    def __init__(self, caches: Sequence[Cache], behind: Sequence[int], scale: int) -> None:
        self.caches, self.behind, self.scale = caches, behind, scale
        self.policies: list[Policy] = [policy_of(c) for c in caches]
        self.sets = [[p.empty] * c.sets for c, p in zip(caches, self.policies, strict=True)]
        self.before: list[list[int]] = [[] for _ in caches]
        for level in range(len(caches)):
            back = behind[level]
            while back >= 0:
                self.before[back].append(level)
                back = behind[back]
        self.served: list[Served] = []

    def serve(self, requests: Iterable[tuple[int, int, int, bool]]) -> list[Served]:
        """Serves requests of engines: level, position, address, and whether the access makes the line dirty."""
        self.served = [Served([], []) for _ in self.caches]
        for level, position, address, dirty in requests:
            self.request(level, position, address, dirty)
        return self.served

    def request(self, level: int, position: int, address: int, dirty: bool) -> None:
        cache, policy, served = self.caches[level], self.policies[level], self.served[level]
        line = address // cache.line_bytes
        held = self.sets[level][line % cache.sets]
        served.asked.append(position)
        if position % self.scale and cache.prefetch_lines and policy.holds(held, 0, line):
            return
        hit, self.sets[level][line % cache.sets], victim = policy.access(held, 0, line, dirty)
        if victim is not None:
            self.evict(level, victim[1], bool(victim[2]))
        if not hit:
            served.missed.append(position)
            if self.behind[level] >= 0:
                self.request(self.behind[level], position, address, False)

    def evict(self, level: int, line: int, dirty: bool) -> None:
        """Takes an evicted line from the levels before, if this one includes them, and gives it to the next level."""
        cache = self.caches[level]
        if cache.inclusion == "inclusive":
            for inner in self.before[level]:
                dirty = self.invalidate(inner, line * cache.line_bytes, cache.line_bytes) or dirty
        self.leave(level, line * cache.line_bytes, dirty)

    def invalidate(self, level: int, address: int, size: int) -> bool:
        """Takes the lines of an address range from a level; returns whether one was dirty."""
        cache, policy, sets, dirty = self.caches[level], self.policies[level], self.sets[level], False
        for line in range(address // cache.line_bytes, (address + size) // cache.line_bytes):
            held = sets[line % cache.sets]
            for n, (c, number, wet) in enumerate(held):
                if c >= 0 and number == line:
                    sets[line % cache.sets] = policy.without(held, n)
                    dirty = dirty or bool(wet)
                    break
        return dirty

    def leave(self, level: int, address: int, dirty: bool) -> None:
        """Gives a line to the next level, if it has to know it."""
        self.served[level].returned += dirty
        back = self.behind[level]
        if back < 0 or not (dirty or self.caches[back].inclusion == "exclusive"):
            return
        cache = self.caches[back]
        line = address // cache.line_bytes
        held = self.sets[back][line % cache.sets]
        taken = self.policies[back].put(held, 0, line, dirty)
        if taken is None:
            self.leave(back, address, dirty)
            return
        self.sets[back][line % cache.sets], victim = taken
        if victim is not None:
            self.evict(back, victim[1], bool(victim[2]))
