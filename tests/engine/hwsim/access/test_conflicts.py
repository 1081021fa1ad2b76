"""Bank conflicts: against counting access by access, and against published examples."""

from __future__ import annotations

from collections import Counter
from itertools import product

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.engine.hwsim import Memory
from tilewright.engine.hwsim.access.bank_conflicts import (
    AccessedElements,
    BankConflicts,
    Banking,
    VectorOperand,
    affine_conflicts,
    banking,
    listed_conflicts,
)

GPU = Banking(groups=32, row_bytes=4, phase_bytes=128)
"""Shared memory of a GPU: 32 banks of 4 bytes, a word read by several lanes is broadcast, wide accesses in phases of 128 bytes."""

ASCEND = Banking(groups=16, row_bytes=32, region_bytes=65_536, regions=3)
"""The unified buffer of an Ascend 910B: 16 groups of 3 banks of 4 KiB."""


def served(rule: Banking, elements: list[tuple[int, int, bool, int]]) -> int:
    """Cycles lost by one access to elements (address, bytes, written, operand), one row after the other."""
    wanted = [
        (row, written, operand)
        for address, size, written, operand in elements
        for row in range(address // rule.row_bytes, (address + size - 1) // rule.row_bytes + 1)
    ]
    if rule.broadcast:
        wanted = sorted(set(wanted))
    cycles = ideal = 0
    for sides in [(True, False)] if rule.shared else [(True,), (False,)]:
        groups = Counter(row % rule.groups for row, written, _ in wanted if written in sides)
        cycles = max([cycles, *(-(-n // rule.ports) for n in groups.values())])
        ideal = max(ideal, -(-sum(groups.values()) // (rule.ports * rule.groups)))
    if rule.region_bytes:
        banks = Counter(
            (row % rule.groups, row * rule.row_bytes // rule.region_bytes % rule.regions) for row, *_ in wanted
        )
        cycles = max([cycles, *banks.values()])
        ideal = max(ideal, -(-len(wanted) // (rule.groups * rule.regions)))
    return cycles - ideal


def counted(
    rule: Banking, lanes: list[int], loops: list[int], operands: list[VectorOperand], width: int
) -> BankConflicts:
    """Every iteration, every group of lanes, every phase, one by one."""
    order = [tuple(reversed(p)) for p in product(*(range(n) for n in reversed(lanes)))]
    widest = max(o.element_bytes for o in operands)
    phase = max(1, rule.phase_bytes // widest) if rule.phase_bytes else width
    found = BankConflicts()
    for at in product(*map(range, loops)):
        for first in range(0, len(order), width):
            group = order[first : first + width]
            for part in range(0, len(group), phase):
                elements = [
                    (
                        o.base
                        + sum(i * s for i, s in zip(at, o.strides, strict=True))
                        + sum(i * s for i, s in zip(lane, o.lane_strides, strict=True)),
                        o.element_bytes,
                        o.written,
                        number,
                    )
                    for lane in group[part : part + phase]
                    for number, o in enumerate(operands)
                ]
                lost = served(rule, elements)
                found += BankConflicts(1, lost, lost + 1)
    return found


@st.composite
def rules(draw: st.DrawFn) -> Banking:
    groups, row = draw(st.sampled_from([1, 2, 3, 4, 8])), draw(st.sampled_from([1, 4, 6, 8]))
    regions = draw(st.sampled_from([0, 0, 2, 3]))
    return Banking(
        groups,
        row,
        ports=draw(st.integers(1, 2)),
        shared=draw(st.booleans()),
        broadcast=draw(st.booleans()),
        phase_bytes=draw(st.sampled_from([0, 0, 8, 12, 32])),
        region_bytes=groups * row * draw(st.sampled_from([1, 2, 3, 100])) if regions else 0,
        regions=regions or 1,
    )


strides = st.sampled_from([0, 1, 2, 3, 4, 5, 8, 12, 16, 20, 32, 33, -4, 40, 64])


@given(rules(), st.lists(st.integers(1, 6), min_size=1, max_size=3), st.lists(st.integers(1, 7), max_size=2),
       st.integers(1, 9), st.integers(1, 3), st.data())  # fmt: skip
def test_law_conflicts_by_remainders_are_those_of_every_access(
    rule: Banking, lanes: list[int], loops: list[int], width: int, count: int, data: st.DataObject
):
    operands = [
        VectorOperand(
            data.draw(st.sampled_from([1, 2, 4, 8])),
            data.draw(st.integers(0, 50)),
            tuple(data.draw(strides) for _ in lanes),
            tuple(data.draw(strides) for _ in loops),
            data.draw(st.booleans()),
        )
        for _ in range(count)
    ]
    assert affine_conflicts(rule, lanes, loops, operands, width) == counted(rule, lanes, loops, operands, width)


@given(
    rules(),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 90)), min_size=1, max_size=24),
    st.sampled_from([1, 4, 8]),
)
def test_law_conflicts_of_listed_elements_are_those_of_every_access(
    rule: Banking, listed: list[tuple[int, int]], size: int
):
    accesses = {a: [x for b, x in listed if b == a] for a, _ in sorted(listed)}
    lane = np.array([n for a in accesses for n in range(len(accesses[a]))])
    elements = AccessedElements(
        np.array([a for a in accesses for _ in accesses[a]]), np.array([x for a in accesses for x in accesses[a]]), size
    )
    expected = BankConflicts()
    for addresses in accesses.values():
        phase = max(1, rule.phase_bytes // size) if rule.phase_bytes else len(addresses)
        for first in range(0, len(addresses), phase):
            lost = served(rule, [(x, size, False, 0) for x in addresses[first : first + phase]])
            expected += BankConflicts(1, lost, lost + 1)
    assert listed_conflicts(rule, [elements], lane) == expected


def test_conflicts_are_counted_in_constant_time():
    # Rows of 33 words: of 10^6 x 10^6 columns of 32 words none has a conflict; of 32 words each has 31.
    for pitch, lost in ((33, 0), (32, 31)):
        column = VectorOperand(4, 0, (4 * pitch,), (4, 4 * 32 * pitch))
        clashes = affine_conflicts(GPU, [32], [10**6, 10**6], [column], 32)
        assert clashes == BankConflicts(10**12, lost * 10**12, lost + 1)


# "Using Shared Memory to Optimize ..." of NVIDIA (J. Luitjens, M. Harris): a column of a 32 x 32 tile of floats is one bank, 32 ways;
# with 33 floats a row each element is in another bank. Strides of 2 words: 2 ways; of an odd number of words: none.
@pytest.mark.parametrize(
    ("words", "degree"), [(0, 1), (1, 1), (2, 2), (3, 1), (4, 4), (8, 8), (16, 16), (32, 32), (33, 1)]
)
def test_conflict_ways_of_strided_words_in_a_warp(words: int, degree: int):
    clashes = affine_conflicts(GPU, [32], [32], [VectorOperand(4, 0, (4 * words,), (4,))], 32)
    assert clashes == BankConflicts(32, 32 * (degree - 1), degree)


# 64-bit accesses go half a warp at a time, 128-bit ones a quarter: contiguous ones have no conflict, though lanes 0 and 16 (0 and 8) are
# in the same banks (cutlass issue 328, flash-attention issue 738; CUDA C programming guide, compute capability 5.x and on).
@pytest.mark.parametrize(("size", "phases"), [(4, 1), (8, 2), (16, 4)])
def test_wide_contiguous_accesses_have_no_conflict_in_a_phase(size: int, phases: int):
    assert affine_conflicts(GPU, [32], [], [VectorOperand(size, 0, (size,))], 32) == BankConflicts(phases, 0, 1)


@pytest.mark.parametrize(
    ("size", "stride", "degree"),
    [
        (8, 16, 2),  # a half warp over 256 bytes
        (8, 128, 16),  # 16 lanes in the same two banks
        (16, 32, 2),
        (16, 128, 8),  # a quarter warp reading a column of 16-byte units from rows of 128 bytes: 8 ways
        (16, 128 + 16, 1),  # padded by one unit
    ],
)
def test_wide_strided_accesses_conflict_within_a_phase(size: int, stride: int, degree: int):
    clashes = affine_conflicts(GPU, [32], [], [VectorOperand(size, 0, (stride,))], 32)
    assert clashes.degree == degree and clashes.cycles == (degree - 1) * clashes.accesses


# Ascend C best practices, "avoid bank conflicts of the unified buffer": 0x10000 is in bank 16, 0x10020 in 17, 0x20020 in 33.
@pytest.mark.parametrize(
    ("source", "target", "lost"),
    [(0x10020, 0x10000, 0), (0x10020, 0x10E20, 1), (0x10020, 0x20020, 0)],
)
def test_published_mixed_addresses_conflict(source: int, target: int, lost: int):
    block = [VectorOperand(32, source, ()), VectorOperand(32, target, (), written=True)]
    assert affine_conflicts(ASCEND, [], [], block, 1).cycles == lost


@pytest.mark.parametrize(("first", "second", "lost"), [(0x10020, 0x20020, 1), (0x10020, 0x10000, 0)])
def test_published_read_addresses_conflict(first: int, second: int, lost: int):
    assert (
        affine_conflicts(ASCEND, [], [], [VectorOperand(32, first, ()), VectorOperand(32, second, ())], 1).cycles
        == lost
    )


# Eight blocks of 32 bytes are written at once: with a stride of 16 blocks they take 8 cycles, with 8 blocks 4, next to each other 1.
@pytest.mark.parametrize(("blocks", "cycles"), [(16, 8), (8, 4), (1, 1)])
@pytest.mark.parametrize("written", [True, False])
def test_published_strides_take_the_published_cycles(blocks: int, cycles: int, written: bool):
    clashes = affine_conflicts(ASCEND, [8], [], [VectorOperand(32, 0x1FE00, (32 * blocks,), (), written)], 8)
    assert clashes.degree == cycles


def test_memories_of_blocks_or_one_bank_have_no_conflict_rule():
    memory = Memory("m", ("m",), 196_608, 32, 32, banks=48, mapping="interleave", interleave_bytes=32, bank_groups=16)
    assert banking(memory) == ASCEND
    assert banking(Memory("m", ("m",), 4096, 4, 4, banks=2)) is None
    assert banking(Memory("m", ("m",), 4096, 4, 4, mapping="interleave")) is None


WARP = Banking(groups=32, row_bytes=4, phase_bytes=128, thread_bytes=16, joins=True)
"""Shared memory of a GPU, whose phases are joined; `thread_lanes` follow from the width of an access."""


def of_a_warp(width: int, places: dict[int, int]) -> BankConflicts:
    """An access of threads to vectors of `width` words, given by the number of each thread's vector."""
    threads = np.repeat(np.array([*places]), width)
    words = np.tile(np.arange(width), len(places))
    vectors = np.repeat(np.array([*places.values()]), width)
    elements = AccessedElements(np.zeros(len(words), np.int64), (vectors * width + words) * 4, 4)
    rule = msgspec.structs.replace(WARP, thread_lanes=width)
    return listed_conflicts(rule, [elements], threads * width + words)


# Transactions and conflicts of LDS.64 and LDS.128 that Nsight Compute counted on an A100 (zhuanlan.zhihu.com/p/690052715).
@pytest.mark.parametrize(
    ("width", "places", "transactions", "conflicts"),
    [
        (2, {t: t for t in range(32)}, 2, 0),
        (2, {t: t // 2 for t in range(32)}, 1, 0),
        (4, {15: 4, 16: 4}, 2, 0),
        (4, {0: 4, 15: 4}, 1, 0),
        (4, {t: t // 8 * 2 + t % 8 // 2 % 2 for t in range(32)}, 2, 0),
        (4, {t: t // 8 * 2 + (t % 8 // 2 % 2 if t < 16 else t % 8 % 2) for t in range(32)}, 4, 0),
        (4, {t: t // 16 * 4 + t % 16 // 8 + t % 8 // 4 * 8 for t in range(32)}, 4, 2),
        (4, dict.fromkeys(range(32), 0), 2, 0),
        (2, dict.fromkeys(range(32), 0), 1, 0),
    ],
)
def test_phases_are_joined_as_counted_on_a_gpu(
    width: int, places: dict[int, int], transactions: int, conflicts: int
) -> None:
    found = of_a_warp(width, places)
    assert (found.accesses + found.cycles, found.cycles) == (transactions, conflicts)


@given(st.sampled_from([2, 4]), st.lists(st.integers(0, 64), min_size=5, max_size=5))
def test_law_joined_phases_of_affine_addresses_are_those_of_listed_ones(width: int, steps: list[int]) -> None:
    lanes, strides = [width, 2, 2, 2, 2, 2], [4, *(step * width * 4 for step in steps)]
    rule = msgspec.structs.replace(WARP, thread_lanes=width)
    operand = VectorOperand(4, 0, tuple(strides))
    vectors = {t: sum(step for n, step in enumerate(steps) if t >> n & 1) for t in range(32)}
    assert affine_conflicts(rule, lanes, [], [operand], 32 * width) == of_a_warp(width, vectors)
