"""Random programs for calls with rare requirements: sums with an epilogue, paddings, in-place blocks, overlapping tiles.

Each family has members that must be refused.
"""

from __future__ import annotations

from hypothesis import strategies as st
from support.programs.random_programs import cascade_programs

from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse

HEAD = "from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n"


def fitting_programs() -> st.SearchStrategy[PrimFunc]:
    return st.one_of(sums_with_epilogues(), paddings(), changes_in_place(), overlapping_tiles())


def _function(parameters: str, *lines: str) -> PrimFunc:
    body = "".join(f"    {line}\n" for line in lines)
    program = parse(f"{HEAD}def main({parameters}):\n{body}").program
    assert isinstance(program, PrimFunc)
    return program


def _block(name: str, axes: str, kinds: str, extents: tuple[int, ...], *lines: str) -> list[str]:
    """A nest of plain loops around one block; `axes` are letters, the iterators `v` and the letter."""
    names, sizes = ", ".join(axes), ", ".join(map(str, extents))
    loops = f"T.grid({sizes})" if len(axes) > 1 else f"range({sizes})"
    iterators = ", ".join(f"v{a}" for a in axes)
    remap = f'{iterators} = T.axis.remap("{kinds}", [{names}])'
    if len(axes) == 1:
        remap = f"{iterators} = T.axis.{'spatial' if kinds == 'S' else 'reduce'}({sizes}, {names})"
    return [
        f"for {names} in {loops}:",
        f'    with T.sblock("{name}"):',
        f"        {remap}",
        *(f"        {line}" for line in lines),
    ]


@st.composite
def sums_with_epilogues(draw: st.DrawFn) -> PrimFunc:
    """A row reduction and a combining consumer, with the same operator or another."""
    n, m, k = (draw(st.integers(1, 6)) for _ in range(3))
    dtype = draw(st.sampled_from(("int32", "float32")))
    op, start = draw(st.sampled_from((("{} + {}", 0), ("{} + {}", 0), ("{} * {}", 1), ("T.max({}, {})", -(2**20)))))
    other = draw(st.sampled_from((op,) * 8 + ("T.max({}, {})", "{} - {}")))
    term = draw(st.sampled_from(("A[vi, vk]", "A[vi, vk] * B[vk, vj]", "B[vk, vj]")))
    added = draw(st.sampled_from(("C[vj]", "C[vi]", f"T.{dtype}(3)", "D[vi, vj]", "C[vj] * C[vi]")))
    pair = ("S[vi, vj]", added) if draw(st.booleans()) else (added, "S[vi, vj]")
    zero = f"T.{dtype}({start})"
    after = _block("E", "ij", "SS", (n, m), "E[vi, vj] = F[vi, vj] - D[vi, vj]") if draw(st.booleans()) else []
    side = max(n, m)
    return _function(
        f'A: T.Buffer(({n}, {k}), "{dtype}"), B: T.Buffer(({k}, {m}), "{dtype}"), C: T.Buffer(({side},), "{dtype}"), '
        f'D: T.Buffer(({n}, {m}), "{dtype}"), E: T.Buffer(({n}, {m}), "{dtype}"), F: T.Buffer(({n}, {m}), "{dtype}")',
        f'S = T.sblock_alloc_buffer(({n}, {m}), "{dtype}")',
        *_block(
            "S", "ijk", "SSR", (n, m, k), "with T.init():", f"    S[vi, vj] = {zero}", f"S[vi, vj] = {op.format('S[vi, vj]', term)}",
        ),
        *_block("F", "ij", "SS", (n, m), f"F[vi, vj] = {other.format(*pair)}"),
        *after,
    )  # fmt: skip


@st.composite
def paddings(draw: st.DrawFn) -> PrimFunc:
    """A padded copy of one or two axes, and windows over it."""
    dtype = draw(st.sampled_from(("int32", "float32")))
    rank = draw(st.integers(1, 2))
    inside = [draw(st.integers(2, 6)) for _ in range(rank)]
    before = [draw(st.integers(0, 2)) for _ in range(rank)]
    sizes = [a + b + draw(st.integers(0, 2)) for a, b in zip(inside, before, strict=True)]
    axes = "ij"[:rank]
    tests = [
        test
        for a, low, extent, size in zip(axes, before, inside, sizes, strict=True)
        for test in (f"{low} <= v{a}" if low else "", f"v{a} < {low + extent}" if low + extent < size else "")
        if test
    ] or ["vi < 1"]
    where = " and ".join(tests)
    source = ", ".join(f"v{a} - {low}" if low else f"v{a}" for a, low in zip(axes, before, strict=True))
    at = ", ".join(f"v{a}" for a in axes)
    value = draw(st.sampled_from((f"A[{source}]", f"A[{source}] * T.{dtype}(2)", f"A[{source}] + A[{source}]")))
    rest = draw(st.sampled_from((0, 1, 7)))
    window = min(2, sizes[0])
    rows = (sizes[0] - window + 1, *sizes[1:])
    shape = ", ".join(map(str, sizes)) + ("," if rank == 1 else "")
    return _function(
        f'A: T.Buffer(({", ".join(map(str, inside))},), "{dtype}"), O: T.Buffer(({", ".join(map(str, rows))},), "{dtype}")',
        f'P = T.sblock_alloc_buffer(({shape}), "{dtype}")',
        *_block(
            "P", axes, "S" * rank, tuple(sizes), f"P[{at}] = T.if_then_else({where}, {value}, T.{dtype}({rest}))"
        ),
        *_block(
            "O", f"{axes}w", "S" * rank + "R", (*rows, window),
            "with T.init():", f"    O[{at}] = T.{dtype}(0)", f"O[{at}] = O[{at}] + P[{at.replace('vi', 'vi + vw', 1)}]",
        ),
    )  # fmt: skip


@st.composite
def changes_in_place(draw: st.DrawFn) -> PrimFunc:
    """Blocks that read and write one buffer, a parameter or an initialised one."""
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    dtype = draw(st.sampled_from(("int32", "float32")))
    changed = draw(st.sampled_from(("A", "B")))
    lines = _block("B", "ij", "SS", (n, m), "B[vi, vj] = A[vi, vj] + C[vi, vj]")
    for number in range(draw(st.integers(1, 2))):
        value = draw(st.sampled_from((f"{changed}[vi, vj] * T.{dtype}(2)", f"{changed}[vi, vj] + C[vi, vj]")))
        if draw(st.integers(0, 5)) == 0:
            value = "C[vi, vj]"  # the old value is overwritten
        lines += _block(f"U{number}", "ij", "SS", (n, m), f"{changed}[vi, vj] = {value}")
    if draw(st.booleans()):
        lines += _block("O", "ij", "SS", (n, m), "C[vi, vj] = B[vi, vj] + A[vi, vj]")
    parameters = ", ".join(f'{name}: T.Buffer(({n}, {m}), "{dtype}")' for name in "AC")
    return _function(parameters, f'B = T.sblock_alloc_buffer(({n}, {m}), "{dtype}")', *lines)


@st.composite
def overlapping_tiles(draw: st.DrawFn) -> PrimFunc:
    """A cascade of windows, the last stage in tiles, the others below the loops of the tiles if legal."""
    sch = Schedule(draw(cascade_programs()))
    *producers, last = [n for n in sch.index.block_names if n != "root"]
    try:
        tiles = [sch.split(loop, [None, draw(st.integers(1, 4))]) for loop in sch.get_loops(last)[:2]]
        outer = [outer for outer, _ in tiles]
        sch.reorder(*outer, *(inner for _, inner in tiles))
        for producer in reversed(producers):
            sch.compute_at(producer, draw(st.sampled_from(outer)))
    except ScheduleError:
        pass
    return sch.func
