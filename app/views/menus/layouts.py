"""Menu items of buffer layouts and block iterators: form fields and preconditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from ....engine.ir import Block, BlockRealize, Buffer, For, Stmt
from .copies import own_writes, scope_fields
from .entry import Choice, Field, field
from .facts import Facts

DTYPES = ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")


def layout_buffers(facts: Facts, block: Block, name: str, default: Callable[[Buffer], str]) -> tuple[Field, str]:
    """The field that chooses a buffer, intermediates before parameters, and the `default` of field `name` for the first choice."""
    sides = (("write", "written", block.writes), ("read", "read", block.reads))
    found: dict[Buffer, Choice] = {}
    for side, word, regions in sides:
        for n, region in enumerate(regions):
            if region.buffer.shape:
                found.setdefault(region.buffer, Choice([side, n], f"{region.buffer.name}  ({word})"))
    buffers = sorted(found, key=facts.index.is_param)
    choices = [replace(found[b], sets={name: default(b)}) for b in buffers]
    return field("buffer", "Buffer", "choice", choices[0].value, choices), default(buffers[0])


def layout_fields(facts: Facts, block: Block) -> list[Field]:
    choice, first = layout_buffers(facts, block, "index_map", identity_map)
    about = "the new axes; AXIS_SEPARATOR keeps groups of axes apart"
    places = "value of padding elements: a number, or a map of the new axes"
    return [
        choice,
        field("index_map", "Index map", "index_map", first, help=about),
        field("pad_value", "Padding", "literal", optional=True, help=places, placeholder="none"),
    ]


def order_fields(facts: Facts, block: Block) -> list[Field]:
    choice, first = layout_buffers(facts, block, "order_or_strides", lambda b: numbers(reversed(range(len(b.shape)))))
    about = "the axes from the outermost to the innermost, or their strides"
    return [choice, field("order_or_strides", "Order", "ints", first, help=about)]


def numbers(values: Iterable[int]) -> str:
    return ", ".join(map(str, values))


def separator_fields(facts: Facts, block: Block) -> list[Field]:
    choice, first = layout_buffers(facts, block, "axis_separators", lambda b: "1" if len(b.shape) > 1 else "")
    about = "axes before which a new group begins; empty: one group"
    return [choice, field("axis_separators", "Before axes", "ints", first, help=about, empty=True)]


def align_fields(facts: Facts, block: Block) -> list[Field]:
    buffer, axis = own_buffer(facts, block, "axis", lambda b: str(max(0, len(b.shape) - 2)))
    return [
        buffer,
        field("axis", "Axis", "int", int(axis), help="the axis whose stride is aligned"),
        field("factor", "Factor", "int", 32, help="in elements"),
        field("offset", "Offset", "int", 1, help="stride modulo factor, in elements"),
    ]


def dtype_fields(facts: Facts, block: Block) -> list[Field]:
    buffer, now = own_buffer(facts, block, "dtype", lambda b: b.dtype)
    about = "values are rounded, so results may differ"
    return [buffer, field("dtype", "Type", "choice", now, tuple(dict.fromkeys((now, *DTYPES))), help=about)]


def own_buffer(facts: Facts, block: Block, name: str, default: Callable[[Buffer], str]) -> tuple[Field, str]:
    """The field that chooses an intermediate buffer written by the block, and the `default` of field `name` for the first choice."""
    numbers = own_writes(facts, block)
    defaults = [default(block.writes[n].buffer) for n in numbers]
    buffer = scope_fields(facts, block)[0]
    choices = [replace(choice, sets={name: text}) for choice, text in zip(buffer.choices, defaults, strict=True)]
    return replace(buffer, choices=choices), defaults[0]


def iterator_map_fields(_: Facts, block: Block) -> list[Field]:
    names = ", ".join(iv.var.name for iv in block.iter_vars)
    return [field("index_map", "Index map", "index_map", f"lambda {names}: [{names}]", help="the new iterators")]


def iterator_order_fields(_: Facts, block: Block) -> list[Field]:
    about = "their positions, in the new order"
    return [field("new_order", "Order", "ints", numbers(range(len(block.iter_vars))), help=about)]


def identity_map(buffer: Buffer) -> str:
    names = [f"i{n}" for n in range(len(buffer.shape))] if len(buffer.shape) > 5 else list("ijklm"[: len(buffer.shape)])
    return f"lambda {', '.join(names)}: [{', '.join(names)}]"


def touches_no_array(_: Facts, block: Block) -> str:
    return "" if any(r.buffer.shape for r in (*block.writes, *block.reads)) else "it accesses no buffer with axes"


def no_iterators(_: Facts, block: Block) -> str:
    return "" if block.iter_vars else "it has no iterators"


def not_alone_in_loops(facts: Facts, block: Block) -> str:
    loops = facts.index.loops_of(block.name)
    inside: Stmt | None = loops[0] if loops else None
    while isinstance(inside, For):
        inside = inside.body
    why = "its loops do not correspond to its iterators"
    if not isinstance(inside, BlockRealize) or inside.block is not block or not block.iter_vars:
        return why
    return "" if set(inside.iter_values) == {f.loop_var for f in loops} else why
