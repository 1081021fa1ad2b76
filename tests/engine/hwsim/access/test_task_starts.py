"""Loops around a task that shift its accesses by part of a burst or of a row of the banks, against every address."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from support.simulator.machines import PLAIN

from tilewright.engine.hwsim import Machine, Report, read_machine, simulate
from tilewright.engine.hwsim.simulate import replayed
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

SIZE = 4
LANES = 8
WHOLE = 10**9


def machine(burst: int = 1, banks: int = 1, row: int = 0, pad: str = "") -> Machine:
    """`plain` with a vector unit that reaches both memories: the far one has bursts, the scratchpad interleaved banks."""
    text = PLAIN.replace("capacity_bytes = 1_048_576\n", f"capacity_bytes = 1_048_576\nburst_bytes = {burst}\n")
    if row:
        text = text.replace("banks = 2", f'banks = {banks}\nmapping = "interleave"\ninterleave_bytes = {row}\n{pad}')
    head, _, tail = text.partition('kind = "vector"')
    reach = 'reads = ["pad"]\nwrites = ["pad"]'
    return read_machine(head + 'kind = "vector"' + tail.replace(reach, reach.replace('"pad"', '"ddr", "pad"'), 1))


def stored(rows: int, step: int, length: int) -> Schedule:
    """`rows` copies of `length` elements into the scratchpad; after each, the vector unit stores them `step` elements further on."""
    return Schedule(
        parse(f"""
@T.prim_func
def main(A: T.Buffer(({rows}, {length}), "int32"), Y: T.Buffer(({(rows - 1) * step + length},), "int32")):
    L = T.alloc_buffer(({length},), "int32", scope="local")
    for i in range({rows}):
        for j in range({length}):
            with T.block("load"):
                vi, vj = T.axis.remap("SS", [i, j])
                L[vj] = A[vi, vj]
        for j in range({length}):
            with T.block("work"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi * {step} + vj] = L[vj] * 3
""").program
    )


def spread(rows: int, step: int, length: int, stride: int, slots: int = 1) -> Schedule:
    """A copy into the scratchpad (in `slots`), of which the vector unit reads `length` elements that are `stride` apart, `step` elements
    further on in each iteration; if there are slots, from their beginning."""
    size = (0 if slots > 1 else (rows - 1) * step) + (length - 1) * stride + 1
    sch = Schedule(
        parse(f"""
@T.prim_func
def main(A: T.Buffer(({rows}, {size}), "int32"), Y: T.Buffer(({rows}, {length}), "int32")):
    Z = T.alloc_buffer(({size},), "int32", scope="local")
    L = T.alloc_buffer(({length},), "int32", scope="local")
    for i in range({rows}):
        for j in range({size}):
            with T.block("load"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vj] = A[vi, vj]
        for j in range({length}):
            with T.block("work"):
                vi, vj = T.axis.remap("SS", [i, j])
                L[vj] = Z[vi * {0 if slots > 1 else step} + vj * {stride}] * 3
        for j in range({length}):
            with T.block("store"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = L[vj]
""").program
    )
    if slots > 1:
        sch.double_buffer("load", slots=slots)
    return sch


def bursts_of(first: int, length: int, burst: int) -> int:
    """Bursts that `length` elements from byte `first` on touch; operations of several lanes in one burst move it once."""
    group = max(LANES, burst // SIZE)
    groups = [range(start, min(start + group, length)) for start in range(0, length, group)]
    return sum(len({(first + n * SIZE) // burst for n in lanes}) for lanes in groups)


def moved_bytes(report: Report, block: str) -> int:
    return sum(m.moved_bytes for m in report.bursts if m.block == block)


@given(st.integers(2, 70), st.integers(1, 40), st.sampled_from([1, 5, 8, 16, 17]), st.sampled_from([8, 16, 64]))
def test_law_each_iteration_moves_the_bursts_that_its_addresses_touch(rows: int, step: int, length: int, burst: int):
    here, sch = machine(burst), stored(rows, step, length)
    base = replayed(sch.func, here)[0].places
    first = next(p.address for p in base.placements if p.buffer.name == "Y")
    expected = burst * sum(bursts_of(first + i * step * SIZE, length, burst) for i in range(rows))
    few, every = (simulate(sch.func, here, whole=whole) for whole in (0, WHOLE))
    assert few.to_json() == every.to_json()
    assert moved_bytes(few, "work") == expected


def lost(first: int, length: int, stride: int, banks: int, row: int) -> int:
    """Cycles beyond an even spread over the banks, for `length` elements from byte `first` on, `stride` elements apart."""
    total = 0
    for start in range(0, length, LANES):
        addresses = [first + n * stride * SIZE for n in range(start, min(start + LANES, length))]
        rows = {a // row for a in addresses} | {(a + SIZE - 1) // row for a in addresses}
        total += max(Counter(r % banks for r in rows).values()) - -(-len(rows) // banks)
    return total


def lost_by(sch: Schedule, here: Machine) -> tuple[int, int]:
    """Where Z begins, and the cycles that are lost on it. A replay of every task gives the same report."""
    first = next(p.address for p in replayed(sch.func, here)[0].places.placements if p.buffer.name.startswith("Z"))
    few, every = (simulate(sch.func, here, whole=whole) for whole in (0, WHOLE))
    assert few.to_json() == every.to_json()
    return first, sum(row.cycles for row in few.conflicts if row.buffers[0].startswith("Z"))


banks = st.sampled_from([(4, 8), (4, 16), (2, 16), (8, 16)])


@given(st.integers(2, 70), st.integers(1, 12), st.sampled_from([5, 8, 17]), st.integers(2, 7), banks)
def test_law_each_iteration_has_the_conflicts_of_its_addresses(
    rows: int, step: int, length: int, stride: int, sizes: tuple[int, int]
):
    first, cycles = lost_by(spread(rows, step, length, stride), machine(1, *sizes))
    assert cycles == sum(lost(first + i * step * SIZE, length, stride, *sizes) for i in range(rows))


@given(st.integers(2, 5), st.sampled_from([5, 8, 17]), st.integers(2, 7), banks)
def test_law_slots_that_begin_inside_a_row_have_their_own_conflicts(
    slots: int, length: int, stride: int, sizes: tuple[int, int]
):
    rows, size = 24, ((length - 1) * stride + 1) * SIZE
    first, cycles = lost_by(spread(rows, 0, length, stride, slots), machine(1, *sizes))
    assert cycles == sum(lost(first + i % slots * size, length, stride, *sizes) for i in range(rows))
