"""A lower bound on the cycles of a kernel on a machine, which no schedule of the kernel alone can beat."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, prod

from ...analysis import ProgramIndex
from ...explore import product_of
from ...hwsim import DmaEngine, Machine, MatrixEngine, SystolicEngine, operations_per_cycle
from ...ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Cast,
    Expr,
    PrimFunc,
    Var,
    build,
    free_vars,
    walk,
)
from ...ir import dtype as dt
from ...schedule import Schedule

LANE_BYTES = 4
"""Bytes of the element for which `operations_per_cycle` is given."""


def kernel_bound(program: PrimFunc, machine: Machine) -> int:
    """Return a lower bound on the cycles of a program with constant sizes: the longest of the traffic of its parameters through the
    largest memory, once each, and of the operations of each of its blocks on the fastest engine for them.

    Intermediate buffers, copies and edge tiles cost nothing here, and everything overlaps.
    """
    index = Schedule(program).index
    blocks = [index.realize(name) for name in index.block_names[1:]]
    outputs = {region.buffer for realize in blocks for region in realize.block.writes} & set(program.buffers)
    work = (_work_cycles(index, realize, machine, outputs) for realize in blocks)
    return ceil(max([_traffic_cycles(program, blocks, machine), *work], default=0))


def _traffic_cycles(program: PrimFunc, blocks: list[BlockRealize], machine: Machine) -> float:
    """Cycles to read and write the accessed part of each parameter once."""
    far = machine.far
    moved = {"read": 0.0, "write": 0.0}
    for kind in moved:
        accessed: dict[Buffer, int] = {}
        for realize in blocks:
            for buffer, count in _elements(realize.block, kind).items():
                accessed[buffer] = accessed.get(buffer, 0) + count
        for buffer in program.buffers:
            if buffer in accessed:
                most = prod(build.int_value(extent) or 1 for extent in buffer.shape)
                moved[kind] += min(accessed[buffer], most) * dt.size_bytes(buffer.dtype)
    times = [moved["read"] / far.read_bytes_per_cycle, moved["write"] / far.write_bytes_per_cycle]
    return max(times) if far.ports == "separate" else sum(times)


def _elements(block: Block, kind: str) -> dict[Buffer, int]:
    """The elements that a block accesses, by buffer: at most one for each value of the iterators in the indices. An index that is read
    from memory may always have the same value, so it counts once; a sum is not read from memory."""
    own = {region.buffer for region in block.writes}
    extents = {iv.var: build.int_value(iv.dom.extent) or 1 for iv in block.iter_vars}
    found: dict[Buffer, int] = {}
    for node in walk(block.body):
        if isinstance(node, BufferLoad if kind == "read" else BufferStore) and (node.buffer in own) == (
            kind == "write"
        ):
            direct = [i for i in node.indices if not any(isinstance(part, BufferLoad) for part in walk(i))]
            variables: set[Var] = {v for i in direct for v in free_vars(i)}
            count = prod(extents.get(v, 1) for v in variables)
            found[node.buffer] = max(found.get(node.buffer, 0), count)
    return found


def _work_cycles(index: ProgramIndex, realize: BlockRealize, machine: Machine, outputs: set[Buffer]) -> float:
    """Cycles of a block's operations on the fastest engine; 0 for a copy, and for work that may be inlined."""
    block = realize.block
    product = product_of(index, block.name)
    if product is not None:
        return min((product.count / rate for rate in _product_rates(machine, product.bytes)), default=0.0)
    is_reduction = any(iv.iter_type == "reduce" for iv in block.iter_vars)
    if not isinstance(block.body, BufferStore) or _is_copy(block.body.value):
        return 0.0
    if not is_reduction and block.body.buffer not in outputs:
        return 0.0
    count = prod(build.int_value(iv.dom.extent) or 1 for iv in block.iter_vars)
    size = dt.size_bytes(block.body.buffer.dtype)
    others = (e for e in machine.engines if not isinstance(e, DmaEngine | MatrixEngine | SystolicEngine))
    fastest = max((operations_per_cycle(e) for e in others), default=0.0)
    return count * size / LANE_BYTES / fastest if fastest else 0.0


def _product_rates(machine: Machine, size_bytes: int) -> list[float]:
    """Multiply-accumulates per cycle of each computing engine, for factors of `size_bytes`."""
    rates: Mapping[str, float] = {e.name: operations_per_cycle(e) / 2 for e in machine.engines}
    found: list[float] = []
    for engine in machine.engines:
        if isinstance(engine, MatrixEngine | SystolicEngine):
            found.append(rates[engine.name] / max(1, size_bytes // engine.element_bytes) ** 2)
        elif not isinstance(engine, DmaEngine):
            found.append(rates[engine.name] * LANE_BYTES / size_bytes)
    return found


def _is_copy(value: Expr) -> bool:
    return _is_copy(value.value) if isinstance(value, Cast) else isinstance(value, BufferLoad)


__all__ = ["kernel_bound"]
