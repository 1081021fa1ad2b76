"""Replacement policies: the lines of one set as an immutable value, so that states can be compared."""

from __future__ import annotations

from collections.abc import Sequence

Line = tuple[int, int, bool]
"""A line: the coordinate of its buffers, its number, and whether it is dirty."""
Lines = tuple[Line, ...]


class Lru:
    """Least recently used: a set is the tuple of its lines, the least recently used first."""

    empty: Lines = ()

    def __init__(self, ways: int) -> None:
        self.ways = ways

    def access(self, held: Lines, coordinate: int, line: int, dirty: bool) -> tuple[bool, Lines, Line | None]:
        """Returns whether a line was there, the set after the access, and the dirty line that it evicted."""
        for n, (c, number, wet) in enumerate(held):
            if number == line and c == coordinate:
                if n == len(held) - 1 and wet >= dirty:
                    return True, held, None
                return True, (*held[:n], *held[n + 1 :], (c, number, wet or dirty)), None
        victim = None
        if len(held) == self.ways:
            victim, held = (held[0] if held[0][2] else None), held[1:]
        return False, (*held, (coordinate, line, dirty)), victim

    def returned(self, held: Lines, coordinate: int, line: int) -> Lines | None:
        """Returns the set with a line marked as dirty; None if it does not hold the line."""
        for n, (c, number, _) in enumerate(held):
            if number == line and c == coordinate:
                return (*held[:n], (c, number, True), *held[n + 1 :])
        return None

    def translated(self, state: tuple[Lines, ...], by: Sequence[int], sign: int) -> tuple[Lines, ...]:
        """Returns a state with all lines translated, forwards or backwards."""
        if sign > 0:
            return tuple([tuple([(c, n + by[c], d) for c, n, d in held]) for held in state])
        return tuple([tuple([(c, n - by[c], d) for c, n, d in held]) for held in state])
