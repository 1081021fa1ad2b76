"""Chips of several cores, made of machines of one core, and programs with a grid."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from support.simulator.machines import roomy

from tilewright.engine.hwsim import Level, Machine
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


def chip_of(machine: Machine, cores: int, *, private: bool = False, **keys: Any) -> Machine:
    """The machine as each core of a chip. Its largest memory is common to all cores, unless it is `private`; its caches are left out."""
    far = machine.far
    memories = tuple(replace(m, level="" if m is far and not private else "core") for m in machine.memories)
    return replace(
        machine,
        memories=memories,
        engines=tuple(replace(e, level="core") for e in machine.engines),
        buses=tuple(replace(b, level="core") for b in machine.buses),
        caches=(),
        levels=(Level("core", cores, **keys),),
    )


def on_cores(text: str, level: str = "core") -> str:
    """The text with its engines and its scratchpad on the cores."""
    lines: list[str] = []
    for line in text.splitlines():
        lines.append(line)
        if line.startswith("[engines.") or line == "[memories.pad]":
            lines.append(f'level = "{level}"')
    return "\n".join(lines)


def narrow(bytes_per_cycle: int) -> Machine:
    """A machine with this rate of its largest memory, in bursts of a cycle."""
    machine = roomy()
    for key in ("read_bytes_per_cycle", "write_bytes_per_cycle", "burst_bytes"):
        machine = machine.replace(f"memories.{machine.far.name}.{key}", bytes_per_cycle)
    return machine


def staged_copy(blocks: int, rows: int = 8, columns: int = 256, *, tag: str = "blockIdx.x") -> PrimFunc:
    """`B = A + 1` by blocks of rows: each block stages a tile of A, computes, and copies a tile of B back."""
    text = f"""
from tvm.script import tirx as T

@T.prim_func
def main(A: T.Buffer(({blocks * rows}, {columns}), "float32"), B: T.Buffer(({blocks * rows}, {columns}), "float32")):
    for i, j in T.grid({blocks * rows}, {columns}):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
"""
    sch = Schedule(parse(text).program)
    i, _ = sch.get_loops("B")
    block, _ = sch.split(i, factors=[blocks, rows])
    sch.bind(block, tag)
    read = sch.cache_read("B", 0, "local")
    sch.compute_at(read, block)
    write = sch.cache_write("B", 0, "local")
    sch.reverse_compute_at(write, block)
    return sch.func
