"""A plain replay of all cores of a chip, task by task: nothing is folded, nothing is skipped.

An independent statement of the rules of docs/simulator.md: each core issues its tasks in order, engines run them in order, cores share
ports round-robin, burst by burst: engine by engine, each on one core after the other. A transfer over a link occupies each segment of its
way, and copies of one transfer to several cores wait for each other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise, zip_longest

from tilewright.engine.hwsim.machine.parts import Link
from tilewright.engine.hwsim.replay.clocks import Variant

Block = Sequence[Variant]
"""The tasks of a block, in program order."""

Key = tuple[object, ...]
Where = tuple[object, ...]
"""An instance of a port, or a segment of a link."""
Tagged = tuple[Variant, Key | None, object]
"""A task, the transfer to several cores that it is a part of, and the element that it updates atomically."""

NEVER = 10**15


class PlainLink:
    """The ways of a link, step by step on a grid of nodes."""

    def __init__(self, link: Link, nodes: int, inner: int, *, leaves: bool) -> None:
        self.link, self.nodes, self.inner, self.leaves = link, nodes, inner, leaves
        self.columns = nodes if link.shape == "ring" or not link.row_nodes else link.row_nodes

    def way(self, attachment: int, core: int) -> list[Where]:
        node, at = core // self.inner % self.nodes, self.link.attached[attachment]
        memory = ("memory", attachment)
        if self.link.shape == "bus":
            return [("bus",)]
        here = self._walk(at, node) if self.leaves else self._walk(node, at)
        points: list[object] = [memory, *here] if self.leaves else [*here, memory]
        return list(pairwise(points))

    def _walk(self, start: int, end: int) -> list[int]:
        found, position = [start], [start % self.columns, start // self.columns]
        target = [end % self.columns, end // self.columns]
        size = [self.columns, self.nodes // self.columns]
        for axis in [1, 0] if self.link.direction == "down" else [0, 1]:
            while position[axis] != target[axis]:
                position[axis] = (position[axis] + self._step(position[axis], target[axis], size[axis])) % size[axis]
                found.append(position[1] * self.columns + position[0])
        return found

    def _step(self, at: int, to: int, size: int) -> int:
        if self.link.shape == "mesh":
            return 1 if to > at else -1
        if self.link.direction != "both":
            return 1 if self.link.direction == "up" else -1
        return 1 if (to - at) % size <= (at - to) % size else -1

    def attachments(self, core: int) -> list[int]:
        every = list(range(len(self.link.attached)))
        if self.link.access == "interleaved":
            return every
        return [min(every, key=lambda n: (len(self.way(n, core)), n))]

    def parts(self, cores: Sequence[int]) -> tuple[Counter[Where], int]:
        """How many of the equal parts of a transfer to these cores go over each segment."""
        found: Counter[Where] = Counter()
        used = self.attachments(cores[0])
        for n in used:
            for segment in {segment for core in cores for segment in self.way(n, core)}:
                found[segment] += 1
        return found, len(used)

    def delay(self, cores: Sequence[int], core: int) -> int:
        return self.link.hop_cycles * max(len(self.way(n, core)) for n in self.attachments(cores[0]))


class Task:
    def __init__(
        self, variant: Variant, cells: int, latency: int, key: Key | None = None, element: object = None
    ) -> None:
        self.variant, self.latency, self.key, self.element = variant, latency, key, element
        self.reads = [c + cells for c in variant.reads]
        self.writes = [c + cells for c in variant.writes]
        self.early = {c + cells: n for c, n in variant.preloads}
        # (task, cycles behind its end, what it holds up: "data" or "slot")
        self.needs: list[tuple[Task, int, str]] = []
        self.issued = 0
        # The task of the same engine before, and what the task waited for, in cycles.
        self.before: Task | None = None
        self.stalls: Counter[str] = Counter()
        self.start = self.end = NEVER
        self.owed: dict[Where, int] = {}
        # The task of another core whose requests this one waits for, and whether its own transfer has begun.
        self.leader: Task | None = None
        self.is_held = key is not None
        self.late = 0  # how much later the transfer begins than the task would alone
        self.shared: frozenset[Where] = frozenset()

    def begin(self, now: int) -> None:
        """Starts the task; of what it waited for last, the first in this order is the cause."""
        self.start = now
        since = self.before.end if self.before is not None else 0
        if now > since:
            clear = {"issue": self.issued}
            for task, cycles, cause in self.needs:
                clear[cause] = max(clear.get(cause, 0), task.end + cycles)
            cause = next(cause for cause in ("issue", "data", "slot") if clear.get(cause) == now)
            self.stalls[cause] += now - since

    @property
    def asks_outside(self) -> bool:
        return any(where in self.shared for where in self.owed)

    @property
    def there(self) -> int:
        return self.end + self.latency if self.end < NEVER else NEVER


class Core:
    """One core: the waves of blocks that it gets from `take`, as (blocks, whether it waits for the end of those before)."""

    def __init__(self, number: int, chip: Chip) -> None:
        self.number, self.chip = number, chip
        self.tasks: list[Task] = []
        self.todo: list[Task] = []
        self.queues: dict[int, list[Task]] = defaultdict(list)
        self.running: dict[int, Task] = {}
        self.last: dict[int, Task] = {}
        self.writer: dict[int, Task] = {}
        self.readers: dict[int, list[Task]] = defaultdict(list)
        # The tasks of the present wave, and when the next one begins.
        self.wave: list[Task] = []
        self.begins: int | None = chip.start_cycles
        self.is_over = False
        # The bytes of each engine at each port since the block began.
        self.moved: Counter[tuple[int, Where]] = Counter()
        self.waves = 0

    def takes(self, now: int, *, waits: bool) -> bool:
        """Whether the core begins its next wave now."""
        if self.is_over or self.todo or (waits and any(t.there > now for t in self.wave)):
            return False
        if self.begins is None:
            self.begins = now + (self.chip.start_cycles if waits else 0)
        return now >= self.begins

    def add(self, wave: Sequence[Block], cells: int) -> None:
        """The tasks of blocks that are held at the same time: each task for one block after the other."""
        held = [
            [self._task(variant, place, cells, key, element) for variant, key, element in self.chip.keyed(block)]
            for place, block in enumerate(wave)
        ]
        self.waves += 1
        tasks = [task for tasks in zip_longest(*held) for task in tasks if task is not None]
        self.wave, self.begins, self.todo = tasks, None, list(tasks)

    def _task(self, variant: Variant, place: int, cells: int, key: Key | None, element: object) -> Task:
        chip = self.chip
        cast = None if key is None else (self.waves, place, *key)
        group = chip.groups.get(cast, []) if cast is not None else []
        cores = group if len(group) > 1 else [self.number]
        delay = max(
            (chip.links[port].delay(cores, self.number) for port, _ in variant.demands if port in chip.links), default=0
        )
        return Task(variant, place * cells, variant.latency + delay, cast if len(group) > 1 else None, element)

    def requests(self, task: Task) -> dict[Where, int]:
        """The cycles of each port: all bytes of an engine in a block, or in blocks held together, take whole cycles only in sum."""
        variant, chip = task.variant, self.chip
        group = chip.groups[task.key] if task.key is not None else [self.number]
        spare = {port: (left, width) for port, left, width in variant.spare}
        found: dict[Where, int] = {}
        for port, cycles in variant.demands:
            if port in chip.links:
                parts, of = chip.links[port].parts(group)
                places = {(port, self.number // chip.shared[port], segment): (n, of) for segment, n in parts.items()}
            else:
                which = (task.element,) if port in chip.elements else ()
                places = {(port, self.number // chip.shared.get(port, 1), *which): (1, 1)}
            is_outside = port in chip.links or chip.shared.get(port, 1) > 1
            if is_outside and self.number != group[0]:
                continue
            for place, (parts, of) in places.items():
                found[place] = -(-cycles * parts // of)
                if port in spare and parts == of and task.key is None:
                    left, width = spare[port]
                    before = self.moved[variant.engine, place]
                    after = self.moved[variant.engine, place] = before + cycles * width - left
                    found[place] = -(-after // width) - -(-before // width)
        return {place: cycles for place, cycles in found.items() if cycles}

    def issue(self) -> bool:
        if not self.todo:
            return False
        task = self.todo[0]
        queue = self.queues[task.variant.engine]
        if len(queue) >= self.chip.queues[task.variant.engine]:
            return False
        for c in task.reads:
            if c in self.writer:
                task.needs.append((self.writer[c], self.writer[c].latency, "data"))
                if c in task.early:
                    task.needs.append((self.writer[c], self.writer[c].latency + task.early[c], "data"))
        for c in task.writes:
            task.needs += [(t, 0, "slot") for t in self.readers[c]]
            if c in self.writer and self.writer[c].variant.engine != task.variant.engine:
                task.needs.append((self.writer[c], self.writer[c].latency, "slot"))
        for c in task.writes:
            self.writer[c], self.readers[c] = task, []
        for c in task.reads:
            self.readers[c].append(task)
        queue.append(self.todo.pop(0))
        task.issued, task.before = self.chip.now, self.last.get(task.variant.engine)
        self.last[task.variant.engine] = task
        self.tasks.append(task)
        return True


class Chip:
    """`cores` equal cores. `shared` ports are one for so many cores; the others each core has its own."""

    def __init__(self, cores: int, queues: Sequence[int], bursts: Sequence[int], shared: Mapping[int, int], *,
                 start_cycles: int = 0, links: Mapping[int, PlainLink] | None = None,
                 keyed: Callable[[Block], Sequence[Tagged]] | None = None,
                 groups: Mapping[Key, Sequence[int]] | None = None, elements: Collection[int] = ()) -> None:  # fmt: skip
        self.links, self.elements = links or {}, elements
        self.keyed = keyed or (lambda block: [(variant, None, None) for variant in block])
        # The cores of the transfers to several, by wave, place and key.
        self.groups: Mapping[Key | None, Sequence[int]] = {**(groups or {})}
        self.queues, self.bursts, self.shared, self.start_cycles = queues, bursts, shared, start_cycles
        self.cores = [Core(n, self) for n in range(cores)]
        self.now = 0
        # By port and instance: the task that holds it, until when, and the engine and the core that were granted last.
        self.holder: dict[Where, tuple[Task, int] | None] = {}
        self.last: dict[Where, tuple[int, int]] = defaultdict(lambda: (-1, -1))
        # The cycles that each port and each segment of a link was granted for.
        self.granted: Counter[Where] = Counter()

    def run(self, take: Callable[[Core, int], Sequence[Block]], cells: int, *, waits: bool) -> int:
        """Runs until no core has work; `take` gives a core its next wave of blocks. Returns the makespan."""
        while True:
            self._settle(take, cells, waits=waits)
            later = [t for t in self._moments() if t > self.now]
            if not later:
                break
            self.now = min(later)
        return max((t.there for core in self.cores for t in core.tasks), default=0)

    def begin_launch(self) -> None:
        """Begins another loop over blocks when all cores have ended, with the first engine and core at each port outside of the cores."""
        self.now = max((t.there for core in self.cores for t in core.tasks), default=0)
        for core in self.cores:
            core.wave, core.begins, core.is_over = [], self.now + self.start_cycles, False
            core.moved.clear()
        for where in [w for w in self.last if w[0] in self.links or self.shared.get(w[0], 1) > 1]:  # type: ignore[call-overload]
            del self.last[where]

    def _moments(self) -> list[int]:
        found = [held[1] for held in self.holder.values() if held is not None]
        for core in self.cores:
            found.append(core.begins or 0)
            for task in core.running.values():
                found += [task.start + task.late + task.variant.duration, task.start + task.variant.setup]
            found += [t.there for t in core.wave if t.end < NEVER]
            for queue in core.queues.values():
                found += [t.end + n for t, n, _ in queue[0].needs if t.end < NEVER] if queue else []
        return found

    def _settle(self, take: Callable[[Core, int], Sequence[Block]], cells: int, *, waits: bool) -> None:
        now = self.now
        for key, held in self.holder.items():
            if held is not None and held[1] <= now:
                task = held[0]
                if task.owed.get(key) == 0:
                    del task.owed[key]
                self.holder[key] = None
        going = True
        while going:
            going = self._gather()
            for core in self.cores:
                for engine, task in list(core.running.items()):
                    is_waiting = task.is_held or (task.leader is not None and task.leader.asks_outside)
                    over = task.start + task.late + task.variant.duration
                    if now >= over and not task.owed and not is_waiting:
                        task.end = now
                        task.stalls["port"] += now - task.start - task.variant.duration
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
                    if queue and engine not in core.running and all(t.end + n <= now for t, n, _ in queue[0].needs):
                        task = queue.pop(0)
                        task.begin(now)
                        task.owed = core.requests(task)
                        task.shared = self._outside(task)
                        core.running[engine] = task
                        going = True
        self._grant()

    def _outside(self, task: Task) -> frozenset[Where]:
        return frozenset(w for w in task.owed if w[0] in self.links or self.shared.get(w[0], 1) > 1)  # type: ignore[call-overload]

    def _gather(self) -> bool:
        """Begins the transfers to several cores all of which wait for it."""
        waiting: dict[Key, list[tuple[int, Task]]] = defaultdict(list)
        for core in self.cores:
            for task in core.running.values():
                if task.is_held and task.key is not None and self.now >= task.start + task.variant.setup:
                    waiting[task.key].append((core.number, task))
        going = False
        for key, tasks in waiting.items():
            if len(tasks) == len(self.groups[key]):
                first = min(tasks, key=lambda found: found[0])[1]
                for _, task in tasks:
                    task.is_held, task.leader, going = False, first, True
                    task.late = self.now - task.start - task.variant.setup
        return going

    def _grant(self) -> None:
        asking: dict[Where, dict[tuple[int, int], Task]] = defaultdict(dict)
        for core in self.cores:
            for engine, task in core.running.items():
                if self.now >= task.start + task.variant.setup and not task.is_held:
                    for place, cycles in task.owed.items():
                        if cycles:
                            asking[place][engine, core.number] = task
        for key, waiting in asking.items():
            if self.holder.get(key) is not None:
                continue
            turn = min((n for n in waiting if n > self.last[key]), default=min(waiting))
            self.last[key] = turn
            task, port = waiting[turn], key[0]
            assert isinstance(port, int)
            granted = min(self.bursts[port], task.owed[key])
            task.owed[key] -= granted
            self.granted[key] += granted
            self.holder[key] = task, self.now + granted
