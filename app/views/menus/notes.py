"""Menu items of annotations, and of the declared accesses of a block."""

from __future__ import annotations

from typing import Any

from ....engine.export import region_map_text
from ....engine.ir import Block, BufferRegion, For, RegionMap, build
from .entry import Choice, Field, field
from .facts import Facts


def annotate_fields(_: Facts, __: Any) -> list[Field]:
    return [
        field("ann_key", "Key", "text", "", [], placeholder="pragma_auto_unroll_max_step"),
        field("ann_val", "Value", "literal", "1", help="a number or text"),
    ]


def unannotate_fields(_: Facts, node: For | Block) -> list[Field]:
    keys = [key for key, _ in node.annotations]
    return [field("ann_key", "Key", "choice", keys[0], keys)]


def no_annotations(_: Facts, node: For | Block) -> str:
    return "" if node.annotations else "it has no annotations"


def access_fields(_: Facts, block: Block) -> list[Field]:
    sides = (("read", "read", block.reads), ("write", "written", block.writes))
    choices = [
        Choice([side, n], f"{region.buffer.name}  ({word})", {"gen_new_ranges": region_text(block, region)})
        for side, word, regions in sides
        for n, region in enumerate(regions)
    ]
    text = region_text(block, next(iter((*block.reads, *block.writes))))
    about = "an index or (begin, end) per axis"
    return [
        field("access", "Buffer", "choice", choices[0].value, choices, spread=("buf_type", "buffer_index")),
        field("gen_new_ranges", "Region", "index_map", text, help=about),
    ]


def region_text(block: Block, region: BufferRegion) -> str:
    """The declared region as a lambda of the iterators."""
    axes = tuple((axis.min, build.add(axis.min, axis.extent)) for axis in region.region)
    return region_map_text(RegionMap(tuple(iv.var for iv in block.iter_vars), axes))


def hidden_fields(facts: Facts, block: Block) -> list[Field]:
    choices = [Choice(["read", [n]], block.reads[n].buffer.name) for n in _only_read(facts, block)]
    return [field("access", "Buffer", "choice", choices[0].value, choices, spread=("buf_type", "buf_index_array"))]


def reads_no_constant(facts: Facts, block: Block) -> str:
    return "" if _only_read(facts, block) else "it reads no parameter that the program only reads"


def _only_read(facts: Facts, block: Block) -> list[int]:
    """The positions of the reads of parameters that no block writes."""
    func = facts.index.func
    return [n for n, r in enumerate(block.reads) if r.buffer in func.buffers and not facts.index.writers(r.buffer)]


def touches_no_buffer(_: Facts, block: Block) -> str:
    return "" if block.iter_vars and (block.reads or block.writes) else "it has no iterators or no buffers"
