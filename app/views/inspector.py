"""The inspector's value: facts about the chosen loop or block, its buffers, the engines, and what crosses between memories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...engine.analysis import ProgramIndex
from ...engine.hwsim import Report
from ...engine.ir import Block, BlockRealize, Buffer, For, PrimFunc, TilewrightError, Var, build
from ...engine.lower import Allocation, allocations
from ..state import State
from ..store import Store, attempt
from .numbers import grouped, percent_text
from .palette import buffer_colours
from .row_ids import row_ids
from .sizes import annotation_text, buffer_bytes, plain_text, size_text
from .waits import wait_rows

Section = dict[str, Any]


def inspector_value(state: State, store: Store) -> dict[str, Any]:
    """sections (title, kind, swatch: colour index or null, rows: [name, value, hint], note) and traffic rows."""
    if state.moment is None:
        return {"sections": [], "traffic": []}
    func = state.moment.schedule.func
    held = held_buffers(state, func, store)
    handle = row_ids(func).get(state.selected)
    sections: list[Section] = []
    colours = store.remember("colours", (func,), lambda: buffer_colours(func))
    if isinstance(handle, Var):
        sections += _loop_sections(store.index(func), handle)
    elif handle is not None:
        sections += _block_sections(store.index(func), handle, held, colours)
    else:
        sections.append(_section("Nothing chosen", note="Choose a loop or a block in the tree to see its facts."))
        sections += [_buffer_section(buffer, held.get(buffer), colours) for buffer in held]
    report = store.report_now(state)
    traffic: list[dict[str, Any]] = []
    if isinstance(report, Report):
        data = store.remember("json", (report,), report.to_json)
        sections.append(_engines(data))
        assert state.shown is not None
        moments = state.shown.states[: state.step_count + 1]
        if rows := wait_rows(data["engines"], moments, state.shown.steps):
            sections.append({**_section("Waits", "cycles"), "rows": rows})
        traffic = _traffic(data, func)
    return {"sections": sections, "traffic": traffic}


def held_buffers(state: State, func: PrimFunc, store: Store) -> dict[Buffer, Allocation]:
    """What is really allocated for each intermediate buffer, with the notebook's sizes, after compaction; empty where it cannot be told."""
    sized = store.sized(state, func)

    def compute() -> dict[Buffer, Allocation]:
        plan = store.plan(sized.func)
        found = plan if isinstance(plan, TilewrightError) else attempt("sizes", lambda: allocations(sized.func, plan))
        if isinstance(found, TilewrightError):
            return {}
        before = {new: old for old, new in sized.buffers.items()}
        return {before.get(allocation.buffer, allocation.buffer): allocation for allocation in found}

    return store.remember("allocations", (func, sized), compute)


def _section(title: str, kind: str = "", *, swatch: int | None = None, note: str = "") -> Section:
    return {"title": title, "kind": kind, "swatch": swatch, "rows": [], "note": note}


def _loop_sections(index: ProgramIndex, loop_var: Var) -> list[Section]:
    loop: For = index.loop(loop_var)
    section = _section(loop_var.name, "loop")
    rows = section["rows"]
    rows.append(("extent", plain_text(loop.extent), "Iterations"))
    rows.append(("kind", loop.thread_tag or loop.kind, ""))
    outer = [f.loop_var.name for f in index.path(loop) if isinstance(f, For) and f is not loop]
    rows.append(("inside", " > ".join(outer) or "nothing", "The loops around it, outermost first"))
    rows.append(("runs", _times(index, loop), "How often the loop is started"))
    below = ", ".join(r.block.name for r in index.child_blocks(loop))
    rows.append(("blocks", below or "none", "The blocks below it"))
    rows += [(key, str(value), "Annotation") for key, value in _annotations(loop)]
    return [section]


def _times(index: ProgramIndex, node: For | BlockRealize) -> str:
    count = 1
    for outer in index.path(node):
        if isinstance(outer, For) and outer is not node:
            extent = build.int_value(outer.extent)
            if extent is None:
                return "symbolic"
            count *= extent
    return grouped(count)


def _annotations(node: For | Block) -> list[tuple[str, str]]:
    return [(key, annotation_text(value)) for key, value in node.annotations]


def _block_sections(
    index: ProgramIndex, name: str, held: dict[Buffer, Allocation], colours: Mapping[Buffer, int]
) -> list[Section]:
    realize = index.realize(name)
    block = realize.block
    section = _section(name, "block")
    rows = section["rows"]
    for iterator, value in zip(block.iter_vars, realize.iter_values, strict=True):
        kind = {"spatial": "S", "reduce": "R"}.get(iterator.iter_type, iterator.iter_type)
        rows.append((f"{iterator.var.name} {kind}", plain_text(value), f"{iterator.iter_type} iterator"))
    if not build.is_true(realize.predicate):
        rows.append(("where", plain_text(realize.predicate), "Runs only where this holds"))
    rows.append(("runs", _times(index, realize), "How often the block's body is reached"))
    rows.append(("feeds", ", ".join(index.consumers(name)) or "the result", "The blocks that read what it writes"))
    rows += [(key, value, "Annotation") for key, value in _annotations(block)]
    buffers = dict.fromkeys(region.buffer for region in (*block.writes, *block.reads))
    return [section, *(_buffer_section(buffer, held.get(buffer), colours) for buffer in buffers)]


def _buffer_section(buffer: Buffer, allocation: Allocation | None, colours: Mapping[Buffer, int]) -> Section:
    section = _section(buffer.name, buffer.scope, swatch=colours.get(buffer))
    rows = section["rows"]
    rows.append(("declared", f"{_shape(buffer.shape, buffer.axis_separators)} {buffer.dtype}", "Shape in the program"))
    if allocation is None:
        rows.append(("size", size_text(buffer_bytes(buffer)), ""))
        return section
    tile = " × ".join(str(e) if isinstance(e, int) else plain_text(e) for e in allocation.tile)
    lowered = _shape(allocation.lowered.shape, allocation.lowered.axis_separators)
    rows.append(("live tile", tile or "1", "What is live at once where it is allocated"))
    rows.append(("allocated", lowered, "The flat allocation; an axis separator keeps its groups apart"))
    rows.append(("size", size_text(buffer_bytes(allocation.lowered)), "Of the allocation, all slots"))
    if allocation.slots > 1:
        rows.append(("slots", f"{allocation.slots}", "Double buffered"))
    place = allocation.loop.name if allocation.loop is not None else "the function"
    rows.append(("allocated in", place, "The loop whose iterations need a tile each"))
    return section


def _shape(shape: tuple[Any, ...], separators: tuple[int, ...]) -> str:
    groups: list[list[str]] = [[]]
    for position, extent in enumerate(shape):
        if position in separators:
            groups.append([])
        groups[-1].append(plain_text(extent))
    return "".join(f"[{', '.join(group)}]" for group in groups)


def _engines(data: dict[str, Any]) -> Section:
    """The engines in words: the timeline is a canvas, which no screen reader reads."""
    section = _section("Engines", "busy")
    cycles = data["cycles"]
    for name, engine in data["engines"].items():
        stalls = [f"{cause} {grouped(count)}" for cause, count in engine["stall"].items() if count]
        share = percent_text(engine["busy"] / cycles) if cycles else "–"
        hint = f"{grouped(engine['busy'])} cycles busy; waited for {', '.join(stalls) or 'nothing'}"
        section["rows"].append((name, f"{share}{f'  waits: {stalls[0]}' if stalls else ''}", hint))
    return section


def _traffic(data: dict[str, Any], func: PrimFunc) -> list[dict[str, Any]]:
    colours = {buffer.name: index for buffer, index in buffer_colours(func).items()}
    return [
        {
            "buffer": row["buffer"],
            "colour": colours.get(row["buffer"], 9),
            "source": row["source"].removeprefix("local."),
            "destination": row["destination"].removeprefix("local."),
            "bytes": size_text(row["bytes"]),
        }
        for row in data["traffic"]
    ]
