"""Random sums that blocks of a grid add to the same elements, in one or two loops over blocks, folded and in full.

PYTHONPATH=tests python -m support.simulator.chips.atomic_sums --first 0 --count 1000
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random

import msgspec
from support.simulator.chips.compared import differing
from support.simulator.chips.oracle import Block, Chip, Core, Tagged

from tilewright.engine.hwsim import Machine, read_machine, tasks_of
from tilewright.engine.hwsim.replay.cores.chip import ChipRun, replay_chip
from tilewright.engine.hwsim.replay.cores.residency import residency_of
from tilewright.engine.hwsim.tasks.tree import TaskLoop, TaskNode, TaskProgram
from tilewright.engine.hwsim.tasks.variants import NOTHING
from tilewright.engine.ir import PrimFunc, Var
from tilewright.engine.script import parse

TILE = 8
ELEMENTS = {
    "own": "(x * {columns} + y)",
    "row": "x",
    "pair": "(y // 2)",
    "one": "0",
    "turn": "((x + k) % 3)",
    "step": "k",
}
"""The tile of the result that the blocks (x, y) update in iteration k."""

CHIP = """
name = "chip"
clock_hz = 1_000_000_000
[memories.dram]
scopes = ["global"]
capacity_bytes = 1_073_741_824
read_bytes_per_cycle = {reads}
write_bytes_per_cycle = {writes}
burst_bytes = {burst}
latency_cycles = {latency}
atomic_bytes_per_cycle = {rate}
atomic_cycles = {atomic}
atomic_latency_cycles = {late}
[memories.l1]
level = "core"
scopes = ["shared", "local"]
capacity_bytes = 65_536
read_bytes_per_cycle = 64
write_bytes_per_cycle = 64
[engines.dma]
level = "core"
kind = "dma"
reads = ["dram", "l1"]
writes = ["dram", "l1"]
bytes_per_cycle = 32
setup_cycles = {setup}
atomics = {atomics}
[engines.lanes]
level = "core"
kind = "vector"
reads = ["l1", "dram"]
writes = ["l1", "dram"]
vector_bytes = 16
cycles_per_operation = {compute}
[levels.core]
count = {cores}
dispatch = "{dispatch}"
start_cycles = {start}
barrier_cycles = {barrier}
blocks = {blocks}
"""

LAUNCH = """
    for x in T.thread_binding({rows}, thread="blockIdx.y"{notes}):
        for y in T.thread_binding({columns}, thread="blockIdx.x"):
            for k in range({depth}):
                for i in range({tile}):
                    with T.block("load{n}"):
                        vx, vy, vk, vi = T.axis.remap("SSSS", [x, y, k, i])
                        L{n}[vi] = A[((vx * {columns} + vy) * {depth} + vk) % 64 * {tile} + vi]
                for i in range({tile}):
                    with T.block("update{n}"):
                        vx, vy, vk, vi = T.axis.remap("{kinds}", [x, y, k, i])
                        T.block_attr({{"engine": "{engine}", "tl.atomic": 1}})
                        C[{element} * {tile} + vi] = C[{element} * {tile} + vi] + L{n}[vi]
"""


class Sums(msgspec.Struct):
    """A loop over `rows` x `columns` blocks, each of which adds to `depth` tiles."""

    rows: int
    columns: int
    depth: int
    element: str
    engine: str
    barrier: bool = False

    def of(self, x: int, y: int, k: int) -> int:
        """The tile that a task updates."""
        return int(eval(ELEMENTS[self.element].format(columns=self.columns), {}, {"x": x, "y": y, "k": k}))


class Case(msgspec.Struct):
    launches: list[Sums]
    func: PrimFunc
    machine: Machine

    @property
    def program(self) -> TaskProgram:
        return tasks_of(self.func, self.machine)


def case_of(seed: int) -> Case:
    rng = Random(seed)
    cores = rng.choice([2, 3, 4, 6, 8, 12])
    engine = rng.choice(["dma", "lanes"])
    launches = [
        Sums(rng.randint(1, 5), rng.randint(1, 5), rng.randint(1, 5), rng.choice([*ELEMENTS]), engine)
        for _ in range(rng.choice([1, 1, 2]))
    ]
    if len(launches) > 1 and seed % 2:
        launches[1].barrier = True
    text = "".join(
        LAUNCH.format(notes=', annotations={"tl.grid_barrier": 1}' if each.barrier else "",
                      rows=each.rows, columns=each.columns, depth=each.depth, n=n, tile=TILE, engine=engine, kinds="SSSS",
                      element=re.sub("([xyk])", r"v\1", ELEMENTS[each.element].format(columns=each.columns)))
        for n, each in enumerate(launches)
    )  # fmt: skip
    own = "".join(f'\n    L{n} = T.alloc_buffer(({TILE},), scope="shared")' for n in range(len(launches)))
    func = parse(
        f'@T.prim_func\ndef main(A: T.Buffer((512,), "float32"), C: T.Buffer((512,), "float32")):{own}{text}'
    ).program
    machine = read_machine(CHIP.format(
        reads=rng.choice([8, 32, 128]), writes=rng.choice([8, 32]), burst=rng.choice([1, 1, 8, 16]), latency=rng.choice([0, 15]),
        rate=rng.choice([4, 8, 32, 1 << 20]), atomic=rng.choice([0, 1, 4, 20, 60]), late=rng.choice([0, 9]), setup=rng.choice([0, 3]),
        atomics='["add"]', compute=rng.choice([1, 5]), cores=cores,
        dispatch=rng.choice(["persistent", "round_robin", "static", "first_free"]),
        start=rng.choice([0, 12]), barrier=rng.choice([0, 30]), blocks=rng.choice([1, 1, 2, 3]),
    ))  # fmt: skip
    return Case(launches, func, machine)


def tagged(program: TaskProgram, node: TaskNode, launch: Sums, block: int) -> list[Tagged]:
    """The tasks of a block, with the tiles that they update."""
    x, y = divmod(block, launch.columns)

    def walk(nodes: Sequence[TaskNode], at: Mapping[Var, int], named: Mapping[str, int]) -> Iterator[Tagged]:
        for child in nodes:
            if not isinstance(child, TaskLoop):
                number = child.variants.at(at)
                if number != NOTHING:
                    variant = program.variants[number].replay
                    yield variant, None, launch.of(x, y, named.get("k", 0)) if "update" in child.name else None
                continue
            for i in range(1 if child.grid else child.extent):
                digits, left = list[int](), i
                for loop in reversed(child.loops):
                    left, digit = divmod(left, loop.extent)
                    digits.insert(0, digit)
                here = {loop.var: d for loop, d in zip(child.loops, digits, strict=True)}
                there = {loop.name: d for loop, d in zip(child.loops, digits, strict=True)}
                if child.grid:
                    here = {loop.var: x if loop.axis == "y" else y for loop in child.loops}
                yield from walk(child.children, {**at, **here}, {**named, **there})

    return list(walk([node], {}, {}))


def in_full(case: Case) -> tuple[Chip, int]:
    """Every task of every core."""
    program, machine = case.program, case.machine
    core, cores = machine.core, machine.cores
    assert core is not None
    residents = residency_of(program).blocks
    shared = {number: machine.cores_around(port.level) for number, port in enumerate(program.ports)}
    queues, bursts = [residents * n for n in machine.queues], [p.burst_cycles for p in program.ports]
    chip = Chip(cores, queues, bursts, shared, start_cycles=core.start_cycles,
                keyed=lambda block: block, elements=[n for n, p in enumerate(program.ports) if p.elements])  # type: ignore[arg-type]  # fmt: skip
    cycles = 0
    for n, (node, launch) in enumerate(zip(program.tree, case.launches, strict=True)):
        every = [tagged(program, node, launch, block) for block in range(launch.rows * launch.columns)]
        per_core = -(-len(every) // cores)
        left = [
            every[c * per_core : (c + 1) * per_core] if core.dispatch == "static" else every[c::cores]
            for c in range(cores)
        ]
        takes = core.dispatch == "first_free" and residents == 1

        def take(core: Core, now: int, left=left, every=every, takes=takes) -> Sequence[Block]:  # type: ignore[no-untyped-def]
            own = every if takes else left[core.number]
            taken = own[:residents]
            del own[:residents]
            return taken

        chip.start_cycles = core.barrier_cycles if launch.barrier else core.start_cycles
        if n:
            chip.begin_launch()
        cycles = chip.run(take, len(program.places.of_cell), waits=core.dispatch != "persistent")
    return chip, cycles


def folded(case: Case, most_of_all: int = 10**9) -> ChipRun:
    program = case.program
    return replay_chip(program, residency_of(program), 10**6, 0, most_of_all)


def differences(case: Case) -> list[str]:
    return differing(*in_full(case), folded(case), folded(case, 0))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for seed in range(options.first, options.first + options.count):
        case = case_of(seed)
        alone = folded(case, 0)
        counts["all cores" if alone.reasons else "folded"] += 1
        counts["of these with two loops over blocks"] += len(case.launches) > 1
        waits = any(stall.cause == "port" for stall in folded(case).simulated.clocks.stalls)
        counts["of these waiting at ports"] += waits
        wrong = differences(case)
        if wrong:
            counts["differ"] += 1
            sizes = [(each.rows, each.columns, each.depth, each.element, each.engine) for each in case.launches]
            print(seed, case.machine.cores, case.machine.core and case.machine.core.dispatch, sizes, wrong)
    print(dict(counts))


if __name__ == "__main__":
    main()
