"""A plain replay of all cores of a chip, task by task: nothing is folded, nothing is skipped.

An independent statement of the rules of docs/simulator.md: each core issues its tasks in order, engines run them in order, cores share
ports round-robin, burst by burst: engine by engine, each on one core after the other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest

from tilewright.engine.hwsim.replay.clocks import Variant

Block = Sequence[Variant]
"""The tasks of a block, in program order."""

NEVER = 10**15


class Task:
    def __init__(self, variant: Variant, cells: int) -> None:
        self.variant = variant
        self.reads = [c + cells for c in variant.reads]
        self.writes = [c + cells for c in variant.writes]
        self.early = {c + cells: n for c, n in variant.preloads}
        # (task, cycles behind its end, whether the end or the result counts)
        self.needs: list[tuple[Task, int]] = []
        self.start = self.end = NEVER
        self.owed: dict[int, int] = {}
        self.asked = False

    @property
    def there(self) -> int:
        return self.end + self.variant.latency if self.end < NEVER else NEVER


class Core:
    """One core: the waves of blocks that it gets from `take`, as (blocks, whether it waits for the end of those before)."""

    def __init__(self, number: int, chip: Chip) -> None:
        self.number, self.chip = number, chip
        self.tasks: list[Task] = []
        self.todo: list[Task] = []
        self.queues: dict[int, list[Task]] = defaultdict(list)
        self.running: dict[int, Task] = {}
        self.writer: dict[int, Task] = {}
        self.readers: dict[int, list[Task]] = defaultdict(list)
        # The tasks of the present wave, and when the next one begins.
        self.wave: list[Task] = []
        self.begins: int | None = chip.start_cycles
        self.is_over = False
        # The bytes of each engine at each port since the block began.
        self.moved: Counter[tuple[int, int]] = Counter()

    def takes(self, now: int, *, waits: bool) -> bool:
        """Whether the core begins its next wave now."""
        if self.is_over or self.todo or (waits and any(t.there > now for t in self.wave)):
            return False
        if self.begins is None:
            self.begins = now + (self.chip.start_cycles if waits else 0)
        return now >= self.begins

    def add(self, wave: Sequence[Block], cells: int) -> None:
        """The tasks of blocks that are held at the same time: each task for one block after the other."""
        held = [[Task(variant, place * cells) for variant in block] for place, block in enumerate(wave)]
        tasks = [task for tasks in zip_longest(*held) for task in tasks if task is not None]
        self.wave, self.begins, self.todo = tasks, None, list(tasks)

    def requests(self, variant: Variant) -> dict[int, int]:
        """The cycles of each port: all bytes of an engine in a block, or in blocks held together, take whole cycles only in sum."""
        found = dict(variant.demands)
        for port, left, width in variant.spare:
            before = self.moved[variant.engine, port]
            after = self.moved[variant.engine, port] = before + found[port] * width - left
            found[port] = -(-after // width) - -(-before // width)
        return {port: cycles for port, cycles in found.items() if cycles}

    def issue(self) -> bool:
        if not self.todo:
            return False
        task = self.todo[0]
        queue = self.queues[task.variant.engine]
        if len(queue) >= self.chip.queues[task.variant.engine]:
            return False
        for c in task.reads:
            if c in self.writer:
                task.needs.append((self.writer[c], self.writer[c].variant.latency))
                if c in task.early:
                    task.needs.append((self.writer[c], self.writer[c].variant.latency + task.early[c]))
        for c in task.writes:
            task.needs += [(t, 0) for t in self.readers[c]]
            if c in self.writer and self.writer[c].variant.engine != task.variant.engine:
                task.needs.append((self.writer[c], self.writer[c].variant.latency))
        for c in task.writes:
            self.writer[c], self.readers[c] = task, []
        for c in task.reads:
            self.readers[c].append(task)
        queue.append(self.todo.pop(0))
        self.tasks.append(task)
        return True


class Chip:
    """`cores` equal cores. `shared` ports are one for so many cores; the others each core has its own."""

    def __init__(self, cores: int, queues: Sequence[int], bursts: Sequence[int], shared: Mapping[int, int], *,
                 start_cycles: int = 0) -> None:  # fmt: skip
        self.queues, self.bursts, self.shared, self.start_cycles = queues, bursts, shared, start_cycles
        self.cores = [Core(n, self) for n in range(cores)]
        self.now = 0
        # By port and instance: the task that holds it, until when, and the engine and the core that were granted last.
        self.holder: dict[tuple[int, int], tuple[Task, int] | None] = {}
        self.last: dict[tuple[int, int], tuple[int, int]] = defaultdict(lambda: (-1, -1))
        self.granted: Counter[int] = Counter()

    def run(self, take: Callable[[Core, int], Sequence[Block]], cells: int, *, waits: bool) -> int:
        """Runs until no core has work; `take` gives a core its next wave of blocks. Returns the makespan."""
        while True:
            self._settle(take, cells, waits=waits)
            later = [t for t in self._moments() if t > self.now]
            if not later:
                break
            self.now = min(later)
        return max((t.there for core in self.cores for t in core.tasks), default=0)

    def _moments(self) -> list[int]:
        found = [held[1] for held in self.holder.values() if held is not None]
        for core in self.cores:
            found.append(core.begins or 0)
            for task in core.running.values():
                found += [task.start + task.variant.duration, task.start + task.variant.setup]
            found += [t.there for t in core.wave if t.end < NEVER]
            for queue in core.queues.values():
                found += [t.end + n for t, n in queue[0].needs if t.end < NEVER] if queue else []
        return found

    def _settle(self, take: Callable[[Core, int], Sequence[Block]], cells: int, *, waits: bool) -> None:
        now = self.now
        for key, held in self.holder.items():
            if held is not None and held[1] <= now:
                task = held[0]
                if task.owed.get(key[0]) == 0:
                    del task.owed[key[0]]
                self.holder[key] = None
        going = True
        while going:
            going = False
            for core in self.cores:
                for engine, task in list(core.running.items()):
                    if now >= task.start + task.variant.duration and not task.owed:
                        task.end = now
                        del core.running[engine]
                        going = True
                if core.takes(now, waits=waits):
                    wave = take(core, now)
                    core.is_over = not wave
                    if wave:
                        if waits:
                            core.moved.clear()
                        core.add(wave, cells)
                        going = True
                while core.issue():
                    going = True
                for engine, queue in core.queues.items():
                    if queue and engine not in core.running and all(t.end + n <= now for t, n in queue[0].needs):
                        task = queue.pop(0)
                        task.start = now
                        task.owed = core.requests(task.variant)
                        core.running[engine] = task
                        going = True
        self._grant()

    def _grant(self) -> None:
        asking: dict[tuple[int, int], dict[tuple[int, int], Task]] = defaultdict(dict)
        for core in self.cores:
            for engine, task in core.running.items():
                if self.now >= task.start + task.variant.setup:
                    for port, cycles in task.owed.items():
                        if cycles:
                            asking[port, core.number // self.shared.get(port, 1)][engine, core.number] = task
        for key, waiting in asking.items():
            if self.holder.get(key) is not None:
                continue
            turn = min((n for n in waiting if n > self.last[key]), default=min(waiting))
            self.last[key] = turn
            task, port = waiting[turn], key[0]
            granted = min(self.bursts[port], task.owed[port])
            task.owed[port] -= granted
            self.granted[port] += granted
            self.holder[key] = task, self.now + granted
