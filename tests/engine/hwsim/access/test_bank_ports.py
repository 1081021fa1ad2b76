"""Interleaved banks with separate ports: engines wait for each other only on the same bank."""

from __future__ import annotations

from math import ceil
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import samples
from support.simulator.exactness import differing_reports, tiled, varied
from support.simulator.machines import plain, roomy

from tilewright.engine.hwsim import Machine, MachineError, simulate
from tilewright.engine.hwsim.simulate import replayed
from tilewright.engine.ir import PrimFunc
from tilewright.engine.script import parse

ROW = 32


def banked(found: Machine, banks: int = 2, row: int = ROW, width: int = 4) -> Machine:
    """The machine with a scratchpad of interleaved banks, each with one port of this width."""
    for figure, value in (
        ("block_ports", "common"),
        ("interleave_bytes", row),
        ("banks", banks),
        ("mapping", "interleave"),
        ("ports", "shared"),
        ("read_bytes_per_cycle", banks * width),
        ("write_bytes_per_cycle", banks * width),
        ("block_ports", "own"),
    ):
        found = found.replace(f"pad.{figure}", value)
    return found


def loads(first: str, second: str, steps: int = 4) -> PrimFunc:
    """Two copies per step, of eight rows of 32 bytes each, to these rows of two buffers of 16 rows."""
    return parse(f"""
@T.prim_func
def main(A: T.Buffer(({8 * steps}, 8), "int32"), B: T.Buffer(({8 * steps}, 8), "int32"),
         O: T.Buffer((16, 8), "int32")):
    X = T.alloc_buffer((16, 8), "int32", scope="local")
    Y = T.alloc_buffer((16, 8), "int32", scope="local")
    for s in range({steps}):
        for i, j in T.grid(8, 8):
            with T.block("X"):
                vs, vi, vj = T.axis.remap("SSS", [s, i, j])
                X[{first.format(i="vi", s="vs")}, vj] = A[vs * 8 + vi, vj]
        for i, j in T.grid(8, 8):
            with T.block("Y"):
                vs, vi, vj = T.axis.remap("SSS", [s, i, j])
                Y[{second.format(i="vi", s="vs")}, vj] = B[vs * 8 + vi, vj]
    for i, j in T.grid(16, 8):
        with T.block("O"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = X[vi, vj] + Y[vi, vj]
""").program


def demands(func: PrimFunc, found: Machine) -> dict[str, set[frozenset[tuple[str, int]]]]:
    """The cycles of each port of the scratchpad, by block and kind of task."""
    program, _ = replayed(func, found)
    kinds: dict[str, set[frozenset[tuple[str, int]]]] = {}
    for variant in program.variants:
        ports = ((port.name, cycles) for port, cycles in variant.cost.demands if port.name.startswith("local"))
        kinds.setdefault(program.templates[variant.template].name, set()).add(frozenset(ports))
    return kinds


def fast() -> Machine:
    """Two channels to a memory that is no limit."""
    found = banked(plain()).replace("dma.channels", 2).replace("dma.bytes_per_cycle", 1 << 20)
    return found.replace("ddr.read_bytes_per_cycle", 1 << 20)


def test_rows_of_one_bank_request_only_its_port() -> None:
    found = demands(loads("2 * {i}", "{i} + 3"), fast())
    assert found["X"] == {frozenset({("local[0] port", 64)})}
    assert found["Y"] == {frozenset({("local[0] port", 32), ("local[1] port", 32)})}


def test_tasks_in_different_banks_are_of_different_kinds() -> None:
    found = demands(loads("2 * {i} + {s} % 2", "{i}"), fast())
    assert found["X"] == {frozenset({(f"local[{bank}] port", 64)}) for bank in (0, 1)}


def test_copies_to_one_bank_are_serialized() -> None:
    apart, together = (simulate(loads("2 * {i}", second), fast()) for second in ("2 * {i} + 1", "2 * {i}"))
    assert apart.engines["dma[0]"].stall["port"] == apart.engines["dma[1]"].stall["port"] == 0
    assert together.cycles >= apart.cycles + 3 * 64
    assert together.engines["dma[0]"].stall["port"] + together.engines["dma[1]"].stall["port"] > 0


@pytest.mark.slow
@given(st.integers(0, 1 << 30))
def test_random_rows_are_attributed_to_their_banks(seed: int) -> None:
    rng = Random(seed)
    banks, row, step, start = rng.choice((2, 3, 4, 8)), rng.choice((4, 8, 32)), rng.choice((1, 2)), rng.randrange(8)
    found = banked(plain().replace("pad.capacity_bytes", 3 << 15), banks, row)
    func = loads(f"({step} * {{i}} + {start}) % 16", "{i}", 1)
    start_of_x = next(p.address for p in replayed(func, found)[0].places.placements if p.buffer.name == "X")
    elements = [((step * i + start) % 16) * 8 + j for i in range(8) for j in range(8)]
    rows = np.unique([(start_of_x + 4 * e + b) // row for e in elements for b in range(4)])
    expected = {
        (f"local[{bank}] port", ceil(ceil(256 * int(count) / len(rows)) / 4))
        for bank in range(banks)
        if (count := (rows % banks == bank).sum())
    }
    assert demands(func, found)["X"] == {frozenset(expected)}


@pytest.mark.parametrize("seed", samples(range(12), *range(3)))
def test_law_skipping_with_bank_ports_is_exact(seed: int) -> None:
    rng = Random(seed)
    func = tiled(rng, "local", "local")
    machine = banked(varied(rng, roomy()), rng.choice((2, 4, 16)), rng.choice((4, 16, 64)), rng.choice((4, 16)))
    try:
        assert not differing_reports(func, machine)
    except MachineError as error:
        assert error.code in ("out-of-reach", "no-such-bank", "too-many-tasks")


def test_bank_ports_with_groups_of_banks_are_refused() -> None:
    with pytest.raises(MachineError) as refused:
        banked(plain()).replace("pad.bank_groups", 2)
    assert refused.value.code == "uneven-banks"
