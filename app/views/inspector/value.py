"""The inspector's value: facts about the selected loop or block, the layout of a chosen buffer, else the memories and engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from ....engine.analysis import ProgramIndex
from ....engine.hwsim import Machine, Report
from ....engine.hwsim.tile_layouts import MOST_REGISTERS, instruction, matrix_unit, products_of, warp_partition
from ....engine.ir import Block, BlockRealize, Buffer, BufferRegion, For, PrimFunc, TilewrightError, Var, build
from ....engine.lower import Allocation, allocations
from ....engine.script.tilelang.names import COPY, GEMM
from ...state.derived import Store, attempt
from ...state.entries import Derived
from ...state.model import State
from ...state.row_ids import row_ids
from ..labels.buffer_ids import buffer_ids
from ..labels.numbers import grouped, percent_text, size_text
from ..labels.palette import OTHER, buffer_colours, colours_by_name
from ..labels.section import Section
from ..labels.sizes import annotation_text, buffer_bytes, plain_text, shape_text
from ..labels.values import Value
from ..layouts import LayoutPicker, layout_value
from ..timeline.causes import CAUSES
from ..timeline.waits import blame_section, wait_rows
from .cores import cache_sections, cores_section
from .launch import launch_rows
from .memory_summary import MemorySummary, memory_summary

_ALLOCATIONS = Derived[dict[Buffer, Allocation]]("allocations")


class Crumb(Value, frozen=True):
    """A way back from a buffer: to a row, or to the overview."""

    label: str
    row: str


class CopiedBuffer(Value, frozen=True):
    """A buffer that is copied from a memory to another."""

    buffer: str
    colour: int
    source: str
    destination: str
    bytes: str


class Inspector(Value, frozen=True):
    """Facts about the selection: sections, the memories and copies for an empty selection, and the layout picker of a buffer."""

    kind: Literal["nothing", "loop", "block", "buffer"] = "nothing"
    crumbs: Sequence[Crumb] = ()
    sections: Sequence[Section] = ()
    memories: Sequence[MemorySummary] = ()
    traffic: Sequence[CopiedBuffer] = ()
    picker: LayoutPicker | None = None


def inspector_value(state: State, store: Store) -> Inspector:
    """The inspector's value."""
    if state.moment is None:
        return Inspector()
    func = state.moment.schedule.func
    handle = row_ids(func).get(state.selected)
    colours = store.once(buffer_colours, func)
    buffer = buffer_ids(func).get(state.buffer) if state.buffer else None
    if buffer is not None:
        row = "" if handle is None else state.selected
        crumbs = [Crumb("Overview", ""), *([Crumb(row, row)] if row else [])]
        return Inspector("buffer", crumbs, picker=layout_value(state, store, colours.get(buffer, OTHER)))
    held = held_buffers(state, func, store)
    found = store.known_report(state)
    report = found if isinstance(found, Report) else None
    if handle is None:
        machine = store.machine(state)
        known = machine if isinstance(machine, Machine) else None
        value = Inspector(memories=memory_summary(func, held, colours, known, report))
        if report is not None:
            traffic = _traffic(report, colours_by_name(func))
            value = replace(value, sections=_run_sections(state, store, report), traffic=traffic)
    elif isinstance(handle, Var):
        index = store.index(func)
        value = Inspector(
            "loop", sections=_loop_sections(index, handle, report, _launch_rows(state, store, index, handle, report))
        )
    else:
        value = Inspector("block", sections=_block_sections(store.index(func), handle, held, colours, report))
    blamed = blame_section(state, report) if report is not None else None
    return value if blamed is None else replace(value, sections=(blamed, *value.sections))


def _run_sections(state: State, store: Store, report: Report) -> list[Section]:
    """The engines over the whole run, and the longest waits."""
    sections = [_engines(report)]
    if report.chip is not None:
        sections = [cores_section(report.chip), *cache_sections(report), *sections]
    assert state.shown is not None
    moments = state.shown.states[: state.step_count + 1]
    if rows := wait_rows(report.engines, moments, state.shown.steps, store):
        sections.append(Section("Stalls", "cycles", None, rows))
    return sections


def held_buffers(state: State, func: PrimFunc, store: Store) -> dict[Buffer, Allocation]:
    """The allocation of each intermediate buffer after compaction, with the notebook's sizes; empty if planning fails."""
    sized = store.sized(state, func)

    def compute() -> dict[Buffer, Allocation]:
        plan = store.plan(sized.func)
        found = plan if isinstance(plan, TilewrightError) else attempt("sizes", lambda: allocations(sized.func, plan))
        if isinstance(found, TilewrightError):
            return {}
        before = {new: old for old, new in sized.buffers.items()}
        return {before.get(allocation.buffer, allocation.buffer): allocation for allocation in found}

    return store.remember(_ALLOCATIONS(func, sized), compute)


def _section(title: str, kind: str = "", *, swatch: int | None = None, note: str = "", buffer: str = "") -> Section:
    return Section(title, kind, swatch, [], note, buffer)


def _launch_rows(
    state: State, store: Store, index: ProgramIndex, loop_var: Var, report: Report | None
) -> list[tuple[str, str, str]]:
    if not (index.loop(loop_var).thread_tag or "").startswith("blockIdx"):
        return []
    sized = store.sized(state, index.func)
    plan = store.plan(sized.func)
    return launch_rows(sized.func, None if isinstance(plan, TilewrightError) else plan, report)


def _loop_sections(
    index: ProgramIndex, loop_var: Var, report: Report | None, launch: list[tuple[str, str, str]]
) -> list[Section]:
    loop: For = index.loop(loop_var)
    section = _section(loop_var.name, "loop")
    rows = section.rows
    rows.append(("extent", plain_text(loop.extent), "Iterations"))
    rows.append(("kind", loop.thread_tag or loop.kind, ""))
    outer = [f.loop_var.name for f in index.path(loop) if isinstance(f, For) and f is not loop]
    rows.append(("inside", " > ".join(reversed(outer)) or "none", "Enclosing loops, outermost first"))
    rows.append(("runs", _times(index, loop), "Number of times the loop starts"))
    below = ", ".join(r.block.name for r in index.child_blocks(loop))
    rows.append(("blocks", below or "none", "Blocks in the loop"))
    rows += launch
    rows += [(key, str(value), "Annotation") for key, value in _annotations(loop)]
    if report is None:
        return [section]
    return [section, _cost(report, {r.block.name for r in index.child_blocks(loop)}, "Costs")]


def _cost(report: Report, blocks: set[str], title: str) -> Section:
    """The busy cycles of each engine with tasks of these blocks."""
    spent: dict[str, list[int]] = {}
    for task in report.tasks:
        if blocks & task.blocks.keys():
            row = spent.setdefault(task.engine, [0, 0])
            row[0] += task.cycles
            row[1] += task.tasks
    section = _section(title, "busy cycles", note="" if spent else "No engine executes it.")
    for engine, (cycles, tasks) in sorted(spent.items(), key=lambda item: -item[1][0]):
        share = percent_text(cycles / report.cycles) if report.cycles else "–"
        hint = f"{grouped(tasks)} tasks; {share} of the run; engines run in parallel"
        section.rows.append((engine, f"{grouped(cycles)}  {share}", hint))
    return section


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
    index: ProgramIndex, name: str, held: dict[Buffer, Allocation], colours: Mapping[Buffer, int], report: Report | None
) -> list[Section]:
    realize = index.realize(name)
    block = realize.block
    section = _section(name, "block")
    rows = section.rows
    for iterator, value in zip(block.iter_vars, realize.iter_values, strict=True):
        kind = {"spatial": "S", "reduce": "R"}.get(iterator.iter_type, iterator.iter_type)
        rows.append((f"{iterator.var.name} {kind}", plain_text(value), f"{iterator.iter_type} iterator"))
    if not build.is_true(realize.predicate):
        rows.append(("where", plain_text(realize.predicate), "Condition of execution"))
    rows.append(("runs", _times(index, realize), "Number of executions of the block's body"))
    rows.append(("feeds", ", ".join(index.consumers(name)) or "the result", "Blocks that read its output"))
    rows += [("writes", _region_text(region), "Written region, in terms of its iterators") for region in block.writes]
    rows += [("reads", _region_text(region), "Read region, in terms of its iterators") for region in block.reads]
    rows += _warp_rows(index.func, name, report)
    rows += [(key, value, "Annotation") for key, value in _annotations(block) if key not in (GEMM, COPY)]
    names = {buffer: name for name, buffer in buffer_ids(index.func).items()}
    buffers = dict.fromkeys(region.buffer for region in (*block.writes, *block.reads))
    found = [section, *(_engine(report, name) if report is not None else ())]
    return [*found, *(_buffer_section(b, held.get(b), colours, names.get(b, "")) for b in buffers)]


def _warp_rows(func: PrimFunc, name: str, report: Report | None) -> list[tuple[str, str, str]]:
    """How the threads of a TileLang kernel share a product, on a machine for which its compiler is known."""
    unit = None if report is None else matrix_unit(report.program.machine)
    product = None if unit is None else next((p for p in products_of(func) if p.block == name), None)
    if unit is None or product is None:
        return []
    partition, used = warp_partition(product, unit), instruction(product, unit)
    rows = [("threads", grouped(product.threads), "Threads of a block, in warps of 32")]
    if partition is None:
        reason = (
            f"{product.policy} has no partition, which TileLang refuses"
            if product.policy
            else "The policy is not known"
        )
        return [*rows, ("warps", "none" if product.policy else "not known", reason)]
    tile = f"{product.rows // partition[0]} × {product.columns // partition[1]}"
    hint = f"Policy {product.policy}, {used}: each warp has {tile} of {product.c.name}"
    rows.append(("warps", f"{partition[0]} × {partition[1]}", hint))
    if product.result_registers is not None:
        hint = (
            f"32-bit registers of each thread for its part of {product.c.name}; a thread has at most {MOST_REGISTERS}"
        )
        rows.append(("registers", grouped(product.result_registers), hint))
    return rows


def _engine(report: Report, name: str) -> list[Section]:
    """The engine that runs the block, the reason for its choice, and its cost."""
    found: list[Section] = []
    for task in report.tasks:
        blocks = list(task.blocks)
        if name not in blocks:
            continue
        section = _section(task.engine, "engine", note=f"{task.reason[:1].upper()}{task.reason[1:]}.")
        share = percent_text(task.cycles / report.cycles) if report.cycles else "–"
        section.rows.extend(
            (
                ("busy", f"{grouped(task.cycles)} cycles  {share}", "Share of the whole run"),
                ("tasks", grouped(task.tasks), "Number of tasks issued to the engine"),
                ("per task", f"{grouped(round(task.cycles / max(task.tasks, 1)))} cycles", "Average duration"),
            )
        )
        if len(blocks) > 1:
            section.rows.append(
                ("fused with", ", ".join(b for b in blocks if b != name), "One task executes all of these blocks")
            )
        found.append(section)
    return found


def _region_text(region: BufferRegion) -> str:
    parts: list[str] = []
    for axis in region.region:
        low = plain_text(axis.min)
        parts.append(low if build.is_const(axis.extent, 1) else f"{low} : +{plain_text(axis.extent)}")
    return f"{region.buffer.name}[{', '.join(parts)}]"


def _buffer_section(buffer: Buffer, allocation: Allocation | None, colours: Mapping[Buffer, int], name: str) -> Section:
    section = _section(buffer.name, buffer.scope, swatch=colours.get(buffer), buffer=name)
    rows = section.rows
    rows.append(
        ("declared", f"{shape_text(buffer.shape, buffer.axis_separators)} {buffer.dtype}", "Shape in the program")
    )
    if allocation is None:
        rows.append(("size", size_text(buffer_bytes(buffer)), ""))
        return section
    tile = " × ".join(str(e) if isinstance(e, int) else plain_text(e) for e in allocation.tile)
    lowered = shape_text(allocation.lowered.shape, allocation.lowered.axis_separators)
    rows.append(("live tile", tile or "1", "Elements that are live at the same time"))
    rows.append(("allocated", lowered, "Allocated shape after flattening; one bracket for each axis group"))
    rows.append(("size", size_text(buffer_bytes(allocation.lowered)), "Allocated bytes, including all slots"))
    if allocation.slots > 1:
        rows.append(("slots", f"{allocation.slots}", "Double buffered"))
    place = allocation.loop.name if allocation.loop is not None else "the function"
    rows.append(("allocated in", place, "The loop whose iterations use one tile each"))
    return section


def _engines(report: Report) -> Section:
    """The engines as text, since screen readers cannot read the timeline's canvas."""
    section = _section("Engines", "share of the run")
    cycles = report.cycles
    for name, engine in report.engines.items():
        stalls = {CAUSES[cause].title: count for cause, count in engine.stall.items() if count and cause != "idle"}
        share, stalled = (percent_text(n / cycles) if cycles else "–" for n in (engine.busy, sum(stalls.values())))
        causes = ", ".join(f"{cause} {grouped(count)}" for cause, count in stalls.items())
        hint = f"{grouped(engine.busy)} of {grouped(cycles)} cycles busy; stall cycles: {causes or 'none'}"
        section.rows.append((name, f"busy {share}{f', stalled {stalled}' if stalls else ''}", hint))
    return section


def _traffic(report: Report, colours: Mapping[str, int]) -> list[CopiedBuffer]:
    return [
        CopiedBuffer(
            row.buffer,
            colours.get(row.buffer, OTHER),
            row.source.removeprefix("local."),
            row.destination.removeprefix("local."),
            size_text(row.bytes),
        )
        for row in report.traffic
    ]
