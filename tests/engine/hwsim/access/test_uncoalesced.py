"""Vectors that access a memory with bursts: the sectors that a warp moves, by hand and against every address."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.engine.export import report_text
from tilewright.engine.hwsim import Report, load_machine, simulate
from tilewright.engine.hwsim.access.bank_conflicts import Banking, VectorOperand, affine_conflicts
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

Moved = tuple[str, str, int, int, int]


def kernel(threads: int, read: str, write: str = "t", dtype: str = "float32") -> str:
    """Each thread block (of 4) copies and adds one; `read` and `write` are indices over block b and thread t."""
    return f'''
@T.prim_func
def main(A: T.Buffer((4, 8192), "{dtype}"), B: T.Buffer((4, 8192), "{dtype}")):
    for b in T.thread_binding(4, thread="blockIdx.x"):
        for t in T.thread_binding({threads}, thread="threadIdx.x"):
            with T.block("B"):
                T.reads(A[b, 0:8192])
                T.writes(B[b, 0:8192])
                B[b, {write}] = A[b, {read}] + T.{dtype}(1)
'''


def moved(text: str, burst: int = 32) -> list[Moved]:
    machine = load_machine("gpu-sm").replace("hbm.burst_bytes", burst)
    report = simulate(parse(text).program, machine)
    found = [(m.buffer, m.kind, m.accesses, m.wanted_bytes, m.moved_bytes) for m in report.bursts]
    return sorted(found)


# CUDA best practices guide, "Coalesced Access to Global Memory": 32 threads and adjacent words of 4 bytes are four 32-byte transactions;
# shifted, five; at stride 2 eight, of which half is used; at worst one for each thread.
@pytest.mark.parametrize(
    ("read", "sectors"), [("t", 4), ("t + 1", 5), ("t * 2", 8), ("t * 8", 32), ("t * 33", 32), ("0", 1), ("t // 8", 1)]
)
def test_a_warp_moves_each_touched_sector_once(read: str, sectors: int):
    wanted = {"0": 4, "t // 8": 16}.get(read, 128)
    assert moved(kernel(32, read)) == [
        ("A", "read", 4, 4 * wanted, 4 * sectors * 32),
        ("B", "write", 4, 4 * 128, 4 * 4 * 32),
    ]


def test_shifted_warp_moves_two_lines_of_128_bytes():
    assert moved(kernel(32, "t + 1"), burst=128)[0] == ("A", "read", 4, 4 * 128, 4 * 2 * 128)


# Doubles are accessed by half warps: two requests of 128 bytes each.
def test_wider_elements_need_several_requests():
    assert moved(kernel(32, "t", dtype="float64"))[0] == ("A", "read", 8, 4 * 256, 4 * 256)


def scaled(order: Callable[[str, str], tuple[str, str]]) -> Report:
    """B = A + 1, 64 x 64, threads over one of the loops and blocks over the other."""
    sch = Schedule(parse('''
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
''').program)  # fmt: skip
    block, thread = order(*sch.get_loops("B"))
    sch.reorder(block, thread)
    sch.bind(block, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    return simulate(sch.func, load_machine("gpu-sm"))


def test_threads_down_a_column_move_a_sector_for_each_element():
    rows, columns = scaled(lambda i, j: (i, j)), scaled(lambda i, j: (j, i))
    assert [f.code for f in rows.findings] == []
    assert [f.code for f in columns.findings] == ["uncoalesced", "uncoalesced"]
    # 64 blocks of 64 threads: 256 bytes in and 256 out at 13 a cycle, together 40 cycles; eight times as much is 316.
    assert [t.cycles for t in rows.tasks] == [64 * 40]
    assert [t.cycles for t in columns.tasks] == [64 * 316]
    assert {(m.wanted_bytes, m.moved_bytes) for m in columns.bursts} == {(64 * 256, 8 * 64 * 256)}
    assert {e.read_bytes for e in columns.accesses if e.buffer == "A"} == {64 * 256}
    text = report_text(columns)
    assert "bursts of" in text and "131,072" in text
    assert "bursts of" not in report_text(rows)


# Values that a thread's loop does not change are in its registers: a sum over 16 moves its result once.
def test_accumulator_in_global_memory_moves_once():
    text = kernel(32, "t").replace(
        'T.block("B"):', 'T.block("B"):\n                T.reads(A[b, 0:8192], B[b, 0:8192])'
    )
    text = text.replace("                T.reads(A[b, 0:8192])\n                T.writes", "                T.writes")
    text = text.replace("                B[b, t] = A[b, t] + T.float32(1)", "                for r in range(16):\n"
                        "                    B[b, t] = B[b, t] + A[b, r * 32 + t]")  # fmt: skip
    assert moved(text) == [
        ("A", "read", 4 * 16, 4 * 16 * 128, 4 * 16 * 128),
        ("B", "read", 4, 4 * 128, 4 * 128),
        ("B", "write", 4, 4 * 128, 4 * 128),
    ]


@given(
    lanes=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    loops=st.lists(st.integers(1, 5), max_size=2),
    data=st.data(),
    burst=st.sampled_from([1, 4, 32, 64, 100]),
    phase=st.sampled_from([0, 8, 128]),
    width=st.integers(1, 40),
)
def test_law_bursts_are_those_of_all_addresses(
    lanes: list[int], loops: list[int], data: st.DataObject, burst: int, phase: int, width: int
):
    size = data.draw(st.sampled_from([1, 2, 4, 8]))
    strides = [data.draw(st.integers(-9, 9)) * size for _ in (*lanes, *loops)]
    base = data.draw(st.integers(0, 40)) * size
    across, outer = tuple(strides[: len(lanes)]), tuple(strides[len(lanes) :])
    rule = Banking(1, burst, phase_bytes=phase, counts_rows=True)
    found = affine_conflicts(rule, lanes, loops, [VectorOperand(size, base, across, outer)], width)
    assert (found.accesses, found.cycles) == one_by_one(lanes, loops, across, outer, base, size, burst, phase, width)


def one_by_one(
    lanes: list[int], loops: list[int], across: tuple[int, ...], outer: tuple[int, ...], base: int, size: int, burst: int,
    phase: int, width: int,
) -> tuple[int, int]:  # fmt: skip
    """(requests, bursts): every lane of every operation."""

    def places(extents: list[int], strides: tuple[int, ...]) -> list[int]:
        """Offsets, the first loop the fastest."""
        found = [0]
        for extent, stride in zip(extents, strides, strict=True):
            found = [o + i * stride for i in range(extent) for o in found]
        return found

    accesses = bursts = 0
    for start in places(loops, outer):
        every = [base + start + o for o in places(lanes, across)]
        for first in range(0, len(every), width):
            operation = every[first : first + width]
            at_once = max(1, phase // size) if phase else len(operation)
            for n in range(0, len(operation), at_once):
                accesses += 1
                bursts += len(
                    {b for a in operation[n : n + at_once] for b in range(a // burst, (a + size - 1) // burst + 1)}
                )
    return accesses, bursts
