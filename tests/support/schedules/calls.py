"""Random schedule calls over all primitives, drawn for the current program. Most are plausible; some must be refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st
from support.programs.intrins import cut_out
from support.schedules.likely import Likely

from tilewright.engine.ir import (
    AXIS_SEPARATOR,
    Block,
    Buffer,
    BufferLoad,
    IndexMap,
    Range,
    RegionMap,
    ScheduleCall,
    Var,
    build,
    called_with,
    free_vars,
    walk,
)
from tilewright.engine.ir.build import Term
from tilewright.engine.ir.stmt import SeqStmt
from tilewright.engine.schedule import PRIMITIVES, Schedule

Call = tuple[str, dict[str, Any]]
UNLIKELY = 12
"""How many times rarer calls are that fit no block of the program."""
SCOPES = ("local", "shared", "global", "local.vtcm")


def calls(sch: Schedule, wanted: Sequence[str] = ()) -> st.SearchStrategy[Call]:
    """A call of any primitive, or one of `wanted`, with arguments from the program."""
    blocks = [n for n in sch.index.block_names if n != "root"]
    loops = [f.loop_var for f in sch.index.loops]
    if not loops:
        return st.sampled_from(blocks).flatmap(lambda b: st.just(("cache_write", _cache(b, "write", 0, "local"))))
    likely = Likely(sch)
    block, loop = st.sampled_from(blocks), st.sampled_from(loops)
    reduction, intermediate = likely.blocks(likely.is_reduction), likely.blocks(likely.is_intermediate)
    drawn: dict[str, Callable[[], st.SearchStrategy[Any]]] = {
        "split": lambda: st.fixed_dictionaries({"loop": loop, "factors": _factors()}),
        "fuse": lambda: block.flatmap(lambda b: _some_loops(sch, b, ordered=True)).map(lambda v: {"loops": v}),
        "reorder": lambda: block.flatmap(lambda b: _some_loops(sch, b, ordered=False)).map(
            lambda v: {"ordered_loops": v}
        ),
        "tile": lambda: block.flatmap(lambda b: _tile(sch, b)),
        "add_unit_loop": lambda: st.one_of(block, loop).map(lambda v: {"block_or_loop": v}),
        "loop_partition": lambda: st.fixed_dictionaries(
            {"loop": likely.loops(likely.is_long), "factors": st.sampled_from(([1], [1], [None, 1], [2], [1, None, 1]))}
        ),
        "merge": lambda: _merge(sch, blocks),
        "parallel": lambda: loop.map(lambda v: {"loop": v}),
        "vectorize": lambda: loop.map(lambda v: {"loop": v}),
        "unroll": lambda: loop.map(lambda v: {"loop": v}),
        "bind": lambda: st.fixed_dictionaries(
            {"loop": loop, "thread_axis": st.sampled_from(("blockIdx.x", "threadIdx.x", "vthread.x"))}
        ),
        "annotate": lambda: st.fixed_dictionaries(
            {"block_or_loop": st.one_of(block, loop), "ann_key": st.just("note"), "ann_val": st.just(1)}
        ),
        "unannotate": lambda: _annotated(sch, st.one_of(block, loop)),
        "double_buffer": lambda: st.fixed_dictionaries(
            {
                "block": likely.blocks(likely.is_staged),
                "banks": st.sampled_from((None, (0, 1), (1, 0), (0, 1, 0))),
                "slots": st.sampled_from((2, 2, 3)),
            }
        ),
        "pipeline": lambda: likely.loops(likely.is_sequence).flatmap(lambda v: _pipeline(sch, v)),
        "compute_at": lambda: _move(likely.target(producers=False)),
        "reverse_compute_at": lambda: _move(likely.target(producers=True)),
        "compute_inline": lambda: likely.blocks(likely.is_inlinable).map(lambda b: {"block": b}),
        "reverse_compute_inline": lambda: likely.blocks(likely.is_outlinable).map(lambda b: {"block": b}),
        "cache_read": lambda: block.flatmap(lambda b: _cache_of(sch, likely, b, "read")),
        "cache_write": lambda: block.flatmap(lambda b: _cache_of(sch, likely, b, "write")),
        "cache_inplace": lambda: likely.blocks(likely.is_in_place).flatmap(lambda b: _in_place(sch, b)),
        "reindex": lambda: block.flatmap(
            lambda b: st.sampled_from(_sides(sch, b)).map(lambda s: {"block": b, "buffer": s})
        ),
        "reindex_cache_read": lambda: block.flatmap(lambda b: _mapped_cache(sch, b, "read")),
        "reindex_cache_write": lambda: block.flatmap(lambda b: _mapped_cache(sch, b, "write")),
        "read_at": lambda: _copy_at(sch, block, "read"),
        "write_at": lambda: _copy_at(sch, block, "write"),
        "cache_index": lambda: st.fixed_dictionaries(
            {"block": block, "storage_scope": st.sampled_from(SCOPES), "cse_thresh": st.integers(0, 3)}
        ),
        "annotate_buffer_access": lambda: block.flatmap(lambda b: _declared(sch, b)),
        "unsafe_hide_buffer_access": lambda: block.flatmap(
            lambda b: st.sampled_from(_sides(sch, b)).map(
                lambda s: {"block": b, "buf_type": s[0], "buf_index_array": (s[1],)}
            )
        ),
        "set_scope": lambda: st.fixed_dictionaries(
            {"block": intermediate, "buffer_index": st.just(0), "storage_scope": st.sampled_from(SCOPES)}
        ),
        "transform_layout": lambda: block.flatmap(lambda b: _layout(sch, b)),
        "set_layout": lambda: block.flatmap(lambda b: _order(sch, b)),
        "set_axis_separator": lambda: block.flatmap(lambda b: _separators(sch, b)),
        "storage_align": lambda: st.fixed_dictionaries(
            {
                "block": intermediate,
                "buffer_index": st.just(0),
                "axis": st.integers(-2, 1),
                "factor": st.integers(1, 5),
                "offset": st.integers(0, 2),
            }
        ),
        "unsafe_set_dtype": lambda: intermediate.flatmap(lambda b: _wider(sch, b)),
        "transform_block_layout": lambda: block.flatmap(lambda b: _block_layout(sch, b)),
        "reorder_block_iter_var": lambda: block.flatmap(
            lambda b: st.permutations(range(len(sch.index.block(b).iter_vars))).map(
                lambda o: {"block": b, "new_order": tuple(o)}
            )
        ),
        "decompose_reduction": lambda: likely.pair(likely.is_reduction).map(_block_and_loop),
        "decompose_padding": lambda: likely.pair(likely.is_padding).map(_block_and_loop),
        "fuse_reduction_epilogue": lambda: likely.blocks(likely.is_fused).flatmap(lambda b: _epilogue(sch, b)),
        "rolling_buffer": lambda: likely.blocks(likely.is_rolling).map(lambda b: {"block": b, "write_buffer_index": 0}),
        "pad_einsum": lambda: reduction.flatmap(lambda b: _padding(sch, b)),
        "rfactor": lambda: st.builds(
            lambda p, a: {"loop": p[1], "factor_axis": a}, likely.pair(likely.is_reduction), st.integers(-2, 1)
        ),
        "tensorize": lambda: loop.map(lambda v: {"block_or_loop": v, "tensor_intrin": cut_out(sch, v)}),
        "blockize": lambda: st.fixed_dictionaries(
            {
                "target": st.one_of(
                    loop, st.lists(block, min_size=2, max_size=3, unique=True).map(tuple) if len(blocks) > 1 else loop
                ),
                "preserve_unit_iters": st.booleans(),
            }
        ),
    }
    assert drawn.keys() == PRIMITIVES.keys(), "a primitive without a way to draw it"
    names = sorted(wanted or drawn)
    likely_names = [name for name in names if likely.fitting(name)]
    return st.sampled_from([*likely_names * UNLIKELY, *names]).flatmap(
        lambda name: drawn[name]().map(lambda arguments: (name, arguments))
    )


def apply(sch: Schedule, call: Call) -> object:
    """The call on the schedule, by keyword."""
    name, arguments = call
    args, keywords = called_with(arguments)
    return getattr(sch, name)(*args, **keywords)


def describe(step: ScheduleCall) -> str:
    """A traced step in a line, for the notes of a failing test."""
    shown = (f"{name}={value.name if isinstance(value, Var) else value!r}" for name, value in step.arguments)
    return f"{step.method}({', '.join(shown)})"


def _factors() -> st.SearchStrategy[list[int | None]]:
    sizes = st.lists(st.integers(1, 5), min_size=1, max_size=2)
    return st.one_of(sizes.map(lambda f: [None, *f]), sizes.map(lambda f: [*f, None]), sizes)


def _epilogue(sch: Schedule, block: str) -> st.SearchStrategy[dict[str, Any]]:
    after = sch.index.consumers(block) or sch.index.block_names[1:]
    return st.sampled_from(after).map(lambda b: {"reduction_block": block, "epilogue_block": b})


def _padding(sch: Schedule, block: str) -> st.SearchStrategy[dict[str, Any]]:
    sizes = st.sampled_from((1, 1, 2, 3, 4))
    count = len(sch.index.block(block).iter_vars)
    return st.lists(sizes, min_size=count, max_size=count).map(lambda p: {"block": block, "padding": tuple(p)})


def _some_loops(sch: Schedule, block: str, *, ordered: bool) -> st.SearchStrategy[tuple[Any, ...]]:
    mine = [f.loop_var for f in sch.index.loops_of(block)]
    if len(mine) < 2:
        return st.just(tuple(mine))
    if not ordered:
        return st.permutations(mine).flatmap(lambda p: st.integers(2, len(p)).map(lambda n: tuple(p[:n])))
    return st.integers(0, len(mine) - 2).flatmap(
        lambda a: st.integers(a + 2, len(mine)).map(lambda b: tuple(mine[a:b]))
    )


def _merge(sch: Schedule, blocks: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Loops of several blocks at one depth, most of them in text order."""

    def loops(names: list[str], depth: int) -> dict[str, Any]:
        around = [[f.loop_var for f in sch.index.loops_of(name)] for name in names]
        return {"loops": tuple(dict.fromkeys(found[min(depth, len(found) - 1)] for found in around if found))}

    chosen = st.lists(st.sampled_from(blocks), min_size=min(2, len(blocks)), max_size=3, unique=True)
    in_order = chosen.map(lambda names: sorted(names, key=blocks.index))
    return st.builds(loops, st.one_of(in_order, in_order, chosen), st.integers(0, 2))


def _tile(sch: Schedule, block: str) -> st.SearchStrategy[dict[str, Any]]:
    sizes = st.integers(1, 5)
    return _some_loops(sch, block, ordered=False).flatmap(
        lambda v: st.fixed_dictionaries(
            {"loops": st.just(v), "factors": st.lists(sizes, min_size=len(v), max_size=len(v))}
        )
    )


def _block_and_loop(pair: tuple[str, Var]) -> dict[str, Any]:
    return {"block": pair[0], "loop": pair[1]}


def _move(target: st.SearchStrategy[tuple[str, Var]]) -> st.SearchStrategy[dict[str, Any]]:
    further = st.fixed_dictionaries(
        {
            "preserve_unit_loops": st.booleans(),
            "index": st.sampled_from((-1, -1, -2, 0)),
            "keep_tiling": st.booleans(),
        }
    )
    return st.builds(lambda pair, more: {**_block_and_loop(pair), **more}, target, further)


def _annotated(sch: Schedule, other: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """unannotate, mostly of an annotated block or loop."""
    found = [(b, key) for b in sch.index.block_names for key, _ in sch.index.block(b).annotations]
    found += [(f.loop_var, key) for f in sch.index.loops for key, _ in f.annotations]
    some = other.map(lambda v: (v, "note"))
    pairs = st.one_of(some, *[st.sampled_from(found)] * 3) if found else some
    return pairs.map(lambda pair: {"block_or_loop": pair[0], "ann_key": pair[1]})


def _pipeline(sch: Schedule, loop: Var) -> st.SearchStrategy[dict[str, Any]]:
    """Stages and an order for the statements of the loop's body, most of them plausible."""
    body = sch.index.loop(loop).body
    count = len(body.seq) if isinstance(body, SeqStmt) else 2
    stages = st.lists(st.integers(0, 2), min_size=count, max_size=count)
    return st.fixed_dictionaries(
        {
            "loop": st.just(loop),
            "stages": st.one_of(stages.map(sorted), stages),
            "order": st.one_of(st.none(), st.permutations(range(count))),
        }
    )


def _cache(block: str, side: str, index: int, scope: str) -> dict[str, Any]:
    return {"block": block, f"{side}_buffer_index": index, "storage_scope": scope}


def _cache_of(sch: Schedule, likely: Likely, block: str, side: str) -> st.SearchStrategy[dict[str, Any]]:
    """cache_read or cache_write of a buffer of the block; for all readers, or for some."""
    body = sch.index.block(block)
    regions = body.reads if side == "read" else body.writes
    users = st.lists(st.sampled_from(sch.index.block_names), min_size=1, max_size=2, unique=True)
    call = st.builds(_cache, st.just(block), st.just(side), likely.number(len(regions)), st.sampled_from(SCOPES))
    some = st.builds(lambda base, names: {**base, "consumer_blocks": tuple(names)}, call, users)
    return st.one_of(call, call, call, some)


def _in_place(sch: Schedule, block: str) -> st.SearchStrategy[dict[str, Any]]:
    body = sch.index.block(block)
    written = [w.buffer for w in body.writes]
    both = [n for n, r in enumerate(body.reads) if r.buffer in written]
    index = st.sampled_from([*(both or [0]) * 9, 0, 1, 2])
    return st.builds(_cache, st.just(block), st.just("read"), index, st.sampled_from(SCOPES))


def _copy_at(sch: Schedule, block: st.SearchStrategy[str], side: str) -> st.SearchStrategy[dict[str, Any]]:
    def at(name: str) -> st.SearchStrategy[dict[str, Any]]:
        loops = [f.loop_var for f in sch.index.loops_of(name)] or [f.loop_var for f in sch.index.loops]
        cache = st.builds(_cache, st.just(name), st.just(side), st.integers(0, 2), st.sampled_from(SCOPES))
        return st.builds(lambda loop, call: {"loop": loop, **call}, st.sampled_from(loops), cache)

    return block.flatmap(at)


Map = Callable[..., list[Any]]

MAPS: tuple[Map, ...] = (  # of a scalar's no axes, all of them make none
    lambda *i: list(reversed(i)),
    lambda *i: [i[0] // 2, *i[1:], i[0] % 2] if i else [],
    lambda *i: [i[-1] % 3, AXIS_SEPARATOR, *i[:-1], i[-1] // 3] if i else [],
    lambda *i: [*i[:-1], i[-1] * 2] if i else [],
    lambda *i: [sum(i[1:], i[0])] if i else [],
)


def _sides(sch: Schedule, block: str) -> list[tuple[str, int]]:
    body = sch.index.block(block)
    found = [("read", n) for n in range(len(body.reads))] + [("write", n) for n in range(len(body.writes))]
    return found or [("write", 0)]


def _mapped_cache(sch: Schedule, block: str, side: str) -> st.SearchStrategy[dict[str, Any]]:
    """reindex_cache_read or _write by a map of the iterators, mostly of those that identify the element."""
    body = sch.index.block(block)
    regions = body.reads if side == "read" else body.writes
    index = st.integers(0, max(len(regions) - 1, 0))

    def arguments(index: int) -> st.SearchStrategy[dict[str, Any]]:
        used = {v for region in regions[index : index + 1] for axis in region.region for v in free_vars(axis)}
        own = [n for n, iv in enumerate(body.iter_vars) if iv.var in used] or [0]
        maps = st.sampled_from((own, own[::-1], own[1:] + own[:1], [*range(len(body.iter_vars))]))
        split = st.sampled_from((0, 0, 2, 3))
        return st.builds(
            lambda m, s: {**_cache(block, side, index, "local"), "index_map": _picking(body, m, s)}, maps, split
        )

    return index.flatmap(arguments)


def _declared(sch: Schedule, block: str) -> st.SearchStrategy[dict[str, Any]]:
    """annotate_buffer_access with the existing region, or one slightly wider or narrower."""
    body = sch.index.block(block)

    def arguments(side: tuple[str, int]) -> st.SearchStrategy[dict[str, Any]]:
        regions = (body.reads if side[0] == "read" else body.writes)[side[1] : side[1] + 1]
        own = {iv.var for iv in body.iter_vars}
        axes = [axis for region in regions for axis in region.region]
        if any(free_vars(axis) - own or _loads(axis) for axis in axes):  # iterators without a name in the call
            axes = [axis for region in regions for axis in build.full_region(region.buffer).region]
        moved = st.tuples(st.integers(-1, 1), st.integers(-1, 2))

        def build_call(moves: list[tuple[int, int]]) -> dict[str, Any]:
            pairs = [(r.min, build.add(r.min, r.extent)) for r in axes]
            ends = [(build.sub(a, m), build.add(b, n)) for (a, b), (m, n) in zip(pairs, moves, strict=True)]
            ranges = RegionMap(tuple(iv.var for iv in body.iter_vars), tuple(ends))
            return {"block": block, "buffer_index": side[1], "buf_type": side[0], "gen_new_ranges": ranges}

        return st.lists(moved, min_size=len(axes), max_size=len(axes)).map(build_call)

    return st.sampled_from(_sides(sch, block)).flatmap(arguments)


def _loads(axis: Range) -> bool:
    return any(isinstance(node, BufferLoad) for part in (axis.min, axis.extent) for node in walk(part))


def _picking(body: Block, positions: list[int], factor: int) -> IndexMap:
    """The iterators at the positions, the first of them split by the factor when there is one."""
    params = [Var(f"i{n}", iv.var.dtype) for n, iv in enumerate(body.iter_vars)]
    axes: list[Any] = [Term(params[n]) for n in positions if n < len(params)]
    if factor and axes:
        axes[:1] = [axes[0] // factor, axes[0] % factor]
    return IndexMap.from_items(params, axes)


def _touched(sch: Schedule, block: str, side: tuple[str, int]) -> Buffer:
    body = sch.index.block(block)
    regions = body.reads if side[0] == "read" else body.writes
    return regions[side[1]].buffer if side[1] < len(regions) else Buffer("none", ())


def _layout(sch: Schedule, block: str) -> st.SearchStrategy[dict[str, Any]]:
    def call(side: tuple[str, int]) -> st.SearchStrategy[dict[str, Any]]:
        kind = _touched(sch, block, side).dtype
        value = 1.5 if kind.startswith("float") else 3
        return st.fixed_dictionaries(
            {
                "block": st.just(block),
                "buffer": st.just(side),
                "index_map": st.sampled_from(MAPS),
                "pad_value": st.sampled_from((None, value)),
                "assume_injective_transform": st.sampled_from((False, False, True)),
            }
        )

    return st.sampled_from(_sides(sch, block)).flatmap(call)


def _order(sch: Schedule, block: str) -> st.SearchStrategy[dict[str, Any]]:
    def call(side: tuple[str, int]) -> st.SearchStrategy[dict[str, Any]]:
        shape = [build.int_value(e) or 1 for e in _touched(sch, block, side).shape]
        strides = [1] * len(shape)
        for axis in reversed(range(len(shape) - 1)):
            strides[axis] = strides[axis + 1] * shape[axis + 1] + axis % 2
        order = st.one_of(st.permutations(range(len(shape))).map(tuple), st.just(tuple(strides)))
        return order.map(lambda o: {"block": block, "buffer": side, "order_or_strides": o})

    return st.sampled_from(_sides(sch, block)).flatmap(call)


def _separators(sch: Schedule, block: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.sampled_from(_sides(sch, block)).flatmap(
        lambda side: st.lists(st.integers(0, len(_touched(sch, block, side).shape)), max_size=2).map(
            lambda k: {"block": block, "buffer": side, "axis_separators": tuple(sorted(k))}
        )
    )


WIDER = {"float16": "float32", "float32": "float64", "int8": "int32", "int32": "int64", "uint8": "uint32"}
"""Types that hold every value: the only ones that must not change a result."""


def _wider(sch: Schedule, block: str) -> st.SearchStrategy[dict[str, Any]]:
    writes = sch.index.block(block).writes
    dtype = WIDER.get(writes[0].buffer.dtype, writes[0].buffer.dtype) if writes else "int32"
    return st.just({"block": block, "buffer_index": 0, "dtype": dtype})


def _block_layout(sch: Schedule, block: str) -> st.SearchStrategy[dict[str, Any]]:
    extents = [build.int_value(iv.dom.extent) or 1 for iv in sch.index.block(block).iter_vars]
    maps: list[Map] = [lambda *i: list(reversed(i))]
    if extents:
        maps.append(lambda *i: [*i[:-1], i[-1] // 2, i[-1] % 2])
    if len(extents) > 1:
        maps.append(lambda *i: [i[0] * extents[1] + i[1], *i[2:]])
    return st.sampled_from(maps).map(lambda m: {"block": block, "index_map": _of_arity(m, len(extents))})


def _of_arity(function: Map, count: int) -> Map:
    """`function` with as many plain parameters: TVM counts them."""
    fixed: tuple[Map, ...] = (
        lambda: function(),  # noqa: PLW0108
        lambda a: function(a),  # noqa: PLW0108
        lambda a, b: function(a, b),  # noqa: PLW0108
        lambda a, b, c: function(a, b, c),  # noqa: PLW0108
        lambda a, b, c, d: function(a, b, c, d),  # noqa: PLW0108
        lambda a, b, c, d, e: function(a, b, c, d, e),  # noqa: PLW0108
        lambda a, b, c, d, e, f: function(a, b, c, d, e, f),  # noqa: PLW0108
        lambda a, b, c, d, e, f, g: function(a, b, c, d, e, f, g),  # noqa: PLW0108
    )
    return fixed[count] if count < len(fixed) else function
