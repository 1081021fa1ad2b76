"""The laws that apply to a program on a machine, for the totals of a comparison."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.engine.hwsim import DmaEngine, Engine, MatrixEngine, Memory, SystolicEngine, TaskProgram, VectorEngine


def laws_of(program: TaskProgram) -> set[str]:
    """The laws of the engines that run tasks, of the memories that hold buffers, and of the tasks."""
    engines = {program.machine.engines[t.engine] for t in program.templates}
    found = {law for engine in engines for law in _of_engine(engine)}
    found |= {law for p in program.places.placements for law in _of_memory(p.memory)}
    works = [piece.measured.work for t in program.templates for piece in t.variants.pieces]
    found |= {"padding"} if any(w.kind == "pad" for w in works) else set()
    copying = [w for t in program.templates if isinstance(program.machine.engines[t.engine], DmaEngine)
               for piece in t.variants.pieces for w in [piece.measured.work]]  # fmt: skip
    found |= {"functions of a copy"} if any(w.activations for w in copying) else set()
    found |= {"threads"} if any(w.piece.lanes for w in works) else set()
    found |= {"slots"} if any(p.slots > 1 for p in program.places.placements) else set()
    found |= {"parts"} if any(p.parts > 1 for p in program.places.placements) else set()
    found |= {"shared addresses"} if program.places.sharing else set()
    found |= {"bus"} if any(e.name in b.engines for b in program.machine.buses for e in engines) else set()
    return found


def _of_engine(engine: Engine) -> Iterator[str]:
    laws: dict[str, object] = {"tokens": engine.wait_cycles or engine.signal_cycles, "units": engine.unit}
    match engine:
        case DmaEngine():
            laws |= {
                "channels": engine.name.endswith("]"),
                "outstanding requests": engine.outstanding_requests,
                "descriptor limits": engine.dimensions or engine.max_extent,
                "transposer": engine.transpose_bytes_per_cycle,
            }
        case MatrixEngine():
            laws |= {
                "register blocks": engine.register_rows > 1 or engine.register_columns > 1,
                "sums in memory": engine.accumulate_in == "memory",
                "rows of tiles": engine.operand_rows == "banked",
                "cycles by type": engine.cycles_by_type,
            }
        case SystolicEngine():
            laws |= {
                "two registers per cell": engine.weights == "double",
                "rows of tiles": engine.operand_rows == "banked",
                "cycles by type": engine.passes_by_type,
            }
        case VectorEngine():
            laws |= {
                "operands together": engine.operands == "together",
                "lanes by type": engine.lanes_by_type,
                "lanes of the program": engine.lanes == "program",
            }
        case _:
            pass
    yield from (name for name, holds in laws.items() if holds)


def _of_memory(memory: Memory) -> Iterator[str]:
    laws: dict[str, object] = {
        "bursts": memory.burst_bytes > 1,
        "interleaved banks": memory.mapping == "interleave",
        "bank groups": memory.bank_groups,
        "phases": memory.phase_bytes,
        "vectors of threads in parts": memory.thread_bytes,
        "joined phases": memory.joined_phases,
        "physical blocks": memory.blocks > 1,
        "ports of blocks or banks": memory.block_ports == "own" and memory.banks > 1,
        "one port for reads and writes": memory.ports == "shared",
    }
    yield from (name for name, holds in laws.items() if holds)
