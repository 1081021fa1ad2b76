"""Engine selection for a leaf: the engine of its `engine` annotation, else the first in the kind's preference that reaches all operands.

Engines that differ only in their name are used round-robin, leaf by leaf in program order.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace as replace_fields

from ...ir import Buffer, BufferLoad
from ..access.placement import Places, writers_of
from ..errors import refuse
from ..machine.model import Machine, engine_of_channel
from ..machine.parts import KINDS, Atomic, DmaEngine, Engine, EngineKind, Memory
from .nest import ComputeBlock, Nest, leaves_of
from .work import Activations, Kind, Work

PREFERENCE: dict[Kind, tuple[EngineKind, ...]] = {
    "copy": ("dma", "vector", "scalar"),
    "pad": ("dma", "vector", "scalar"),
    "mac": ("matrix", "vector", "scalar"),
    "reduce": ("vector", "dma", "scalar"),
    "elementwise": ("dma", "vector", "scalar"),
    "fill": ("vector", "matrix", "scalar"),
    "other": ("scalar",),
}
"""The kinds of engine for each kind of work, best first. A DMA does elementwise work if it has all of its functions, and those
atomic updates that it knows."""

IN_LANES: tuple[EngineKind, ...] = ("vector", "matrix", "scalar")
"""Engines for multiplications in loops that are bound to threads: each thread computes one element."""

KIND_NAMES: dict[Kind, str] = {
    "copy": "a copy",
    "pad": "a padded copy",
    "mac": "a multiply-accumulate",
    "reduce": "a reduction",
    "elementwise": "elementwise work",
    "fill": "a fill",
    "other": "work of an unknown kind",
}


class Choice(msgspec.Struct, frozen=True, eq=False):
    """The engine of a leaf (its position in the machine), the reason for it, and the better engines that were out of reach."""

    leaf: ComputeBlock
    works: tuple[Work, ...]
    engine: int
    reason: str
    missed: tuple[BetterEngine, ...] = ()


class BetterEngine(msgspec.Struct, frozen=True, eq=False):
    """An engine that would be better for the leaf but does not reach `operands`; `fix` has calls that bring them into reach."""

    engine: str
    operands: tuple[Buffer, ...]
    fix: tuple[str, ...]


def choose(leaf: ComputeBlock, works: tuple[Work, ...], nest: Nest, places: Places) -> Choice:
    """Returns the engine for a leaf. Raises MachineError if none reaches its operands, or the annotated one does not."""
    machine = places.machine
    kind = hardest(works)
    able = _able(machine, works)
    if leaf.engine is not None:
        return _annotated(leaf, works, nest, places, able)
    missed: list[BetterEngine] = []
    for number in able:
        engine = machine.engines[number]
        out = _out_of_reach(engine, works, places)
        if not out:
            chosen, turns = _next_equivalent(leaf, number, able, nest, machine)
            reason = f"{KIND_NAMES[kind]}; {machine.engines[chosen].name} reaches all operands{turns}{_instead(missed)}"
            return Choice(leaf, works, chosen, reason, tuple(missed))
        missed.append(BetterEngine(engine.name, out, _fixes(leaf, out, engine, nest, places)))
    raise _unreachable(leaf, kind, missed, machine, places)


def _instead(missed: Sequence[BetterEngine]) -> str:
    """Describes why a better engine is not used."""
    if not missed:
        return ""
    best = missed[0]
    return f"; {best.engine} does not reach {', '.join(f'{b.name} in {b.scope}' for b in best.operands)}"


def _next_equivalent(
    leaf: ComputeBlock, first: int, able: Sequence[int], nest: Nest, machine: Machine
) -> tuple[int, str]:
    """Returns the next engine, round-robin, among those equivalent to `first`, and a text that says so."""
    engine = machine.engines[first]
    equivalent = [n for n in able if n == first or are_equivalent(machine.engines[n], engine)]
    if len(equivalent) == 1:
        return first, ""
    leaves = [other for other in leaves_of(nest.children) if other.engine is None and _copies(other) == _copies(leaf)]
    chosen = equivalent[leaves.index(leaf) % len(equivalent)]
    others = " and ".join(machine.engines[n].name for n in equivalent if n != chosen)
    return chosen, f", alternating with {others}"


def are_equivalent(engine: Engine, other: Engine) -> bool:
    """Returns whether the engines differ only in their name."""
    if type(engine) is not type(other):
        return False
    one, two = (replace_fields(e, name="", unit="", source=()) for e in (engine, other))
    return one == two


def _copies(leaf: ComputeBlock) -> bool:
    return all(piece.store is not None and isinstance(piece.store.value, BufferLoad) for piece in leaf.pieces)


def is_named(engine: Engine, wanted: str | None) -> bool:
    """Returns whether an annotation means this engine: by its name, that of the engine of which it is a channel, or its kind."""
    return wanted in (engine.name, engine_of_channel(engine.name), KINDS[type(engine)])


def supports(engine: Engine, kind: Kind, activations: Activations | None, update: Atomic | None = None) -> bool:
    """Returns whether an engine does this kind of work, elementwise work with these functions; a DMA pads if it has zero padding. A DMA
    makes an atomic `update` that it knows.
    """
    if kind == "reduce" and isinstance(engine, DmaEngine):
        return update in engine.atomics
    if kind == "pad" and isinstance(engine, DmaEngine) and not engine.zero_padding:
        return False
    if kind == "elementwise" and isinstance(engine, DmaEngine):
        return activations is not None and activations <= {*engine.activations}
    return KINDS[type(engine)] in PREFERENCE[kind]


def hardest(works: Sequence[Work]) -> Kind:
    """Returns the kind that represents a leaf of several pieces."""
    order: tuple[Kind, ...] = ("other", "mac", "reduce", "elementwise", "pad", "copy", "fill")
    kinds = {w.kind for w in works}
    return next(kind for kind in order if kind in kinds)


def _able(machine: Machine, works: Sequence[Work]) -> list[int]:
    """Returns the engines that support every piece, in the order of preference for the hardest."""
    order = PREFERENCE[hardest(works)]
    if any(w.kind == "mac" and w.piece.lanes for w in works):
        order = IN_LANES
    able = [
        number
        for number, engine in enumerate(machine.engines)
        if all(supports(engine, w.kind, w.activations, w.update if w.atomic else None) for w in works)
        and (len(works) == 1 or not isinstance(engine, DmaEngine))  # a descriptor is one copy
    ]
    return sorted(able, key=lambda n: order.index(KINDS[type(machine.engines[n])]))


def _annotated(leaf: ComputeBlock, works: tuple[Work, ...], nest: Nest, places: Places, able: Sequence[int]) -> Choice:
    machine = places.machine
    named = [n for n, e in enumerate(machine.engines) if is_named(e, leaf.engine)]
    name = leaf.block.name
    if not named:
        raise refuse("unknown-engine", f"block {name!r} requests engine {leaf.engine!r}, which machine {machine.name!r} does not have",
                     leaf.block, found=str(leaf.engine), expected=", ".join(e.name for e in machine.engines))  # fmt: skip
    fit = [n for n in named if n in able]
    if not fit:
        doers = ", ".join(machine.engines[n].name for n in able) or "none"
        raise refuse("wrong-engine", f"engine {leaf.engine!r} cannot perform block {name!r}, which is {KIND_NAMES[hardest(works)]}",
                     leaf.block, found=str(leaf.engine), expected=doers, fix=(f'sch.unannotate({name!r}, "engine")',))  # fmt: skip
    missed: list[BetterEngine] = []
    for number in fit:
        engine = machine.engines[number]
        out = _out_of_reach(engine, works, places)
        if not out:
            return Choice(leaf, works, number, f"annotated: engine {leaf.engine}")
        missed.append(BetterEngine(engine.name, out, _fixes(leaf, out, engine, nest, places)))
    raise _unreachable(leaf, hardest(works), missed, machine, places)


def _out_of_reach(engine: Engine, works: Sequence[Work], places: Places) -> tuple[Buffer, ...]:
    out: list[Buffer] = []
    for work in works:
        reads = [a.buffer for a in work.reads if _memory(places, a.buffer).name not in engine.reads]
        writes = [a.buffer for a in work.writes if _memory(places, a.buffer).name not in engine.writes]
        out += [b for b in (*reads, *writes) if b not in out]
    return tuple(dict.fromkeys(out))


def _memory(places: Places, buffer: Buffer) -> Memory:
    return places.by_buffer[buffer].memory


def _unreachable(
    leaf: ComputeBlock, kind: Kind, missed: Sequence[BetterEngine], machine: Machine, places: Places
) -> Exception:
    if not missed:
        return refuse("no-engine", f"no engine of {machine.name!r} supports {KIND_NAMES[kind]} (block {leaf.block.name!r})", leaf.block,
                      found=kind, expected=f"an engine of kind {' or '.join(PREFERENCE[kind])}")  # fmt: skip
    best = missed[0]
    engine = machine.engine(best.engine)
    found = ", ".join(f"{b.name} in {b.scope}" for b in best.operands)
    reach = f"{best.engine} reads {_scopes(machine, engine.reads)}; writes {_scopes(machine, engine.writes)}"
    return refuse("out-of-reach", f"no engine that supports block {leaf.block.name!r} ({KIND_NAMES[kind]}) reaches all its operands",
                  leaf.block, *best.operands, found=found, expected=reach, fix=best.fix)  # fmt: skip


def _scopes(machine: Machine, names: Sequence[str]) -> str:
    return ", ".join(machine.memory(n).scope for n in names)


def _fixes(leaf: ComputeBlock, out: Sequence[Buffer], engine: Engine, nest: Nest, places: Places) -> tuple[str, ...]:
    """Returns calls that bring the operands into the engine's reach: copies in and out, or a scope for an intermediate."""
    block = leaf.block
    machine = places.machine
    calls: list[str] = []
    for buffer in out:
        written = [i for i, w in enumerate(block.writes) if w.buffer is buffer]
        read = [i for i, r in enumerate(block.reads) if r.buffer is buffer]
        writers = writers_of(buffer, nest)
        home = _memory(places, buffer).name
        if not places.by_buffer[buffer].is_param and writers:
            scope = machine.memory((engine.writes if written else engine.reads)[0]).scope
            calls.append(f"sch.set_scope({writers[0]!r}, 0, {scope!r})")
        elif written:
            stages = reversed(copy_path(machine, engine.writes, (home,))[:-1])
            calls += [f"sch.cache_write({block.name!r}, {written[0]}, {scope!r})" for scope in stages]
        elif read:
            stages = copy_path(machine, (home,), engine.reads)[1:]
            calls += [f"sch.cache_read({block.name!r}, {read[0]}, {scope!r})" for scope in stages]
    return tuple(dict.fromkeys(calls))


def copy_path(machine: Machine, sources: Sequence[str], targets: Sequence[str]) -> tuple[str, ...]:
    """Returns the scopes on the shortest path of copies from one of the memories to another; the two ends alone if no path exists. Scalar
    engines, which copy element by element, are used only if there is no path without them."""
    copiers = [e for e in machine.engines if KINDS[type(e)] in PREFERENCE["copy"]]
    wide = [e for e in copiers if KINDS[type(e)] != "scalar"]
    names = _shortest_path(wide, sources, targets) or _shortest_path(copiers, sources, targets)
    return tuple(machine.memory(name).scope for name in names or (sources[0], targets[0]))


def _shortest_path(copiers: Sequence[Engine], sources: Sequence[str], targets: Sequence[str]) -> tuple[str, ...]:
    """Returns the memories on the shortest path of copies by these engines; none if no path exists."""
    paths = [(name,) for name in sources]
    for path in paths:
        if path[-1] in targets:
            return path
        reached = [name for e in copiers if path[-1] in e.reads for name in e.writes]
        known = {p[-1] for p in paths}
        paths += [(*path, name) for name in dict.fromkeys(reached) if name not in known]
    return ()
