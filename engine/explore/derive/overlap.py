"""Rule: engines that work on different tiles at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...hwsim import DmaEngine
from .draft import ScheduleDraft

Kind = str
Delay = Callable[[Kind, Kind], bool]
"""Whether a statement of the second kind of engine runs one iteration after what it needs from the first."""

DELAYS: tuple[Delay, ...] = (
    lambda source, target: source != target and target != "store",
    lambda source, target: source == "load",
    lambda source, target: (source, target) in {("load", "vector"), ("matrix", "vector")},
    lambda source, target: (source, target) in {("load", "matrix"), ("load", "vector"), ("vector", "matrix")},
)
"""Deep pipelines and shallow ones: each engine a stage, loads ahead only, and two in between."""

AFTER: Delay = lambda source, target: source != target  # noqa: E731
"""Results leave while the next tile is computed, where nothing else overlaps."""


def pipeline_tiles(draft: ScheduleDraft) -> None:
    """Requires loops over tiles around several statements. Line, for the innermost loop that can overlap them and those around it:
    `pipeline`, with the stages as a hole: a statement is one stage after a producer on another engine, or only after its loads; without
    stages everything runs in turn."""
    for loop in [*(tile.loop for tile in draft.inner.values()), *reversed(list(draft.loops.values()))]:
        parts = draft.parts(loop)
        if len(parts) < 2:
            continue
        offers = [s for delay in DELAYS if max(s := _stages(draft, parts, delay))]
        offers = offers or [_stages(draft, parts, AFTER)]
        name = loop.name
        legal = [s for s in dict.fromkeys(offers) if max(s) and draft.builder.would("pipeline", loop, s)]
        if not legal:
            draft.leave_out(f"a pipeline of {name}", "no order of stages keeps its dependences")
            continue
        stages = draft.choice("stages", f"stages of {name}", [*legal, (0,) * len(parts)])
        draft.builder.accepts("pipeline", loop, stages)
        draft.decide(f"pipeline of {name} in up to {1 + max(map(max, legal))} stages")


def _stages(draft: ScheduleDraft, parts: Sequence[tuple[str, ...]], delay: Delay) -> tuple[int, ...]:
    """The stage of each statement."""
    index = draft.index
    kinds = [_kind(draft, blocks) for blocks in parts]
    writes = [{w.buffer for n in blocks for w in index.block(n).writes} for blocks in parts]
    reads = [{r.buffer for n in blocks for r in index.block(n).reads} for blocks in parts]
    stages = [0] * len(parts)
    for n, kind in enumerate(kinds):
        for before in range(n):
            if writes[before] & (reads[n] | writes[n]):
                apart = not writes[before] & writes[n] and delay(kinds[before], kind)
                stages[n] = max(stages[n], stages[before] + apart)
    return tuple(stages)


def _kind(draft: ScheduleDraft, blocks: Sequence[str]) -> Kind:
    """The kind of work of a statement: a load, a store, or that of its last engine."""
    index = draft.index
    for name in reversed(blocks):
        engine = draft.engines.get(name)
        if engine is not None and not isinstance(engine, DmaEngine):
            return "matrix" if engine.name in draft.matrix_names else "vector"
    written = [w.buffer for n in blocks for w in index.block(n).writes]
    return "store" if any(draft.is_far(draft.memory_of(b)) for b in written) else "load"


__all__ = ["pipeline_tiles"]
