"""Menu items of copies of a block's operands: caching, reindexing, index maps, scopes and double buffering."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from msgspec.structs import replace

from ....engine.ir import Block, BufferRegion, uses_var
from .entry import Choice, Field, field
from .facts import Facts


def buffer_choices(block: Block, *, written: bool) -> list[Choice]:
    regions = block.writes if written else block.reads
    return [Choice(n, f"{r.buffer.name}  ({r.buffer.scope})") for n, r in enumerate(regions)]


def cache_fields(side: str) -> Callable[[Facts, Block], list[Field]]:
    def fields(facts: Facts, block: Block) -> list[Field]:
        choices = buffer_choices(block, written=side == "write")
        return [field(f"{side}_buffer_index", "Buffer", "choice", 0, choices), scope_field(facts)]

    return fields


def in_place(block: Block) -> list[int]:
    """The positions of a block's reads whose buffer it also writes."""
    written = {w.buffer for w in block.writes}
    return [n for n, r in enumerate(block.reads) if r.buffer in written]


def inplace_fields(facts: Facts, block: Block) -> list[Field]:
    own = in_place(block)
    choices = [c for c in buffer_choices(block, written=False) if c.value in own]
    return [field("read_buffer_index", "Buffer", "choice", own[0], choices), scope_field(facts)]


def reindex_fields(_: Facts, block: Block) -> list[Field]:
    sides = (("read", "read", block.reads), ("write", "written", block.writes))
    choices = [
        Choice([side, n], f"{r.buffer.name}  ({word})")
        for side, word, regions in sides
        for n, r in enumerate(regions)
        if side == "write" or n not in in_place(block)
    ]
    return [field("buffer", "Buffer", "choice", choices[0].value, choices)]


def mapped_fields(side: str) -> Callable[[Facts, Block], list[Field]]:
    def map_of(block: Block, region: BufferRegion) -> str:
        used = [iv.var.name for iv in block.iter_vars if any(uses_var(axis, iv.var) for axis in region.region)]
        return f"lambda {', '.join(iv.var.name for iv in block.iter_vars)}: [{', '.join(used) or '0'}]"

    def fields(facts: Facts, block: Block) -> list[Field]:
        maps = [map_of(block, region) for region in (block.writes if side == "write" else block.reads)]
        buffer, scope = cache_fields(side)(facts, block)
        pairs = zip(buffer.choices, maps, strict=True)
        buffer = replace(buffer, choices=[replace(choice, sets={"index_map": text}) for choice, text in pairs])
        about = "the position of each element, as a function of the iterators"
        return [buffer, scope, field("index_map", "Index map", "index_map", maps[0], help=about)]

    return fields


def index_fields(facts: Facts, _: Block) -> list[Field]:
    help_text = "minimum number of occurrences of an expression in a store; 0: all"
    return [scope_field(facts), field("cse_thresh", "Minimum uses", "int", 0, help=help_text)]


def scope_field(facts: Facts) -> Field:
    return field("storage_scope", "Scope", "text", facts.scopes[0], facts.scopes, help="a memory of the machine")


def own_writes(facts: Facts, block: Block) -> list[int]:
    """The positions of a block's writes to intermediate buffers."""
    return [n for n, w in enumerate(block.writes) if not facts.index.is_param(w.buffer)]


def scope_fields(facts: Facts, block: Block) -> list[Field]:
    own = own_writes(facts, block)
    choices = [c for c in buffer_choices(block, written=True) if c.value in own]
    return [field("buffer_index", "Buffer", "choice", own[0], choices), scope_field(facts)]


def no_reads(_: Facts, block: Block) -> str:
    return "" if block.reads else "it reads no buffer"


def no_writes(_: Facts, block: Block) -> str:
    return "" if block.writes else "it writes no buffer"


def not_in_place(_: Facts, block: Block) -> str:
    return "" if in_place(block) else "it updates no buffer that it reads"


def holds_blocks(facts: Facts, block: Block) -> str:
    if facts.index.child_blocks(block):
        return "it contains other blocks"
    return "" if block.iter_vars and (block.reads or block.writes) else "it has no iterators or no buffers"


def no_stores(facts: Facts, block: Block) -> str:
    return (
        ""
        if block.iter_vars and not facts.index.child_blocks(block)
        else "it has no iterators, or contains other blocks"
    )


def no_leaf_reads(facts: Facts, block: Block) -> str:
    return no_reads(facts, block) or holds_blocks(facts, block)


def no_leaf_writes(facts: Facts, block: Block) -> str:
    return no_writes(facts, block) or holds_blocks(facts, block)


def writes_params_only(facts: Facts, block: Block) -> str:
    return (
        ""
        if any(not facts.index.is_param(w.buffer) for w in block.writes)
        else "it writes only parameters of the function"
    )


def double_buffered(facts: Facts, block: Block) -> str:
    if any(key == "double_buffer_scope" for key, _ in block.annotations):
        return "it is already double buffered"
    return writes_params_only(facts, block)


def slot_fields(_: Facts, __: Block) -> list[Field]:
    return [slot_field(3)]


def slot_field(count: int) -> Field:
    return field("slots", "Slots", "int", count, help="tiles in memory at a time: one in use, the others loaded ahead")


def bank_fields(facts: Facts, block: Block) -> list[Field]:
    names = facts.banks(_intermediate_scope(facts, block))
    pairs = [f"{one}, {other}" for one, other in pairwise(names)]
    return [field("banks", "Banks", "words", pairs[0], pairs, help="one per slot: names or numbers"), slot_field(2)]


def no_banks(facts: Facts, block: Block) -> str:
    blocked = double_buffered(facts, block)
    scope = "" if blocked else _intermediate_scope(facts, block)
    return blocked or ("" if facts.banks(scope) else f"{scope} has a single bank, or its banks are unknown")


def _intermediate_scope(facts: Facts, block: Block) -> str:
    """The scope of the first intermediate buffer that a block writes."""
    return next(w.buffer.scope for w in block.writes if not facts.index.is_param(w.buffer))


def no_consumer(facts: Facts, block: Block) -> str:
    return "" if facts.index.consumers(block.name) else "no block reads its output"


def no_producer(facts: Facts, block: Block) -> str:
    return "" if facts.index.producers(block.name) else "it reads only inputs"
