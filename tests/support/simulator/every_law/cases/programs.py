"""Random programs in tiles: copies of all kinds, vector work, reductions, products and fills on a few buffers, in loops around them."""

from __future__ import annotations

from math import prod
from random import Random

from support.simulator.exactness import tiled
from support.simulator.hulls import fused_chain
from support.simulator.phases import phased
from support.simulator.triangles import triangular

from tilewright.engine.ir import AXIS_SEPARATOR, PrimFunc
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse

SIZE = 4096
"""Elements of a parameter."""

MOST_TILES = 100
"""Iterations of the loops around."""


def random_program(rng: Random) -> PrimFunc:
    """A tiled matmul, a triangular nest, a chain in fused tiles, a chain of phases, or, most often, stages on tiles."""
    kind = rng.random()
    if kind < 0.1:
        return tiled(rng, "local", rng.choice(["local", "local.acc"]))
    if kind < 0.2:
        return triangular(rng)
    if kind < 0.25:
        return fused_chain(rng, 6, 20)
    return phased(rng) if kind < 0.35 else staged(rng)


def staged(rng: Random) -> PrimFunc:
    """Two to six stages on tiles, in up to three loops, perhaps with slots, parts, threads and engines of choice."""
    maker = _Maker(rng)
    sch = Schedule(parse(maker.text()).program)
    for block in maker.blocks:
        if rng.random() < 0.2:
            _tried(sch, "transform_layout", block, ("write", 0), rng.choice(LAYOUTS))
        if rng.random() < 0.35:
            _tried(sch, "double_buffer", block, slots=rng.choice([2, 2, 3, 5]))
        if maker.bound and rng.random() < 0.8:
            loops = sch.get_loops(block)
            for loop, tag in zip(loops[-maker.ranks[block] :], rng.choice([("y", "x"), ("x", "y")]), strict=False):
                _tried(sch, "bind", loop, f"threadIdx.{tag}")
        elif rng.random() < 0.15:
            _tried(sch, "vectorize", sch.get_loops(block)[-1])
        if rng.random() < 0.1:
            engine = rng.choice(["scalar", "vector", "dma"])
            _tried(sch, "annotate", block, "engine", engine)
    return sch.func


LAYOUTS = (
    lambda i, j: [j, i],
    lambda i, j: [i % 2, AXIS_SEPARATOR, i // 2, j],
    lambda i, j: [j // 2, i, j % 2],
    lambda i, j: [i, (i + j) % 8],
)


def _tried(sch: Schedule, method: str, *args: object, **options: object) -> None:
    try:
        getattr(sch, method)(*args, **options)
    except ScheduleError:
        return


class _Maker:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.blocks: list[str] = []
        self.ranks: dict[str, int] = {}
        self.bound = rng.random() < 0.2
        self.scope = "shared" if self.bound else "local"
        self.types = [rng.choice(["int8", "int16", "int32", "int32"]) for _ in range(3)]
        self.around = [(name, rng.choice([1, 2, 3, 5, 9, 16])) for name in "tuw"[: rng.choice([0, 1, 1, 1, 2, 2, 3])]]
        while prod(n for _, n in self.around) > MOST_TILES:
            self.around = [(name, -(-n // 2)) for name, n in self.around]
        self.tile = rng.choice([1, 3, 4, 8, 8, 12]), rng.choice([2, 5, 8, 8, 16])
        self.lines: list[str] = []

    def text(self) -> str:
        a, b = self.tile
        buffers = [f'{n}: T.Buffer(({SIZE},), "{t}")' for n, t in zip("XYZ", self.types, strict=True)]
        head = ["@T.prim_func", f"def main({', '.join(buffers)}):"]
        side = max(a, b)
        for n, dtype in enumerate(self.types):
            head.append(f'    L{n} = T.alloc_buffer(({side}, {side}), "{dtype}", scope="{self.scope}")')
        head.append(
            f'    S = T.alloc_buffer(({side}, {side}), "int32", scope="{self.rng.choice([self.scope, "local.acc"])}")'
        )
        depth = 1
        for name, extent in self.around:
            self.line(depth, f"for {name} in range({extent}):")
            depth += 1
            if self.rng.random() < 0.15:
                self.stage(depth, name)
        for _ in range(self.rng.randint(2, 5)):
            self.stage(depth)
        return "\n".join([*head, *self.lines])

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def stage(self, depth: int, last: str = "") -> None:
        names = [name for name, _ in self.around]
        around = names[: names.index(last) + 1] if last else names
        kind = self.rng.choice([self.load, self.load, self.load, self.store, self.work, self.work, self.direct, self.reduce, self.product,
                                self.product, self.fill])  # fmt: skip
        kind(depth, around)

    def block(
        self, depth: int, loops: dict[str, int], reduced: str, around: list[str], store: str, where: str = ""
    ) -> None:
        """A block over loops, of which `reduced` are summed; the loops around it are bound to iterators too."""
        rng, name = self.rng, f"b{len(self.blocks)}"
        self.blocks.append(name)
        self.ranks[name] = sum(v not in reduced for v in loops)
        extents = dict(self.around)
        self.line(depth, f"for {', '.join(loops)} in T.grid({', '.join(map(str, loops.values()))}):" if len(loops) > 1 else
                  f"for {next(iter(loops))} in range({next(iter(loops.values()))}):")  # fmt: skip
        self.line(depth + 1, f'with T.block("{name}"):')
        if where or rng.random() < 0.12:
            self.line(depth + 2, f"T.where({where or self.guard(loops, around)})")
        for v in around:
            self.line(
                depth + 2,
                f"v{v} = T.axis.opaque({extents[v]}, {v})" if reduced else f"v{v} = T.axis.spatial({extents[v]}, {v})",
            )
        for v, n in loops.items():
            self.line(depth + 2, f"v{v} = T.axis.{'reduce' if v in reduced else 'spatial'}({n}, {v})")
        self.line(depth + 2, store)

    def guard(self, loops: dict[str, int], around: list[str]) -> str:
        rng = self.rng
        var, extent = rng.choice(list(loops.items()))
        simple = f"{var} < {max(1, extent - rng.randint(0, 3))}"
        if around:
            t = rng.choice(around)
            ragged = f"{t} * {extent} + {var} < {dict(self.around)[t] * extent - rng.randint(0, 3)}"
            return rng.choice([simple, ragged, f"{var} <= {t} + 1"])
        return rng.choice([simple, f"{' + '.join(loops)} < {max(1, sum(loops.values()) // 2)}"])

    def far(self, loops: list[str], around: list[str]) -> str:
        """A place in a parameter: rows of a matrix, or any strides."""
        rng, (a, b) = self.rng, self.tile
        pitch = rng.choice([b, b, b + 1, 16, 24, 40])
        steps = rng.choice([[pitch, 1], [pitch, 1], [1, pitch], [1, 1], [3, 2], [pitch, 2]])
        terms = [f"v{v} * {s}" for v, s in zip(loops, steps[-len(loops) :], strict=True)]
        terms += [
            f"{self.clamped(t)} * {rng.choice([b, a * pitch, 1, 3, 5, 8, 16, 20])}"
            for t in around
            if rng.random() < 0.8
        ]
        if around and rng.random() < 0.08:
            terms.append(f"v{around[0]} % 3 * {rng.choice([4, 7])}")
        return " + ".join([*terms, str(rng.choice([0, 0, 1, 6]))])

    def clamped(self, loop: str) -> str:
        """A loop around, or it or its neighbour within a smaller range, as at the border of an image."""
        n = dict(self.around)[loop]
        plain, lower, upper = f"v{loop}", f"T.max(v{loop} - 1, 0)", f"T.min(v{loop} + 1, {n - 1})"
        return self.rng.choice([*[plain] * 7, lower, upper, f"T.max({upper.replace('+ 1', '- 1')}, 0)"])

    def near(self, n: int, i: str, j: str) -> str:
        """An element of a tile."""
        rng, b = self.rng, self.tile[1]
        i, j = f"v{i}", f"v{j}"
        kinds = [f"L{n}[{i}, {j}]"] * 6 + [
            f"L{n}[{j}, {i}]",
            f"L{n}[0, {j}]",
            f"L{n}[{i}, 0]",
            f"L{n}[{i}, T.min({j} + 1, {b - 1})]",
        ]
        kinds += [f"L{n}[{i} // 2, {j}]", f"L{n}[{i}, ({j} + 1) % {b}]"]
        return rng.choice(kinds)

    def cast(self, value: str, source: int, target: int) -> str:
        same = self.types[source] == self.types[target]
        return value if same else f'T.cast({value}, "{self.types[target]}")'

    def load(self, depth: int, around: list[str]) -> None:
        rng, (a, b) = self.rng, self.tile
        source, target = rng.randrange(3), rng.randrange(3)
        value = f"{'XYZ'[source]}[{self.far(['i', 'j'], around)}]"
        kind = rng.random()
        if kind < 0.2:
            value = f"T.if_then_else({self.condition(around)}, {value}, T.{self.types[source]}(0))"
        elif kind < 0.4:
            value = rng.choice([f"T.max({value}, T.{self.types[source]}(0))", f"{value} * T.{self.types[source]}(3)",
                                f"{value} + {'XYZ'[source]}[vj]", f"{value} * {'XYZ'[source]}[vi]"])  # fmt: skip
        self.block(depth, {"i": a, "j": b}, "", around, f"L{target}[vi, vj] = {self.cast(value, source, target)}")

    def condition(self, around: list[str]) -> str:
        t = f" + v{around[0]}" if around and self.rng.random() < 0.5 else ""
        return self.rng.choice(
            [f"1 <= vi{t}", f"vj < {max(1, self.tile[1] - 2)}", f"1 <= vi{t} and vj < {max(1, self.tile[1] - 1)}"]
        )

    def store(self, depth: int, around: list[str]) -> None:
        (a, b), source, target = self.tile, self.rng.randrange(3), self.rng.randrange(3)
        value = self.cast(
            self.near(source, "i", "j") if self.tile[0] == self.tile[1] else f"L{source}[vi, vj]", source, target
        )
        self.block(depth, {"i": a, "j": b}, "", around, f"{'XYZ'[target]}[{self.far(['i', 'j'], around)}] = {value}")

    def work(self, depth: int, around: list[str]) -> None:
        rng, (a, b), target = self.rng, self.tile, self.rng.randrange(3)
        dtype = self.types[target]
        values = [
            self.cast(self.near(n, "i", "j"), n, target)
            for n in (rng.randrange(3) for _ in range(rng.choice([1, 2, 3])))
        ]
        value = rng.choice([" + ", " * "]).join(values)
        value = rng.choice([value, value, f"T.max({value}, {values[0]})", f"{value} + T.{dtype}(1)"])
        self.block(depth, {"i": a, "j": b}, "", around, f"L{target}[vi, vj] = {value}")

    def direct(self, depth: int, around: list[str]) -> None:
        """Work from the far memory, or to it."""
        rng, (a, b) = self.rng, self.tile
        source, target = rng.randrange(3), rng.randrange(3)
        value = self.cast(f"{'XYZ'[source]}[{self.far(['i', 'j'], around)}]", source, target)
        out = f"L{target}[vi, vj]" if rng.random() < 0.5 else f"{'XYZ'[target]}[{self.far(['i', 'j'], around)}]"
        self.block(depth, {"i": a, "j": b}, "", around, f"{out} = {value} * {value} + L{target}[vi, vj]")

    def reduce(self, depth: int, around: list[str]) -> None:
        rng, (a, b), source = self.rng, self.tile, self.rng.randrange(3)
        place = f"{'XYZ'[source]}[{self.far(['i', 'j'], around)}]"
        element = self.cast_to_sum(rng.choice([f"L{source}[vi, vj]", f"L{source}[vj, vi]", place]), source)
        out, reduced = rng.choice([("S[vi, 0]", "j"), ("S[0, vi]", "j"), ("S[0, vj]", "i"), ("S[0, 0]", "ij")])
        value = rng.choice([f"{out} + {element}", f"T.max({out}, {element})"])
        self.block(depth, {"i": a, "j": b}, reduced, around, f"{out} = {value}")

    def product(self, depth: int, around: list[str]) -> None:
        rng, (a, b) = self.rng, self.tile
        first, second = rng.sample(range(3), 2)
        k = rng.choice([a, b, min(a, b)])
        left = self.cast_to_sum(rng.choice([f"L{first}[vi, vk]"] * 3 + [f"L{first}[vk, vi]"]), first)
        right = self.cast_to_sum(rng.choice([f"L{second}[vk, vj]"] * 3 + [f"L{second}[vj, vk]"]), second)
        self.block(depth, {"i": a, "j": b, "k": k}, "k", around, f"S[vi, vj] = S[vi, vj] + {left} * {right}")

    def cast_to_sum(self, value: str, source: int) -> str:
        return value if self.types[source] == "int32" else f'T.cast({value}, "int32")'

    def fill(self, depth: int, around: list[str]) -> None:
        (a, b), target = self.tile, self.rng.choice(["S", "L0"])
        self.block(
            depth,
            {"i": a, "j": b},
            "",
            around,
            f"{target}[vi, vj] = T.{'int32' if target == 'S' else self.types[0]}(0)",
        )
