"""The cost of one task from its accesses, by the rules of docs/simulator.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tilewright.engine.hwsim import DmaEngine, Engine, Machine, MatrixEngine, ScalarEngine, SystolicEngine, VectorEngine

from .banks import Lost
from .copies import copied
from .elements import Part
from .products import multiplied
from .values import steps
from .vectors import vectorized
from .work import Moved, Worked


class TaskCost(NamedTuple):
    """Bytes of a task's accesses, by buffer and whether they are written; what moves through ports, if it is more; cycles."""

    work: int
    setup: int
    latency: int
    touched: Counter[tuple[str, bool]]
    moved: list[Moved]
    lost: int
    accesses: int


def cost_of(engine: Engine, parts: Sequence[Part], machine: Machine) -> TaskCost:
    """The cost of a task, before its ports."""
    worked = [_worked(engine, part, machine) for part in parts]
    touched: Counter[tuple[str, bool]] = Counter()
    for w in worked:
        for m in w.touched:
            touched[m.placement.buffer.name, m.written] += m.bytes
    lost: list[Lost] = [x for w in worked for x in w.lost]
    in_turn = isinstance(engine, VectorEngine) and engine.operands == "in_turn"
    return TaskCost(
        sum(w.cycles for w in worked) + sum(x.cycles for x in lost),
        engine.setup_cycles * worked[0].descriptors,
        _latency(engine, parts[0]),
        touched,
        [m for w in worked for m in w.moved],
        sum(x.cycles for x in lost),
        (sum if in_turn else _largest)([x.accesses + x.cycles for x in lost]),
    )


def _largest(cycles: Sequence[int]) -> int:
    return max(cycles, default=0)


def _worked(engine: Engine, part: Part, machine: Machine) -> Worked:
    match engine:
        case DmaEngine():
            return copied(engine, part)
        case MatrixEngine() | SystolicEngine():
            return multiplied(engine, part)
        case VectorEngine():
            return vectorized(engine, part, machine)
        case ScalarEngine():
            return _scalar(engine, part)


def _scalar(engine: ScalarEngine, part: Part) -> Worked:
    """One load, store or operation after the other; an accumulator is stored only, though its bytes move both ways."""
    store = part.piece.measured.work.piece.store
    assert store is not None
    each = steps(store.value, dict(engine.rates)) + len(part.operands)
    sides = [(o, o.written) for o in part.operands] + [(o, False) for o in part.writes if part.updates]
    moved = [Moved(o.placement, written, part.points.count * o.size, [o]) for o, written in sides]
    return Worked(part.points.count * each * engine.cycles_per_operation, moved, moved)


def _latency(engine: Engine, part: Part) -> int:
    match engine:
        case DmaEngine():
            return engine.latency_cycles + max(o.placement.memory.latency_cycles for o in part.operands)
        case SystolicEngine() if engine.weights == "double":
            return engine.latency_cycles + engine.rows + engine.columns - 2
        case _:
            return engine.latency_cycles
