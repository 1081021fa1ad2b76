"""One call, asked of Tilewright and of real TVM on the same program: what each made of it."""

from __future__ import annotations

from typing import Any

import msgspec
from support.schedules.calls import Call, apply
from support.tvm.oracle import REFUSALS, same_program, tvm_schedule
from tvm.script import tirx

from tilewright.engine.export import value_text
from tilewright.engine.ir import (
    AXIS_SEPARATOR,
    BlockRealize,
    IndexMap,
    Var,
    allocated_buffers,
    build,
    walk_stmts,
)
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import to_script


class Outcome(msgspec.Struct, frozen=True):
    """`ours` and `theirs` are empty when accepted, else why not; `difference` says how the two programs differ when both accepted."""

    ours: str
    theirs: str
    difference: str = ""


ONLY_OURS = frozenset({"tensorize", "double_buffer", "pipeline", "tile", "set_layout", "set_axis_separator"})


OTHERWISE_IN_TVM = frozenset(
    {
        "annotate_buffer_access",
        "cache_index",
        "loop_partition",
        "reindex_cache_read",
        "reindex_cache_write",
        "transform_block_layout",
    }
)
"""Calls that TVM takes on trust, of which it makes other programs, or by which it may crash (loop_partition).

test_copies_tvm, test_layout_tvm and test_nests_tvm compare what can be compared.
"""

NEVER_ASKED = frozenset({"not-a-consumer"})
"""Refusals of ours where TVM does as if the argument was not there, or crashes."""

ONLY_OUR_KEYWORDS = frozenset({"keep_tiling"})


def comparable(sch: Schedule, call: Call) -> bool:
    """Whether TVM knows all that the program and the call need. Its simplifier fails on `x - x` of unsigned numbers."""
    name, arguments = call
    buffers = (*sch.func.buffers, *allocated_buffers(sch.func))
    if name in ONLY_OURS | OTHERWISE_IN_TVM or any(b.axis_separators or b.dtype.startswith("uint") for b in buffers):
        return False
    if (
        arguments.get("keep_tiling")
        or arguments.get("assume_injective_transform")  # TVM does not check the map
        or arguments.get("pad_value") is not None  # test_layout_tvm has these
        or (name in ("read_at", "write_at") and _counts_in_int64(sch))  # its new loops count in int32 there
        or any(isinstance(v, Var) and not _stands_around_a_block(sch, v) for v in arguments.values())
        or _has_hidden_blocks(sch)
        or (name == "blockize" and not _is_plain(sch, arguments["target"]))
        or (name == "cache_inplace" and sch.get(arguments["block"]).iter_vars)  # it uses them outside of the block
        or (name == "rfactor" and not _is_plain(sch, arguments["loop"]))  # it drops conditions on spatial iterators
    ):
        return False
    index_map = arguments.get("index_map")
    if isinstance(index_map, IndexMap):
        return not index_map.separators
    return index_map is None or AXIS_SEPARATOR not in index_map(*_axes(sch, arguments))


def _stands_around_a_block(sch: Schedule, loop: Var) -> bool:
    """Loops that stand inside of a block have no handle in TVM."""
    return any(f.loop_var is loop for name in sch.index.block_names for f in sch.index.loops_of(name))


def _counts_in_int64(sch: Schedule) -> bool:
    return any(loop.loop_var.dtype == "int64" for loop in sch.index.loops)


def _has_hidden_blocks(sch: Schedule) -> bool:
    """Blocks in an init, which TVM's schedules do not see."""
    blocks = map(sch.index.block, sch.index.block_names)
    return any(b.init is not None and any(isinstance(s, BlockRealize) for s in walk_stmts(b.init)) for b in blocks)


def _is_plain(sch: Schedule, target: Any) -> bool:
    """What TVM's blockize takes as it is: it loses conditions, and of several blocks inits and the order they run in."""
    realizes = [sch.index.realize(n) for n in sch.index.block_names[1:]]
    if isinstance(target, tuple):
        named = [r for r in realizes if r.block.name in target]
        return [r.block.name for r in named] == list(target) and all(
            r.block.init is None and build.is_true(r.predicate) for r in named
        )
    below = [r for r in realizes if any(f.loop_var is target for f in sch.index.loops_of(r.block.name))]
    return all(build.is_true(r.predicate) for r in below)


def _axes(sch: Schedule, arguments: dict[str, Any]) -> tuple[int, ...]:
    block = sch.index.block(arguments["block"])
    if "buffer" not in arguments:
        return (1,) * len(block.iter_vars)
    side, position = arguments["buffer"]
    region = (block.reads if side == "read" else block.writes)[position]
    return (1,) * len(region.buffer.shape)


def ask_both(sch: Schedule, call: Call) -> Outcome:
    """Makes the call on `sch` (which it changes when accepted) and on a TVM schedule of the same program."""
    theirs = tvm_schedule(to_script(sch.func))
    translated = _for_tvm(sch, theirs, call)
    ours_refused = theirs_refused = ""
    try:
        apply(sch, call)
    except ScheduleError as error:
        ours_refused = error.code
    if ours_refused in NEVER_ASKED:
        return Outcome(ours_refused, "not asked")
    try:
        apply(theirs, translated)
    except REFUSALS as error:
        theirs_refused = " ".join(str(error).split()) or type(error).__name__
    if ours_refused or theirs_refused:
        return Outcome(ours_refused, theirs_refused)
    return Outcome("", "", same_program(to_script(sch.func), theirs.mod))


def _for_tvm(sch: Schedule, theirs: Any, call: Call) -> Call:
    """The call with TVM's handles: loops by a block below them and their depth, blocks by name."""

    def handle(value: Any) -> Any:
        if isinstance(value, Var):
            below = next(b for b in sch.index.block_names if any(f.loop_var is value for f in sch.index.loops_of(b)))
            depth = [f.loop_var for f in sch.index.loops_of(below)].index(value)
            return theirs.get_loops(theirs.get_sblock(below))[depth]
        if isinstance(value, str) and sch.index.has_block(value):
            return theirs.get_sblock(value)
        if isinstance(value, IndexMap):
            return eval(value_text(value, str), {"T": tirx})  # a lambda in the words of an export
        return value

    name, arguments = call
    kept = ("storage_scope", "thread_axis", "ann_key", "buffer", "buf_type")
    return name, {
        key: [*map(handle, value)]
        if isinstance(value, tuple) and key not in kept
        else value
        if key in kept
        else handle(value)
        for key, value in arguments.items()
        if key not in ONLY_OUR_KEYWORDS
    }
