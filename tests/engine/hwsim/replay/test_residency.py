"""Blocks that a core holds, against NVIDIA's formula, written down independently of the engine."""

from __future__ import annotations

from random import Random

import pytest

from tilewright.engine.hwsim.machine.parts import Level
from tilewright.engine.hwsim.replay.cores.residency import BlockNeeds, residency

A100 = {"warps": 64, "blocks": 32, "registers": 65536, "shared": 167936, "parts": 4}
H100 = {"warps": 64, "blocks": 32, "registers": 65536, "shared": 233472, "parts": 4}
ADA = {"warps": 48, "blocks": 24, "registers": 65536, "shared": 102400, "parts": 4}
RESERVED = 1024
RANDOM_KERNELS = 10_000


def level(device: dict[str, int]) -> Level:
    return Level("sm", 1, blocks=device["blocks"], threads=32 * device["warps"], registers=device["registers"], register_granule=256,
                 register_parts=device["parts"], shared_bytes=device["shared"], shared_granule=128, reserved_bytes=RESERVED)  # fmt: skip


def active_blocks(device: dict[str, int], threads: int, registers: int, shared: int) -> int:
    """Active blocks per multiprocessor for compute capability 8.0 and later: the least of four limits."""
    warps = threads // 32 + (threads % 32 > 0)
    units_of_a_warp = registers * 32 // 256 + (registers * 32 % 256 > 0)
    units_of_a_part = device["registers"] // device["parts"] // 256
    if registers == 0:
        by_registers = device["blocks"]
    else:
        warps_in_turn = warps if warps % device["parts"] == 0 else warps + device["parts"] - warps % device["parts"]
        fits = units_of_a_warp * warps_in_turn * 256 <= device["registers"]
        by_registers = (units_of_a_part // units_of_a_warp) * device["parts"] // warps if fits else 0
    lines = (shared + RESERVED) // 128 + ((shared + RESERVED) % 128 > 0)
    return min(device["warps"] // warps, device["blocks"], by_registers, device["shared"] // (lines * 128))


@pytest.mark.parametrize("device", [A100, H100, ADA], ids=["a100", "h100", "ada"])
def test_law_blocks_are_those_of_nvidias_formula(device: dict[str, int]):
    rng, core = Random(7), level(device)
    for _ in range(RANDOM_KERNELS):
        threads = rng.choice([32, 64, 96, 128, 256, 512, 1024, rng.randint(1, 1024)])
        registers, shared = rng.randint(16, 255), rng.choice([0, rng.randint(0, 240_000)])
        found = residency(core, BlockNeeds(threads, registers, shared))
        assert found.blocks == active_blocks(device, threads, registers, shared), (threads, registers, shared)


def test_the_limiter_and_what_one_more_block_would_need():
    found = residency(level(A100), BlockNeeds(128, 160, 49_152))
    assert (found.blocks, found.limiters) == (3, ("registers", "shared memory"))
    assert found.more == {"registers": "at most 128 registers a thread", "shared memory": "at most 40960 bytes"}
    assert residency(level(A100), BlockNeeds(128, 128, 40_960)).blocks == 4


def test_a_block_that_does_not_fit():
    assert residency(level(A100), BlockNeeds(1024, 255, 0)).blocks == 0


def test_a_core_without_limits_holds_its_number_of_blocks():
    assert residency(Level("core", 20), BlockNeeds(256, 0, 1_000_000)).blocks == 1
