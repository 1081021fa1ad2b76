"""Report of a run on several cores: how many blocks each core runs, the ports that all share, and what follows for the schedule."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from ..access.ports import PortSpec, memory_port, over, total_cycles
from ..machine.links import Segment, outer_memory, routes_of
from ..machine.model import Machine
from ..machine.parts import Level
from ..replay.cores.chip import ChipRun
from ..replay.cores.elements import elements_of
from ..replay.cores.residency import Residency, residency
from ..replay.cores.waves import Launch, has_equal_blocks
from ..tasks.tree import TaskLoop, TaskNode, TaskProgram
from .finding import Finding
from .shared_cache import SharedCacheReport, shared_cache_report

SATURATED = 0.9
"""A port that is busy for this part of the cycles limits the program."""

EVEN = 0.95
"""Blocks that fill this part of their waves leave no core idle for long."""


NEEDS = {"threads": "threads", "registers": "thread_registers", "shared memory": "shared_bytes"}
"""The needs of a block by the limits of a core that its kernel can change."""


class CoreClass(msgspec.Struct, frozen=True):
    """`count` cores that run `blocks` blocks each."""

    count: int
    blocks: int


class LaunchReport(msgspec.Struct, frozen=True):
    """The blocks of a loop over blocks: its extents, and the waves in which cores run them. `filled` is the part of the blocks that as many
    waves have room for. `classes` are the cores by their number of blocks, the most first. Behind a `barrier` the blocks of the loop before
    go on.
    """

    extents: tuple[int, ...]
    blocks: int
    waves: int
    last_blocks: int
    filled: float
    classes: tuple[CoreClass, ...]
    barrier: bool = False


class SharedPort(msgspec.Struct, frozen=True, omit_defaults=True):
    """A port, bus or link of several cores: the bytes of all cores (0 for a bus, or for elements that are updated atomically), the busy
    cycles of one of its instances (their mean), and
    the cycles that the first core waited there for others, by engine; and the core that waited longest, if all were replayed, with its
    cycles.

    A link has `segments` that carry bytes; its cycles are those of the `busiest`. The longest path has so many `hops`.
    """

    name: str
    bytes: int
    cycles: int
    waited: dict[str, int]
    longest: tuple[int, int] | None = None
    segments: int = 0
    busiest: str = ""
    hops: int = 0


class OneMore(msgspec.Struct, frozen=True):
    """A limiter of the blocks on a core: what a block needs `now`, and the `most` with which the core holds one more, in threads, registers
    of a thread, or bytes.
    """

    limiter: str
    now: int
    most: int

    @property
    def text(self) -> str:
        """What a block has to do without: `8 KiB less shared memory (now 48)`."""
        less = self.now - self.most
        if self.limiter != "shared memory":
            what = "threads" if self.limiter == "threads" else "registers a thread"
            return f"{less:,} {what} fewer ({self.most:,} in place of {self.now:,})"
        return f"{_size(less)} less shared memory ({_size(self.most)} in place of {_size(self.now)})"


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1024:.4g} KiB" if size_bytes >= 1024 else f"{size_bytes} bytes"


class OccupancyReport(msgspec.Struct, frozen=True):
    """The blocks that a core holds at a time, by each limit. `limiters` are the lowest limits, `more` what a block may need of each so that
    the core holds one more; empty if that is not possible. `share` is the part of the threads of a core that these blocks have.
    """

    blocks: int
    limits: dict[str, int]
    limiters: tuple[str, ...]
    more: tuple[OneMore, ...]
    threads: int
    thread_registers: int
    shared_bytes: int
    share: float | None

    @property
    def one_more(self) -> str:
        """What the next block needs, as a sentence; empty if no change of a block makes room for it."""
        if not self.more:
            return ""
        return (
            f"{self.blocks} blocks of {self.blocks + 1} fit: one more needs {' and '.join(m.text for m in self.more)}"
        )


class ChipReport(msgspec.Struct, frozen=True):
    """A run on `cores` cores. Engines and the timeline are those of the first core; traffic and energy those of all. The chip takes at
    least `least` and at most `most` cycles: the exact number, if there are no `reasons` why it is not known. `has_equal_blocks`: whether
    all blocks of a launch run the same tasks. `cache` is the one that all cores share.
    """

    cores: int
    level: str
    dispatch: str
    launches: tuple[LaunchReport, ...]
    ports: tuple[SharedPort, ...]
    occupancy: OccupancyReport
    least: int
    most: int
    reasons: tuple[str, ...]
    has_equal_blocks: bool
    cache: SharedCacheReport | None = None


def chip_report(program: TaskProgram, run: ChipRun, waited: Mapping[str, Mapping[str, int]]) -> ChipReport:
    """Returns the report of a chip. `waited` are the cycles that engines of the first core waited for ports, by port and engine."""
    machine = program.machine
    core, needs = machine.core, run.residency.needs
    assert core is not None
    held = run.residency
    share = held.blocks * needs.threads / core.threads if core.threads else None
    occupancy = OccupancyReport(held.blocks, held.limits, held.limiters, _one_more(core, held), needs.threads, needs.thread_registers,
                                needs.shared_bytes, share)  # fmt: skip
    launches = tuple(_launch(launch, machine.cores, run.residents, core.dispatch) for launch in run.launches)
    return ChipReport(machine.cores, core.name, core.dispatch, launches, _ports(program, run, waited), occupancy, run.least, run.most,
                      run.reasons, all(map(_are_equal, (program.base or program).tree)), shared_cache_report(program))  # fmt: skip


def _one_more(core: Level, held: Residency) -> tuple[OneMore, ...]:
    found: list[OneMore] = []
    for limiter in held.limiters:
        if limiter not in NEEDS:
            return ()
        now = getattr(held.needs, NEEDS[limiter])
        fits = bisect_left(range(now), True, key=lambda less, of=limiter, now=now: _holds(core, held, of, now - less))
        if fits >= now:
            return ()
        found.append(OneMore(limiter, now, now - fits))
    return tuple(found)


def _holds(core: Level, held: Residency, limiter: str, amount: int) -> bool:
    """Returns whether a limiter leaves room for one more block, if a block needs so much of it."""
    needs = msgspec.structs.replace(held.needs, **{NEEDS[limiter]: amount})
    return residency(core, needs).limits.get(limiter, core.blocks) > held.blocks


def _are_equal(node: TaskNode) -> bool:
    if not isinstance(node, TaskLoop):
        return True
    return has_equal_blocks(node) if node.grid else all(map(_are_equal, node.children))


def _launch(launch: Launch, cores: int, residents: int, dispatch: str) -> LaunchReport:
    waves = sum(wave.count for wave in launch.waves)
    per_core = -(-launch.blocks // cores)
    if dispatch == "static":
        whole, rest = divmod(launch.blocks, per_core)
        classes = (CoreClass(whole, per_core), CoreClass(min(rest, 1), rest))
    else:
        more = launch.blocks - (per_core - 1) * cores
        classes = (CoreClass(more, per_core), CoreClass(cores - more if per_core > 1 else 0, per_core - 1))
    classes = tuple(c for c in classes if c.count)
    idle = cores - sum(c.count for c in classes)
    last = sum(launch.waves[-1].cores) if launch.waves else 0
    return LaunchReport(launch.extents, launch.blocks, waves, last, launch.blocks / (waves * residents * cores),
                        (*classes, *([CoreClass(idle, 0)] if idle else [])), launch.barrier)  # fmt: skip


def _ports(program: TaskProgram, run: ChipRun, waited: Mapping[str, Mapping[str, int]]) -> tuple[SharedPort, ...]:
    base, places = program.base or program, program.places
    shared, cores = program.machine.shared_levels, program.machine.cores
    moved: Counter[str] = Counter()
    counts = {number: run.of_ports(number) for number in run.counts}
    work = [(*asked, count) for number, count in counts.items() for asked in base.variants[number].cost.port_work]
    found = {port: busy for port, busy in total_cycles(work).items() if port.level in shared}
    for number, count in counts.items():
        cost = base.variants[number].cost
        for touched in cost.touched:
            memory = places.by_buffer[touched.buffer].memory
            moved[memory_port(memory, written=touched.written).name] += touched.size_bytes * count
    if program.behind is not None:
        moved[program.behind.read_port.name] += program.behind.contents.missed_bytes
        moved[program.behind.write_port.name] += program.behind.contents.returned_bytes
    links = {link.name for link in program.machine.links}
    atomics = {f"{m.scope} atomics" for m in program.machine.memories}
    for port, cycles, left, count in work:
        moved[port.name] += (cycles * port.bytes_per_cycle - left) * count if port.name in links | atomics else 0
    elements = elements_of(base)
    numbers = {port.name: number for number, port in enumerate(base.ports)}
    found_ports: list[SharedPort] = []
    for port, busy in found.items():
        number = numbers.get(port.name, -1)
        instances = cores // program.machine.cores_around(port.level)
        longest = _longest(run.waited.get(number, ()))
        each = elements[number].different if number in elements else port.spread * instances
        own = SharedPort(
            port.name, moved[port.name], over(busy, each or instances), dict(waited.get(port.name, {})), longest
        )
        found_ports.append(_link(own, port, run.segments.get(number, {}), program.machine))
    return tuple(found_ports)


def _longest(waited: Sequence[int]) -> tuple[int, int] | None:
    """Returns the core that waits longest, with its cycles."""
    most = max(waited, default=0)
    return (waited.index(most), most) if most else None


def _link(
    found: SharedPort, port: PortSpec, segments: Mapping[tuple[int, Segment], int], machine: Machine
) -> SharedPort:
    """Returns a port with its segments, if it is a link."""
    if not segments:
        return found
    link = next(link for link in machine.links if link.name == port.link)
    (_, (start, end)), cycles = max(segments.items(), key=lambda item: item[1])
    outer = outer_memory(link, machine)

    def name(node: int) -> str:
        return f"node {node}" if node >= 0 else outer if len(link.attached) == 1 else f"{outer} {-1 - node}"

    hops = max(len(way) for ways in routes_of(link, machine).ways for way in ways)
    busiest = "" if link.shape == "bus" else f"{name(start)} to {name(end)}"
    return replace(found, cycles=cycles, segments=len(segments), busiest=busiest, hops=hops)


def chip_findings(chip: ChipReport, cycles: int) -> Iterator[Finding]:
    """Yields what a schedule leaves of the cores."""
    if chip.reasons:
        yield Finding(
            "cores-bounded", "warning",
            f"the cycles of {chip.cores} cores are an estimate, between {chip.least:,} and {chip.most:,}: {'; '.join(chip.reasons)}",
        )  # fmt: skip
    if not chip.occupancy.blocks:
        limits = ", ".join(chip.occupancy.limiters)
        yield Finding("block-too-large", "error", f"a core has no room for one block: {limits}")
    places = chip.cores * max(chip.occupancy.blocks, 1)
    if any(launch.barrier and launch.waves > 1 for launch in chip.launches):
        most = max(launch.blocks for launch in chip.launches if launch.barrier)
        yield Finding(
            "barrier-too-many-blocks", "error",
            f"a barrier of all blocks never ends: it waits for {most} blocks, of which the cores hold {places} at a time; launch at most "
            f"{places}, each with several tiles",
        )  # fmt: skip
    if chip.cores == 1:
        return
    for launch in (launch for launch in chip.launches if not launch.barrier):
        if launch.blocks < chip.cores and launch.extents:
            yield Finding(
                "idle-cores", "warning",
                f"{launch.blocks} blocks leave {chip.cores - launch.blocks} of {chip.cores} cores without work: smaller tiles, or a "
                "split of the reduction, make more blocks",
            )  # fmt: skip
        elif not launch.extents:
            yield Finding("idle-cores", "warning", f"work outside of loops over blocks runs on 1 of {chip.cores} cores")
        elif launch.filled < EVEN:
            yield Finding("uneven-tail", "info", _tail(launch, places))
    for port in chip.ports:
        if cycles and port.cycles >= SATURATED * cycles:
            yield Finding(
                "port-saturated", "info",
                f"{port.name}, which {chip.cores} cores share, is busy for {100 * port.cycles / cycles:.0f} % of the cycles: fewer bytes "
                "per operation (larger tiles) save time, more cores do not",
            )  # fmt: skip


def _tail(launch: LaunchReport, places: int) -> str:
    grid = " x ".join(map(str, launch.extents))
    full = (launch.waves - 1) * places
    less = f"{full} blocks need {launch.waves - 1} waves" if full else ""
    more = f"{launch.waves * places} blocks fill {launch.waves}"
    return (
        f"{launch.blocks} blocks ({grid}) take {launch.waves} waves of {places}, of which the last has {launch.last_blocks}: "
        f"{100 * (1 - launch.filled):.0f} % of the places for blocks stay empty; {', '.join(filter(None, (less, more)))}"
    )


__all__ = ["ChipReport", "CoreClass", "LaunchReport", "OccupancyReport", "SharedPort", "chip_findings", "chip_report"]
