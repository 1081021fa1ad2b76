"""What may be done to a row besides dragging it: one table of primitives with the fields of their forms, and forms read back into calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from ...engine.analysis import ProgramIndex
from ...engine.export import region_map_text
from ...engine.hwsim import Machine
from ...engine.ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferStore,
    Call,
    FloatImm,
    For,
    IndexMap,
    IntImm,
    PrimFunc,
    Refusal,
    RegionMap,
    SeqStmt,
    Stmt,
    TilewrightError,
    Var,
    build,
    uses_var,
)
from ...engine.script import read_calls
from .row_ids import RowIds, row_ids

Field = dict[str, Any]
Entry = dict[str, Any]

SCOPES = (
    "local",
    "local.vtcm",
    "local.acc",
    "shared",
    "shared.dyn",
    "wmma.matrix_a",
    "wmma.matrix_b",
    "wmma.accumulator",
    "global",
)
"""Offered where the machine is not known; never required."""

THREADS = (
    *(f"{kind}.{axis}" for kind in ("blockIdx", "threadIdx") for axis in "xyz"),
    "vthread",
    *(f"vthread.{axis}" for axis in "xyz"),
)


def scopes_of(machine: Machine) -> tuple[str, ...]:
    """The memories of a machine as scopes to offer: those on chip first, in the machine's order."""
    scopes = dict.fromkeys(memory.scope for memory in machine.memories)
    return tuple(sorted(scopes, key=lambda scope: scope == "global"))


class Item(msgspec.Struct, frozen=True):
    """A primitive in a menu. `fields` are asked for; `blocked` says why it cannot be done here ("" where it can)."""

    method: str
    label: str
    key: str
    help: str
    fields: Callable[[_Facts, Any], list[Field]]
    blocked: Callable[[_Facts, Any], str]


class _Facts:
    """What the fields of a menu need to know of the program."""

    def __init__(self, func: PrimFunc, scopes: Sequence[str]) -> None:
        self.scopes = scopes
        self.ids = row_ids(func)
        self.index = ProgramIndex(func)

    def inner_chain(self, loop: For) -> list[str]:
        """Row ids of the loops that stand directly in one another below `loop`, outermost first."""
        found: list[str] = []
        body = loop.body
        while isinstance(body, For):
            found.append(self.ids.of(body.loop_var))
            body = body.body
        return found

    def loops_behind(self, loop: For) -> list[str]:
        """Row ids of the loops in statements behind `loop` in its sequence that run equally often as far as one can see."""
        around = self.index.parent(loop)
        if not isinstance(around, SeqStmt):
            return []
        later = around.seq[around.seq.index(loop) + 1 :]
        return [self.ids.of(s.loop_var) for s in later if isinstance(s, For)]

    def reduction_loops(self, block: str) -> list[str]:
        return [self.ids.of(f.loop_var) for f in self.index.loops_of(block)]


def row_menus(func: PrimFunc, scopes: Sequence[str] = SCOPES) -> dict[str, list[Entry]]:
    """Row id -> [{method, label, key, help, disabled, fields: [{name, label, type, choices, default, optional, help}]}].

    `disabled` is the reason where the program's shape alone rules a call out; the engine has the last word on the others. A field's
    name is the keyword of the Schedule method. Types: "int", "text", "choice", "ints" ("None, 16"), "names" ("io, ii"), "literal" (a
    number or text), "index_map" (a lambda). `scopes` are offered where a memory is asked for, the first as the default.
    """
    facts = _Facts(func, scopes)
    menus: dict[str, list[Entry]] = {}
    for row, handle in facts.ids.items():
        if isinstance(handle, Var):
            node: For | Block = facts.index.loop(handle)
            menus[row] = [_entry(item, facts, node) for item in LOOP_ITEMS]
        else:
            node = facts.index.block(handle)
            menus[row] = [_entry(item, facts, node) for item in BLOCK_ITEMS]
    return menus


def _entry(item: Item, facts: _Facts, node: For | Block) -> Entry:
    blocked = item.blocked(facts, node)
    return {
        "method": item.method,
        "label": item.label,
        "key": item.key,
        "help": item.help,
        "disabled": blocked,
        "fields": [] if blocked else item.fields(facts, node),
    }


def call_arguments(
    func: PrimFunc, method: str, target: str, arguments: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a form sent, as (args, kwargs) for `getattr(schedule, method)`: row ids become handles, an index map is read.

    Only fields that hold rows are looked up as rows: a buffer or a new loop may have the name of a loop. Raises TilewrightError
    "unknown-row", "bad-index-map", or a ParseError.
    """
    ids = row_ids(func)
    kwargs = {name: _value(ids, name, value) for name, value in arguments.items()}
    loops = kwargs.pop("loops", None)
    if loops is not None:
        return tuple(loops), kwargs
    return (handle_of(ids, target),), kwargs


def handle_of(ids: RowIds, row: str) -> Var | str:
    """The loop or block of a row. Raises TilewrightError "unknown-row" (the picture was older than the program)."""
    if row not in ids:
        raise TilewrightError(
            Refusal("unknown-row", f"there is no loop or block {row!r} any more", expected=", ".join(ids))
        )
    return ids[row]


def _value(ids: RowIds, name: str, value: Any) -> Any:
    if name == "loop":
        return handle_of(ids, value)
    if name == "loops":
        return [handle_of(ids, v) for v in value]
    if name == "index_map":
        return read_index_map(value)
    if name == "gen_new_ranges":
        return read_region_map(value)
    if name == "pad_value" and isinstance(value, str):
        return read_pad_value(value)
    return value


def read_index_map(text: str) -> IndexMap:
    """The IndexMap of "lambda i, j: [j // 4, AXIS_SEPARATOR, i]". Raises TilewrightError; the text is read, not run."""
    for step in read_calls(f"sch.transform_layout({text.strip()})", "index map"):
        if len(step.args) == 1 and not step.kwargs and isinstance(step.args[0], IndexMap):
            return step.args[0]
    raise TilewrightError(
        Refusal("bad-index-map", "this is not an index map", found=text, expected="lambda i, j: [j, i]")
    )


def read_region_map(text: str) -> RegionMap:
    """The RegionMap of "lambda i, j: [i, (j - 1, j + 2)]". Raises TilewrightError."""
    for step in read_calls(f"sch.annotate_buffer_access({text.strip()})", "region"):
        found = step.args[0] if len(step.args) == 1 and not step.kwargs else None
        if isinstance(found, IndexMap):
            return RegionMap.from_items(found.params, found.indices)
        if isinstance(found, RegionMap):
            return found
    raise TilewrightError(
        Refusal("bad-region", "this is not a map to a region", found=text, expected="lambda i, j: [i, (j - 1, j + 2)]")
    )


def read_pad_value(text: str) -> float | IndexMap:
    """A number, or a map of the new axes. Raises TilewrightError."""
    try:
        return float(text)
    except ValueError:
        return read_index_map(text)


def _field(name: str, label: str, kind: str, default: Any = "", choices: Any = (), **more: Any) -> Field:
    options = [c if isinstance(c, dict) else {"value": c, "label": str(c)} for c in choices]
    return {
        "name": name,
        "label": label,
        "type": kind,
        "choices": options,
        "default": default,
        "optional": False,
        "help": "",
        **more,
    }


def _none(_: _Facts, __: Any) -> list[Field]:
    return []


def _free(_: _Facts, __: Any) -> str:
    return ""


# Loops.


def _split_fields(_: _Facts, loop: For) -> list[Field]:
    name = loop.loop_var.name
    extent = build.int_value(loop.extent)
    inner = next((f for f in (16, 32, 8, 4, 64, 2) if extent is not None and extent > f and extent % f == 0), 16)
    return [
        _field("factors", "Factors", "ints", f"None, {inner}", help="outermost first; None is what is left"),
        _field("names", "Names", "names", f"{name}_0, {name}_1", optional=True, stem=name, help="one a factor"),
    ]


def _fuse_fields(facts: _Facts, loop: For) -> list[Field]:
    chain = [facts.ids.of(loop.loop_var)]
    choices: list[Entry] = []
    for inner in facts.inner_chain(loop):
        chain.append(inner)
        choices.append({"value": list(chain), "label": " \u00d7 ".join(chain)})
    return [_field("loops", "Loops", "choice", choices[0]["value"], choices)]


def _tile_fields(facts: _Facts, loop: For) -> list[Field]:
    (loops,) = _fuse_fields(facts, loop)
    return [loops, _field("factors", "Tile sizes", "ints", "16, 16", help="one a loop; what is left over is guarded")]


def _partition_fields(_: _Facts, loop: For) -> list[Field]:
    extent = build.int_value(loop.extent) or 2
    return [_field("factors", "Lengths", "ints", f"{max(1, extent // 2)}", help="of the pieces; the rest is one more")]


def _too_short(_: _Facts, loop: For) -> str:
    extent, first = build.int_value(loop.extent), build.int_value(loop.min)
    if extent is None or first is None:
        return "its bounds are not constant"
    return "" if extent > 1 else "it runs once"


def _merge_fields(facts: _Facts, loop: For) -> list[Field]:
    own = facts.ids.of(loop.loop_var)
    choices = [{"value": [own, other], "label": other} for other in facts.loops_behind(loop)]
    return [_field("loops", "With loop", "choice", choices[0]["value"], choices)]


def _no_loop_behind(facts: _Facts, loop: For) -> str:
    return "" if facts.loops_behind(loop) else "no loop stands behind it"


def _no_inner_loop(facts: _Facts, loop: For) -> str:
    return "" if facts.inner_chain(loop) else "no single loop stands directly inside"


def _intrin_fields(_: _Facts, __: Any) -> list[Field]:
    return [_field("tensor_intrin", "Intrinsic", "text", help="a name that TensorIntrin.register was given")]


def _not_one_block(_: _Facts, loop: For) -> str:
    inside: Stmt = loop
    while isinstance(inside, For):
        inside = inside.body
    return "" if isinstance(inside, BlockRealize) else "it does not stand around one block only"


def _pipeline_fields(_: _Facts, loop: For) -> list[Field]:
    count = len(loop.body.seq) if isinstance(loop.body, SeqStmt) else 1
    stages = ", ".join(["0"] * (count - 1) + ["1"])
    places = ", ".join(map(str, range(count)))
    return [
        _field("stages", "Stages", "ints", stages, help="one a statement: a stage later means an iteration later"),
        _field("order", "Order", "ints", places, help="the place of each statement in the new body"),
    ]


def _no_pipeline(_: _Facts, loop: For) -> str:
    if any(key.startswith("software_pipeline") for key, _ in loop.annotations):
        return "it is a pipeline already"
    if loop.kind not in ("serial", "unrolled"):
        return f"it is {loop.kind}: its iterations do not follow each other"
    return "" if isinstance(loop.body, SeqStmt) else "one statement stands in it"


def _is_kind(kind: str) -> Callable[[_Facts, For], str]:
    return lambda _, loop: f"it is {kind} already" if loop.kind == kind else ""


def _rfactor_fields(_: _Facts, __: For) -> list[Field]:
    return [_field("factor_axis", "New axis", "int", 0, help="where the partial results get an axis; -1 is last")]


def _not_reduced(facts: _Facts, loop: For) -> str:
    """Whether the loop runs over a reduction of one block only."""
    below = facts.index.child_blocks(loop)
    if len(below) != 1 or below[0].block.init is None:
        return "it does not stand around one reduction only"
    pairs = zip(below[0].block.iter_vars, below[0].iter_values, strict=True)
    kinds = {iv.iter_type for iv, value in pairs if uses_var(value, loop.loop_var)}
    return "" if kinds == {"reduce"} else "it is no loop of the reduction"


def _annotate_fields(_: _Facts, __: Any) -> list[Field]:
    return [
        _field("ann_key", "Key", "text", "", [], placeholder="pragma_auto_unroll_max_step"),
        _field("ann_val", "Value", "literal", "1", help="a number or text"),
    ]


def _unannotate_fields(_: _Facts, node: For | Block) -> list[Field]:
    keys = [key for key, _ in node.annotations]
    return [_field("ann_key", "Key", "choice", keys[0], keys)]


def _no_annotations(_: _Facts, node: For | Block) -> str:
    return "" if node.annotations else "it has no annotations"


def _touched_below(facts: _Facts, loop: For, side: str) -> list[tuple[str, str]]:
    """(block, buffer) of what the blocks below a loop read or write, each buffer once."""
    found: dict[str, tuple[str, str]] = {}
    for realize in facts.index.child_blocks(loop):
        for region in realize.block.reads if side == "read" else realize.block.writes:
            found.setdefault(region.buffer.name, (realize.block.name, region.buffer.name))
    return list(found.values())


def _copy_at_fields(side: str) -> Callable[[_Facts, For], list[Field]]:
    def fields(facts: _Facts, loop: For) -> list[Field]:
        found = _touched_below(facts, loop, side)
        blocks, buffers = dict.fromkeys(b for b, _ in found), [buffer for _, buffer in found]
        return [
            _field("block", "Block", "choice", found[0][0], blocks),
            _field(f"{side}_buffer_index", "Buffer", "choice", buffers[0], buffers),
            _scope_field(facts),
        ]

    return fields


def _touches_nothing(side: str) -> Callable[[_Facts, For], str]:
    return lambda facts, loop: "" if _touched_below(facts, loop, side) else f"nothing below it {side}s a buffer"


LOOP_ITEMS: tuple[Item, ...] = (
    Item("split", "Split…", "s", "one loop into a nest of several", _split_fields, _free),
    Item("tile", "Tile…", "t", "a nest into tiles: splits, and a reorder", _tile_fields, _no_inner_loop),
    Item("loop_partition", "Partition…", "k", "its range in pieces that are scheduled apart", _partition_fields, _too_short),
    Item("merge", "Merge…", "m", "with a loop behind it, iteration by iteration", _merge_fields, _no_loop_behind),
    Item("add_unit_loop", "Add unit loop", "o", "a loop of one iteration around it", _none, _free),
    Item("fuse", "Fuse…", "f", "a nest of loops into one", _fuse_fields, _no_inner_loop),
    Item("parallel", "Parallel", "p", "iterations on several cores", _none, _is_kind("parallel")),
    Item("vectorize", "Vectorize", "v", "iterations as lanes of vector instructions", _none, _is_kind("vectorized")),
    Item("unroll", "Unroll", "u", "iterations written out", _none, _is_kind("unrolled")),
    Item("bind", "Bind to thread…", "b", "each iteration to a thread of an axis",
         lambda _, __: [_field("thread_axis", "Thread axis", "choice", "blockIdx.x", THREADS)], _free),
    Item("tensorize", "Tensorize…", "y", "by an instruction of the machine", _intrin_fields, _not_one_block),
    Item("blockize", "Blockize", "z", "what stands in it as one block", _none, _not_one_block),
    Item("rfactor", "Factor reduction…", "x", "partial results of each iteration first", _rfactor_fields, _not_reduced),
    Item("pipeline", "Pipeline…", "d", "load for the next iteration while this one computes", _pipeline_fields, _no_pipeline),
    Item("read_at", "Read a tile here…", "l", "load what an iteration reads first, in one block",
         _copy_at_fields("read"), _touches_nothing("read")),
    Item("write_at", "Write a tile here…", "w", "store what an iteration wrote, in one block",
         _copy_at_fields("write"), _touches_nothing("write")),
    Item("annotate", "Annotate…", "a", "a note for later passes", _annotate_fields, _free),
    Item("unannotate", "Remove annotation…", "n", "take a note off", _unannotate_fields, _no_annotations),
)  # fmt: skip


# Blocks.


def _buffer_choices(block: Block, *, written: bool) -> list[Entry]:
    regions = block.writes if written else block.reads
    return [{"value": n, "label": f"{r.buffer.name}  ({r.buffer.scope})"} for n, r in enumerate(regions)]


def _cache_fields(side: str) -> Callable[[_Facts, Block], list[Field]]:
    def fields(facts: _Facts, block: Block) -> list[Field]:
        choices = _buffer_choices(block, written=side == "write")
        return [_field(f"{side}_buffer_index", "Buffer", "choice", 0, choices), _scope_field(facts)]

    return fields


def _in_place(block: Block) -> list[int]:
    """The reads of a block that it also writes."""
    written = {w.buffer for w in block.writes}
    return [n for n, r in enumerate(block.reads) if r.buffer in written]


def _inplace_fields(facts: _Facts, block: Block) -> list[Field]:
    own = _in_place(block)
    choices = [c for c in _buffer_choices(block, written=False) if c["value"] in own]
    return [_field("read_buffer_index", "Buffer", "choice", own[0], choices), _scope_field(facts)]


def _reindex_fields(_: _Facts, block: Block) -> list[Field]:
    sides = (("read", "read", block.reads), ("write", "written", block.writes))
    choices = [
        {"value": [side, n], "label": f"{r.buffer.name}  ({word})"}
        for side, word, regions in sides
        for n, r in enumerate(regions)
        if side == "write" or n not in _in_place(block)
    ]
    return [_field("buffer", "Buffer", "choice", choices[0]["value"], choices)]


def _mapped_fields(side: str) -> Callable[[_Facts, Block], list[Field]]:
    def fields(facts: _Facts, block: Block) -> list[Field]:
        regions = block.writes if side == "write" else block.reads
        used = [iv.var.name for iv in block.iter_vars if any(uses_var(r, iv.var) for r in regions[0].region)]
        index_map = f"lambda {', '.join(iv.var.name for iv in block.iter_vars)}: [{', '.join(used) or '0'}]"
        text = "where each run's element lies, by the iterators that tell it"
        return [*_cache_fields(side)(facts, block), _field("index_map", "Index map", "index_map", index_map, help=text)]

    return fields


def _index_fields(facts: _Facts, _: Block) -> list[Field]:
    help_text = "how often an expression must occur in a store; 0: all"
    return [_scope_field(facts), _field("cse_thresh", "At least", "int", 0, help=help_text)]


def _access_fields(_: _Facts, block: Block) -> list[Field]:
    side, regions = ("read", block.reads) if block.reads else ("write", block.writes)
    region = RegionMap(
        tuple(iv.var for iv in block.iter_vars),
        tuple((axis.min, build.add(axis.min, axis.extent)) for axis in regions[0].region),
    )
    return [
        _field("buf_type", "Side", "choice", side, ("read", "write")),
        _field("buffer_index", "Position", "int", 0, help="among what it reads or writes"),
        _field(
            "gen_new_ranges", "Region", "index_map", region_map_text(region), help="an index or (begin, end) an axis"
        ),
    ]


def _scope_field(facts: _Facts) -> Field:
    return _field("storage_scope", "Scope", "text", facts.scopes[0], facts.scopes, help="a memory of the machine")


def _scope_fields(facts: _Facts, block: Block) -> list[Field]:
    own = [n for n, w in enumerate(block.writes) if not facts.index.is_param(w.buffer)]
    choices = [c for c in _buffer_choices(block, written=True) if c["value"] in own]
    return [_field("buffer_index", "Buffer", "choice", own[0], choices), _scope_field(facts)]


def _layout_buffers(facts: _Facts, block: Block) -> tuple[Field, Buffer]:
    """The choice of a buffer to lay out, what the function allocates before the caller's, and the first of them."""
    sides = (("write", "written", block.writes), ("read", "read", block.reads))
    found: dict[Buffer, Entry] = {}
    for side, word, regions in sides:
        for n, region in enumerate(regions):
            found.setdefault(region.buffer, {"value": [side, n], "label": f"{region.buffer.name}  ({word})"})
    buffers = sorted(found, key=facts.index.is_param)
    choices = [found[b] for b in buffers]
    return _field("buffer", "Buffer", "choice", choices[0]["value"], choices), buffers[0]


def _layout_fields(facts: _Facts, block: Block) -> list[Field]:
    choice, first = _layout_buffers(facts, block)
    about = "the new axes; AXIS_SEPARATOR keeps groups of axes apart"
    places = "where no element lies: a number, or a map of the new axes"
    return [
        choice,
        _field("index_map", "Index map", "index_map", _identity_map(first), help=about),
        _field("pad_value", "Padding", "literal", optional=True, help=places),
    ]


def _order_fields(facts: _Facts, block: Block) -> list[Field]:
    choice, first = _layout_buffers(facts, block)
    order = ", ".join(str(k) for k in range(len(first.shape)))
    about = "the axes from the outermost to the innermost, or their strides"
    return [choice, _field("order_or_strides", "Order", "ints", order, help=about)]


def _separator_fields(facts: _Facts, block: Block) -> list[Field]:
    choice, _ = _layout_buffers(facts, block)
    return [
        choice,
        _field("axis_separators", "Before axes", "ints", "1", help="groups of axes that are flattened apart"),
    ]


def _align_fields(facts: _Facts, block: Block) -> list[Field]:
    buffer = _scope_fields(facts, block)[0]
    return [
        buffer,
        _field("axis", "Axis", "int", 0, help="whose neighbours are to lie apart"),
        _field("factor", "Factor", "int", 32, help="elements"),
        _field("offset", "Offset", "int", 1, help="elements more than a multiple of the factor"),
    ]


DTYPES = ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")


def _dtype_fields(facts: _Facts, block: Block) -> list[Field]:
    buffer = _scope_fields(facts, block)[0]
    return [buffer, _field("dtype", "Type", "choice", block.writes[buffer["default"]].buffer.dtype, DTYPES)]


def _iterator_map_fields(_: _Facts, block: Block) -> list[Field]:
    names = ", ".join(iv.var.name for iv in block.iter_vars)
    return [_field("index_map", "Index map", "index_map", f"lambda {names}: [{names}]", help="the new iterators")]


def _iterator_order_fields(_: _Facts, block: Block) -> list[Field]:
    order = ", ".join(str(k) for k in range(len(block.iter_vars)))
    return [_field("new_order", "Order", "ints", order, help="their positions, in the new order")]


def _touches_no_array(_: _Facts, block: Block) -> str:
    return "" if any(r.buffer.shape for r in (*block.writes, *block.reads)) else "it touches no buffer"


def _no_iterators(_: _Facts, block: Block) -> str:
    return "" if block.iter_vars else "it has no iterators"


def _not_alone_in_loops(facts: _Facts, block: Block) -> str:
    loops = facts.index.loops_of(block.name)
    inside: Stmt | None = loops[0] if loops else None
    while isinstance(inside, For):
        inside = inside.body
    alone = isinstance(inside, BlockRealize) and inside.block is block and bool(block.iter_vars)
    return "" if alone and set(inside.iter_values) == {f.loop_var for f in loops} else "its loops are not its iterators"


def _identity_map(buffer: Buffer) -> str:
    names = [f"i{n}" for n in range(len(buffer.shape))] if len(buffer.shape) > 5 else list("ijklm"[: len(buffer.shape)])
    return f"lambda {', '.join(names)}: [{', '.join(names)}]"


def _loop_fields(facts: _Facts, block: Block) -> list[Field]:
    loops = facts.reduction_loops(block.name)
    return [_field("loop", "Before loop", "choice", _outermost_reduction(facts, block) or loops[0], loops)]


def _epilogue_fields(facts: _Facts, block: Block) -> list[Field]:
    consumers = list(facts.index.consumers(block.name))
    return [_field("epilogue_block", "Epilogue", "choice", consumers[0], consumers)]


def _no_epilogue(facts: _Facts, block: Block) -> str:
    if block.init is None:
        return "it is no reduction"
    return _no_consumer(facts, block)


def _rolling_fields(facts: _Facts, block: Block) -> list[Field]:
    return [{**_scope_fields(facts, block)[0], "name": "write_buffer_index"}]


def _not_rolling(facts: _Facts, block: Block) -> str:
    return _writes_params_only(facts, block) or _no_consumer(facts, block)


def _round_fields(_: _Facts, block: Block) -> list[Field]:
    default = ", ".join("16" for _ in block.iter_vars)
    return [_field("padding", "Multiples of", "ints", default, help="one an iterator; 1 leaves it as it is")]


def _no_iterators(_: _Facts, block: Block) -> str:
    return "" if block.iter_vars else "it has no iterators"


def _padding_fields(facts: _Facts, block: Block) -> list[Field]:
    loops = facts.reduction_loops(block.name)
    return [_field("loop", "Before loop", "choice", loops[0], loops)]


def _no_padding(facts: _Facts, block: Block) -> str:
    match block.body:
        case BufferStore(value=Call(op="if_then_else", args=(_, _, IntImm() | FloatImm()))):
            return "" if facts.index.loops_of(block.name) else "no loop stands around it"
        case _:
            return "it is no padding with a constant"


def _outermost_reduction(facts: _Facts, block: Block) -> str:
    realize = facts.index.realize(block.name)
    values = [v for iv, v in zip(block.iter_vars, realize.iter_values, strict=True) if iv.iter_type == "reduce"]
    used = {f.loop_var for f in facts.index.loops_of(block.name) if any(uses_var(v, f.loop_var) for v in values)}
    return next((facts.ids.of(f.loop_var) for f in facts.index.loops_of(block.name) if f.loop_var in used), "")


def _no_reads(_: _Facts, block: Block) -> str:
    return "" if block.reads else "it reads no buffer"


def _no_writes(_: _Facts, block: Block) -> str:
    return "" if block.writes else "it writes no buffer"


def _not_in_place(_: _Facts, block: Block) -> str:
    return "" if _in_place(block) else "it changes no buffer that it reads"


def _holds_blocks(facts: _Facts, block: Block) -> str:
    if facts.index.child_blocks(block):
        return "it holds other blocks"
    return "" if block.iter_vars and (block.reads or block.writes) else "it has no iterators or no buffers"


def _no_stores(facts: _Facts, block: Block) -> str:
    return (
        "" if block.iter_vars and not facts.index.child_blocks(block) else "it stores nothing by iterators of its own"
    )


def _touches_no_buffer(_: _Facts, block: Block) -> str:
    return "" if block.iter_vars and (block.reads or block.writes) else "it has no iterators or no buffers"


def _no_leaf_reads(facts: _Facts, block: Block) -> str:
    return _no_reads(facts, block) or _holds_blocks(facts, block)


def _no_leaf_writes(facts: _Facts, block: Block) -> str:
    return _no_writes(facts, block) or _holds_blocks(facts, block)


def _writes_params_only(facts: _Facts, block: Block) -> str:
    return (
        "" if any(not facts.index.is_param(w.buffer) for w in block.writes) else "it writes the caller's buffers only"
    )


def _no_reduction(facts: _Facts, block: Block) -> str:
    if block.init is None:
        return "it initialises nothing"
    return "" if facts.index.loops_of(block.name) else "no loop stands around it"


def _double_buffered(facts: _Facts, block: Block) -> str:
    if any(key == "double_buffer_scope" for key, _ in block.annotations):
        return "it has two slots already"
    return _writes_params_only(facts, block)


def _no_consumer(facts: _Facts, block: Block) -> str:
    return "" if facts.index.consumers(block.name) else "nothing reads what it writes"


def _no_producer(facts: _Facts, block: Block) -> str:
    return "" if facts.index.producers(block.name) else "it reads inputs only"


BLOCK_ITEMS: tuple[Item, ...] = (
    Item(
        "cache_read", "Cache read…", "l", "load an operand into a nearer memory first", _cache_fields("read"), _no_reads
    ),
    Item(
        "cache_write",
        "Cache write…",
        "w",
        "compute into a nearer memory, then store",
        _cache_fields("write"),
        _no_writes,
    ),
    Item(
        "cache_inplace",
        "Cache in place…",
        "I",
        "work on a copy in a nearer memory, and store it back",
        _inplace_fields,
        _not_in_place,
    ),
    Item("reindex", "Reindex…", "R", "a copy in the order of its iterators", _reindex_fields, _holds_blocks),
    Item(
        "reindex_cache_read",
        "Cache read by a map…",
        "L",
        "load each element to a place of the map",
        _mapped_fields("read"),
        _no_leaf_reads,
    ),
    Item(
        "reindex_cache_write",
        "Cache write by a map…",
        "W",
        "compute to places of the map, then store",
        _mapped_fields("write"),
        _no_leaf_writes,
    ),
    Item(
        "cache_index", "Tabulate indices…", "X", "what it computes from its iterators, once", _index_fields, _no_stores
    ),
    Item(
        "annotate_buffer_access",
        "Declare access…",
        "D",
        "say what it reads or writes in a run",
        _access_fields,
        _touches_no_buffer,
    ),
    Item("set_scope", "Set scope…", "g", "keep what it writes in another memory", _scope_fields, _writes_params_only),
    Item(
        "transform_layout",
        "Transform layout…",
        "t",
        "lay a buffer out by an index map",
        _layout_fields,
        _touches_no_array,
    ),
    Item("set_layout", "Set layout…", "O", "in what order its axes lie in memory", _order_fields, _touches_no_array),
    Item(
        "set_axis_separator",
        "Separate axes…",
        "S",
        "keep groups of axes apart in memory",
        _separator_fields,
        _touches_no_array,
    ),
    Item("storage_align", "Align storage…", "A", "rows apart by more", _align_fields, _writes_params_only),
    Item("unsafe_set_dtype", "Set type…", "y", "hold it in another type", _dtype_fields, _writes_params_only),
    Item(
        "transform_block_layout",
        "Transform iterators…",
        "T",
        "run it over other axes",
        _iterator_map_fields,
        _not_alone_in_loops,
    ),
    Item(
        "reorder_block_iter_var",
        "Reorder iterators…",
        "v",
        "list its iterators in another order",
        _iterator_order_fields,
        _no_iterators,
    ),
    Item("double_buffer", "Double buffer", "d", "two slots: load one while the other is used", _none, _double_buffered),
    Item("compute_inline", "Inline into consumers", "i", "compute it where it is used", _none, _no_consumer),
    Item(
        "reverse_compute_inline", "Inline into producer", "e", "compute it where its input is made", _none, _no_producer
    ),
    Item(
        "decompose_reduction",
        "Decompose reduction…",
        "x",
        "the init as a block of its own",
        _loop_fields,
        _no_reduction,
    ),
    Item("add_unit_loop", "Add unit loop", "o", "a loop of one iteration around it", _none, _free),
    Item(
        "fuse_reduction_epilogue",
        "Fuse epilogue…",
        "q",
        "start the sum from what is added to it behind",
        _epilogue_fields,
        _no_epilogue,
    ),
    Item("rolling_buffer", "Roll buffer…", "u", "keep one tile of what overlaps", _rolling_fields, _not_rolling),
    Item("pad_einsum", "Pad to round sizes…", "z", "zeros around the operands", _round_fields, _no_iterators),
    Item(
        "decompose_padding", "Decompose padding…", "p", "fill first, then copy the inside", _padding_fields, _no_padding
    ),
    Item("annotate", "Annotate…", "a", "a note for later passes", _annotate_fields, _free),
    Item("unannotate", "Remove annotation…", "n", "take a note off", _unannotate_fields, _no_annotations),
)
