"""Replay of a program on the cores of a chip: of the first core if the law of `waves` holds, else bounds of the cycles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from operator import add
from typing import cast

import msgspec
from msgspec.structs import replace

from ....ir import Var
from ...access.placement import Placement
from ...access.ports import over
from ...machine.links import Segment
from ...tasks.counting import block_counts, counts_of
from ...tasks.tree import TaskLoop, TaskNode, TaskProgram
from ...tasks.variants import TaskVariant
from ..clocks import Clocks, Variant
from ..steady import MAX_TASKS, WHOLE, Simulated, clocks_of, crowds_of, links_of, most_tasks, replay_tasks
from .all_cores import MAX_OF_ALL, AllCores
from .apart import replay_apart
from .elements import elements_of
from .residency import Residency, residency_of
from .streams import of_block, of_blocks, on_core
from .transfers import Transfers
from .waves import Change, Launch, WaveReplay, blocks_of_core, busy_cores, grid_of, has_equal_blocks, has_grid


class ChipRun(msgspec.Struct, frozen=True, eq=False):
    """The replay of the first core of a chip. `launches` are the loops over blocks, `counts` the tasks of each variant on all cores.

    The chip takes `cycles`: exactly, if `reasons` is empty; else at least `least` and at most `most`, and the reasons say why it is not
    known exactly.
    """

    simulated: Simulated
    counts: Mapping[int, int]
    residency: Residency
    launches: tuple[Launch, ...]
    cycles: int
    least: int
    most: int
    start_cycles: int
    reasons: tuple[str, ...]
    transfers: Mapping[int, int] = {}
    """The transfers of those variants of which several tasks are one."""
    segments: Mapping[int, Mapping[tuple[int, Segment], int]] = {}
    """The cycles of each segment of the links, by port; nothing if they are not known."""
    waited: Mapping[int, Sequence[int]] = {}
    """The cycles that each core waited for each port, if all were replayed."""

    def of_ports(self, number: int) -> int:
        """Returns how often tasks of a variant make requests at ports outside of the cores."""
        return self.transfers.get(number, self.counts[number])

    def share_of_ports(self, number: int) -> float:
        """Returns the part of the tasks of a variant that make requests there."""
        return self.of_ports(number) / self.counts[number] if self.counts.get(number) else 1.0

    @property
    def residents(self) -> int:
        """The blocks that a core holds; one that does not fit is replayed alone."""
        return max(self.residency.blocks, 1)


def cycles_of(program: TaskProgram, max_tasks: int = MAX_TASKS, whole: int = WHOLE) -> int:
    """Returns the cycles of a program on its machine. Raises MachineError as `replay_tasks` does."""
    if program.machine.core is None:
        return replay_tasks(program, max_tasks, whole).cycles
    return replay_chip(program, residency_of(program), max_tasks, whole).cycles


def replay_chip(
    program: TaskProgram,
    found: Residency,
    max_tasks: int = MAX_TASKS,
    whole: int = WHOLE,
    most_of_all: int = MAX_OF_ALL,
) -> ChipRun:
    """Replays a program on a machine with levels; all cores, if the law does not hold and their tasks times the cores are up to
    `most_of_all`. Raises MachineError if more than `max_tasks` tasks have to be replayed.
    """
    return _ChipReplay(program, found, max_tasks, whole).run(most_of_all)


DISTANCES = "distances"
"""The reason of cores with paths of different lengths."""


class _ChipReplay:
    def __init__(self, program: TaskProgram, found: Residency, max_tasks: int, whole: int) -> None:
        core = program.machine.core
        assert core is not None
        self._program, self._core, self._found, self._max_tasks = program, core, found, max_tasks
        self._residents = max(found.blocks, 1)
        self._watches = most_tasks(program.tree) > whole
        self._is_apart = core.pace == "apart"
        self._clocks = clocks_of(program, [], max_tasks, self._residents, is_apart=self._is_apart)
        self._counts = counts_of(program, max_tasks)
        self._links = links_of(program)
        sent = Transfers(program, self._counts, self._residents)
        self._transfers = sent.merged
        self._segments = {number: sent.segments(number, routes) for number, routes in self._links.items()}

    def run(self, most_of_all: int) -> ChipRun:
        program = self._program
        law = law_of(program, self._clocks, self._max_tasks)
        is_equal, unknown = all(map(_are_equal, program.tree)), self._unknown()
        reasons = (*law.reasons, *(() if is_equal else ("blocks differ",)), *unknown)
        node = program.tree[0] if len(program.tree) == 1 else None
        blocks = prod(grid_of(node)) if isinstance(node, TaskLoop) and node.grid else 0
        working = busy_cores(blocks, program.machine.cores, self._core.dispatch) if blocks else 0
        cores = working or min(max(map(_most_blocks, program.tree), default=0), program.machine.cores)
        is_small = 0 < cores * sum(self._counts.values()) <= most_of_all and not unknown
        of_links = self._of_links(working or program.machine.cores)
        if not reasons and not law.burst and of_links and not of_links.keys() - {DISTANCES} and working:
            at_distances = self._by_distance(blocks, working)
            if at_distances is not None:
                return at_distances
        if self._is_apart and not is_equal and not of_links and not unknown:
            each = self._of_each_kind()
            if each is not None:
                return each
        reasons = (*reasons, *of_links.values())
        if reasons and is_small:
            return self._all_cores()
        replay, simulated = self._replayed(self._clocks, PortLaw() if reasons else law)
        launches = tuple(replay.launches)
        waves = [wave for launch in launches for wave in launch.waves]
        is_alone = not of_links and not self._is_apart
        if is_equal and is_alone and all(cores == 1 for wave in waves for cores in wave.cores):
            return self._result(simulated, launches, simulated.cycles)
        reasons = (*reasons, *self._of_replay(replay, simulated, law))
        if not reasons:
            busiest = _busiest_port(program, self._counts, self._transfers) if self._is_apart else 0
            return self._result(simulated, launches, max(simulated.cycles + replay.later, busiest))
        if is_small:
            return self._all_cores()
        least, most = self._bounds(launches, is_equal=is_equal)
        return self._result(simulated, launches, min(max(simulated.cycles, least), most), (least, most), reasons)

    def _unknown(self) -> tuple[str, ...]:
        """Returns why it is not known which tasks update the same elements."""
        found = [self._program.ports[n].name for n, each in elements_of(self._program).items() if not each.is_known]
        return (f"which of the {', '.join(found)} tasks update depends on data",) if found else ()

    def _of_each_kind(self) -> ChipRun | None:
        """Replays a wave of each kind of blocks, on cores that do not delay each other."""
        found = replay_apart(self._program, self._residents, self._max_tasks)
        if found is None:
            return None
        last, shown, launches = found
        return self._result(shown, launches, max(last, _busiest_port(self._program, self._counts, self._transfers)))

    def _of_replay(self, replay: WaveReplay, simulated: Simulated, law: PortLaw) -> Iterator[str]:
        """Yields why the law does not hold for a replay."""
        cores, burst = self._program.machine.cores, law.burst
        if any(r.more for r in simulated.repeats) and burst:
            yield "triangular loops"
        if not replay.is_split:
            yield "the cores of the last wave hold different numbers of blocks"
        if self._core.dispatch == "first_free" and self._residents == 1 and burst:
            if (law.together - 1) * burst > replay.shortest:
                yield "blocks are too short for a fixed order of the cores"
            elif law.together < cores and any(launch.blocks % cores for launch in replay.launches):
                yield "groups of cores take a number of blocks that depends on time"

    def _result(self, simulated: Simulated, launches: tuple[Launch, ...], cycles: int, bounds: tuple[int, int] | None = None,
                reasons: tuple[str, ...] = (), waited: Mapping[int, Sequence[int]] | None = None) -> ChipRun:  # fmt: skip
        least, most = bounds or (cycles, cycles)
        return ChipRun(
            simulated, self._counts, self._found, launches, cycles, least, most, self._core.start_cycles, reasons,
            self._transfers, self._segments, waited or {},
        )  # fmt: skip

    def _of_links(self, working: int) -> dict[str, str]:
        """Returns why the cores do not do the same, or delay each other, on links."""
        reasons: dict[str, str] = {}
        if any(count < self._counts[number] for number, count in self._transfers.items()):
            reasons["multicast"] = "copies to several cores wait for all of them"
        for port in self._used_links():
            routes, name = self._links[port], self._program.ports[port].name
            if port in self._clocks.users and (routes.crowd > 1 or self._program.ports[port].ways > 1):
                reasons[name] = f"transfers of several cores delay each other on segments of {name}"
            elif len({routes.delay([core], core) for core in range(min(working, routes.around))}) > 1:
                reasons[DISTANCES] = f"cores have paths of different lengths on {name}"
        return reasons

    def _used_links(self) -> list[int]:
        kinds = (self._program.variants[number].replay for number in self._counts)
        return sorted({port for kind in kinds for port, _ in kind.demands if port in self._links})

    def _by_distance(self, blocks: int, working: int) -> ChipRun | None:
        """Replays a core at each distance, if no core delays another; None if a core with fewer blocks than the first may be the last."""
        if self._core.dispatch == "first_free":
            return None
        used, cores = self._used_links(), self._program.machine.cores
        most = len(blocks_of_core(0, blocks, cores, self._core.dispatch))
        nearest: dict[tuple[int, ...], tuple[int, bool]] = {}
        for core in range(working):
            key = tuple(self._links[port].delay([core], core) for port in used)
            is_full = len(blocks_of_core(core, blocks, cores, self._core.dispatch)) == most
            first, before = nearest.get(key, (core, False))
            nearest[key] = first, before or is_full
        shown = self._replayed(self._clocks, PortLaw())
        ends = [(shown[1].cycles, True)]
        for core, is_full in nearest.values():
            clocks = clocks_of(self._program, [], self._max_tasks, self._residents)
            replay = self._replayed(clocks, PortLaw(), change=lambda kind, core=core: on_core(kind, self._links, core))
            ends.append((replay[1].cycles, is_full))
        last = max(cycles for cycles, _ in ends)
        if not any(is_full for cycles, is_full in ends if cycles == last):
            return None
        return self._result(shown[1], tuple(shown[0].launches), last)

    def _replayed(
        self, clocks: Clocks, law: PortLaw, *, least: bool = False, change: Change | None = None
    ) -> tuple[WaveReplay, Simulated]:
        replay = WaveReplay(self._program, clocks, self._max_tasks, watches=self._watches, core=self._core, residents=self._residents,
                            burst=law.burst, together=law.together, least=least, change=change or self._first)  # fmt: skip
        return replay, replay.simulated()

    @property
    def _first(self) -> Change | None:
        """The change of tasks to those of the first core."""
        return (lambda kind: on_core(kind, self._links, 0)) if self._links else None

    def _all_cores(self) -> ChipRun:
        every = AllCores(self._program, self._residents, self._clocks.users)
        cycles = every.run()
        shown, places = every.result()
        end = max(map(add, shown.ends, shown.latencies), default=0)
        simulated = Simulated(cast("Clocks", shown), places, (), end)
        found = self._result(simulated, every.launches, cycles, waited=every.clocks.waited())
        return replace(found, transfers=every.transfers, segments=every.clocks.segments()) if self._links else found

    def _bounds(self, launches: tuple[Launch, ...], *, is_equal: bool) -> tuple[int, int]:
        """Returns bounds of the cycles: without waits at ports, and with a burst of every other engine before each burst."""
        program, cores = self._program, self._program.machine.cores
        crowded, busiest = _crowded(program, self._max_tasks), _busiest(program, self._counts, self._transfers)
        # Cores that are not in step may leave one block more for the last.
        free = 1 if self._core.dispatch == "first_free" else 0
        if is_equal:
            most = self._exclusive(crowded, least=False)
            more = max(most // max(sum(w.count for w in launch.waves), 1) for launch in launches)
            return max(busiest, self._exclusive(_alone, least=True)), most + free * more
        start = max(self._core.start_cycles, self._core.barrier_cycles)
        serial = SerialWork(program, crowded, start, self._max_tasks)
        if self._transfers:
            # A core may wait for transfers that any other core has to begin.
            return busiest, serial.most(program.tree, lambda blocks: blocks)
        return busiest, serial.most(program.tree, lambda blocks: -(-blocks // cores) + free)

    def _exclusive(self, change: Change, *, least: bool) -> int:
        """Returns the cycles of changed tasks, which share no ports."""
        clocks = Clocks([], self._clocks.queues, self._clocks.cell_count, self._program.machine.longest_preload)
        return self._replayed(clocks, PortLaw(), least=least, change=change)[1].cycles


class SerialWork:
    """The cycles of blocks whose tasks run one after the other: an upper bound for blocks that differ."""

    def __init__(self, program: TaskProgram, change: Change, start_cycles: int, max_tasks: int) -> None:
        self._program, self._change, self._start, self._max_tasks = program, change, start_cycles, max_tasks

    def most(
        self, nodes: tuple[TaskNode, ...], per_core: Callable[[int], int], at: Mapping[Var, int] | None = None
    ) -> int:
        """Returns the cycles of a core that has `per_core` of so many blocks, if all of them are as long as the longest."""
        found, at = 0, at or {}
        for node in nodes:
            if isinstance(node, TaskLoop) and node.grid:
                longest = max(self._blocks(node, at), default=0)
                found += per_core(prod(grid_of(node))) * (longest + self._start)
            elif isinstance(node, TaskLoop) and has_grid(node):
                found += sum(self.most(node.children, per_core, {**at, **node.place(i)}) for i in range(node.extent))
            else:
                found += self._work((node,), at)
        return found

    def _blocks(self, node: TaskLoop, at: Mapping[Var, int]) -> Iterator[int]:
        """Yields the work of each kind of block."""
        inner = [child for child in node.children if isinstance(child, TaskLoop) and child.grid]
        for run in (run for piece in node.pieces(at) for run in piece.runs):
            for i in range(
                run.start, run.start + (run.stop - run.start if run.grows else min(run.period, run.stop - run.start))
            ):
                here = {**at, **node.place(i)}
                own = self._work(tuple(child for child in node.children if child not in inner), here)
                yield own + sum(max(self._blocks(child, here), default=0) for child in inner)

    def _work(self, nodes: tuple[TaskNode, ...], at: Mapping[Var, int]) -> int:
        found = 0
        for number, count in block_counts(nodes, at, self._max_tasks).items():
            kind = self._change(self._program.variants[number].replay)
            found += count * (kind.duration + kind.latency + max((cycles for _, cycles in kind.preloads), default=0))
        return found


class PortLaw(msgspec.Struct, frozen=True):
    """The cycles of a burst at the ports that cores share, 0 if no port delays them; the cores that share one; why the law of `waves` does
    not hold for them.
    """

    burst: int = 0
    together: int = 1
    reasons: tuple[str, ...] = ()


def law_of(program: TaskProgram, clocks: Clocks, max_tasks: int) -> PortLaw:
    """Returns what the law of `waves` says about the ports of a program that delay its tasks."""
    crowds, ports = crowds_of(program), program.ports
    shared = [port for port in clocks.users if port in crowds]
    if not shared:
        return PortLaw()
    reasons: list[str] = []
    bursts = {ports[port].burst_cycles for port in shared}
    if len(bursts) > 1:
        names = ", ".join(f"{ports[port].name} {ports[port].burst_cycles}" for port in shared)
        reasons.append(f"ports that cores share have bursts of different lengths in cycles: {names}")
    kinds = [program.variants[n].replay for n in counts_of(program, max_tasks)]
    demands = [
        (p, cycles, any(p == other for other, _, _ in kind.spare))
        for kind in kinds
        for p, cycles in kind.demands
        if p in shared
    ]
    cut = sorted(
        {
            ports[p].name
            for p, cycles, left in demands
            if cycles % (burst := ports[p].burst_cycles) or (left and burst > 1)
        }
    )
    if cut:
        reasons.append(f"requests are no whole bursts: {', '.join(cut)}")
    updated = elements_of(program)
    several = [ports[port].name for port in shared if port in updated and not updated[port].is_one]
    if several:
        reasons.append(f"cores update some of the {', '.join(several)} at the same time")
    own = [ports[port].name for port in clocks.users if port not in crowds]
    if own:
        reasons.append(f"engines of a core wait for each other at its own ports: {', '.join(own)}")
    around = {crowds[port] for port in shared}
    if len(around) > 1:
        reasons.append("ports of groups of cores and ports of more cores delay tasks")
    elif around != {program.machine.cores} and any(len(clocks.users[port]) > 1 for port in shared):
        # With fewer cores in a last wave, the order of engines at a port may be worse for the others.
        reasons.append("several engines of a core use a port of a group of cores")
    return PortLaw(max(bursts), max(around), tuple(reasons))


def _most_blocks(node: TaskNode) -> int:
    """Returns the most blocks of a loop over blocks."""
    if not isinstance(node, TaskLoop) or not has_grid(node):
        return 1
    return prod(grid_of(node)) if node.grid else max(map(_most_blocks, node.children))


def _are_equal(node: TaskNode) -> bool:
    if not isinstance(node, TaskLoop):
        return True
    return has_equal_blocks(node) if node.grid else all(map(_are_equal, node.children))


def _alone(kind: Variant) -> Variant:
    """Returns the task as it is if no other task requests a port."""
    return replace(kind, demands=())


def _crowded(program: TaskProgram, max_tasks: int) -> Change:
    """Returns the change of tasks to those that wait for a burst of every other engine before each of their own."""
    crowds, links = crowds_of(program), links_of(program)
    every = [program.variants[number].replay for number in counts_of(program, max_tasks)]
    turns: dict[int, int] = {}
    for port, spec in enumerate(program.ports):
        users = {kind.engine for kind in every if port in dict(kind.demands)}
        turns[port] = len(users) * crowds.get(port, 1) * spec.burst_cycles

    def change(kind: Variant) -> Variant:
        waits = (-(-cycles // program.ports[port].burst_cycles) * turns[port] for port, cycles in kind.demands)
        duration = max([kind.duration, *(kind.setup + cycles for cycles in waits)])
        delay = max((routes.slowest for port, routes in links.items() if port in dict(kind.demands)), default=0)
        return replace(kind, duration=duration, demands=(), latency=kind.latency + delay)

    return change


def _busiest(program: TaskProgram, counts: Mapping[int, int], transfers: Mapping[int, int]) -> int:
    """Returns the cycles of the busiest port that all cores share, or of an engine, if all cores have equal work for it."""
    engines: Counter[int] = Counter()
    for number, count in counts.items():
        kind = program.variants[number].replay
        engines[kind.engine] += kind.duration * count
    least = max((-(-busy // program.machine.cores) for busy in engines.values()), default=0)
    return max(least, _busiest_port(program, counts, transfers))


def _busiest_port(program: TaskProgram, counts: Mapping[int, int], transfers: Mapping[int, int]) -> int:
    """Returns the cycles of the busiest port that all cores share."""
    ports: Counter[int] = Counter()
    room: Counter[tuple[int, int]] = Counter()
    for number, count in counts.items():
        kind = program.variants[number].replay
        for port, cycles in kind.demands:
            if program.ports[port].level == "":
                ports[port] += cycles * transfers.get(number, count)
        for port, left, width in kind.spare:
            room[port, width] += left * transfers.get(number, count)
    for (port, width), left in room.items():
        ports[port] -= left // width
    elements = elements_of(program)
    every = [
        over(cycles, elements[port].different or cycles)
        if port in elements
        else over(cycles, program.ports[port].spread)
        for port, cycles in ports.items()
        if cycles
    ]
    return max([0, *every])


def of_residents(program: TaskProgram, residents: int) -> TaskProgram:
    """Returns the program with the variants and the cells of each block that a core holds, after a replay."""
    if residents == 1:
        return program
    places, count = program.places, len(program.places.of_cell)
    level = program.machine.core.name if program.machine.core else ""

    def moved(placement: Placement, by: int) -> Placement:
        # What is outside of the core exists once.
        size = placement.part_bytes if placement.memory.level == level else 0
        return replace(placement, first_cell=placement.first_cell + by, part_bytes=size)

    copies = [{p: moved(p, n * count) for p in dict.fromkeys(places.of_cell)} for n in range(1, residents)]
    of_cell = (*places.of_cell, *(of[p] for of in copies for p in places.of_cell))
    core = program.machine.core
    if core is not None and core.sharing == "together" and all(map(_are_equal, program.tree)):
        variants = [_variant_of_blocks(v, n + 1, n * count) for v in program.variants for n in range(residents)]
    else:
        variants = [variant_of(v, n * count) for v in program.variants for n in range(residents)]
    return replace(program, places=replace(places, of_cell=of_cell), variants=variants, base=program)


def variant_of(variant: TaskVariant, cells: int) -> TaskVariant:
    """Returns the variant of another block, whose cells are so many later."""
    replay = of_block(variant.replay, cells)
    updates, destroyed = (tuple(c + cells for c in of) for of in (variant.updates, variant.destroyed))
    return replace(variant, replay=replay, updates=updates, destroyed=destroyed)


def _variant_of_blocks(variant: TaskVariant, blocks: int, cells: int) -> TaskVariant:
    """Returns the variant of the tasks of so many blocks that run at once."""
    replay = of_blocks(variant.replay, blocks, cells)
    found = variant_of(variant, cells)
    return replace(found, replay=replay, cost=replace(variant.cost, duration=replay.duration, setup=replay.setup))


__all__ = ["ChipRun", "cycles_of", "law_of", "of_residents", "replay_chip"]
