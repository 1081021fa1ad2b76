"""Bank conflicts of scheduled programs: a transposed tile under layouts, threads, wide accesses and edges; against every address."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.simulator.machines import PLAIN

from tilewright.engine.hwsim import Machine, read_machine
from tilewright.engine.hwsim.access.bank_conflicts import banking
from tilewright.engine.hwsim.simulate import replayed
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


def banked(banks: int = 32, row: int = 4, vector: int = 128, more: str = "") -> Machine:
    """`plain` with `banks` interleaved banks in its scratchpad, and a vector unit that reaches both memories."""
    text = PLAIN.replace("capacity_bytes = 8_192\nbanks = 2", f"capacity_bytes = {banks * row * 2048}\nbanks = {banks}\n"
                         f'mapping = "interleave"\ninterleave_bytes = {row}\n{more}')  # fmt: skip
    reach = 'reads = ["pad"]\nwrites = ["pad"]'
    head, _, tail = text.replace("vector_bytes = 32", f"vector_bytes = {vector}").partition('kind = "vector"')
    return read_machine(head + 'kind = "vector"' + tail.replace(reach, reach.replace('"pad"', '"ddr", "pad"'), 1))


def transpose(rows: int = 32, columns: int = 32, dtype: str = "float32") -> str:
    return f'''
@T.prim_func
def main(A: T.Buffer(({rows}, {columns}), "{dtype}"), B: T.Buffer(({columns}, {rows}), "{dtype}")):
    for i, j in T.grid({columns}, {rows}):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
'''


def staged(source: str, layout: Callable[..., Any] | None = None, threads: bool = False) -> Schedule:
    """The transposed operand staged through the scratchpad, and stored by the vector unit."""
    sch = Schedule(parse(source).program)
    copy = sch.cache_read("B", 0, "local")
    sch.annotate("B", "engine", "vector")
    if layout is not None:
        sch.transform_layout(copy, ("write", 0), layout, assume_injective_transform=True)
    if threads:
        i, j = sch.get_loops("B")
        sch.bind(i, "threadIdx.y")
        sch.bind(j, "threadIdx.x")
    return sch


def conflicts_of(func: PrimFunc, machine: Machine) -> list[tuple[tuple[str, ...], str, int, int, int]]:
    found = [c for v in replayed(func, machine)[0].variants for c in v.cost.conflicts]
    return [(tuple(b.name for b in c.buffers), c.kind, c.accesses, c.degree, c.cycles) for c in found]


THIRTY_TWO_WAYS = [(("A_local",), "read", 32, 32, 32 * 31)]


@pytest.mark.parametrize("threads", [False, True])
def test_transpose_of_32_by_32_floats_has_32_way_conflicts(threads: bool):
    assert conflicts_of(staged(transpose(), threads=threads).func, banked()) == THIRTY_TWO_WAYS


def test_rows_padded_to_33_have_no_conflict():
    sch = staged(transpose())
    sch.storage_align("A_local", 0, 0, 32, 1)
    assert conflicts_of(sch.func, banked()) == []


@pytest.mark.parametrize("threads", [False, True])
def test_a_swizzled_tile_has_no_conflict(threads: bool):
    sch = staged(transpose(), lambda i, j: [i, (i + j) % 32], threads)
    assert conflicts_of(sch.func, banked()) == []


def test_columns_swizzled_by_xor_have_no_conflict():
    text = """
@T.prim_func
def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32")):
    S = T.alloc_buffer((32, 32), "float32", scope="local")
    for i, j in T.grid(32, 32):
        with T.block("S"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.block_attr({"engine": "vector"})
            S[vi, T.bitwise_xor(vi, vj)] = A[vi, vj]
    for i, j in T.grid(32, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.block_attr({"engine": "vector"})
            B[vi, vj] = S[vj, T.bitwise_xor(vj, vi)]
"""
    assert conflicts_of(parse(text).program, banked()) == []
    straight = text.replace("T.bitwise_xor(vi, vj)", "vj").replace("T.bitwise_xor(vj, vi)", "vi")
    assert [c[3] for c in conflicts_of(parse(straight).program, banked())] == [32]


def test_conflicts_lengthen_their_task():
    durations = {}
    for padding in (0, 1):
        sch = staged(transpose())
        sch.storage_align("A_local", 0, 0, 32, padding)
        (durations[padding],) = [
            v.cost.duration for v in replayed(sch.func, banked().replace("ddr.write_bytes_per_cycle", 1024))[0].variants
            if v.cost.tiling is v.cost.descriptor is None
        ]  # fmt: skip
    # 32 operations of 32 lanes and 3 cycles of set-up; every access to a column of 32 words lasts 31 cycles more.
    assert durations == {1: 3 + 32, 0: 3 + 32 + 32 * 31}


# Doubles: half a warp at a time, 16 lanes in rows of 256 bytes, all in the same two banks. Swapping pairs keeps 16 banks apart.
def test_transposed_doubles_have_16_way_conflicts():
    machine = banked(vector=256, more="phase_bytes = 128\n")
    assert conflicts_of(staged(transpose(dtype="float64")).func, machine) == [(("A_local",), "read", 64, 16, 64 * 15)]
    sch = staged(transpose(dtype="float64"))
    sch.storage_align("A_local", 0, 0, 32, 1)
    assert conflicts_of(sch.func, machine) == []


# 128 bits: a thread reads four floats of a row of 32 (128 bytes) at once; a quarter warp reads 8 rows, all in the same four banks.
def test_column_of_float4_has_8_way_conflicts_in_quarter_warps():
    text = """
@T.prim_func
def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32")):
    S = T.alloc_buffer((32, 32), "float32", strides=(PITCH, 1), scope="local")
    for i, j in T.grid(32, 32):
        with T.block("S"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = A[vi, vj]
    for j in range(8):
        for i in T.thread_binding(32, thread="threadIdx.x"):
            for k in T.vectorized(4):
                with T.block("B"):
                    vi = T.axis.spatial(32, i)
                    vj = T.axis.spatial(32, j * 4 + k)
                    T.block_attr({"engine": "vector"})
                    B[vi, vj] = S[vi, vj]
"""
    machine = banked(vector=512, more="phase_bytes = 128\n")
    rows = conflicts_of(parse(text.replace("PITCH", "32")).program, machine)
    assert rows == [(("S",), "read", 8 * 4, 8, 8 * 4 * 7)]
    assert conflicts_of(parse(text.replace("PITCH", "36")).program, machine) == []


# Each thread reads eight floats of its row. Two loads of 16 bytes have conflicts of degree 2; 32 bytes at once would have none.
def test_a_thread_accesses_consecutive_elements_of_limited_length_at_once():
    text = """
@T.prim_func
def main(A: T.Buffer((32, 8), "float32"), B: T.Buffer((32, 8), "float32")):
    S = T.alloc_buffer((32, 8), "float32", scope="local")
    for i, j in T.grid(32, 8):
        with T.block("S"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = A[vi, vj]
    for i in T.thread_binding(32, thread="threadIdx.x"):
        for k in T.vectorized(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, k])
                T.block_attr({"engine": "vector"})
                B[vi, vj] = S[vi, vj]
"""
    phases = "phase_bytes = 128\n"
    assert conflicts_of(parse(text).program, banked(vector=1024, more=phases)) == []
    machine = banked(vector=1024, more=f"{phases}thread_bytes = 16\n")
    assert conflicts_of(parse(text).program, machine) == [(("S",), "read", 8, 2, 8)]
    # Elements that lie apart are loads of their own: 8 times 32 words in 4 banks.
    columns = text.replace("= S[vi, vj]", "= S[vi, 7 - vj]")
    assert conflicts_of(parse(columns).program, machine) == [(("S",), "read", 8, 8, 8 * 7)]


def test_loops_that_do_not_move_an_access_repeat_its_conflicts():
    """The accesses of a large task whose addresses are no sum of loops are still counted: they were too many to list."""
    text = """
@T.prim_func
def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((4096, 1024), "float32")):
    S = T.alloc_buffer((32, 32), "float32", scope="local")
    for i, j in T.grid(32, 32):
        with T.block("S"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = A[vi, vj]
    for r in range(4096):
        for i in T.thread_binding(1024, thread="threadIdx.x"):
            with T.block("B"):
                vr, vi = T.axis.remap("SS", [r, i])
                T.block_attr({"engine": "vector"})
                B[vr, vi] = S[vi % 32, vi // 32]
"""
    assert conflicts_of(parse(text).program, banked()) == [(("S",), "read", 4096 * 32, 32, 4096 * 32 * 31)]


# Columns of [r][c] int8 in a scratchpad of four banks with rows of 16: rows of 64 elements put a column into one bank.
@pytest.mark.parametrize(("pitch", "degree"), [(64, 13), (16, 1), (80, 1), (32, 5)])
def test_rows_of_a_column_conflict_in_an_interleaved_scratchpad(pitch: int, degree: int):
    # 16 rows of a column: one row of a bank each. Spread evenly over 4 banks they need 4 cycles; in one bank 16, in two 8.
    sch = staged(transpose(16, pitch, "int8"))
    found = conflicts_of(sch.func, banked(4, 16, 16))
    assert [c[3] for c in found] == ([degree] if degree > 1 else [])


@given(
    st.integers(2, 9), st.integers(2, 9), st.integers(0, 3), st.sampled_from([2, 3, 4, 8]), st.sampled_from([4, 8]),
    st.sampled_from([8, 16, 32]), st.booleans(), st.integers(0, 3), st.booleans(), st.integers(1, 2),
)  # fmt: skip
def test_law_conflicts_of_a_transpose_are_those_of_every_address(
    rows: int,
    columns: int,
    padding: int,
    banks: int,
    row: int,
    vector: int,
    threads: bool,
    cut: int,
    swizzled: bool,
    again: int,
):
    pitch = columns + padding
    # Lanes beyond an edge are idle.
    where = f"T.where(i * 2 + j < {rows + columns - cut})" if cut else ""
    grid = [
        f'for {v} in T.thread_binding({n}, thread="threadIdx.{t}"):' if threads else f"for {v} in range({n}):"
        for v, n, t in (("i", columns, "y"), ("j", rows, "x"))
    ]
    text = f"""
@T.prim_func
def main(A: T.Buffer(({rows}, {columns}), "float32"), B: T.Buffer(({columns}, {rows}), "float32")):
    S = T.alloc_buffer(({rows}, {columns}), "float32", strides=({pitch}, 1), scope="local")
    for i, j in T.grid({rows}, {columns}):
        with T.block("S"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, {"(vi + vj) % " + str(columns) if swizzled else "vj"}] = A[vi, vj]
    for again in range({again}):
        {grid[0]}
            {grid[1]}
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    {where}
                    T.block_attr({{"engine": "vector"}})
                    B[vi, vj] = S[vj, {"(vi + vj) % " + str(columns) if swizzled else "vi"}]
"""
    func = parse(text).program
    machine = banked(banks, row, vector)
    rule = banking(machine.memory("pad"))
    assert rule is not None
    program, _ = replayed(func, machine)
    (task,) = [v for v in program.variants if program.templates[v.template].name == "B"]
    points = [(i, j) for i, j in product(range(columns), range(rows)) if not cut or i * 2 + j < rows + columns - cut]
    lanes = vector // 4
    groups: dict[int, list[tuple[int, int]]] = {}
    if threads:
        for i, j in points:
            groups.setdefault((i * rows + j) // lanes, []).append((i, j))
    else:
        runs: list[list[tuple[int, int]]] = []
        for at in points:
            goes_on = runs and at[0] * rows + at[1] == runs[-1][-1][0] * rows + runs[-1][-1][1] + 1
            runs[-1].append(at) if goes_on else runs.append([at])
        cuts = [run[n : n + lanes] for run in runs for n in range(0, len(run), lanes)]
        groups = dict(enumerate(cuts))
    lost = []
    for group in groups.values():
        places = {(j * pitch + ((i + j) % columns if swizzled else i)) * 4 // row for i, j in group}
        banks_hit = [p % banks for p in places]
        lost.append(max(banks_hit.count(b) for b in banks_hit) - -(-len(places) // banks))
    lost *= again  # the same addresses, another time
    found = conflicts_of(func, machine)
    expected = [(("S",), "read", len(lost), max(lost) + 1, sum(lost))] if sum(lost) else []
    assert [f for f in found if f[0] == ("S",) and f[1] == "read"] == expected
    assert task.cost.operations == again * len(points)
