"""Replay of a program on the cores of a chip: of the first core if the law of `waves` holds, else bounds of the cycles."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from ..access.placement import Placement
from ..tasks.counting import counts_of
from ..tasks.residency import Residency, residency_of
from ..tasks.tree import TaskLoop, TaskNode, TaskProgram
from ..tasks.variants import TaskVariant
from .clocks import Clocks, Variant
from .steady import MAX_TASKS, WHOLE, Simulated, clocks_of, crowds_of, most_tasks, replay_tasks
from .waves import Change, Launch, WaveReplay, has_equal_blocks, of_block


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

    @property
    def residents(self) -> int:
        """The blocks that a core holds; one that does not fit is replayed alone."""
        return max(self.residency.blocks, 1)


def cycles_of(program: TaskProgram, max_tasks: int = MAX_TASKS, whole: int = WHOLE) -> int:
    """Returns the cycles of a program on its machine. Raises MachineError as `replay_tasks` does."""
    if program.machine.core is None:
        return replay_tasks(program, max_tasks, whole).cycles
    return replay_chip(program, residency_of(program), max_tasks, whole).cycles


def replay_chip(program: TaskProgram, found: Residency, max_tasks: int = MAX_TASKS, whole: int = WHOLE) -> ChipRun:
    """Replays a program on a machine with levels. Raises MachineError if more than `max_tasks` tasks have to be replayed."""
    core, residents = program.machine.core, max(found.blocks, 1)
    assert core is not None
    clocks = clocks_of(program, [], max_tasks, residents)
    burst, reasons = law_of(program, clocks, max_tasks)
    if not all(map(_are_equal, program.tree)):
        reasons = (*reasons, "blocks differ")
    watches = most_tasks(program.tree) > whole

    def run(
        clocks: Clocks, burst: int = 0, *, least: bool = False, change: Change | None = None
    ) -> tuple[WaveReplay, Simulated]:
        replay = WaveReplay(program, clocks, max_tasks, watches=watches, core=core, residents=residents, burst=burst,
                            least=least, change=change)  # fmt: skip
        return replay, replay.simulated()

    def bound(change: Change, *, least: bool) -> int:
        """Returns the cycles of tasks that share no ports."""
        exclusive = Clocks([], clocks.queues, clocks.cell_count, program.machine.longest_preload)
        return run(exclusive, least=least, change=change)[1].cycles

    replay, simulated = run(clocks, 0 if reasons else burst)
    if any(r.more for r in simulated.repeats) and burst:
        reasons = (*reasons, "triangular loops")
    launches = tuple(replay.launches)
    later = 0 if reasons else replay.later
    cycles = simulated.cycles + later
    is_mixed = any(len(set(wave.cores)) > 1 for launch in launches for wave in launch.waves)
    if is_mixed and burst:
        reasons = (*reasons, "the cores of the last wave hold different numbers of blocks")
    if core.dispatch == "first_free" and (program.machine.cores - 1) * burst > replay.shortest:
        reasons = (*reasons, "blocks are too short for a fixed order of the cores")
    if not reasons:
        return ChipRun(
            simulated,
            counts_of(program, max_tasks),
            found,
            tuple(replay.launches),
            cycles,
            cycles,
            cycles,
            core.start_cycles,
            (),
        )
    least = max(bound(_alone, least=True), _port_cycles(program, max_tasks))
    most = bound(_crowded(program, max_tasks), least=False)
    if core.dispatch == "first_free":
        # Cores that are not in step may leave one block more for the last.
        most += max(most // max(sum(w.count for w in launch.waves), 1) for launch in launches)
    return ChipRun(
        simulated,
        counts_of(program, max_tasks),
        found,
        tuple(replay.launches),
        min(max(cycles, least), most),
        least,
        most,
        core.start_cycles,
        reasons,
    )


def law_of(program: TaskProgram, clocks: Clocks, max_tasks: int) -> tuple[int, tuple[str, ...]]:
    """Returns the cycles of a burst at the ports that cores share, 0 if no port delays them; and why the law does not hold for them."""
    crowds, ports = crowds_of(program), program.ports
    shared = [port for port in clocks.users if port in crowds]
    if not shared:
        return 0, ()
    reasons: list[str] = []
    bursts = {ports[port].burst_cycles for port in shared}
    if len(bursts) > 1:
        names = ", ".join(f"{ports[port].name} {ports[port].burst_cycles}" for port in shared)
        reasons.append(f"ports that cores share have bursts of different lengths in cycles: {names}")
    demands = [d for n in counts_of(program, max_tasks) for d in program.variants[n].replay.demands if d[0] in shared]
    cut = sorted({ports[port].name for port, cycles in demands if cycles % ports[port].burst_cycles})
    if cut:
        reasons.append(f"requests are no whole bursts: {', '.join(cut)}")
    crossed = [ports[port].name for port in shared if len(clocks.users[port]) > 1]
    if crossed:
        reasons.append(f"several engines of a core share a port with other cores: {', '.join(crossed)}")
    own = [ports[port].name for port in clocks.users if port not in crowds]
    if own:
        reasons.append(f"engines of a core wait for each other at its own ports: {', '.join(own)}")
    cores = program.machine.cores
    if any(crowds[port] < cores for port in shared):
        reasons.append("groups of cores share ports")
    return max(bursts), tuple(reasons)


def _are_equal(node: TaskNode) -> bool:
    if not isinstance(node, TaskLoop):
        return True
    return has_equal_blocks(node) if node.grid else all(map(_are_equal, node.children))


def _alone(kind: Variant) -> Variant:
    """Returns the task as it is if no other task requests a port."""
    return replace(kind, demands=())


def _crowded(program: TaskProgram, max_tasks: int) -> Change:
    """Returns the change of tasks to those that wait for a burst of every other engine before each of their own."""
    crowds = crowds_of(program)
    every = [program.variants[number].replay for number in counts_of(program, max_tasks)]
    turns: dict[int, int] = {}
    for port, spec in enumerate(program.ports):
        users = {kind.engine for kind in every if port in dict(kind.demands)}
        turns[port] = len(users) * crowds.get(port, 1) * spec.burst_cycles

    def change(kind: Variant) -> Variant:
        waits = (-(-cycles // program.ports[port].burst_cycles) * turns[port] for port, cycles in kind.demands)
        duration = max([kind.duration, *(kind.setup + cycles for cycles in waits)])
        return replace(kind, duration=duration, demands=())

    return change


def _port_cycles(program: TaskProgram, max_tasks: int) -> int:
    """Returns the cycles of the busiest port that all cores share."""
    total: dict[int, int] = {}
    for number, count in counts_of(program, max_tasks).items():
        for port, cycles in program.variants[number].replay.demands:
            if program.ports[port].level == "":
                total[port] = total.get(port, 0) + cycles * count
    return max(total.values(), default=0)


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

    copies = [{p: moved(p, n * count) for p in places.placements} for n in range(1, residents)]
    of_cell = (*places.of_cell, *(of[p] for of in copies for p in places.of_cell))
    variants = [variant_of(v, n * count) for v in program.variants for n in range(residents)]
    return replace(program, places=replace(places, of_cell=of_cell), variants=variants, base=program)


def variant_of(variant: TaskVariant, cells: int) -> TaskVariant:
    """Returns the variant of another block, whose cells are so many later."""
    replay = of_block(variant.replay, cells)
    updates, destroyed = (tuple(c + cells for c in of) for of in (variant.updates, variant.destroyed))
    return replace(variant, replay=replay, updates=updates, destroyed=destroyed)


__all__ = ["ChipRun", "cycles_of", "law_of", "of_residents", "replay_chip"]
