"""Blocks of different lengths on cores that do not delay each other, against a replay of all tasks of all cores."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tilewright.engine.hwsim import Machine, load_machine, simulate, tasks_of
from tilewright.engine.hwsim.replay.cores.all_cores import AllCores
from tilewright.engine.hwsim.replay.steady import clocks_of
from tilewright.engine.ir import PrimFunc
from tilewright.engine.script import parse

ROWS = """import tilelang.language as T

@T.prim_func
def main(A: T.Tensor((1024, 512), "float16"), C: T.Tensor((1024, 64), "float32")):
    with T.Kernel(BLOCKS, HEADS, threads=128) as (bx, by):
        A_s = T.alloc_shared((64, 32), "float16")
        A_f = T.alloc_fragment((64, 32), "float16")
        C_l = T.alloc_fragment((64, 64), "float32")
        T.clear(C_l)
        for k in T.Pipelined(bx + 1, num_stages=2):
            T.copy(A[by * 64, k * 32], A_s)
            T.gemm(A_s, A_s, C_l, transpose_B=True)
        T.copy(C_l, C[bx * 64, 0])
"""
"""A triangle: block bx runs bx + 1 iterations."""


def triangle(blocks: int, heads: int = 1) -> PrimFunc:
    program = parse(ROWS.replace("BLOCKS", str(blocks)).replace("HEADS", str(heads))).program
    assert isinstance(program, PrimFunc)
    return program


def chip(cores: int, held: int, dispatch: str = "first_free") -> Machine:
    machine = load_machine("a100")
    (level,) = machine.levels
    return replace(machine, levels=(replace(level, count=cores, blocks=held, dispatch=dispatch),))


@pytest.mark.parametrize(("cores", "held", "blocks", "dispatch"), [
    (1, 1, 5, "first_free"), (2, 1, 7, "first_free"), (3, 1, 16, "first_free"), (5, 1, 13, "first_free"), (2, 2, 9, "first_free"),
    (3, 2, 16, "round_robin"), (3, 3, 11, "first_free"), (4, 2, 15, "static"),
])  # fmt: skip
def test_law_waves_of_each_kind_add_up_to_the_replay_of_every_core(
    cores: int, held: int, blocks: int, dispatch: str
) -> None:
    machine, func = chip(cores, held, dispatch), triangle(blocks)
    report = simulate(func, machine)
    assert report.chip is not None and report.chip.occupancy.blocks == held and not report.chip.has_equal_blocks
    program = tasks_of(func, machine)
    every = AllCores(program, held, clocks_of(program, [], residents=held, is_apart=True).users)
    assert report.unknown is None and report.cycles == every.run()
    assert report.timeline.starts.tolist() == every.result()[0].starts


def test_thousands_of_blocks_of_different_lengths_are_exact() -> None:
    report = simulate(triangle(16, heads=512), load_machine("a100"))
    assert report.unknown is None
    assert report.chip is not None and report.chip.least == report.chip.most == report.cycles
    assert len(report.timeline.starts) < 100_000
