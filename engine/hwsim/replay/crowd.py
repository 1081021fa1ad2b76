"""Port that equal cores share: one core of them is replayed, and the port serves all.

The cores are granted bursts round-robin, and the engines of a core in turn. A core does what the first one does, later by as many bursts as
there are cores before it, or less. So the first core's burst occupies the port for one burst of each core, and ends after its own.
"""

from __future__ import annotations

from .arbiter import IDLE, Port


class CrowdPort(Port):
    """A port with the requests of one of `cores` equal cores. A request may be of fewer: the blocks of a last wave are."""

    __slots__ = ("_cores", "_done", "_sharing")

    def __init__(self, burst: int, cores: int) -> None:
        super().__init__(burst)
        self._cores = cores
        self._sharing: dict[int, int] = {}
        # When the last burst of a request ends, of those that were granted it.
        self._done: dict[int, int] = {}

    def request_of(self, cores: int, engine: int, cycles: int, now: int) -> None:
        """Requests cycles for an engine of each of the first `cores` cores."""
        self.request(engine, cycles, now)
        self._sharing[engine] = min(cores, self._cores)

    def settle(self, now: int) -> None:
        self._done = {engine: done for engine, done in self._done.items() if done > now}
        super().settle(now)

    def is_free(self, now: int) -> bool:
        if self.holder == IDLE:
            return not self.wants
        return self.until + sum(cycles * self._sharing[engine] for engine, cycles in self.wants.items()) <= now

    def dones(self) -> list[tuple[int, int]]:
        found = list(self._done.items())
        order, burst, sharing = self._in_turn(), self.burst, self._sharing
        for place, engine in enumerate(order):
            left = self.wants[engine]
            last = (left - 1) // burst * burst
            waited = last * sharing[engine]
            for n, other in enumerate(order):
                if n != place:
                    waited += min(self.wants[other], last + burst if n < place else last) * sharing[other]
            found.append((engine, self.until + waited + left - last))
        return found

    def _grant(self, at: int) -> None:
        engine = self.holder = self.last = self._in_turn()[0]
        left = self.wants[engine]
        granted = min(left, self.burst)
        self.until = at + granted * self._sharing[engine]
        if granted < left:
            self.wants[engine] = left - granted
        else:
            self.wants.pop(engine)
            self._done[engine] = at + granted

    def _round_cycles(self) -> int:
        return self.burst * sum(self._sharing[engine] for engine in self.wants)

    def key(self, now: int) -> tuple[int, ...]:
        done = [n for engine, at in sorted(self._done.items()) if at > now for n in (engine, at - now)]
        return (*super().key(now), *(self._sharing[engine] for engine in sorted(self.wants)), -1, *done)
