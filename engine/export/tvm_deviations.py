"""Calls for which TVM produces a different program, or none: descriptions of TVM's behaviour, for comments in the exported file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ..analysis import ProgramIndex, is_covered
from ..ir import Buffer, BufferRegion, Max, Min, PrimFunc, Range, ScheduleCall, build, uses_var, walk
from ..schedule import is_affine


def tvm_deviation(step: ScheduleCall, before: PrimFunc, after: PrimFunc) -> str:
    """Describe the deviation of TVM in this call; empty if TVM produces the same program. docs/differences.md has the reasons."""
    found = _DEVIATIONS.get(step.method)
    return found(step, ProgramIndex(before), ProgramIndex(after)) if found is not None else ""


def _tables(step: ScheduleCall, _: ProgramIndex, __: ProgramIndex) -> str:
    return f"TVM's {step.method} does not declare the tables as reads of the block"


def _in_place(step: ScheduleCall, before: ProgramIndex, _: ProgramIndex) -> str:
    block = before.block(step.argument("block"))
    own = any(uses_var(region, iv.var) for region in (*block.reads, *block.writes) for iv in block.iter_vars)
    return f"TVM's {step.method} uses the iterators of the block outside it" if own else ""


def _guarded(step: ScheduleCall, before: ProgramIndex, _: ProgramIndex) -> str:
    guarded = not build.is_true(before.realize(step.argument("block")).predicate)
    return f"TVM's {step.method} omits the predicate of the copy" if guarded else ""


def _tile(step: ScheduleCall, _: ProgramIndex, after: ProgramIndex) -> str:
    block = after.block(str(step.results[0]))
    if any(isinstance(node, Min | Max) for region in block.reads for node in walk(region)):
        return f"TVM's {step.method} copies past the end of the buffer"
    wide = any(axis.extent.dtype != "int32" for region in block.reads for axis in region.region)
    return f"TVM's {step.method} uses 32-bit loops, with casts" if wide else ""


def _laid_out(step: ScheduleCall, before: ProgramIndex, after: ProgramIndex) -> str:
    arguments = dict(step.arguments)
    if arguments["assume_injective_transform"]:
        return f"TVM's {step.method} does not check the map"
    new = [name for name in after.block_names if not before.has_block(name)]
    filled = any(not name.startswith("buffer_") or "_assumptions" not in name for name in new)
    short = arguments["pad_value"] is not None and any(build.is_const(e, 1) for b in after.buffers for e in b.shape)
    return f"TVM's {step.method} fills the padding differently" if filled or short else ""


def _later(step: ScheduleCall, before: ProgramIndex, _: ProgramIndex) -> str:
    later = not build.is_const(before.loop(step.argument("loop")).min, 0)
    return f"TVM's {step.method} loses the last iterations of a loop that does not start at 0" if later else ""


def _bindings(step: ScheduleCall, before: ProgramIndex, _: ProgramIndex) -> str:
    arguments = dict(step.arguments)
    named = [before.loop(v) for v in arguments.get("ordered_loops") or (arguments["loop"],)]
    top = min(named, key=lambda f: len(before.loops_above(f)))
    still = before.loops_above(top) if step.method == "reorder" else ()
    for realize in before.child_blocks(top):
        loops = {f.loop_var: Range(f.min, f.extent) for f in before.loops_above(realize) if f not in still}
        if not is_affine(realize, loops):
            return f"TVM's {step.method} requires iterators that are split and fused loops"
    return ""


# TVM moves blocks only in a scope that is a stage pipeline.
def _pipeline(step: ScheduleCall, before: ProgramIndex, _: ProgramIndex) -> str:
    arguments = dict(step.arguments)
    block = arguments.get("block") or before.child_blocks(before.loop(arguments["loop"]))[0].block.name
    stages = before.child_blocks(before.realize(before.scope_of(before.realize(block)).name))
    for n, stage in enumerate(stages):
        earlier = stages[:n]
        if any(_buffers(e.block.reads) & _buffers(stage.block.writes) for e in earlier):
            return f"TVM's {step.method} requires a scope in which no block writes what an earlier one reads"
        for buffer in _buffers(stage.block.reads):
            producers = [e for e in earlier if buffer in _buffers(e.block.writes)]
            if len(producers) != 1:
                continue
            if is_covered(before, producers[0], stage, buffer, by_declaration=True).holds is False:
                return f"TVM's {step.method} requires a scope whose blocks read only what earlier ones write"
    return ""


def _buffers(regions: Iterable[BufferRegion]) -> set[Buffer]:
    return {region.buffer for region in regions}


def _partials(step: ScheduleCall, before: ProgramIndex, after: ProgramIndex) -> str:
    if found := _pipeline(step, before, after):
        return found
    (realize,) = before.child_blocks(before.loop(step.argument("loop")))
    some = not build.is_true(after.realize(realize.block.name).predicate)
    return f"TVM's {step.method} also reduces partial results that are never computed" if some else ""


_DEVIATIONS: Mapping[str, Callable[[ScheduleCall, ProgramIndex, ProgramIndex], str]] = {
    "compute_at": _pipeline,
    "reverse_compute_at": _pipeline,
    "compute_inline": _pipeline,
    "reverse_compute_inline": _pipeline,
    "transform_layout": _laid_out,
    "reorder": _bindings,
    "parallel": _bindings,
    "vectorize": _bindings,
    "bind": _bindings,
    "loop_partition": _later,
    "rfactor": _partials,
    "cache_index": _tables,
    "cache_inplace": _in_place,
    "reindex_cache_read": _guarded,
    "reindex_cache_write": _guarded,
    "read_at": _tile,
    "write_at": _tile,
}
