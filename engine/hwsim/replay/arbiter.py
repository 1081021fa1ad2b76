"""A port that several engines share: bursts in turn, round and round, as buses do. Whole cycles.

A request is so many cycles of the port. The port grants it `burst` cycles at a time (the last grant may be shorter); when a grant ends
and others wait, the next engine in order has its turn. When each request is done follows from what is asked for, until more is: the cost
follows the requests, not the bursts.
"""

from __future__ import annotations

from bisect import bisect_right

IDLE = -1


class Port:
    """A port at a moment: who has it until when, and how many cycles each engine is still to be granted beside that."""

    __slots__ = ("burst", "holder", "last", "until", "wants")

    def __init__(self, burst: int) -> None:
        self.burst = burst
        self.wants: dict[int, int] = {}
        self.holder = IDLE
        self.until = 0
        self.last = IDLE
        """The engine that was granted last: turns go on behind it."""

    def request(self, engine: int, cycles: int, now: int) -> None:
        """Asks for cycles of the port, from now on; `settle` grants."""
        if self.holder != IDLE:
            self.advance(now)
        self.wants[engine] = cycles

    def settle(self, now: int) -> None:
        """Grants what is asked for by `now`, when nobody has the port."""
        if self.holder == IDLE and self.wants:
            self._grant(now)

    def is_free(self, now: int) -> bool:
        """Whether nobody has the port or wants it."""
        if self.holder == IDLE:
            return not self.wants
        return self.until + sum(self.wants.values()) <= now

    def dones(self) -> list[tuple[int, int]]:
        """When the request of each engine is done, if no other comes."""
        holder, wants, until, burst = self.holder, self.wants, self.until, self.burst
        if holder == IDLE:
            return []
        if len(wants) <= (holder in wants):  # it is alone
            return [(holder, until + wants.get(holder, 0))]
        order = self._in_turn()
        found = [] if holder in wants else [(holder, until)]
        for place, engine in enumerate(order):
            # In the rounds up to its last turn the others have had their turns too, those behind it one less.
            left = wants[engine]
            ahead = -(-left // burst) * burst
            cycles = left
            for n, other in enumerate(order):
                if n != place:
                    cycles += min(wants[other], ahead if n < place else ahead - burst)
            found.append((engine, until + cycles))
        return found

    def _in_turn(self) -> list[int]:
        """Those who want the port, the one whose turn is next first."""
        order = sorted(self.wants)
        behind = bisect_right(order, self.last)
        return order[behind:] + order[:behind]

    def _grant(self, at: int) -> None:
        wants = self.wants
        engine = self.holder = self.last = next(iter(wants)) if len(wants) == 1 else self._in_turn()[0]
        left = wants[engine] - self.burst
        if left > 0:
            self.until, wants[engine] = at + self.burst, left
        else:
            self.until = at + wants.pop(engine)

    def advance(self, now: int) -> None:
        """Moves on to `now`; a port that is free just then waits for `settle`."""
        wants = self.wants
        while wants and self.holder != IDLE and self.until < now:
            if self.holder in wants:
                # Its next turn is the last of a round.
                self._skip_rounds(now)
            if self.until < now:
                self._grant(self.until)
        if self.until <= now:
            self.holder = IDLE

    def _skip_rounds(self, now: int) -> None:
        """Whole rounds of whole bursts, as long as every engine is left with something to want afterwards."""
        length = self.burst * len(self.wants)
        rounds = min((now - self.until - 1) // length, (min(self.wants.values()) - 1) // self.burst)
        if rounds > 0:
            self.until += rounds * length
            for engine in self.wants:
                self.wants[engine] -= rounds * self.burst

    def key(self, now: int) -> tuple[int, ...]:
        """All that decides what comes, seen from now, when the port has moved on to it."""
        held = (self.last, -1) if self.holder == IDLE else (self.holder, self.until - now)
        return (*held, *(n for item in sorted(self.wants.items()) for n in item))
