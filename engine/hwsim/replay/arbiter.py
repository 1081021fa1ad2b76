"""Round-robin arbiter of a port that several engines share, burst by burst, as on a bus. Whole cycles.

A request is a number of cycles of the port. The port grants `burst` cycles at a time (the last grant may be shorter); at the end of a grant
the next waiting engine in order is granted. The pending requests determine when each of them completes, until a new one arrives: the cost
depends on the requests, not on the bursts.
"""

from __future__ import annotations

from bisect import bisect_right

IDLE = -1


class Port:
    """State of a port: its holder and the end of the grant, and the remaining cycles that each engine requests beyond it."""

    __slots__ = ("burst", "holder", "last", "until", "wants")

    def __init__(self, burst: int) -> None:
        self.burst = burst
        self.wants: dict[int, int] = {}
        self.holder = IDLE
        self.until: int = 0
        self.last = IDLE
        """The engine that was granted last: the round continues after it."""

    def request(self, engine: int, cycles: int, now: int) -> None:
        """Requests cycles of the port, from now on; `settle` grants them."""
        if self.holder != IDLE:
            self.advance(now)
        self.wants[engine] = cycles

    def pass_to(self, engine: int) -> None:
        """Counts a grant to an engine that nobody else waits for."""
        self.last = engine

    def settle(self, now: int) -> None:
        """Grants a request made by `now`, if the port is free."""
        if self.holder == IDLE and self.wants:
            self._grant(now)

    def is_free(self, now: int) -> bool:
        """Returns whether the port has neither a holder nor requests."""
        if self.holder == IDLE:
            return not self.wants
        return self.until + sum(self.wants.values()) <= now

    def dones(self) -> list[tuple[int, int]]:
        """Returns when the request of each engine completes, if no other arrives."""
        holder, wants, until, burst = self.holder, self.wants, self.until, self.burst
        if holder == IDLE:
            return []
        if len(wants) <= (holder in wants):  # it is alone
            return [(holder, until + wants.get(holder, 0))]
        order = self._in_turn()
        found = [] if holder in wants else [(holder, until)]
        for place, engine in enumerate(order):
            # In the rounds up to its last grant the others are granted too, those behind it once less.
            left = wants[engine]
            ahead = -(-left // burst) * burst
            cycles = left
            for n, other in enumerate(order):
                if n != place:
                    cycles += min(wants[other], ahead if n < place else ahead - burst)
            found.append((engine, until + cycles))
        return found

    def _in_turn(self) -> list[int]:
        """Returns the requesting engines, the next one first."""
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
        """Advances to `now`; a port that becomes free at `now` waits for `settle`."""
        wants = self.wants
        while wants and self.holder != IDLE and self.until < now:
            if self.holder in wants:
                # Its next grant is the last of a round.
                self._skip_rounds(now)
            if self.until < now:
                self._grant(self.until)
        if self.until <= now:
            self.holder = IDLE

    def _round_cycles(self) -> int:
        """Returns the cycles of a round of whole bursts."""
        return self.burst * len(self.wants)

    def _skip_rounds(self, now: int) -> None:
        """Skips whole rounds of whole bursts that leave every engine a remaining request."""
        length = self._round_cycles()
        rounds = min((now - self.until - 1) // length, (min(self.wants.values()) - 1) // self.burst)
        if rounds > 0:
            self.until += rounds * length
            for engine in self.wants:
                self.wants[engine] -= rounds * self.burst

    def key(self, now: int) -> tuple[int, ...]:
        """Returns the state that determines the future, relative to now, after the port has advanced to it."""
        held = (self.last, -1) if self.holder == IDLE else (self.holder, self.until - now)
        return (*held, *(n for item in sorted(self.wants.items()) for n in item))
