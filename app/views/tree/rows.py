"""The rows of the loop tree. `tree_rows` is defined here; ids and menus are re-exported from their modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from msgspec.structs import replace

from ....engine.analysis import ProgramIndex
from ....engine.ir import (
    Annotation,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Cast,
    Expr,
    For,
    IntImm,
    Node,
    PrimFunc,
    Stmt,
    Var,
    build,
    children,
    uses_var,
    walk,
)
from ....engine.lower import BANKS_KEY, DOUBLE_BUFFER_KEY, SLOTS_KEY, marks_of
from ....engine.script.tilelang.names import AWAITS, COPY, GEMM, SIGNALS, THREADS, WHOLE
from ...document import State as Moment
from ...state.row_ids import Handle, RowIds, row_ids
from ..labels.buffer_ids import buffer_ids
from ..labels.numbers import size_text
from ..labels.palette import buffer_colours
from ..labels.sizes import annotation_text, buffer_bytes, plain_text, shape_text
from ..labels.values import Value
from ..menus import revisions_of, row_menus

__all__ = ["buffer_bytes", "row_ids", "row_menus", "tree_rows"]

_KIND_LABELS = {"parallel": "parallel", "vectorized": "vectorized", "unrolled": "unrolled"}


class Badge(Value, frozen=True, omit_defaults=True):
    """A mark in a row. `revises` is the call whose argument it shows."""

    text: str
    tone: Literal["", "accent", "warn", "good", "bad"]
    tip: str
    revises: str = ""


class IterName(Value, frozen=True):
    """An iterator of a block, and its type: "spatial", "reduce", ..."""

    name: str
    type: str


class BufferChip(Value, frozen=True):
    """A buffer that a block reads or writes; `bytes` is the size as text."""

    id: str
    name: str
    scope: str
    bytes: str
    colour: int


class Row(Value, frozen=True, kw_only=True, omit_defaults=True):
    """A loop or a block of the tree; `parent` is "" at the top. A loop has `extent`, `loop_kind` and `reduces`; a
    block `iters`, `reads` and `writes`. In a notebook, a row also has `by`, the primitives called on it or that made
    it (then also `made`); `revises`, the calls whose arguments the row can change; and `variable` if the notebook
    uses another name for it."""

    id: str
    parent: str
    depth: int
    kind: Literal["loop", "block"]
    name: str
    detail: str
    badges: tuple[Badge, ...]
    tooltip: str
    extent: str = ""
    loop_kind: str = ""
    reduces: bool = False
    iters: tuple[IterName, ...] = ()
    reads: tuple[BufferChip, ...] = ()
    writes: tuple[BufferChip, ...] = ()
    by: tuple[str, ...] = ()
    made: bool = False
    revises: tuple[str, ...] = ()
    variable: str = ""


Known = dict[Node, tuple[object, Row]]
"""A cache of row parts by statement, each with its further key. Consecutive programs share most of their statements."""


def tree_rows(
    func: PrimFunc,
    live_bytes: Mapping[Buffer, int] | None = None,
    moment: Moment | None = None,
    known: Known | None = None,
) -> list[Row]:
    """The loops and blocks below the root, parents first in text order.

    `live_bytes` are the known sizes of buffers after compaction, the memory really held. `known` is the cache from the previous program,
    updated in place for this one.
    """
    rows = _Rows(func, live_bytes or {}, moment, known or {}, buffer_colours(func))
    made = list(rows.below(func.body, parent="", depth=0))
    if known is not None:
        known.clear()
        known.update(rows.now_known)
    return made


class _Rows:
    """A walk over a program, with the analyses that its rows need."""

    def __init__(
        self,
        func: PrimFunc,
        live_bytes: Mapping[Buffer, int],
        moment: Moment | None,
        known: Known,
        colours: Mapping[Buffer, int],
    ) -> None:
        self.known = known
        self.now_known: Known = {}
        self.func = func
        self.ids: RowIds = row_ids(func)
        self.index = ProgramIndex(func)
        self.colours = colours
        self.buffer_names = {buffer: name for name, buffer in buffer_ids(func).items()}
        self.live_bytes = live_bytes
        self.calls = calls_on(moment)
        self.made = made_by_calls(moment)
        self.variables = variables_of(moment)
        self.revisions = revisions_of(moment)
        self.is_unscheduled = moment is not None and not moment.schedule.trace.steps

    def below(self, node: Node, parent: str, depth: int) -> Iterator[Row]:
        """The rows below `node`."""
        for child in children(node):
            if isinstance(child, Expr | Buffer | BufferRegion):
                continue
            row = self._row(child, parent, depth)
            if row is None:
                yield from self.below(child, parent, depth)
            else:
                yield row
                yield from self.below(child, row.id, depth + 1)

    def _row(self, node: Node, parent: str, depth: int) -> Row | None:
        if isinstance(node, For):
            said = self._said(node, None, lambda: self._loop(node))
            row = self._placed(said, node.loop_var, parent, depth)
            forms = tuple(KERNEL_FORMS[key] for key, _ in node.annotations if key in KERNEL_FORMS)
            return replace(row, revises=(*row.revises, *forms)) if forms and self.is_unscheduled else row
        if isinstance(node, BlockRealize):
            block = node.block
            held = [self.live_bytes.get(b) for b in _buffers((*block.writes, *block.reads))]
            said = self._said(node, held, lambda: self._block(node))
            # Not cached: the colours and ids of buffers depend on the whole program.
            reads = tuple(self._buffer(b) for b in _buffers(block.reads) if not _is_written(block, b))
            writes = tuple(map(self._buffer, _buffers(block.writes)))
            return replace(self._placed(said, block.name, parent, depth), reads=reads, writes=writes)
        return None

    def _said(self, node: Node, of: object, make: Callable[[], Row]) -> Row:
        """`make()`, or its cached result for the same statement and the same `of`."""
        found = self.known.get(node)
        entry = found if found is not None and found[0] == of else (of, make())
        self.now_known[node] = entry
        return entry[1]

    def _placed(self, said: Row, handle: Handle, parent: str, depth: int) -> Row:
        """The row of a statement at its place in the tree, with what the notebook tells about it."""
        variable = self.variables.get(handle, said.name)
        return replace(
            said,
            id=self.ids.of(handle),
            parent=parent,
            depth=depth,
            by=tuple(self.calls.get(handle, ())),
            made=handle in self.made,
            revises=tuple(self.revisions.get(handle, ())),
            variable="" if variable == said.name else variable,
        )

    def _loop(self, loop: For) -> Row:
        extent = plain_text(loop.extent)
        kind = loop.thread_tag or _KIND_LABELS.get(loop.kind, "")
        below = self.index.child_blocks(loop)
        start = "" if build.is_const(loop.min, 0) else f"{plain_text(loop.min)}, {plain_text(loop.min)} + "
        iterates = sorted({f"{r.block.name}.{name}" for r in below for name in _driven(r, loop.loop_var)})
        lines = [f"for {loop.loop_var.name} in range({start}{extent})"]
        if kind:
            lines[0] += f"  {kind}"
        lines.append(f"iterates {', '.join(iterates)}" if iterates else "no block below uses it")
        lines.extend(f"{key} = {annotation_text(value)}" for key, value in loop.annotations)
        return Row(
            id="",
            parent="",
            depth=0,
            kind="loop",
            name=loop.loop_var.name,
            extent=extent,
            detail=kind,
            loop_kind=loop.kind,
            reduces=any(_driven(r, loop.loop_var, "reduce") for r in below),
            badges=tuple(_annotation_badge(key, value) for key, value in loop.annotations if key not in WITHOUT_BADGE),
            tooltip="\n".join(lines),
        )

    def _block(self, realize: BlockRealize) -> Row:
        block = realize.block
        return Row(
            id="",
            parent="",
            depth=0,
            kind="block",
            name=block.name,
            detail=_what_it_does(block),
            iters=tuple(IterName(iv.var.name, iv.iter_type) for iv in block.iter_vars),
            badges=tuple(_block_badges(realize)),
            tooltip=self._block_tooltip(realize),
        )

    def _buffer(self, buffer: Buffer) -> BufferChip:
        size, name = size_text(self._bytes(buffer)), self.buffer_names.get(buffer, "")
        return BufferChip(name, buffer.name, buffer.scope, size, self.colours.get(buffer, 0))

    def _bytes(self, buffer: Buffer) -> int | None:
        return self.live_bytes.get(buffer, buffer_bytes(buffer))

    def _block_tooltip(self, realize: BlockRealize) -> str:
        block = realize.block
        lines = [
            f"{_region_text(r)}  ←  {', '.join(map(_region_text, block.reads)) or 'constants'}" for r in block.writes
        ]
        pairs = zip(block.iter_vars, realize.iter_values, strict=True)
        lines.extend(f"{iv.var.name} = {plain_text(value)}   {iv.iter_type}" for iv, value in pairs)
        if not build.is_true(realize.predicate):
            lines.append(f"only where {plain_text(realize.predicate)}")
        for buffer in _buffers((*block.writes, *block.reads)):
            whole, live = buffer_bytes(buffer), self.live_bytes.get(buffer)
            held = f", {size_text(live)} live" if live is not None and live != whole else ""
            lines.append(
                f"{buffer.name}: {shape_text(buffer.shape, buffer.axis_separators)} {buffer.dtype} {buffer.scope}, {size_text(whole)}{held}"
            )
        lines.extend(f"{key} = {annotation_text(value)}" for key, value in block.annotations)
        return "\n".join(lines)


def calls_on(moment: Moment | None) -> dict[Var | str, list[str]]:
    """Loop or block -> the primitives that made it or were called on it, in order."""
    found: dict[Var | str, list[str]] = {}
    for step in () if moment is None else moment.schedule.trace.steps:
        if not step.changes:
            continue
        given = [item for _, value in step.arguments for item in (value if isinstance(value, tuple) else (value,))]
        for handle in dict.fromkeys(item for item in (*step.results, *given) if isinstance(item, Var | str)):
            methods = found.setdefault(handle, [])
            if step.method not in methods:
                methods.append(step.method)
    return found


def made_by_calls(moment: Moment | None) -> set[Var | str]:
    """The loops and blocks that the schedule's calls made."""
    steps = () if moment is None else moment.schedule.trace.steps
    return {handle for step in steps if step.changes for handle in step.results}


def variables_of(moment: Moment | None) -> dict[Var | str, str]:
    """Loop or block -> the newest variable that holds it alone."""
    names = {} if moment is None else moment.names
    return {handle: name for name, handle in names.items() if isinstance(handle, Var | str)}


def _buffers(regions: Iterable[BufferRegion]) -> list[Buffer]:
    """The buffers of `regions`, each once."""
    return list(dict.fromkeys(r.buffer for r in regions))


def _is_written(block: Block, buffer: Buffer) -> bool:
    return any(w.buffer is buffer for w in block.writes)


def _driven(realize: BlockRealize, loop: Var, iter_type: str | None = None) -> list[str]:
    """Names of the block's iterators whose value uses `loop`."""
    return [
        iv.var.name
        for iv, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
        if iter_type in (None, iv.iter_type) and uses_var(value, loop)
    ]


def _what_it_does(block: Block) -> str:
    """A short description: "copy", "reduces over vk", "nested blocks"."""
    reduced = [iv.var.name for iv in block.iter_vars if iv.iter_type == "reduce"]
    if _has_blocks(block.body):
        return "nested blocks"
    if block.init is not None or reduced:
        return f"reduces over {', '.join(reduced)}" if reduced else "reduction"
    if isinstance(block.body, BufferStore):
        value = block.body.value
        value = value.value if isinstance(value, Cast) else value
        if isinstance(value, BufferLoad):
            return "copy"
        if not any(isinstance(n, BufferLoad) for n in walk(value)):
            return "fill"
    return "compute"


def _has_blocks(stmt: Stmt) -> bool:
    return any(isinstance(n, BlockRealize) for n in walk(stmt))


def _block_badges(realize: BlockRealize) -> Iterator[Badge]:
    if realize.block.init is not None:
        yield Badge("init", "", "the result is initialized in the first iteration of the reduction")
    if not build.is_true(realize.predicate):
        yield Badge("if", "warn", f"only where {plain_text(realize.predicate)}")
    yield from (_slots_badge(slots.count) for slots in marks_of(realize.block).values())
    shown = (note for note in realize.block.annotations if note[0] not in WITHOUT_BADGE)
    yield from (_annotation_badge(key, value) for key, value in shown)


def _slots_badge(count: int) -> Badge:
    tip = "double buffered: two slots alternate" if count == 2 else f"{count} slots, used in turn"
    return Badge(f"×{count}", "accent", tip, "double_buffer")


WITHOUT_BADGE = (DOUBLE_BUFFER_KEY, SLOTS_KEY, COPY, GEMM, AWAITS, SIGNALS, WHOLE)
"""Annotations that other parts of the row or the timeline show, or that hold for each kernel; tooltips list them."""

SHORT_KEYS = {
    "software_pipeline_stage": "pipeline",
    "software_pipeline_order": "order",
    "software_pipeline_async_stages": "async",
    BANKS_KEY: "banks",
}
"""The names of annotations on badges; others lose what is before their last dot."""

KERNEL_FORMS = {"num_stages": "kernel_stages", THREADS: "kernel_value"}
"""The edits of a TileLang kernel's text that change an annotation."""

MOST_LETTERS = 24
"""The length of a badge; the rest is in its tip."""


def _annotation_badge(key: str, value: Annotation) -> Badge:
    """The badge of an annotation: "pipeline 0 1 1"; only its name if the annotation is a flag."""
    text = annotation_text(value)
    short = SHORT_KEYS.get(key, key.rsplit(".", 1)[-1])
    listed = " ".join(map(annotation_text, value)) if isinstance(value, tuple) else text
    written = short if text in ("1", "True", "T.bool(True)") else f"{short} {listed}"
    written = written if len(written) <= MOST_LETTERS else f"{written[: MOST_LETTERS - 1]}…"
    return Badge(written, "", f"{key} = {text}", KERNEL_FORMS.get(key, ""))


def _region_text(region: BufferRegion) -> str:
    parts: list[str] = []
    for axis in region.region:
        low = plain_text(axis.min)
        if build.is_const(axis.extent, 1):
            parts.append(low)
        elif isinstance(axis.extent, IntImm) and isinstance(axis.min, IntImm):
            parts.append(f"{low}:{axis.min.value + axis.extent.value}")
        else:
            parts.append(f"{low} : +{plain_text(axis.extent)}")
    return f"{region.buffer.name}[{', '.join(parts)}]"
