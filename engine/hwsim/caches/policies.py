"""Replacement policies: the lines of one set as an immutable value, so that states can be compared."""

from __future__ import annotations

from collections.abc import Sequence

from ..machine.parts import Cache

Line = tuple[int, int, int]
"""A line: the coordinate of its buffers, its number, and whether it is dirty."""
Lines = tuple[Line, ...]
NOTHING: Line = (-1, 0, 0)
"""An empty way."""


class Policy:
    """A set is a tuple of lines in an order of the policy: the first is the next victim."""

    def __init__(self, ways: int) -> None:
        self.ways = ways
        self.empty: Lines = ()

    def access(self, held: Lines, coordinate: int, line: int, dirty: bool) -> tuple[bool, Lines, Line | None]:
        """Returns whether a line was there, the set after the access, and the line that it evicted."""
        raise NotImplementedError

    def holds(self, held: Lines, coordinate: int, line: int) -> bool:
        """Returns whether a set holds a line."""
        return any(number == line and c == coordinate for c, number, _ in held)

    def returned(self, held: Lines, coordinate: int, line: int) -> Lines | None:
        """Returns the set with a line marked as dirty; None if it does not hold the line."""
        for n, (c, number, _) in enumerate(held):
            if number == line and c == coordinate:
                return (*held[:n], (c, number, True), *held[n + 1 :])
        return None

    def without(self, held: Lines, n: int) -> Lines:
        """Returns the set without its n-th line."""
        return (*held[:n], *held[n + 1 :])

    def put(self, held: Lines, coordinate: int, line: int, dirty: bool) -> tuple[Lines, Line | None] | None:
        """Takes a line that the level before evicted. Returns the set after it, and the line that leaves; None if it is not taken."""
        if not dirty:
            return held, None
        found = self.returned(held, coordinate, line)
        return None if found is None else (found, None)


def translated(state: tuple[Lines, ...], by: Sequence[int], sign: int) -> tuple[Lines, ...]:
    """Returns a state with all lines translated, forwards or backwards."""
    by = (*by, 0)  # for empty ways
    if sign > 0:
        return tuple([tuple([(c, n + by[c], d) for c, n, d in held]) for held in state])
    return tuple([tuple([(c, n - by[c], d) for c, n, d in held]) for held in state])


class Lru(Policy):
    """Least recently used first."""

    def access(self, held: Lines, coordinate: int, line: int, dirty: bool) -> tuple[bool, Lines, Line | None]:
        for n, (c, number, wet) in enumerate(held):
            if number == line and c == coordinate:
                if n == len(held) - 1 and wet >= dirty:
                    return True, held, None
                return True, (*held[:n], *held[n + 1 :], (c, number, wet or dirty)), None
        victim = None
        if len(held) == self.ways:
            victim, held = held[0], held[1:]
        return False, (*held, (coordinate, line, dirty)), victim


class Fifo(Lru):
    """First in, first out: a hit keeps the order."""

    def access(self, held: Lines, coordinate: int, line: int, dirty: bool) -> tuple[bool, Lines, Line | None]:
        found = self.returned(held, coordinate, line)
        if found is None:
            return super().access(held, coordinate, line, dirty)
        return True, found if dirty else held, None


class Plru(Policy):
    """Tree of bits, each of which points to the half of its ways that was not accessed last; the bits lead to the victim.

    The ways are listed so that every bit points to the first half: an access to a way exchanges halves, and no bits are needed. An empty
    way is taken before a victim, the first in this order.
    """

    def __init__(self, ways: int) -> None:
        super().__init__(ways)
        self.empty = (NOTHING,) * ways
        self._orders = [_after(tuple(range(ways)), n) for n in range(ways)]

    def access(self, held: Lines, coordinate: int, line: int, dirty: bool) -> tuple[bool, Lines, Line | None]:
        for n, (c, number, wet) in enumerate(held):
            if number == line and c == coordinate:
                if n == len(held) - 1 and wet >= dirty:
                    return True, held, None
                return True, self._touched(held, n, (c, number, wet or dirty)), None
        n = next((n for n, (c, _, _) in enumerate(held) if c < 0), 0)
        victim = held[n] if held[n][0] >= 0 else None
        return False, self._touched(held, n, (coordinate, line, dirty)), victim

    def without(self, held: Lines, n: int) -> Lines:
        return (*held[:n], NOTHING, *held[n + 1 :])

    def _touched(self, held: Lines, n: int, line: Line) -> Lines:
        order = self._orders[n]
        return (*[held[k] for k in order[:-1]], line)


def _after(ways: tuple[int, ...], n: int) -> tuple[int, ...]:
    """Returns the order of ways after an access to the n-th."""
    half = len(ways) // 2
    if not half:
        return ways
    if n < half:
        return ways[half:] + _after(ways[:half], n)
    return ways[:half] + _after(ways[half:], n - half)


LENT = 2
"""In place of whether a line is dirty: it is, and it is in the level before."""


class Victims(Policy):
    """An exclusive level: it takes the lines that the level before evicts, and gives a line away that is requested.

    Dirty lines that were given away are listed before the set, so that they are dirty when they come back.
    """

    def __init__(self, own: Policy) -> None:
        super().__init__(own.ways)
        self.own = own
        self.empty = own.empty

    def access(self, held: Lines, coordinate: int, line: int, dirty: bool) -> tuple[bool, Lines, Line | None]:
        for n, (c, number, wet) in enumerate(held):
            if number == line and c == coordinate and wet != LENT:
                rest = self.own.without(held, n)
                return True, (((c, number, LENT), *rest) if wet else rest), None
        return False, held, None

    def without(self, held: Lines, n: int) -> Lines:
        return super().without(held, n) if held[n][2] == LENT else self.own.without(held, n)

    def put(self, held: Lines, coordinate: int, line: int, dirty: bool) -> tuple[Lines, Line | None] | None:
        lent = tuple([entry for entry in held if entry[2] == LENT])
        left = tuple([entry for entry in lent if entry[:2] != (coordinate, line)])
        _, own, victim = self.own.access(held[len(lent) :], coordinate, line, dirty or len(left) < len(lent))
        return (*left, *own), victim


POLICIES: dict[str, type[Policy]] = {"lru": Lru, "fifo": Fifo, "plru": Plru}


def policy_of(cache: Cache) -> Policy:
    """Returns the policy of a cache."""
    own = POLICIES[cache.replacement](cache.ways)
    return Victims(own) if cache.inclusion == "exclusive" else own
