"""Menu items of a TileLang kernel: edits of its own text."""

from __future__ import annotations

from ....engine.adopt.kernels.literals import STAGES
from ....engine.adopt.kernels.statements import ALLOCATIONS, POLICIES
from ....engine.ir import Block, BufferLoad, BufferStore, For, IntImm, SeqStmt, walk
from .entry import Chip, Choice, Field, MenuGroup, MenuItem, field, no_fields
from .facts import Facts

PANEL = 10
SLOTS = (1, 2, 3)


def stages_fields(_: Facts, loop: For) -> list[Field]:
    now = dict(loop.annotations).get("num_stages")
    text = str(now.value) if isinstance(now, IntImm) else "0"
    return [field("stages", "Stages", "int", text, chips=[Chip(str(n), str(n)) for n in STAGES if str(n) != text])]


def not_pipelined(facts: Facts, loop: For) -> str:
    values = () if facts.kernel is None else facts.kernel.values
    has_none = any(v.role == "stages" and v.texts[0] == "0" for v in values) and isinstance(loop.body, SeqStmt)
    is_own = loop.kind == "serial" and (has_none or "num_stages" in dict(loop.annotations))
    return "" if is_own and loop.thread_tag is None else "it is no loop of T.Pipelined"


def value_fields(facts: Facts, _: For) -> list[Field]:
    assert facts.kernel is not None
    values = facts.kernel.values
    choices = [Choice(v.name, f"{v.name} = {v.texts[0]}", {"value": v.texts[1 % len(v.texts)]}) for v in values]
    first = values[0]
    chips = [Chip(text, text) for text in first.texts[1:]] if len(values) == 1 else None
    return [
        field("name", "Value", "choice", first.name, choices),
        field("value", "New value", "text", first.texts[1 % len(first.texts)], chips=chips),
    ]


def no_values(facts: Facts, loop: For) -> str:
    if loop.thread_tag is None:
        return "it is no loop of the grid"
    return "" if facts.kernel is not None and facts.kernel.values else "no literal feeds stages, threads or tiles"


def panel_fields(_: Facts, __: For) -> list[Field]:
    return [field("panel", "Blocks in a panel", "int", str(PANEL))]


def no_grid(_: Facts, loop: For) -> str:
    return "" if loop.thread_tag is not None else "it is no loop of the grid"


def scope_fields(_: Facts, block: Block) -> list[Field]:
    now = block.writes[0].buffer.scope
    names = [scope for scope in ALLOCATIONS if scope not in (now, "shared")]
    return [field("scope", f"Memory of {block.writes[0].buffer.name}", "choice", names[0], names)]


def no_buffer(_: Facts, block: Block) -> str:
    return "" if block.writes and block.writes[0].buffer.scope in ALLOCATIONS else "it writes no buffer of the kernel"


def slots_fields(_: Facts, __: Block) -> list[Field]:
    return [field("slots", "Slots", "int", "2", chips=[Chip(str(n), str(n)) for n in SLOTS])]


def no_copy(_: Facts, block: Block) -> str:
    loads = [node for node in walk(block.body) if isinstance(node, BufferLoad) and node.buffer.scope == "global"]
    is_tile = bool(block.writes) and block.writes[0].buffer.scope.startswith("shared")
    return "" if is_tile and loads else "it copies no tile from global memory"


def is_no_second_copy(_: Facts, block: Block) -> str:
    body = block.body
    is_copy = (
        isinstance(body, BufferStore) and isinstance(body.value, BufferLoad) and body.value.buffer.scope != "global"
    )
    return "" if is_copy else "it copies no buffer of the kernel"


def policy_fields(_: Facts, __: Block) -> list[Field]:
    return [field("policy", "Warps", "choice", POLICIES[0], POLICIES)]


def no_product(_: Facts, block: Block) -> str:
    return "" if any(iv.iter_type == "reduce" for iv in block.iter_vars) and len(block.reads) > 1 else "it is no T.gemm"


def order_fields(_: Facts, __: Block) -> list[Field]:
    return [field("side", "Move", "choice", "earlier", [Choice("earlier", "one up"), Choice("later", "one down")])]


def is_alone(_: Facts, __: Block) -> str:
    return ""


LOOP_GROUP = MenuGroup("Kernel text", (
    MenuItem("kernel_stages", "Stages…", "1", "how many iterations copies run ahead", stages_fields, not_pipelined),
    MenuItem("kernel_value", "Tiles, threads…", "2", "another value of a literal in the text", value_fields, no_values),
    MenuItem("kernel_panel", "Rasterisation…", "3", "run blocks in panels, for the cache", panel_fields, no_grid),
))  # fmt: skip

BLOCK_GROUP = MenuGroup("Kernel text", (
    MenuItem("kernel_order", "Order…", "1", "before the statement above it, or after the one below", order_fields, is_alone),
    MenuItem("kernel_scope", "Memory…", "2", "allocate its buffer in shared memory or registers", scope_fields, no_buffer),
    MenuItem("kernel_slots", "Copy ahead…", "4", "several slots in its loop: a double buffer", slots_fields, no_copy),
    MenuItem("kernel_direct", "Copy directly", "5", "from where the buffer that it copies is filled", no_fields, is_no_second_copy),
    MenuItem("kernel_policy", "Warps…", "3", "divide the product among warps", policy_fields, no_product),
))  # fmt: skip
