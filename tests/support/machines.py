"""A machine with figures that are easy to reckon with: 4 bytes per cycle from and to global memory, two blocks of scratchpad, no latency."""

from __future__ import annotations

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


def plain() -> Machine:
    """The machine itself."""
    return read_machine(PLAIN, "plain.toml")
