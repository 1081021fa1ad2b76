"""Blocks that a core holds at the same time: as many as its threads, registers and memories have room for.

The formula is that of NVIDIA's occupancy calculator (cuda_occupancy.h), with the granules of the machine file: warps are whole, the
registers of a warp are a multiple of a granule and in one part of the register file, the bytes of a block are a multiple of a granule.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import msgspec

from ....ir import walk_stmts
from ...access.placement import row_name
from ...machine.parts import Level
from ...tasks.threads import threads_of
from ...tasks.tree import TaskProgram

REGISTER_BYTES = 4


class BlockNeeds(msgspec.Struct, frozen=True):
    """The needs of a block: threads, registers of each thread, bytes of shared memory; `memories` are the limits by other memories."""

    threads: int = 1
    thread_registers: int = 0
    shared_bytes: int = 0
    memories: Mapping[str, int] = {}


class Residency(msgspec.Struct, frozen=True):
    """The blocks that a core holds by each limit ("blocks", "threads", "registers", "shared memory", or a memory), and the needs of a
    block. `more` says what a block may need so that the core holds one more, by limit.
    """

    needs: BlockNeeds
    limits: dict[str, int]
    more: dict[str, str] = {}

    @property
    def blocks(self) -> int:
        return min(self.limits.values())

    @property
    def limiters(self) -> tuple[str, ...]:
        """The limits that allow the fewest blocks."""
        return tuple(name for name, blocks in self.limits.items() if blocks == self.blocks)


def residency(core: Level, needs: BlockNeeds) -> Residency:
    """Returns the blocks with these needs that a core holds; 0 if none fits."""
    limits = {"blocks": core.blocks}
    warps = _over(needs.threads, core.warp_threads)
    if core.threads:
        limits["threads"] = core.threads // core.warp_threads // warps
    if core.registers and needs.thread_registers:
        limits["registers"] = _by_registers(core, warps, needs.thread_registers)
    if core.shared_bytes:
        size = _granular(needs.shared_bytes + core.reserved_bytes, core.shared_granule)
        limits["shared memory"] = core.shared_bytes // size if size else core.blocks
    limits.update(needs.memories)
    found = Residency(needs, limits)
    return msgspec.structs.replace(found, more=_more(core, found, warps))


def _by_registers(core: Level, warps: int, thread_registers: int) -> int:
    per_warp = _granular(thread_registers * core.warp_threads, core.register_granule)
    # A launch assumes warps in all parts of the register file.
    if _granular(warps, core.register_parts) * per_warp > core.registers:
        return 0
    return core.registers // core.register_parts // per_warp * core.register_parts // warps


def _more(core: Level, found: Residency, warps: int) -> dict[str, str]:
    """Returns what each limiter would allow for one more block."""
    wanted = found.blocks + 1
    more: dict[str, str] = {}
    for limiter in found.limiters:
        if limiter == "threads":
            threads = core.threads // core.warp_threads // wanted * core.warp_threads
            more[limiter] = f"at most {threads} threads"
        elif limiter == "registers":
            fits = (n for n in range(found.needs.thread_registers, 0, -1) if _by_registers(core, warps, n) >= wanted)
            more[limiter] = f"at most {next(fits, 0)} registers a thread"
        elif limiter == "shared memory":
            size = core.shared_bytes // wanted // core.shared_granule * core.shared_granule - core.reserved_bytes
            more[limiter] = f"at most {max(size, 0)} bytes"
    return more


def residency_of(program: TaskProgram) -> Residency:
    """Returns the blocks of a program that a core of its machine holds."""
    core, machine = program.machine.core, program.machine
    assert core is not None
    threads = prod(_threads(program).values())
    used = {
        m.name: sum(program.places.use[row_name(m, n)].end_bytes for n in range(m.blocks)) for m in machine.memories
    }
    in_registers = sum(used[name] for name in core.register_memories)
    registers = _over(_over(in_registers, REGISTER_BYTES), threads) + core.thread_registers
    shared = sum(used[name] for name in core.shared_memories)
    counted = {*core.register_memories, *core.shared_memories}
    memories = {
        m.scope: m.capacity_bytes // used[m.name]
        for m in machine.memories
        if m.level == core.name and m.name not in counted and used[m.name]
    }
    return residency(core, BlockNeeds(threads, registers if core.registers else 0, shared, memories))


def _threads(program: TaskProgram) -> dict[str, int]:
    """Returns the threads of a block along each axis."""
    found: dict[str, int] = {}
    for stmt in walk_stmts(program.source.body):
        for axis, count in threads_of(stmt).items():
            found[axis] = max(count, found.get(axis, 1))
    return found


def _over(amount: int, per: int) -> int:
    return -(-amount // per)


def _granular(amount: int, granule: int) -> int:
    return _over(amount, granule) * granule


__all__ = ["BlockNeeds", "Residency", "residency", "residency_of"]
