"""Small but costly programs: expressions that double at each step, nested divisions, disjunctions, deep nests, many ranks.

`hostile_programs` are fixed ones, by name; `random_tower` generates one from a grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from random import Random
from textwrap import indent

HEAD = "from tilewright.script import tirx as T\n\n@T.prim_func(s_tir=True)\n"

SPLIT = 'i, = sch.get_loops("B")\na, b = sch.split(i, [None, 7])'


def notebook(program: str, schedule: str = "", machine: str = "") -> str:
    """A notebook with a program and schedule lines."""
    cells = f"# %% machine\nmachine = tilewright.machine({machine!r})\n\n" if machine else ""
    return f"{cells}# %% workload\n{HEAD}{program}\n\n# %% schedule\nsch = tilewright.Schedule(f)\n{schedule}\n"


def map_program(value: str, *, where: str = "", extent: int = 4096, source: int = 100_000_000) -> str:
    """A program with one block `B` over `v` that stores `value`."""
    guard = f"            T.where({where})\n" if where else ""
    return (
        f'def f(A: T.Buffer(({source},), "int32"), B: T.Buffer(({extent},), "int32")):\n'
        f"    for i in range({extent}):\n"
        '        with T.sblock("B"):\n'
        f"            v = T.axis.spatial({extent}, i)\n{guard}"
        f"            B[v] = {value}"
    )


def nested_divisions(depth: int) -> str:
    index = "v"
    for n in range(depth):
        index = f"({index} * {2 * n + 3} % {1009 - 6 * n} + v // {n + 2})"
    return notebook(map_program(f"A[{index}]"), SPLIT)


def summed_divisions(count: int) -> str:
    terms = (f"v * {2 * n + 3} % {1009 - 6 * n} // {n + 2}" for n in range(count))
    return notebook(map_program(f"A[{' + '.join(terms)}]"), SPLIT)


def disjunctions(count: int) -> str:
    terms = (
        f"(i * {2 * n + 3} % {97 - 2 * n} + i // {n + 2} < {900 + n} or i * {n + 5} % {n + 53} > {n})"
        for n in range(count)
    )
    lines = f"{SPLIT}\nc, d = sch.split(b, [None, 2])\nsch.reorder(d, a)"
    return notebook(map_program("A[v]", where=" and ".join(terms)), lines)


def let_tower(depth: int, term: str = "x{0} * x{0} + x{0}") -> str:
    lets = "".join(f"x{n + 1}: T.let[T.int32] = {term.format(n)}\n" for n in range(depth))
    body = indent(f"x0: T.let[T.int32] = A[v]\n{lets}B[v] = x{depth}", " " * 12)
    program = map_program("0", extent=8, source=8).rpartition("\n")[0]
    return notebook(f"{program}\n{body}")


def inline_tower(depth: int, uses: int) -> str:
    """A chain of blocks, each of which uses its producer several times; all but the last are inlined."""
    allocations = "".join(f'    A{n} = T.sblock_alloc_buffer((8,), "int32")\n' for n in range(1, depth + 1))
    blocks = "".join(
        f'    for i in range(8):\n        with T.sblock("A{n}"):\n            v = T.axis.spatial(8, i)\n'
        f"            A{n}[v] = {' + '.join([f'A{n - 1}[v]'] * uses)}\n"
        for n in range(1, depth + 1)
    )
    last = (
        '    for i in range(8):\n        with T.sblock("Z"):\n            v = T.axis.spatial(8, i)\n'
        f"            Z[v] = A{depth}[v]"
    )
    head = 'def f(A0: T.Buffer((8,), "int32"), Z: T.Buffer((8,), "int32")):\n'
    lines = "\n".join(f'sch.compute_inline("A{n}")' for n in range(1, depth + 1))
    return notebook(head + allocations + blocks + last, lines)


def te_inline_tower(depth: int) -> str:
    stages = "\n".join(
        f"x{n} = te.compute((8,), lambda i: x{n - 1}[i] + x{n - 1}[i], name='x{n}')" for n in range(1, depth + 1)
    )
    inlined = "\n".join(f"s[x{n}].compute_inline()" for n in range(1, depth))
    return (
        f"import tvm\nfrom tvm import te\nx0 = te.placeholder((8,), name='x0')\n{stages}\n"
        f"s = te.create_schedule(x{depth}.op)\n{inlined}\n"
    )


def nested_conditions(depth: int) -> str:
    body = "B[v] = A[v]"
    for n in range(depth):
        body = f"if v * {n + 3} % {97 + n} + v // {n + 2} < {900 + n}:\n{indent(body, '    ')}"
    program = map_program("0", source=4096).rpartition("\n")[0]
    return notebook(f"{program}\n{indent(body, ' ' * 12)}", SPLIT)


def overlapping_writes(count: int) -> str:
    blocks = "".join(
        f'    for i in range(512):\n        with T.sblock("B{n}"):\n            v = T.axis.spatial(512, i)\n'
        f"            B[v * {n + 3} % {509 - n} + v // {n + 2}] = A[v]\n"
        for n in range(count)
    )
    head = 'def f(A: T.Buffer((512,), "int32"), B: T.Buffer((4096,), "int32")):\n'
    return notebook((head + blocks).rstrip(), 'i, = sch.get_loops("B0")\nsch.split(i, [None, 7])')


def irregular_copies(rows: int, columns: int) -> str:
    program = (
        f'def f(A: T.Buffer(({rows}, {columns}), "float32"), B: T.Buffer(({rows}, {columns}), "float32")):\n'
        f"    for i, j in T.grid({rows}, {columns}):\n"
        '        with T.sblock("B"):\n            v, u = T.axis.remap("SS", [i, j])\n'
        f"            B[v, u] = A[(v * 7 + u * 3) % {rows - 3}, (u * v) % {columns - 5}] + T.float32(1)"
    )
    lines = (
        'b = sch.get_sblock("B")\nAL = sch.cache_read(b, 0, "local.vtcm")\n'
        "i, j = sch.get_loops(b)\nsch.compute_at(AL, j)"
    )
    return notebook(program, lines)


def sparse_product() -> str:
    return notebook(
        'def f(P: T.Buffer((257,), "int32"), J: T.Buffer((4096,), "int32"), V: T.Buffer((4096,), "float32"),'
        ' B: T.Buffer((256, 256), "float32"), C: T.Buffer((256, 256), "float32")):\n'
        '    for i, k in T.grid(256, 256):\n        with T.sblock("C"):\n'
        '            vi, vk = T.axis.remap("SS", [i, k])\n            C[vi, vk] = T.float32(0)\n'
        "            for j in range(P[vi + 1] - P[vi]):\n"
        "                C[vi, vk] = C[vi, vk] + V[P[vi] + j] * B[J[P[vi] + j], vk]"
    )


def scattered_cache(size: int) -> str:
    program = (
        f'def f(A: T.Buffer(({size}, {size}), "float32"), B: T.Buffer(({size}, {size}), "float32"),'
        f' C: T.Buffer(({size}, {size}), "float32")):\n'
        f'    for i, j, k in T.grid({size}, {size}, {size}):\n        with T.sblock("C"):\n'
        '            x, y, z = T.axis.remap("SSR", [i, j, k])\n'
        "            with T.init():\n                C[x, y] = T.float32(0)\n"
        f"            C[x, y] = C[x, y] + A[(x * 7 + z) % {size}, z] * B[z * 7 % {size}, (y * 13 + x * 5) % {size}]"
    )
    return notebook(program, machine="cpu-core")


def formatted_strings(characters: int) -> str:
    return f"x = f'{'{a}' * (characters // 3)}'\n{map_program('A[v]')}\n"


def long_list(characters: int) -> str:
    return f"x = [{'1, ' * (characters // 3)}]\n{notebook(map_program('A[v]'))}"


HOSTILE: dict[str, Callable[[], str]] = {
    "30 nested divisions": lambda: nested_divisions(30),
    "6 nested divisions": lambda: nested_divisions(6),
    "16 summed divisions": lambda: summed_divisions(16),
    "14 disjunctions": lambda: disjunctions(14),
    "4 overlapping writes": lambda: overlapping_writes(4),
    "24 nested conditions": lambda: nested_conditions(24),
    "32 doubled lets": lambda: let_tower(32),
    "inlined blocks, 8 uses": lambda: inline_tower(7, 8),
    "inlined blocks, 22 uses": lambda: inline_tower(5, 22),
    "inlined TE stages": lambda: te_inline_tower(30),
    "2^20 irregular copies": lambda: irregular_copies(1024, 1024),
    "sparse product": sparse_product,
    "scattered cache accesses": lambda: scattered_cache(512),
    "f-string of 480,000 characters": lambda: formatted_strings(480_000),
    "list of 480,000 characters": lambda: long_list(480_000),
}
"""Programs that once stopped a server, or needed minutes or gigabytes, by name."""


def random_tower(seed: int) -> str:
    """A small program from the grammar of towers."""
    return _Grammar(Random(seed)).text()


class _Grammar:
    """Random notebooks of up to 4 blocks whose indices, conditions, values and schedules nest and repeat."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def text(self) -> str:
        part = self.rng.choice((self._of_parts, self._of_parts, self._of_parts, self._fixed))
        return part()

    def _fixed(self) -> str:
        n = self.rng.randint
        return self.rng.choice(
            (
                lambda: nested_divisions(n(1, 12)),
                lambda: summed_divisions(n(1, 16)),
                lambda: disjunctions(n(1, 14)),
                lambda: let_tower(n(2, 40), self.rng.choice(("x{0} * x{0} + x{0}", "x{0} + 1", "x{0} // 3 * x{0}"))),
                lambda: inline_tower(n(1, 8), n(1, 24)),
                lambda: te_inline_tower(n(1, 20)),
                lambda: nested_conditions(n(1, 24)),
                lambda: overlapping_writes(n(1, 5)),
                lambda: irregular_copies(n(8, 300), n(8, 300)),
            )
        )()

    def _of_parts(self) -> str:
        rng = self.rng
        rank = rng.choice((1, 1, 2, 2, 3, 4, 6, 9))
        extents = [
            rng.choice((1, 2, 3, 7, 8, 16, 33, 64)) if rank > 2 else rng.choice((7, 64, 513)) for _ in range(rank)
        ]
        shape = ", ".join(map(str, extents)) + ","
        count = rng.randint(1, 4)
        names = ["A", *(f"T{n}" for n in range(count - 1)), "Z"]
        lines = [f'def f(A: T.Buffer(({shape}), "int32"), Z: T.Buffer(({shape}), "int32")):']
        lines += [f'    {name} = T.sblock_alloc_buffer(({shape}), "int32")' for name in names[1:-1]]
        axes = [f"v{n}" for n in range(rank)]
        for source, target in pairwise(names):
            lines += self._block(source, target, extents, axes)
        return notebook("\n".join(lines), "\n".join(self._calls(names[1:], rank)))

    def _block(self, source: str, target: str, extents: list[int], axes: list[str]) -> Iterator[str]:
        loops = ", ".join(f"i{n}" for n in range(len(extents)))
        grid = f"T.grid({', '.join(map(str, extents))})" if len(extents) > 1 else f"range({extents[0]})"
        yield f"    for {loops} in {grid}:"
        yield f'        with T.sblock("{target}"):'
        for n, extent in enumerate(extents):
            yield f"            v{n} = T.axis.spatial({extent}, i{n})"
        if self.rng.random() < 0.3:
            iters = [f"i{n}" for n in range(len(extents))]
            yield f"            T.where({self._condition(iters, self.rng.randint(1, 6))})"
        depth = 3
        for n in range(self.rng.choice((0, 0, 0, 0, 2, 5, 12))):
            load = self._load(source, extents, axes) if n == 0 else f"x{n - 1}"
            yield f"            x{n}: T.let[T.int32] = {load} * {load} + {load}"
        value = " + ".join(self._load(source, extents, axes) for _ in range(self.rng.choice((1, 1, 2, 8))))
        for _ in range(self.rng.choice((0, 0, 0, 1, 4))):
            yield " " * (4 * depth) + f"if {self._condition(axes, self.rng.randint(1, 3))}:"
            depth += 1
        yield " " * (4 * depth) + f"{target}[{', '.join(axes)}] = {value}"

    def _load(self, source: str, extents: list[int], axes: list[str]) -> str:
        if self.rng.random() < 0.5:
            return f"{source}[{', '.join(axes)}]"
        depth = self.rng.choice((1, 1, 2, 3, 5))
        return f"{source}[{', '.join(f'({self._index(axes, depth)}) % {e}' for e in extents)}]"

    def _index(self, axes: list[str], depth: int) -> str:
        rng = self.rng
        if depth == 0:
            return rng.choice(axes)
        inner = self._index(axes, depth - 1)
        match rng.randrange(5):
            case 0:
                return f"({inner}) // {rng.choice((2, 3, 7, 16))}"
            case 1:
                return f"({inner}) % {rng.choice((3, 7, 13, 16, 61))}"
            case 2:
                return f"({inner}) * {rng.choice((2, 3, 7))} + {self._index(axes, depth - 1)}"
            case 3:
                return f"T.min({inner}, {self._index(axes, depth - 1)})"
            case _:
                return f"T.if_then_else({self._condition(axes, 1)}, {inner}, {rng.choice(axes)})"

    def _condition(self, axes: list[str], count: int) -> str:
        rng = self.rng
        terms = (
            f"({self._index(axes, rng.choice((0, 1, 2)))} < {rng.randint(1, 60)}"
            f"{f' or {rng.choice(axes)} % {rng.randint(2, 9)} > 0' if rng.random() < 0.4 else ''})"
            for _ in range(count)
        )
        return " and ".join(terms)

    def _calls(self, blocks: list[str], rank: int) -> Iterator[str]:
        rng = self.rng
        axes = [f"i{n}" for n in range(rank)]
        layout = ", ".join([f"{axes[0]} // 4", f"{axes[0]} % 4", *axes[1:]])
        for n in range(rng.randint(0, 6)):
            block = rng.choice(blocks)
            axis = rng.randrange(rank)
            call = rng.choice(
                (
                    f"sch.split(l{n}[{axis}], [None, {rng.choice((2, 3, 7, 16))}])",
                    f"sch.fuse(*l{n})",
                    f'sch.compute_inline("{block}")',
                    f'sch.reverse_compute_inline("{block}")',
                    f'sch.compute_at("{rng.choice(blocks)}", l{n}[{axis}])',
                    f'c{n} = sch.cache_read("{block}", 0, "local.vtcm")',
                    f"sch.unroll(l{n}[0])",
                    f'sch.transform_layout("{block}", ("write", 0), lambda {", ".join(axes)}: [{layout}])',
                    f"sch.reorder(l{n}[-1], l{n}[{axis}])",
                )
            )
            if f"l{n}" in call:
                yield f'l{n} = sch.get_loops("{block}")'
            yield call


__all__ = ["HOSTILE", "random_tower"]
