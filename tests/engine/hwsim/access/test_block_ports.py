"""Physical blocks with separate ports: buffers in one block share its port, buffers in different blocks do not."""

from __future__ import annotations

import pytest
from support.programs.sources import matmul
from support.simulator.machines import plain

from tilewright.engine.hwsim import Machine, MachineError, load_machine, simulate
from tilewright.engine.hwsim.access.ports import PortSpec, block_demands
from tilewright.engine.hwsim.simulate import replayed
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


def machine(block_ports: str = "own", width: int = 16) -> Machine:
    """Two blocks of 64 KiB, each with one port of half this width."""
    found = plain().replace("pad.capacity_bytes", 1 << 17).replace("pad.ports", "shared")
    for figure in ("pad.read_bytes_per_cycle", "pad.write_bytes_per_cycle"):
        found = found.replace(figure, width)
    return found.replace("pad.block_ports", block_ports)


def product(banks: tuple[int, int], scopes: tuple[str, str, str] = ("local", "local", "local")) -> Schedule:
    """A product in steps of 8: slot i of each operand in the block `banks` of the operand, for both slots."""
    sch = Schedule(parse(matmul(8, 8, 256)).program)
    k, inner = sch.split(sch.get_loops("C")[2], factors=[None, 8])
    sch.reorder(k, *sch.get_loops("C")[:2], inner)
    for operand, bank in enumerate(banks):
        copy = sch.cache_read("C", operand, scopes[operand])
        sch.compute_at(copy, k)
        sch.double_buffer(copy, banks=(bank, bank))
    sch.cache_write("C", 0, scopes[2])
    return sch


def demands(sch: Schedule, found: Machine) -> dict[str, list[dict[str, int]]]:
    """The cycles of each port of the pad, by template."""
    program, _ = replayed(sch.func, found)
    kinds: dict[str, list[dict[str, int]]] = {}
    for variant in program.variants:
        ports: dict[PortSpec, int] = dict(variant.cost.demands)
        inside = {port.name: cycles for port, cycles in ports.items() if port.name.startswith("local")}
        kinds.setdefault(program.templates[variant.template].name, []).append(inside)
    return kinds


def test_operands_in_one_block_are_serialized_at_its_port():
    here, apart = (demands(product(banks), machine()) for banks in ((1, 1), (1, 0)))
    tile = 8 * 8 * 4 // 8
    # The sums are in block 0, read and written.
    assert {frozenset(d.items()) for d in here["C"]} == {
        frozenset({("local[1] port", 2 * tile), ("local[0] port", 2 * tile)})
    }
    assert {frozenset(d.items()) for d in apart["C"]} == {
        frozenset({("local[1] port", tile), ("local[0] port", 3 * tile)})
    }
    assert here["A_local"] == [{"local[1] port": tile}] * len(here["A_local"])


@pytest.mark.parametrize("banks", [(0, 0), (1, 1), (0, 1)])
def test_blocks_make_no_difference_at_common_ports(banks):
    sch = product(banks)
    assert simulate(sch.func, machine("common")).cycles == simulate(product((0, 1)).func, machine("common")).cycles


def test_copy_into_the_block_being_read_waits_for_its_port():
    fast = machine(width=4).replace("matrix.cycles_per_tile", 1).replace("ddr.read_bytes_per_cycle", 64)
    fast = fast.replace("dma.bytes_per_cycle", 64)
    crowded, apart = (simulate(product(banks).func, fast) for banks in ((0, 0), (1, 1)))
    # All of 2 + 2 tiles in and out of one block, or two of them in each block.
    assert crowded.cycles > 1.4 * apart.cycles
    assert sum(e.stall["port"] for e in crowded.engines.values()) > 0


@pytest.mark.parametrize(
    ("size", "blocks", "cycles"),
    [(2048, [0, 1], {0: 128, 1: 128}), (2048, [1], {1: 256}), (90, [0, 0, 1], {0: 8, 1: 4})],
)
def test_bytes_of_a_buffer_in_several_blocks_are_spread_over_them(size, blocks, cycles):
    memory = machine().memory("pad")
    found = block_demands([(memory, False, size, blocks)])
    assert {port.name: n for port, n in found.items()} == {f"local[{block}] port": n for block, n in cycles.items()}


def test_gemmini_operands_in_one_bank_are_slower():
    scopes = ("local.scratchpad", "local.scratchpad", "local.accumulator")
    gemmini = load_machine("gemmini").replace("scratchpad.block_ports", "own")
    func = product((0, 0), scopes).func, product((0, 1), scopes).func
    crowded, apart = (simulate(f, gemmini) for f in func)
    assert crowded.cycles >= apart.cycles
    names = {b.name for b in crowded.bounds if b.kind == "port"}
    assert "local.scratchpad[0] port" in names and "local.scratchpad[1] port" not in names


@pytest.mark.parametrize(
    ("path", "value"),
    [("pad.read_bytes_per_cycle", 15), ("pad.write_bytes_per_cycle", 7)],
)
def test_ports_that_cannot_be_divided_are_refused(path: str, value: object):
    found = machine()
    with pytest.raises(MachineError) as caught:
        found.replace(path, value)
    assert caught.value.code == "uneven-banks"
