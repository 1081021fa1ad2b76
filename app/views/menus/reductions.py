"""Menu items of reductions, padding and tensorization: form fields and preconditions."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ....engine.ir import Block, BlockRealize, BufferStore, Call, FloatImm, For, IntImm, Stmt, uses_var
from .copies import no_consumer, scope_fields, writes_params_only
from .entry import Field, field
from .facts import Facts


def loop_fields(facts: Facts, block: Block) -> list[Field]:
    loops = facts.loops_around(block.name)
    return [field("loop", "Before loop", "choice", outermost_reduction(facts, block) or loops[0], loops)]


def outermost_reduction(facts: Facts, block: Block) -> str:
    realize = facts.index.realize(block.name)
    values = [v for iv, v in zip(block.iter_vars, realize.iter_values, strict=True) if iv.iter_type == "reduce"]
    used = {f.loop_var for f in facts.index.loops_of(block.name) if any(uses_var(v, f.loop_var) for v in values)}
    return next((facts.ids.of(f.loop_var) for f in facts.index.loops_of(block.name) if f.loop_var in used), "")


def no_reduction(facts: Facts, block: Block) -> str:
    if block.init is None:
        return "it has no init"
    return "" if facts.index.loops_of(block.name) else "it is not in a loop"


def epilogue_fields(facts: Facts, block: Block) -> list[Field]:
    consumers = list(facts.index.consumers(block.name))
    return [field("epilogue_block", "Epilogue", "choice", consumers[0], consumers)]


def no_epilogue(facts: Facts, block: Block) -> str:
    if block.init is None:
        return "it is not a reduction"
    return no_consumer(facts, block)


def rfactor_fields(_: Facts, __: For) -> list[Field]:
    return [
        field("factor_axis", "New axis", "int", 0, help="position of the new axis in the partial results; -1: last")
    ]


def not_reduced(facts: Facts, loop: For) -> str:
    """The reason why the loop is not a reduction loop of exactly one block; "" if it is."""
    below = facts.index.child_blocks(loop)
    if len(below) != 1 or below[0].block.init is None:
        return "it does not contain exactly one reduction"
    pairs = zip(below[0].block.iter_vars, below[0].iter_values, strict=True)
    kinds = {iv.iter_type for iv, value in pairs if uses_var(value, loop.loop_var)}
    return "" if kinds == {"reduce"} else "it is not a reduction loop"


def rolling_fields(facts: Facts, block: Block) -> list[Field]:
    return [replace(scope_fields(facts, block)[0], name="write_buffer_index")]


def not_rolling(facts: Facts, block: Block) -> str:
    return writes_params_only(facts, block) or no_consumer(facts, block)


def round_fields(_: Facts, block: Block) -> list[Field]:
    default = ", ".join("16" for _ in block.iter_vars)
    return [field("padding", "Multiples of", "ints", default, help="one per iterator; 1: unchanged")]


def padding_fields(facts: Facts, block: Block) -> list[Field]:
    loops = facts.loops_around(block.name)
    return [field("loop", "Before loop", "choice", loops[0], loops)]


def no_padding(facts: Facts, block: Block) -> str:
    match block.body:
        case BufferStore(value=Call(op="if_then_else", args=(_, _, IntImm() | FloatImm()))):
            return "" if facts.index.loops_of(block.name) else "it is not in a loop"
        case _:
            return "it does not pad with a constant"


def intrin_fields(facts: Facts, _: Any) -> list[Field]:
    return [field("tensor_intrin", "Intrinsic", "choice", facts.intrinsics[0], facts.intrinsics)]


def no_instruction_for_loop(facts: Facts, loop: For) -> str:
    return not_one_block(facts, loop) or no_intrinsic(facts)


def no_instruction_for_block(facts: Facts, _: Block) -> str:
    return no_intrinsic(facts)


def no_intrinsic(facts: Facts) -> str:
    return "" if facts.intrinsics else "no intrinsic is registered"


def not_one_block(_: Facts, loop: For) -> str:
    inside: Stmt = loop
    while isinstance(inside, For):
        inside = inside.body
    return "" if isinstance(inside, BlockRealize) else "it does not contain exactly one block"
