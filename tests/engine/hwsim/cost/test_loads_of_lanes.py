"""Loads and stores of a vector engine: accesses to banks in turn, and the rate and latency of memories around the core."""

from __future__ import annotations

import pytest
from support.simulator.chips.machines import chip_of
from support.simulator.machines import PLAIN

from tilewright.engine.hwsim import Machine, read_machine
from tilewright.engine.hwsim.cost.model import Cost
from tilewright.engine.hwsim.simulate import replayed, simulate
from tilewright.engine.script import parse

ROUNDS, THREADS = 16, 64
SETUP = 3

# Each round stages a row of A in the scratchpad, from which all threads read it twice.
STAGED = f"""
@T.prim_func
def main(A: T.Buffer(({ROUNDS}, {THREADS}), "float32"), B: T.Buffer((4, {THREADS}), "float32")):
    for b in T.thread_binding(4, thread="blockIdx.x"):
        with T.block("root"):
            T.reads(A[0:{ROUNDS}, 0:{THREADS}])
            T.writes(B[b, 0:{THREADS}])
            S = T.alloc_buffer(({THREADS},), "float32", scope="local")
            for r in range({ROUNDS}):
                for i in T.thread_binding({THREADS}, thread="threadIdx.x"):
                    with T.block("S"):
                        vr, vi = T.axis.remap("SS", [r, i])
                        T.block_attr({{"engine": "vector"}})
                        S[vi] = A[vr, vi]
                for i in T.thread_binding({THREADS}, thread="threadIdx.x"):
                    with T.block("B"):
                        vr, vi = T.axis.remap("RS", [r, i])
                        T.block_attr({{"engine": "vector"}})
                        B[b, vi] = B[b, vi] + S[vi] * S[{THREADS - 1} - vi]
"""


def banked(around: int = 0, operands: str = "in_turn") -> Machine:
    banks = 'banks = 32\nmapping = "interleave"\ninterleave_bytes = 4\nphase_bytes = 128'
    text = PLAIN.replace("capacity_bytes = 8_192\nbanks = 2", f"capacity_bytes = 8_192\n{banks}")
    head, _, tail = text.replace("vector_bytes = 32", "vector_bytes = 256").partition("[engines.vector]")
    tail = tail.replace('"pad"', '"ddr", "pad"', 2)
    machine = read_machine(f"{head}[engines.vector]{tail}")
    for key in ("read_bytes_per_cycle", "write_bytes_per_cycle"):
        machine = machine.replace(f"memories.ddr.{key}", 1 << 20)
    machine = machine.replace("memories.ddr.latency_cycles", 100).replace("engines.vector.operands", operands)
    return chip_of(machine.replace("engines.vector.around_bytes_per_cycle", around), 4)


def cost_of(machine: Machine) -> Cost:
    (cost,) = {v.cost.key: v.cost for v in replayed(parse(STAGED).program, machine)[0].variants}.values()
    return cost


def test_loads_and_stores_take_turns_at_the_banks():
    # A store and two loads of 64 words for each round, in two phases; 16 rounds of three operations of 64 lanes are fewer.
    assert cost_of(banked()).duration == SETUP + ROUNDS * 3 * 2


def test_operands_of_one_instruction_do_not():
    assert cost_of(banked(operands="together")).duration < SETUP + ROUNDS * 3 * 2


@pytest.mark.parametrize("rate", [64, 256])
def test_loads_from_around_take_turns_with_them_and_wait_for_their_latency(rate: int):
    cost = cost_of(banked(rate))
    moved = ROUNDS * THREADS * 4 + 2 * THREADS * 4
    # The reads of A, and of the sums and of their result. Each round waits for its row.
    assert cost.waited == ROUNDS * 100
    assert cost.duration == SETUP + ROUNDS * 3 * 2 + moved // rate + cost.waited
    assert cost.latency == 100


def test_blocks_that_run_at_once_wait_for_their_loads_together():
    alone = banked(64)
    both = alone.replace("levels.core.count", 2).replace("levels.core.blocks", 2)
    together, turn = (both.replace("levels.core.sharing", way) for way in ("together", "in_turn"))
    cost = cost_of(alone)
    program = parse(STAGED).program
    assert simulate(program, turn).cycles - simulate(program, together).cycles == cost.waited
