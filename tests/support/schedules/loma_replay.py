"""A mapping found by ZigZag's LOMA as a schedule: the same loops in the same order, each operand copied where its loops at the DRAM end.

Choices that a mapping leaves open are decided in its favour: one slot or two for an operand or for the sums, and the distribution of
operands over the physical blocks of their memory. ZigZag assumes two slots if twice the data would fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from support.programs.layers import Layer
from support.schedules.layer_spaces import Target, banking, copied_in

from tilewright.engine.explore import Space, space_of
from tilewright.engine.hwsim import Machine
from tilewright.engine.script import read_calls

LOOPS = {
    "gemm": {"B": "b", "M": "i", "N": "j", "K": "k"},
    "conv": {"OY": "y", "M": "x", "N": "f", "FY": "dy", "FX": "dx", "K": "c"},
}
SPREAD = {"gemmini": {"K": 16, "N": 16}, "dual-bank-npu": {"M": 32, "N": 32}}
"""The part of a dimension that the array computes at once."""


def loma_space(layer: Layer, target: Target, found: Mapping[str, Sequence[Sequence[Sequence[Any]]]]) -> Space:
    """The schedules of a mapping. `found` has the loops of each operand at each memory, innermost first."""
    names = LOOPS["conv" if layer.out else "gemm"]
    order = [(d, n) for level in found["O"] for d, n in level]
    ends = {operand: sum(len(level) for level in levels[:-1]) for operand, levels in found.items()}
    first = min(ends.values())
    spread = SPREAD[target.machine]
    tile = {d: spread.get(d, 1) * prod(n for e, n in order[:first] if e == d) for d in names}
    outer: list[tuple[str, str]] = [("", "root")]
    lines = ['C = sch.get_block("C")', copied_in(layer, target)]
    dims = [d for d in names if d != "B" or layer.batch > 1]
    lines.append(f"{', '.join(names[d] for d in dims)} = sch.get_loops(C)")
    lines.append(
        f'root, {names[dims[0]]} = sch.split({names[dims[0]]}, [1, None], names=["root", "{names[dims[0]]}_all"])'
    )
    of_dim: dict[str, list[tuple[int, str]]] = {d: [] for d in names}
    for number, (d, n) in reversed(list(enumerate(order[first:]))):
        name = f"{names[d]}{number}"
        of_dim[d].append((n, name))
        outer.append((str(number + first), name))
    for d in dims:
        loops = of_dim[d]
        if loops:
            sizes = ", ".join(["None", *(str(n) for n, _ in loops[1:]), str(tile[d])])
            wanted = ", ".join(f'"{name}"' for _, name in loops)
            ordered = ", ".join([*(name for _, name in loops), f"{names[d]}i"])
            lines.append(f'{ordered} = sch.split({names[d]}, [{sizes}], names=[{wanted}, "{names[d]}i"])')
    inner = [f"{names[d]}i" if of_dim[d] else names[d] for d in dims]
    lines.append(f"sch.reorder({', '.join([name for _, name in outer] + inner)})")
    at = {operand: _loop(outer, end) for operand, end in ends.items()}
    lines += [
        f'B_in = sch.cache_read(C, 1, "{target.operands}")',
        f'C_out = sch.cache_write(C, 0, "{target.results}")',
        *(
            f"sch.compute_at({copy}, {at[o]})"
            for copy, o in sorted((("A_in", "I"), ("B_in", "W")), key=lambda c: -ends[c[1]])
        ),
        f"sch.reverse_compute_at(C_out, {at['O']})",
        *_slots("A_in", at["I"]),
        *_slots("B_in", at["W"]),
        *banking(layer, target),
    ]
    if at["O"] != "root":
        beside = sum(end == ends["O"] for operand, end in ends.items() if operand != "O")
        together = [0] * beside
        lines += [
            f'sums = choose("sums", [{[*together, 0, 1]}, {[*together, 0, 0]}])',
            f"sch.pipeline({at['O']}, stages=sums)",
        ]
    program = layer.program(target.dtype, target.sums)
    return space_of(program, read_calls("\n".join(lines) + "\n"))


def _loop(outer: Sequence[tuple[str, str]], end: int) -> str:
    """The innermost of the loops from `end` on."""
    return next((name for number, name in reversed(outer) if number and int(number) >= end), "root")


def _slots(copy: str, at: str) -> list[str]:
    """One slot or two; an operand copied once, before all loops, has one."""
    if at == "root":
        return []
    return [f'{copy}_slots = choose("{copy} slots", [2, 1])', f"sch.double_buffer({copy}, slots={copy}_slots)"]


def undivided(machine: Machine) -> Machine:
    """The machine with memories of one block each, as in ZigZag's model."""
    for memory in machine.memories:
        if memory.blocks > 1:
            machine = machine.replace(f"memories.{memory.name}.block_scopes", ()).replace(
                f"memories.{memory.name}.banks", 1
            )
    return machine
