"""Machines with round parameters."""

from __future__ import annotations

import msgspec

from tilewright.engine.hwsim import Machine, read_machine

PLAIN = """
name = "plain"
clock_hz = 1_000_000_000

[memories.ddr]
scopes = ["global"]
capacity_bytes = 1_048_576
read_bytes_per_cycle = 4
write_bytes_per_cycle = 4

[memories.pad]
scopes = ["local"]
capacity_bytes = 8_192
banks = 2
read_bytes_per_cycle = 1_024
write_bytes_per_cycle = 1_024

[engines.dma]
kind = "dma"
reads = ["ddr", "pad"]
writes = ["ddr", "pad"]
bytes_per_cycle = 4
setup_cycles = 10

[engines.matrix]
kind = "matrix"
reads = ["pad"]
writes = ["pad"]
tile_rows = 8
tile_columns = 8
tile_depth = 8
cycles_per_tile = 20
element_bytes = 4
setup_cycles = 5

[engines.vector]
kind = "vector"
reads = ["pad"]
writes = ["pad"]
vector_bytes = 32
cycles_per_operation = 1
setup_cycles = 3

[engines.scalar]
kind = "scalar"
reads = ["ddr", "pad"]
writes = ["ddr", "pad"]
cycles_per_operation = 1
"""


EVERY_SCOPE = ("local", "shared", "local.vtcm")


def plain() -> Machine:
    """4 bytes a cycle from and to global memory, a scratchpad of two blocks, a matrix and a vector unit on it; no latency anywhere."""
    return read_machine(PLAIN, "plain.toml")


def roomy() -> Machine:
    """`plain` with a large scratchpad that answers to every scope the random schedules use."""
    return plain().replace("pad.scopes", EVERY_SCOPE).replace("pad.capacity_bytes", 1 << 20)


def only(machine: Machine, *engines: str) -> Machine:
    """The machine with only these engines."""
    return msgspec.structs.replace(machine, engines=tuple(e for e in machine.engines if e.name in engines))
