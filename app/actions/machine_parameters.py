"""Machine parameters as a user reads and types them: label, unit, and the value of a typed text."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from ...engine.ir import Refusal
from ..document import DocumentError

Scale = Literal["bytes", "hertz", "plain"]


class Meaning(msgspec.Struct, frozen=True):
    """The label, unit and scale of a parameter. `by_one`: steps change it by one instead of doubling it."""

    label: str
    unit: str = ""
    scale: Scale = "plain"
    by_one: bool = False


MEANINGS: dict[str, Meaning] = {
    "clock_hz": Meaning("clock", scale="hertz"),
    "capacity_bytes": Meaning("capacity", scale="bytes"),
    "size_bytes": Meaning("size", scale="bytes"),
    "read_bytes_per_cycle": Meaning("read bandwidth", "B/cycle"),
    "write_bytes_per_cycle": Meaning("write bandwidth", "B/cycle"),
    "bytes_per_cycle": Meaning("bandwidth", "B/cycle"),
    "ports": Meaning("read and write ports"),
    "banks": Meaning("banks", "banks"),
    "mapping": Meaning("bank mapping"),
    "block_ports": Meaning("ports of the blocks"),
    "interleave_bytes": Meaning("bank row", "B"),
    "bank_groups": Meaning("bank groups", "groups"),
    "bank_ports": Meaning("ports per bank", "rows/cycle", by_one=True),
    "broadcast": Meaning("broadcast"),
    "phase_bytes": Meaning("phase size", "B"),
    "thread_bytes": Meaning("access of a thread (0: any)", "B"),
    "joined_phases": Meaning("joined phases"),
    "latency_cycles": Meaning("latency", "cycles"),
    "burst_bytes": Meaning("burst", "B"),
    "energy_pj_per_byte": Meaning("energy", "pJ/B"),
    "atomic_bytes_per_cycle": Meaning("atomic updates (0: none)", "B/cycle"),
    "atomic_cycles": Meaning("update of an element", "cycles", by_one=True),
    "atomic_latency_cycles": Meaning("latency of updates", "cycles"),
    "setup_cycles": Meaning("set-up", "cycles"),
    "wait_cycles": Meaning("wait for a token", "cycles", by_one=True),
    "signal_cycles": Meaning("signal a token", "cycles", by_one=True),
    "queue_tasks": Meaning("queue", "tasks"),
    "dimensions": Meaning("descriptor dimensions (0: any)", by_one=True),
    "channels": Meaning("channels", "channels", by_one=True),
    "outstanding_requests": Meaning("outstanding requests (0: any)", "bursts", by_one=True),
    "max_extent": Meaning("longest dimension (0: any)", "elements"),
    "transpose_bytes_per_cycle": Meaning("transposer (0: none)", "B/cycle"),
    "activations": Meaning("functions on the way"),
    "zero_padding": Meaning("zero padding"),
    "tile_rows": Meaning("tile rows", "rows"),
    "tile_columns": Meaning("tile columns", "columns"),
    "tile_depth": Meaning("tile depth", "elements"),
    "register_rows": Meaning("register block rows", "tiles"),
    "register_columns": Meaning("register block columns", "tiles"),
    "accumulate_in": Meaning("sums accumulate in"),
    "tile_language": Meaning("layouts of TileLang"),
    "cycles_per_tile": Meaning("cycles per tile", "cycles"),
    "element_bytes": Meaning("element", "B"),
    "energy_pj_per_operation": Meaning("energy", "pJ/op"),
    "rows": Meaning("rows", "cells"),
    "columns": Meaning("columns", "cells"),
    "dataflow": Meaning("dataflow"),
    "weights": Meaning("registers per cell"),
    "operand_rows": Meaning("rows of tiles"),
    "operand_loads": Meaning("loads of operands"),
    "cycles_by_type": Meaning("cycles per tile by type", "cycles"),
    "passes_by_type": Meaning("passes by type", "passes"),
    "lanes_by_type": Meaning("lanes by type", "lanes"),
    "rates": Meaning("rates of operations"),
    "vector_bytes": Meaning("vector", "B"),
    "row_lanes": Meaning("lanes of a row", "lanes"),
    "around_bytes_per_cycle": Meaning("loads from around (0: of the port)", "B/cycle"),
    "cycles_per_operation": Meaning("cycles per operation", "cycles"),
    "operands": Meaning("operands"),
    "lanes": Meaning("vector lanes"),
    "ways": Meaning("ways", "ways"),
    "line_bytes": Meaning("line", "B"),
    "replacement": Meaning("replacement"),
    "inclusion": Meaning("inclusion"),
    "prefetcher": Meaning("prefetcher"),
    "prefetch_lines": Meaning("prefetched lines", "lines", by_one=True),
    "prefetch_distance": Meaning("prefetch distance", "lines", by_one=True),
    "shape": Meaning("shape"),
    "row_nodes": Meaning("nodes in a row (0: all)", "nodes"),
    "direction": Meaning("direction"),
    "access": Meaning("access"),
    "hop_cycles": Meaning("delay of a hop", "cycles"),
    "multicast": Meaning("multicast"),
    "count": Meaning("instances", by_one=True),
    "dispatch": Meaning("dispatch of blocks"),
    "sharing": Meaning("blocks of a core"),
    "pace": Meaning("pace of cores"),
    "start_cycles": Meaning("start of a block", "cycles"),
    "barrier_cycles": Meaning("barrier of all blocks", "cycles"),
    "blocks": Meaning("blocks held", "blocks", by_one=True),
    "threads": Meaning("threads held (0: any)", "threads"),
    "warp_threads": Meaning("threads per warp", "threads"),
    "registers": Meaning("registers (0: any)", "registers"),
    "register_granule": Meaning("registers of a warp", "registers"),
    "register_parts": Meaning("parts of the registers", by_one=True),
    "thread_registers": Meaning("registers beside buffers", "registers"),
    "shared_bytes": Meaning("shared memory (0: any)", scale="bytes"),
    "shared_granule": Meaning("granule of shared memory", "B"),
    "reserved_bytes": Meaning("reserved for a block", scale="bytes"),
}

CHOICES: dict[str, tuple[str, ...]] = {
    "ports": ("separate", "shared"),
    "mapping": ("block", "interleave"),
    "block_ports": ("common", "own"),
    "operands": ("in_turn", "together"),
    "lanes": ("result", "program"),
    "dataflow": ("output_stationary", "weight_stationary", "input_stationary"),
    "weights": ("single", "double"),
    "replacement": ("lru", "plru", "fifo"),
    "inclusion": ("non-inclusive", "exclusive", "inclusive"),
    "prefetcher": ("next-line", "stride"),
    "operand_rows": ("ideal", "banked"),
    "accumulate_in": ("registers", "memory"),
    "tile_language": ("", "mma", "wgmma"),
    "dispatch": ("persistent", "round_robin", "static", "first_free"),
    "operand_loads": ("during", "before"),
    "sharing": ("in_turn", "together"),
    "pace": ("in_step", "apart"),
    "shape": ("bus", "ring", "mesh", "torus"),
    "direction": ("both", "up", "down"),
    "access": ("nearest", "interleaved"),
}

MOST_DIGITS = 18
"""Maximum number of digits of a number in a table."""

TABLES = frozenset({"rates", "cycles_by_type", "passes_by_type", "lanes_by_type"})
"""Parameters with several values by name, typed as "exp 4, div 8"."""

_BYTES = {"": 1, "B": 1, "K": 1 << 10, "KB": 1 << 10, "KIB": 1 << 10, "M": 1 << 20, "MB": 1 << 20, "MIB": 1 << 20, "G": 1 << 30,
          "GB": 1 << 30, "GIB": 1 << 30}  # fmt: skip
_HERTZ = {"": 1, "HZ": 1, "K": 10**3, "KHZ": 10**3, "M": 10**6, "MHZ": 10**6, "G": 10**9, "GHZ": 10**9}


def meaning_of(field: str) -> Meaning:
    """The meaning of a field; the label defaults to the field's name with spaces."""
    return MEANINGS.get(field, Meaning(field.replace("_", " ")))


def figure_value(field: str, text: str) -> int | float | bool | str | tuple[tuple[str, int], ...]:
    """The value of a typed text such as "256 KiB", "1.2 GHz" or "26". Raises DocumentError "bad-figure" for an invalid text."""
    if field in CHOICES:
        return text
    if field in TABLES:
        return _table(field, text)
    if field in ("broadcast", "joined_phases", "multicast", "zero_padding"):
        return text == "yes"
    found = re.fullmatch(r"([\d_.\s]*[\d_.])\s*([A-Za-z]*)", text.strip())
    scale = meaning_of(field).scale
    units = {"bytes": _BYTES, "hertz": _HERTZ, "plain": {"": 1}}[scale]
    if found is not None and found[2].upper() in units:
        digits = re.sub(r"[_\s]", "", found[1])
        try:
            number = float(digits) * units[found[2].upper()] if "." in digits else int(digits) * units[found[2].upper()]
        except ValueError:
            number = None
        if number is not None and abs(number) <= 1e300:
            is_real = field.startswith("energy")
            return float(number) if is_real else int(number) if number == int(number) else number
    raise _invalid(
        field,
        text,
        {"bytes": "a size, such as 256 KiB", "hertz": "a frequency, such as 1.2 GHz", "plain": "a number"}[scale],
    )


def _table(field: str, text: str) -> tuple[tuple[str, int], ...]:
    rows = [part.split() for part in text.split(",") if part.strip()]
    if not all(len(row) == 2 and row[1].isdecimal() and len(row[1]) <= MOST_DIGITS for row in rows):
        raise _invalid(field, text, 'names with a number each, such as "exp 4, div 8"')
    return tuple((name, int(number)) for name, number in rows)


def _invalid(field: str, text: str, expected: str) -> DocumentError:
    message = f"{text[:80]!r} is not a valid value of parameter {meaning_of(field).label}"
    return DocumentError(Refusal("bad-figure", message, found=text[:80], expected=expected))
