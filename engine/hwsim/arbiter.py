"""A port that several engines share: bursts in turn, round and round, as buses do. Whole cycles.

A request is so many cycles of the port. The port grants it `burst` cycles at a time (the last grant may be shorter); when a grant ends
and others wait, the next engine in order has its turn. Between requests that come and requests that are done nothing changes but whole
rounds, so these are jumped over: the cost follows the requests, not the bursts.
"""

from __future__ import annotations

IDLE = -1
NEVER = 1 << 62


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
        self.advance(now)
        self.wants[engine] = cycles

    def settle(self, now: int) -> None:
        """Grants what is asked for by `now`, when nobody has the port."""
        if self.holder == IDLE and self.wants:
            self._grant(now)

    def _grant(self, at: int) -> None:
        self.holder = self.last = self._next(self.last)
        left = self.wants[self.holder]
        length = min(self.burst, left)
        self.until = at + length
        if left == length:
            del self.wants[self.holder]
        else:
            self.wants[self.holder] = left - length

    def _next(self, behind: int) -> int:
        """The engine whose turn it is, behind another."""
        later = [engine for engine in self.wants if engine > behind]
        return min(later) if later else min(self.wants)

    def advance(self, now: int) -> int:
        """Moves on to `now`. The engine whose request is done just then, or IDLE; a port that is free just then waits for `settle`.

        No request may have been done before.
        """
        if self.until < now and len(self.wants) == 1 and self.holder in self.wants:
            self._go_on_alone(now)
        while self.holder != IDLE and self.until < now:
            self._skip_rounds(now)
            if self.until < now:
                at, self.holder = self.until, IDLE
                self._grant(at)
        if self.holder == IDLE or self.until > now:
            return IDLE
        done, self.holder = self.holder, IDLE
        return IDLE if done in self.wants else done

    def _go_on_alone(self, now: int) -> None:
        """One burst after the other for the holder, that nobody shares the port with, up to the one that ends now or later."""
        left = self.wants[self.holder]
        granted = min(-(-(now - self.until) // self.burst) * self.burst, left)
        self.until += granted
        if granted == left:
            del self.wants[self.holder]
        else:
            self.wants[self.holder] = left - granted

    def _skip_rounds(self, now: int) -> None:
        """Whole rounds of whole bursts, as long as every engine is left with something to want afterwards."""
        length = self.burst * len(self.wants)
        # The holder's next turn must be one of the round's: it wants more.
        if not length or self.holder not in self.wants:
            return
        rounds = min((now - self.until - 1) // length, *((left - 1) // self.burst for left in self.wants.values()))
        if rounds > 0:
            self.until += rounds * length
            for engine in self.wants:
                self.wants[engine] -= rounds * self.burst

    def next_done(self) -> int:
        """When the next request will be done, if no other comes; NEVER while nobody asks for anything."""
        wants, holder = self.wants, self.holder
        if holder == IDLE:
            return NEVER
        if holder not in wants:
            return self.until
        if len(wants) == 1:
            return self.until + wants[holder]
        order = sorted(wants, key=lambda engine: (engine <= holder, engine))
        turns, place = min((-(-wants[engine] // self.burst), n) for n, engine in enumerate(order))
        last = wants[order[place]] - (turns - 1) * self.burst
        return self.until + ((turns - 1) * len(order) + place) * self.burst + last

    def key(self, now: int) -> tuple[int, ...]:
        """All that decides what comes, seen from now."""
        held = (self.last, -1) if self.holder == IDLE else (self.holder, self.until - now)
        return (*held, *(n for item in sorted(self.wants.items()) for n in item))
