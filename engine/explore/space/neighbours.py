"""The blocks around the main block: those that compute its operands, and those that process its result."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ...analysis import ProgramIndex
from ...hwsim import DmaEngine, Machine, Memory, VectorEngine, padded_load
from ...ir import Buffer, BufferStore
from .tiling_target import TilingTarget


class Producer(msgspec.Struct, frozen=True):
    """A block that computes an operand element by element; with `is_padding` it copies, and is a constant outside of its source."""

    block: str
    is_padding: bool


def producers_of(index: ProgramIndex, target: TilingTarget) -> Mapping[Buffer, Producer]:
    """The operands that a single elementwise block computes for the main block alone, each with that block."""
    found: dict[Buffer, Producer] = {}
    for operand in target.reads:
        if index.is_param(operand.buffer) or operand.buffer.scope != "global":
            continue
        writers = [n for n in index.producers(target.block) if _writes(index, n) == (operand.buffer,)]
        if len(writers) != 1 or index.is_reduction(writers[0]) or index.consumers(writers[0]) != (target.block,):
            continue
        body = index.block(writers[0]).body
        if isinstance(body, BufferStore):
            found[operand.buffer] = Producer(writers[0], padded_load(body.value) is not None)
    return found


def _writes(index: ProgramIndex, block: str) -> tuple[Buffer, ...]:
    return tuple(w.buffer for w in index.block(block).writes)


def followers_of(index: ProgramIndex, block: str) -> tuple[str, ...]:
    """The blocks after a block that process its result element by element, each the only reader of the one before."""
    found: list[str] = []
    while True:
        readers = index.consumers(block)
        if index.is_param(index.block(block).writes[0].buffer) or len(readers) != 1:
            return tuple(found)
        (block,) = readers
        if index.is_reduction(block) or len(index.block(block).writes) != 1:
            return tuple(found)
        found.append(block)


def vector_engine(machine: Machine, memory: Memory | None) -> VectorEngine | None:
    """The first vector engine that reads a memory, or any if the memory is None."""
    fit = [e for e in machine.engines if isinstance(e, VectorEngine)]
    return next((e for e in fit if memory is None or memory.name in e.reads), None)


def pads_in_flight(machine: Machine, memory: Memory) -> bool:
    """Whether a DMA that writes the memory pads the data that it copies."""
    return any(isinstance(e, DmaEngine) and e.zero_padding and memory.name in e.writes for e in machine.engines)
