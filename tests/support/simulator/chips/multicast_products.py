"""Random products on chips whose link serves several cores with one transfer, folded and in full.

PYTHONPATH=tests python -m support.simulator.chips.multicast_products --first 0 --count 300
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import msgspec
from support.simulator.chips.compared import differing
from support.simulator.chips.oracle import Block, Chip, Core, Key, PlainLink, Tagged

from tilewright.engine.hwsim import Machine, read_machine, tasks_of
from tilewright.engine.hwsim.replay.cores.chip import ChipRun, replay_chip
from tilewright.engine.hwsim.replay.cores.residency import residency_of
from tilewright.engine.hwsim.tasks.tree import TaskLoop, TaskNode, TaskProgram
from tilewright.engine.hwsim.tasks.variants import NOTHING
from tilewright.engine.ir import PrimFunc, Var
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

TILE = 4

CHIP = """
name = "chip"
clock_hz = 1_000_000_000
[memories.dram]
scopes = ["global"]
capacity_bytes = 1_073_741_824
read_bytes_per_cycle = {reads}
write_bytes_per_cycle = 32
latency_cycles = {latency}
[memories.l1]
level = "core"
scopes = ["shared", "local"]
capacity_bytes = 65_536
read_bytes_per_cycle = 64
write_bytes_per_cycle = {fills}
{engines}
[engines.mac]
level = "core"
kind = "matrix"
reads = ["l1"]
writes = ["l1"]
tile_rows = 4
tile_columns = 4
tile_depth = 4
cycles_per_tile = {compute}
element_bytes = 4
[engines.scalar]
level = "core"
kind = "scalar"
reads = ["dram", "l1"]
writes = ["dram", "l1"]
cycles_per_operation = 1
[levels.core]
count = {cores}
dispatch = "{dispatch}"
start_cycles = {start}
blocks = {blocks}
[links.down]
from = "dram"
to = "l1"
multicast = true
{down}
[links.up]
from = "l1"
to = "dram"
{up}
"""

DMA = """
[engines.{name}]
level = "core"
kind = "dma"
reads = ["dram", "l1"]
writes = ["dram", "l1"]
bytes_per_cycle = 16
setup_cycles = {setup}
queue_tasks = {queue}
"""


class Case(msgspec.Struct):
    """A product of `grid` tiles on a chip. Those of the last row are smaller by `edge` rows."""

    func: PrimFunc
    machine: Machine
    grid: tuple[int, int]
    edge: int

    @property
    def program(self) -> TaskProgram:
        return tasks_of(self.func, self.machine)


def product(grid: tuple[int, int], depth: int, slots: bool, edge: int) -> PrimFunc:
    """A product by tiles: each block reads a row of tiles of A and a column of tiles of B."""
    rows, columns = grid[0] * TILE - edge, grid[1] * TILE
    sch = Schedule(
        parse(f"""
@T.prim_func
def main(A: T.Buffer(({rows}, {depth * TILE}), "float32"), B: T.Buffer(({depth * TILE}, {columns}), "float32"),
         C: T.Buffer(({rows}, {columns}), "float32")):
    for i, j, k in T.grid({rows}, {columns}, {depth * TILE}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""").program
    )
    (io, ii), (jo, ji), (ko, ki) = (sch.split(loop, [None, TILE]) for loop in sch.get_loops("C"))
    sch.reorder(io, jo, ko, ii, ji, ki)
    sch.bind(io, "blockIdx.y")
    sch.bind(jo, "blockIdx.x")
    for n in (0, 1):
        copy = sch.cache_read("C", n, "shared")
        sch.compute_at(copy, ko)
        if slots and depth > 1:
            sch.double_buffer(copy)
    sch.reverse_compute_at(sch.cache_write("C", 0, "shared"), jo)
    return sch.func


def _link(rng: Random, cores: int) -> str:
    shape = rng.choice(["bus", "ring", "mesh", "torus"])
    nodes = rng.choice([n for n in range(1, cores + 1) if cores % n == 0])
    attached = sorted(rng.sample(range(cores), rng.randint(1, min(cores, 3))))
    return f"""bytes_per_cycle = {rng.choice([1, 4, 8, 32])}
burst_bytes = {rng.choice([1, 8, 16, 64])}
shape = "{shape}"
row_nodes = {nodes if shape in ("mesh", "torus") else 0}
direction = "{rng.choice(["both", "up", "down"])}"
attached = {attached}
access = "{rng.choice(["nearest", "interleaved"])}"
hop_cycles = {rng.choice([0, 1, 7])}
latency_cycles = {rng.choice([0, 3])}"""


def case_of(seed: int) -> Case:
    rng = Random(seed)
    cores, grid = rng.choice([2, 3, 4, 6, 8, 12]), (rng.randint(1, 6), rng.randint(1, 6))
    edge = rng.choice([0, 0, 1])
    func = product(grid, rng.randint(1, 4), rng.random() < 0.6, edge)
    names = rng.choice([["dma"], ["dma", "second"]])
    engines = "".join(DMA.format(name=n, setup=rng.choice([0, 2, 9]), queue=rng.choice([1, 2, 8])) for n in names)
    text = CHIP.format(
        reads=rng.choice([4, 16, 64]), latency=rng.choice([0, 10]), fills=rng.choice([8, 64]), engines=engines,
        compute=rng.choice([1, 20, 100]), cores=cores, dispatch=rng.choice(["persistent", "round_robin", "static"]),
        start=rng.choice([0, 15]), blocks=rng.choice([1, 1, 2, 3]), down=_link(rng, cores), up=_link(rng, cores),
    )  # fmt: skip
    return Case(func, read_machine(text), grid, edge)


def in_full(case: Case) -> tuple[Chip, int]:
    """Every task of every core."""
    program, machine = case.program, case.machine
    core, cores = machine.core, machine.cores
    assert core is not None
    residents = residency_of(program).blocks
    (node,) = program.tree
    assert isinstance(node, TaskLoop)
    every = [_tagged(program, node, *divmod(n, case.grid[1])) for n in range(case.grid[0] * case.grid[1])]
    if case.edge and case.grid[0] > 1 and core.blocks > 1:
        # Cores that hold several blocks, which differ, would meet in different orders.
        every = [[(variant, None, None) for variant, *_ in block] for block in every]
    own = _dispatched(len(every), cores, core.dispatch)
    groups: dict[Key, list[int]] = {}
    for c, blocks in enumerate(own):
        for n, block in enumerate(blocks):
            for key in (key for _, key, _ in every[block] if key is not None):
                groups.setdefault((*divmod(n, residents), *key), []).append(c)
    links = {link.name: link for link in machine.links}
    plain = {
        number: PlainLink(links[port.link], cores, 1, leaves=port.link == "down")
        for number, port in enumerate(program.ports)
        if port.link
    }
    shared = {number: machine.cores_around(port.level) for number, port in enumerate(program.ports)}
    bursts = [port.burst_cycles for port in program.ports]
    known = {id(block): block for block in every}
    chip = Chip(cores, [residents * n for n in machine.queues], bursts, shared, start_cycles=core.start_cycles, links=plain,
                keyed=lambda block: known[id(block)], groups=groups)  # type: ignore[arg-type]  # fmt: skip
    left = [list(blocks) for blocks in own]

    def take(core: Core, now: int) -> Sequence[Block]:
        taken, left[core.number] = left[core.number][:residents], left[core.number][residents:]
        return [every[block] for block in taken]  # type: ignore[misc]

    return chip, chip.run(take, len(program.places.of_cell), waits=core.dispatch != "persistent")


def _dispatched(blocks: int, cores: int, dispatch: str) -> list[range]:
    per_core = -(-blocks // cores)
    if dispatch == "static":
        return [range(min(c * per_core, blocks), min((c + 1) * per_core, blocks)) for c in range(cores)]
    return [range(c, blocks, cores) for c in range(cores)]


def _tagged(program: TaskProgram, node: TaskLoop, row: int, column: int) -> list[Tagged]:
    """The tasks of a block; of copies from the memory of the chip, what they have in common with those of other blocks."""
    found: list[Tagged] = []
    copies: Counter[str] = Counter()

    def walk(nodes: Sequence[TaskNode], at: Mapping[Var, int]) -> None:
        for child in nodes:
            if isinstance(child, TaskLoop):
                for i in range(child.extent):
                    walk(child.children, {**at, **child.place(i)})
                continue
            number = child.variants.at(at)
            if number == NOTHING:
                continue
            name = child.name
            copies[name] += 1
            tile = row if name.startswith("A_") else column if name.startswith("B_") else None
            key = None if tile is None else (name, copies[name], tile)
            found.append((program.variants[number].replay, key, None))

    blocks: Any = [node]
    place = [row, column]
    at: dict[Var, int] = {}
    while isinstance(blocks[0], TaskLoop) and blocks[0].grid:
        for loop in blocks[0].loops:
            at[loop.var] = place.pop(0)
        blocks = blocks[0].children
    walk(blocks, at)
    return found


def folded(case: Case, most_of_all: int = 10**9) -> ChipRun:
    program = case.program
    return replay_chip(program, residency_of(program), 10**6, 0, most_of_all)


def differences(case: Case) -> list[str]:
    return differing(*in_full(case), folded(case), folded(case, 0))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for seed in range(options.first, options.first + options.count):
        case = case_of(seed)
        run = folded(case)
        counts["replayed"] += 1
        counts["of these with transfers to several cores"] += any(n < run.counts[v] for v, n in run.transfers.items())
        wrong = differences(case)
        if wrong:
            counts["differ"] += 1
            print(seed, wrong)
    print(dict(counts))


if __name__ == "__main__":
    main()
