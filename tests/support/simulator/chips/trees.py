"""Random programs on random chips, folded and in full.

PYTHONPATH=tests python -m support.simulator.chips.trees --first 0 --count 3000
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

import msgspec
from support.simulator.chips.compared import differing
from support.simulator.chips.oracle import Block, Chip, Core, PlainLink
from support.simulator.task_trees import Loop, Task, TreeMaker

from tilewright.engine.hwsim.machine.links import is_routed, outer_memory
from tilewright.engine.hwsim.machine.parts import Level, Link
from tilewright.engine.hwsim.replay.clocks import Variant
from tilewright.engine.hwsim.replay.cores.chip import ChipRun, replay_chip
from tilewright.engine.hwsim.replay.cores.residency import BlockNeeds, Residency
from tilewright.engine.hwsim.tasks.variants import NOTHING

MOST_TASKS = 400
MOST_BLOCKS = 60


class Case(msgspec.Struct):
    """A program of equal blocks, and a chip."""

    program: Any
    blocks: int
    cores: int
    residents: int
    level: Level

    def tasks(self, block: int) -> list[Variant]:
        """The tasks of a block."""
        loop = self.program.tree[0]
        return walk(self.program, loop.children, {loop.loops[0].var: block})


def walk(program: Any, nodes: Sequence[Any], at: Mapping[Any, int]) -> list[Variant]:
    """All tasks of a tree, iteration by iteration."""
    found: list[Variant] = []
    for node in nodes:
        if isinstance(node, Task):
            number = node.variants.at(at)
            found += [] if number == NOTHING else [program.variants[number].replay]
            continue
        for i in range(node.extent):
            here, rest = dict(at), i
            for loop in reversed(node.loops):
                rest, here[loop.var] = divmod(rest, loop.extent)
            found += walk(program, node.children, here)
            assert len(found) < MOST_TASKS * 50
    return found


def links_for(rng: Random, cores: int, around: Mapping[str, int]) -> tuple[Link, ...]:
    """Random links of any shape between a memory outside of the cores and theirs."""
    found: list[Link] = []
    for n in range(rng.randint(1, 2)):
        level = rng.choice(["", "", "cluster"])
        nodes = around.get(level, cores)
        if nodes == 1:
            continue
        shape = rng.choice(["bus", "ring", "mesh", "mesh", "torus"])
        columns = rng.choice([n for n in range(1, nodes + 1) if nodes % n == 0]) if shape in ("mesh", "torus") else 0
        attached = tuple(sorted(rng.sample(range(nodes), rng.randint(1, min(nodes, 3)))))
        ends = rng.choice([(f"far {level}", "near"), ("near", f"far {level}")])
        found.append(Link(f"link {n}", *ends, 1, shape=shape, row_nodes=columns, direction=rng.choice(["both", "up", "down"]),
                          attached=attached, access=rng.choice(["nearest", "nearest", "interleaved"]),
                          hop_cycles=rng.choice([0, 1, 5])))  # fmt: skip
    return tuple(found)


def plain_links(program: Any) -> dict[int, PlainLink]:
    """The links of a program, of which the oracle knows the ways."""
    machine, links = program.machine, {link.name: link for link in program.machine.links}
    found: dict[int, PlainLink] = {}
    for number, port in enumerate(program.ports):
        if port.link:
            link = links[port.link]
            around = [machine.cores_around(machine.memory(name).level) for name in (link.origin, link.target)]
            found[number] = PlainLink(link, max(around) // min(around), min(around), leaves=link.target == "near")
    return found


def case_of(seed: int, *, lawful: bool, linked: bool = False) -> Case | None:
    """A random case, or None if it is too long. A `lawful` one keeps the conditions of the folded replay; a `linked` one has links."""
    rng = Random(seed)
    ports = rng.randint(0, 3)
    maker = TreeMaker(rng, ports, demands=False)
    maker.longest = rng.choice([5, 20, 60])
    var = object()
    cores = rng.choice([1, 2, 3, 4, 6, 8, 12, 16])
    blocks = rng.choice([1, cores, cores + 1, rng.randint(1, MOST_BLOCKS), rng.randint(1, 4) * cores])
    residents = rng.choice([1, 1, 1, 2, 3])
    orders = ["persistent", "round_robin", "static", "first_free"]
    is_mixed = lawful and cores > 1 and rng.random() < 0.3
    if is_mixed:
        # Some cores hold more blocks than others in the last wave.
        residents, orders = rng.choice([2, 3]), ["round_robin"]
        full = rng.randint(0, 2) * residents + rng.randint(1, residents - 1)
        blocks = full * cores + rng.randint(1, cores - 1)
    level = Level("core", cores, dispatch=rng.choice(orders),
                  start_cycles=rng.choice([0, 0, rng.randint(1, 40)]), blocks=residents)  # fmt: skip
    if level.dispatch == "first_free" and residents > 1:
        return None
    differs = not lawful and rng.random() < 0.5
    program = maker.program(depth=2, outer=[(var, blocks)] if differs else [])
    engines = tuple(range(maker.engines))
    cells = tuple(range(len(program.places.of_cell)))
    loop = SimpleNamespace(var=var, extent=blocks, grid=True, name="b", barrier=False)
    program.tree = (Loop((loop,), program.tree, engines, cells, None, (), None, {}),)  # type: ignore[arg-type]
    try:
        tasks = walk(program, program.tree, {})
    except AssertionError:
        return None
    if not tasks or len(tasks) > MOST_TASKS * 4:
        return None
    # A task requests a port of several cores, or one of its own core.
    burst = rng.choice([1, 2, 5])
    owner = [rng.randrange(maker.engines) for _ in range(ports)]
    is_shared = [lawful or rng.random() < 0.7 for _ in range(ports)]
    bursts = [burst if lawful else rng.choice([1, 2, 5]) for _ in range(ports)]
    often = rng.choice([0.3, 0.9])
    fractions, widths = rng.random() < 0.5, [rng.choice([1, 2, 3, 5, 8]) for _ in range(ports)]
    one_engine = lawful and rng.random() < 0.5
    for kind in program.variants:
        v = kind.replay
        demands: list[tuple[int, int]] = []
        for port in range(ports):
            if rng.random() < often and (not one_engine or v.engine == owner[port]):
                most = max(v.duration - v.setup, 1)
                cycles = rng.randint(1, max(most // bursts[port], 1)) * bursts[port] if lawful else rng.randint(1, most)
                demands.append((port, cycles))
        longest = max((cycles for _, cycles in demands), default=0)
        kind.replay = msgspec.structs.replace(v, demands=tuple(demands), duration=max(v.duration, v.setup + longest))
        if burst == 1 and fractions:
            spare = tuple(
                (port, rng.randint(1, width - 1), width) for port, _ in demands if (width := widths[port]) > 1
            )
            kind.replay = msgspec.structs.replace(kind.replay, spare=spare)
        if is_mixed:
            kind.replay = msgspec.structs.replace(kind.replay, preloads=())
    if is_mixed:
        program.machine.longest_preload = 0
    group = rng.choice([n for n in range(1, cores + 1) if cores % n == 0])
    levels = rng.choice([[""], [""], ["cluster"], ["", "cluster"]])
    program.ports = [
        SimpleNamespace(
            name=f"p{n}",
            burst_cycles=b,
            level=rng.choice(levels) if shared else "core",
            link="",
            ways=1,
            spread=1,
            elements=False,
        )
        for n, (b, shared) in enumerate(zip(bursts, is_shared, strict=True))
    ]
    program.machine.core, program.machine.cores = level, cores
    around = {"core": 1, "cluster": group, "": cores}
    program.machine.cores_around = lambda name: around[name]
    program.machine.links = ()
    program.machine.levels = (Level("cluster", 1), Level("core", 1, within="cluster"))
    program.machine.memory = lambda name: SimpleNamespace(level="core" if name == "near" else name.removeprefix("far "))
    if linked:
        program.machine.links = links_for(rng, cores, around)
        for link, number in zip(program.machine.links, rng.sample(range(ports), ports), strict=False):
            spec, outer = program.ports[number], outer_memory(link, program.machine).removeprefix("far ")
            is_split = link.access == "interleaved" and is_routed(link)
            program.ports[number] = SimpleNamespace(
                name=link.name, burst_cycles=spec.burst_cycles, level=outer, link=link.name if is_routed(link) else "",
                ways=len(link.attached) if is_split else 1, spread=len(link.attached) if is_routed(link) else 1, elements=False,
            )  # fmt: skip
    every = Counter(
        next(n for n, k in enumerate(program.variants) if k.replay is v) for v in walk(program, program.tree, {})
    )
    program.counts = {10**6: dict(every)}
    return Case(program, blocks, cores, residents, level)


def folded(case: Case, whole: int = 0, most_of_all: int = 10**9) -> ChipRun:
    return replay_chip(case.program, Residency(BlockNeeds(), {"blocks": case.residents}), 10**6, whole, most_of_all)


def in_full(case: Case) -> tuple[Chip, int]:
    """Every task of every core."""
    program = case.program
    shared = {n: program.machine.cores_around(port.level) for n, port in enumerate(program.ports)}
    queues = [case.residents * tasks for tasks in program.machine.queues]
    chip = Chip(case.cores, queues, [p.burst_cycles for p in program.ports], shared,
                start_cycles=case.level.start_cycles, links=plain_links(program))  # fmt: skip
    every: list[Block] = [case.tasks(block) for block in range(case.blocks)]
    per_core = -(-case.blocks // case.cores)
    left = [
        list(range(n * per_core, min((n + 1) * per_core, case.blocks)) if case.level.dispatch == "static"
             else range(n, case.blocks, case.cores))
        for n in range(case.cores)
    ]  # fmt: skip
    free = list(range(case.blocks))

    def take(core: Core, now: int) -> Sequence[Block]:
        own = free if case.level.dispatch == "first_free" else left[core.number]
        taken = own[: case.residents]
        del own[: case.residents]
        return [every[block] for block in taken]

    return chip, chip.run(take, len(program.places.of_cell), waits=case.level.dispatch != "persistent")


def differences(case: Case) -> tuple[str, ...]:
    """What a folded replay gets wrong; and whether it says that it is exact."""
    chip, cycles = in_full(case)
    found: list[str] = []
    for whole in (0, 10**9):
        run = folded(case, whole)
        if run.reasons:
            if not run.least <= cycles <= run.most:
                found.append(f"{cycles} cycles are not between {run.least} and {run.most}")
            continue
        found += differing(chip, cycles, run, folded(case, whole, 0))
    return tuple(found)


def _several(engines: Collection[int]) -> bool:
    return len(engines) > 1


def _is_apart(case: Case) -> bool:
    """Whether cores have paths of different lengths."""
    asked = {port for kind in case.program.variants for port, _ in kind.replay.demands}
    links = [link for port, link in plain_links(case.program).items() if port in asked]
    return any(len({link.delay([c], c) for c in range(min(case.cores, case.blocks))}) > 1 for link in links)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--links", action="store_true", help="chips with links between the cores and a memory")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    ratios: list[float] = []
    for seed in range(options.first, options.first + options.count):
        lawful = seed % 3 != 0
        case = case_of(seed, lawful=lawful, linked=options.links)
        if case is None or (options.links and not plain_links(case.program)):
            continue
        run, alone = folded(case), folded(case, most_of_all=0)
        counts["bounded" if run.reasons else "all cores" if alone.reasons else "folded"] += 1
        if not alone.reasons and alone.simulated.clocks.users:
            counts["folded, and waits at shared ports"] += 1
            last = alone.launches[-1].waves[-1].cores
            counts["of these with two classes in the last wave"] += last[-1] < last[0]
            counts["of these at ports of groups"] += any(p.level == "cluster" for p in case.program.ports)
            counts["of these with several engines at a port"] += any(
                map(_several, alone.simulated.clocks.users.values())
            )
        if options.links and not alone.reasons:
            counts["of the folded: cores at different distances"] += _is_apart(case)
        if alone.reasons:
            ratios.append(alone.most / max(alone.least, 1))
        wrong = differences(case)
        if wrong:
            counts["differ"] += 1
            print(
                seed,
                lawful,
                "bounded" if run.reasons else "exact",
                case.cores,
                case.blocks,
                case.residents,
                case.level.dispatch,
                wrong[:2],
            )
    print(dict(counts), "most / least", sorted(ratios)[len(ratios) // 2] if ratios else 1)


if __name__ == "__main__":
    main()
