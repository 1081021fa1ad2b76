"""Bank conflicts of matrix engines: rows of tiles in interleaved banks, against counting at every address."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.programs.sources import matmul
from support.simulator.machines import PLAIN

from tilewright.engine.hwsim import Machine, MachineError, read_machine, simulate
from tilewright.engine.hwsim.simulate import replayed
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

SYSTOLIC = """kind = "systolic"
reads = ["pad"]
writes = ["pad"]
rows = 4
columns = 8
element_bytes = 4
dataflow = "weight_stationary"
setup_cycles = 5
"""


def banked(banks: int = 32, row: int = 8, systolic: bool = False) -> Machine:
    """A TCDM like Snitch's: `banks` banks, each with one row of `row` bytes per cycle."""
    text = PLAIN.replace("capacity_bytes = 8_192\nbanks = 2", f'capacity_bytes = {banks * row * 2048}\nbanks = {banks}\n'
                         f'mapping = "interleave"\ninterleave_bytes = {row}\n')  # fmt: skip
    if systolic:
        head, _, rest = text.partition('kind = "matrix"')
        text = head + SYSTOLIC + "\n[engines.vector]" + rest.partition("[engines.vector]")[2]
    return read_machine(text).replace("engines.matrix.operand_rows", "banked")


def product(m: int, n: int, k: int, flipped: tuple[bool, ...] = (False, False, False)) -> Schedule:
    """A product of whole operands in the pad, those that are flipped stored with their axes exchanged."""
    sch = Schedule(parse(matmul(m, n, k)).program)
    for operand in (0, 1):
        sch.cache_read("C", operand, "local")
    write = sch.cache_write("C", 0, "local")
    for flip, block, side in zip(flipped, ("A_local", "B_local", write), ("write", "write", "read"), strict=True):
        if flip:
            sch.transform_layout(block, (side, 0), lambda a, b: [b, a])
    return sch


def lost(rows: list[list[int]], banks: int, row: int) -> int:
    """Cycles beyond an even spread, for the byte addresses of the elements of each access."""
    total = 0
    for elements in rows:
        touched = {address // row for first in elements for address in (first, first + 3)}
        busiest = max(Counter(r % banks for r in touched).values())
        total += busiest - -(-len(touched) // banks)
    return total


def rows_of(base: int, shape: tuple[int, int], along: int, width: int, flip: bool) -> list[list[int]]:
    """The addresses of rows of `width` elements along an axis of an operand."""
    steps = (4, 4 * shape[0]) if flip else (4 * shape[1], 4)
    found: list[list[int]] = []
    for other in range(shape[1 - along]):
        for start in range(0, shape[along], width):
            inside = range(start, min(start + width, shape[along]))
            found.append([base + n * steps[along] + other * steps[1 - along] for n in inside])
    return found


def expected(machine: Machine, sch: Schedule, sizes: tuple[int, int, int], flipped: tuple[bool, ...]) -> Counter[str]:
    m, n, k = sizes
    pad = machine.memory("pad")
    places = replayed(sch.func, machine)[0].places
    base = {p.buffer.name: p.address for p in places.placements}
    engine = machine.engine("matrix")
    down, across = (4, 8) if hasattr(engine, "dataflow") else (8, 8)  # elements of a row of A, and of B and the sums
    folds = -(-k // down) if hasattr(engine, "dataflow") else 1
    found: Counter[str] = Counter()
    for name, shape, along, width, flip, times in (
        ("A_local", (m, k), 1, down, flipped[0], -(-n // across)),
        ("B_local", (k, n), 1, across, flipped[1], 1 if hasattr(engine, "dataflow") else -(-m // 8)),
        ("C_local", (m, n), 1, across, flipped[2], 2 * folds),
    ):
        found[name] = times * lost(rows_of(base[name], shape, along, width, flip), pad.banks, pad.interleave_bytes)
    return found


def conflicts(machine: Machine, sch: Schedule) -> Counter[str]:
    found: Counter[str] = Counter()
    for variant in replayed(sch.func, machine)[0].variants:
        for c in variant.cost.conflicts:
            found[c.buffers[0].name] += c.cycles
    return found


small = st.sampled_from([1, 3, 4, 8, 9, 16, 20])


@given(
    small,
    small,
    small,
    st.tuples(*[st.booleans()] * 3),
    st.sampled_from([(32, 8), (4, 4), (8, 16), (16, 4)]),
    st.booleans(),
)
def test_law_each_row_of_a_tile_waits_for_its_busiest_bank(m, n, k, flipped, sizes, systolic):
    machine = banked(*sizes, systolic=systolic)
    sch = product(m, n, k, flipped)
    try:
        found = conflicts(machine, sch)
    except MachineError as error:
        assert error.code
        return
    if "mac" not in {w.kind for t in replayed(sch.func, machine)[0].templates for c in t.choices for w in c.works}:
        return  # a product of a single element in depth is no sum
    assert +found == +expected(machine, sch, (m, n, k), flipped)


def test_bank_conflicts_of_columns_lengthen_the_task():
    sch = product(16, 16, 16, (False, True, False))
    ideal, here = banked().replace("matrix.operand_rows", "ideal"), banked()
    tasks = [{v.cost.duration for v in replayed(sch.func, m)[0].variants if v.cost.tiling} for m in (ideal, here)]
    # Rows of 8 floats, 64 bytes apart: in every eighth bank of 8 bytes, so two of them in each of four banks.
    assert conflicts(here, sch) == Counter(B_local=2 * 2 * 16 * 1)
    assert min(tasks[1]) == min(tasks[0]) + 2 * 2 * 16
    assert simulate(sch.func, here).cycles == simulate(sch.func, ideal).cycles + 2 * 2 * 16


def test_contiguous_rows_have_no_bank_conflicts():
    sch = product(16, 16, 16)
    assert not +conflicts(banked(), sch)
    assert (
        simulate(sch.func, banked()).cycles
        == simulate(sch.func, banked().replace("matrix.operand_rows", "ideal")).cycles
    )


WINDOWS = """
@T.prim_func
def main(A: T.Buffer((8, 12), "int32"), B: T.Buffer((12, 8), "int32"), C: T.Buffer((3, 6, 8), "int32")):
    for i, j, n, k in T.grid(3, 6, 8, 12):
        with T.block("C"):
            vi, vj, vn, vk = T.axis.remap("SSSR", [i, j, n, k])
            with T.init():
                C[vi, vj, vn] = 0
            C[vi, vj, vn] = C[vi, vj, vn] + A[vi + vj, vk] * B[vk, vn]
"""


@pytest.mark.slow
def test_row_follows_the_inner_of_equal_loops():
    machine = banked(2, 4, systolic=True).replace("matrix.dataflow", "output_stationary")
    found: set[int] = set()
    for _ in range(12):  # the order of a set of loops differs between programs
        sch = Schedule(parse(WINDOWS).program)
        for operand in (0, 1):
            sch.cache_read("C", operand, "local")
        sch.cache_write("C", 0, "local")
        found.add(conflicts(machine, sch)["A_local"])
    pairs = [(i, j) for i in range(3) for j in range(6)]
    rows = [[48 * (i + j) + 4 * k for i, j in pairs[n : n + 4]] for k in range(12) for n in range(0, 18, 4)]
    assert found == {lost(rows, 2, 4)}
