"""Random TileLang kernels on chips with a shared cache, and a plain replay of every line that their blocks access.

An independent statement of the rule of docs/simulator.md: the blocks of a wave run each task one after the other, in the order in which
they are handed out; a cache of least recently used lines serves them. Both are compared on random kernels by
`PYTHONPATH=tests python -m support.simulator.shared_cache --count 1000`.
"""

from __future__ import annotations

import argparse
from collections import Counter, OrderedDict
from collections.abc import Iterator
from random import Random

import msgspec

from tilewright.engine.hwsim import Machine, load_machine, simulate
from tilewright.engine.hwsim.caches.shared import contents
from tilewright.engine.script import parse

LINE = 32
SIZE = 2
"""Bytes of an element (float16)."""


class Kernel(msgspec.Struct, frozen=True):
    """A product in tiles, and the chip that runs it. `halo` are the rows that a tile of A has beside its own, `panel` is 0 for none."""

    rows: int
    columns: int
    depth: int
    tile: tuple[int, int, int]
    halo: int
    has_vector: bool
    stages: int
    panel: int
    along: str
    cores: int
    residents: int
    dispatch: str
    lines: int

    @property
    def grid(self) -> tuple[int, int]:
        """The blocks along x and y."""
        return -(-self.columns // self.tile[1]), -(-self.rows // self.tile[0])

    @property
    def text(self) -> str:
        m, n, k = self.tile
        x, y = self.grid
        loop = (
            f"T.Pipelined({self.depth // k}, num_stages={self.stages})"
            if self.stages
            else f"T.serial({self.depth // k})"
        )
        swizzle = f'            T.use_swizzle({self.panel}, order="{self.along}")\n' if self.panel else ""
        vector = "            T.copy(V[by * M0, 0], V_s)\n".replace("M0", str(m)) if self.has_vector else ""
        return f"""import tilelang.language as T

@T.prim_func
def main(A: T.Tensor(({self.rows}, {self.depth}), "float16"), B: T.Tensor(({self.depth}, {self.columns}), "float16"),
         V: T.Tensor(({self.rows}, 16), "float16"), C: T.Tensor(({self.rows}, {self.columns}), "float16")):
    with T.Kernel({x}, {y}, threads=128) as (bx, by):
            A_s = T.alloc_shared(({m + self.halo}, {k}), "float16")
            B_s = T.alloc_shared(({k}, {n}), "float16")
            V_s = T.alloc_shared(({m}, 16), "float16")
            C_l = T.alloc_fragment(({m}, {n}), "float16")
{swizzle}{vector}            T.clear(C_l)
            for ko in {loop}:
                T.copy(A[by * {m}, ko * {k}], A_s)
                T.copy(B[ko * {k}, bx * {n}], B_s)
                for i, j in T.Parallel({m}, {n}):
                    C_l[i, j] = C_l[i, j] + A_s[i, 0] * B_s[0, j]
            T.copy(C_l, C[by * {m}, bx * {n}])
"""

    @property
    def machine(self) -> Machine:
        machine = load_machine("a100")
        (cache,), (level,) = machine.caches, machine.levels
        cache = msgspec.structs.replace(cache, size_bytes=self.lines * LINE, ways=1)
        level = msgspec.structs.replace(level, count=self.cores, dispatch=self.dispatch, blocks=self.residents)
        return msgspec.structs.replace(machine, caches=(cache,), levels=(level,))


def kernel_of(seed: int) -> Kernel:
    rng = Random(seed)
    tile = rng.choice([16, 32]), rng.choice([16, 32, 48]), rng.choice([16, 32])
    rows = rng.randint(1, 7) * tile[0] - rng.choice([0, 0, 5])
    columns = rng.randint(1, 7) * tile[1] - rng.choice([0, 0, 16 if tile[1] > 16 else 0])
    depth = rng.randint(1, 6) * tile[2]
    total = (rows * depth + depth * columns + rows * columns) * SIZE // LINE
    return Kernel(
        max(rows, 1), columns, depth, tile, rng.choice([0, 0, 0, 8]), rng.random() < 0.3, rng.choice([0, 2, 3]),
        rng.choice([0, 1, 2, 3, 5]), rng.choice(["row", "column"]), rng.choice([1, 2, 3, 5]), rng.choice([1, 2, 3]),
        rng.choice(["persistent", "round_robin", "static", "first_free"]), rng.randint(8, max(total * 5 // 4, 9)),
    )  # fmt: skip


def dispatched(kernel: Kernel) -> list[tuple[int, int]]:
    """Blocks (x, y) in the order of their numbers, as tl_templates/cuda/threadblock_swizzle.h maps them, block by block."""
    width, height = kernel.grid
    found: list[tuple[int, int]] = []
    for number in range(width * height):
        if not kernel.panel:
            found.append((number % width, number // width))
            continue
        across = width if kernel.along == "row" else height
        size = kernel.panel * across
        offset, panel = number % size, number // size
        panels = -(-width * height // size)
        stride = kernel.panel if panel + 1 < panels else (width * height - panel * size) // across
        step = across - 1 - offset // stride if panel & 1 else offset // stride
        line = offset % stride + panel * kernel.panel
        found.append((step, line) if kernel.along == "row" else (line, step))
    return found


def waves(kernel: Kernel, blocks: int) -> Iterator[list[int]]:
    """The numbers of the blocks that cores hold at the same time."""
    per_core = -(-blocks // kernel.cores)
    own = [
        [b for b in range(blocks) if (b // per_core if kernel.dispatch == "static" else b % kernel.cores) == core]
        for core in range(kernel.cores)
    ]
    for first in range(0, per_core, kernel.residents):
        yield sorted(b for blocks_of in own for b in blocks_of[first : first + kernel.residents])


def tasks(kernel: Kernel) -> Iterator[tuple[str, int]]:
    """The tasks of a block that access global memory: the tensor, and the iteration of the loop."""
    if kernel.has_vector:
        yield "V", 0
    for ko in range(kernel.depth // kernel.tile[2]):
        yield "A", ko
        yield "B", ko
    yield "C", 0


def lines_of(kernel: Kernel, tensor: str, ko: int, x: int, y: int) -> Iterator[tuple[str, int]]:
    m, n, k = kernel.tile
    top, left, height, width, rows, columns = {
        "A": (y * m, ko * k, m + kernel.halo, k, kernel.rows, kernel.depth),
        "B": (ko * k, x * n, k, n, kernel.depth, kernel.columns),
        "V": (y * m, 0, m, 16, kernel.rows, 16),
        "C": (y * m, x * n, m, n, kernel.rows, kernel.columns),
    }[tensor]
    for row in range(top, min(top + height, rows)):
        ends = left, min(left + width, columns)
        first, last = ((row * columns + c) * SIZE // LINE for c in ends)
        for line in range(first, last):
            yield tensor, line


def plainly(kernel: Kernel) -> dict[str, tuple[int, int]]:
    """Bytes of each tensor that are accessed, and those that move behind the cache."""
    held: OrderedDict[tuple[str, int], bool] = OrderedDict()
    asked: Counter[str] = Counter()
    moved: Counter[str] = Counter()
    order = dispatched(kernel)
    for wave in waves(kernel, len(order)):
        for tensor, ko in tasks(kernel):
            for block in wave:
                for line in lines_of(kernel, tensor, ko, *order[block]):
                    asked[tensor] += LINE
                    dirty = held.pop(line, None)
                    if dirty is None and tensor != "C":
                        moved[tensor] += LINE
                    held[line] = bool(dirty) or tensor == "C"
                    if len(held) > kernel.lines:
                        (owner, _), wet = held.popitem(last=False)
                        moved[owner] += LINE * wet
    for (tensor, _), wet in held.items():
        moved[tensor] += LINE * wet
    return {tensor: (asked[tensor], moved[tensor]) for tensor in asked}


def simulated(kernel: Kernel) -> tuple[dict[str, tuple[int, int]], str]:
    """The same by the simulator, and why it does not know."""
    report = simulate(parse(kernel.text).program, kernel.machine)
    assert report.chip is not None and report.chip.cache is not None
    found: dict[str, tuple[int, int]] = {}
    for row in report.chip.cache.rows:
        asked, moved = found.get(row.buffer, (0, 0))
        found[row.buffer] = asked + row.bytes, moved + row.behind_bytes
    return found, report.chip.cache.refused


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    folded = contents.CacheReplay._folded  # pyright: ignore[reportPrivateUsage]

    def counted(*args: object) -> object:
        found = folded(*args)  # type: ignore[arg-type]
        counts["folded"] += 1
        return found

    contents.CacheReplay._folded = counted  # type: ignore[method-assign,assignment]
    for seed in range(options.first, options.first + options.count):
        kernel = kernel_of(seed)
        found, refused = simulated(kernel)
        counts["refused" if refused else "compared"] += 1
        if not refused and found != (plain := plainly(kernel)):
            counts["differ"] += 1
            print(seed, kernel, found, plain)
    print(dict(counts))


if __name__ == "__main__":
    main()
