"""Further settings of a buffer: memory, slots, padding, swizzle and strides. Each setting is a schedule call."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

from msgspec.structs import replace

from ....engine.adopt.kernels.statements import ALLOCATIONS
from ....engine.explore.space.layout_choices import NOW, Candidate, candidates_of
from ....engine.hwsim.tile_layouts import layouts_given
from ....engine.ir import BufferLoad, BufferStore, Call, IntImm, walk
from ....engine.lower import marks_of
from ..labels.numbers import size_text
from ..labels.values import Value
from .subject import Chosen


class LayoutCall(Value, frozen=True):
    """A schedule call, with its text."""

    method: str
    target: str
    arguments: dict[str, object]
    text: str


class LayoutOption(Value, frozen=True):
    """A value of a setting; without a call, it is the present one or not possible."""

    value: str
    label: str
    note: str
    call: LayoutCall | None


class ChoiceControl(Value, frozen=True):
    """A setting that is a choice between calls. `blocked` is the reason why it cannot be changed."""

    id: str
    label: str
    value: str
    options: list[LayoutOption]
    help: str
    blocked: str
    type: Literal["choice"] = "choice"


class NumbersControl(Value, frozen=True):
    """A setting of `count` numbers for the arguments `fields` of a call."""

    id: str
    label: str
    value: str
    count: int
    placeholder: str
    fields: list[str]
    call: LayoutCall
    help: str
    blocked: str = ""
    type: Literal["ints"] = "ints"


Control = ChoiceControl | NumbersControl


def control_values(chosen: Chosen) -> list[Control]:
    """The settings that the buffer has."""
    if chosen.is_laid_out_in_text:
        return [_kernel_memory(chosen), _kernel_slots(chosen), _kernel_layout(chosen)]
    slots = _slots(chosen) if chosen.kernel is None else _kernel_slots(chosen)
    found = [_scope(chosen), slots, _padding(chosen), _align(chosen), _swizzle(chosen), _strides(chosen)]
    return [control for control in found if control is not None]


def call_value(candidate: Candidate) -> LayoutCall:
    return LayoutCall(candidate.method, candidate.target, dict(candidate.arguments), candidate.text)


def _call(method: str, target: str, *arguments: tuple[str, Any]) -> LayoutCall:
    return call_value(Candidate("", "", "", method, target, arguments))


def _control(
    name: str, label: str, value: str, options: list[LayoutOption], help_text: str, blocked: str = ""
) -> ChoiceControl:
    return ChoiceControl(name, label, value, options, help_text, blocked)


def _option(value: str, label: str, call: LayoutCall | None = None, note: str = "") -> LayoutOption:
    return LayoutOption(value, label, note, call)


def _kernel_memory(chosen: Chosen) -> ChoiceControl:
    """The allocation of a buffer in a TileLang kernel's text."""
    scope, writer = chosen.buffer.scope, chosen.writer
    names = [name for name in ALLOCATIONS if name != "shared"]
    options = [
        _option(
            name, name, None if name == scope or writer is None else _call("kernel_scope", writer.row, ("scope", name))
        )
        for name in names
    ]
    return _control("scope", "Scope", scope, options, "Memory of the buffer", "" if writer else "no block writes it")


def _kernel_slots(chosen: Chosen) -> ChoiceControl:
    """The slots that the loop around the copy gives a buffer."""
    writer, placed = chosen.writer, chosen.buffer_placement
    slots = 1 if placed is None else placed.placement.slots
    options = [
        _option(str(n), f"{n} slot{'s' * (n > 1)}",
                None if n == slots or writer is None else _call("kernel_slots", writer.row, ("slots", n)),
                "double buffer" if n == 2 else "")
        for n in sorted({1, 2, 3, slots})
    ]  # fmt: skip
    return _control("slots", "Slots", str(slots), options, "Several slots: one is used while the others are filled",
                    "" if writer else "no block writes it")  # fmt: skip


def _kernel_layout(chosen: Chosen) -> ChoiceControl:
    """The entry of the buffer in `T.annotate_layout`."""
    assert chosen.kernel is not None
    given = layouts_given(chosen.kernel.func).get(chosen.buffer.name, "")
    found = [(dict(c.arguments)["layout"], c) for c in chosen.candidates if c is not NOW]
    options = [_option(name, c.title, None if name == given else call_value(c), c.note) for name, c in found]
    if given not in [name for name, _ in found]:
        options.append(_option(given, given))
    return _control("swizzle", "Layout", given, options, "Entry of T.annotate_layout in the kernel's text")


def _scope(chosen: Chosen) -> ChoiceControl:
    """The memories of the machine, each with its free capacity."""
    scope, writer, machine = chosen.buffer.scope, chosen.writer, chosen.machine
    blocked = ""
    if chosen.is_param:
        blocked = "a parameter's memory is fixed; cache_read or cache_write copies it to another memory"
    elif writer is None or machine is None:
        blocked = "no block writes it"
    options = [_option(scope, scope)]
    if not blocked and machine is not None and writer is not None:
        options = []
        for memory in machine.memories:
            call = _call("set_scope", writer.row, ("buffer_index", writer.position), ("storage_scope", memory.scope))
            here = scope in (*memory.scopes, *memory.block_scopes)
            options.append(_option(scope if here else memory.scope, scope if here else memory.scope, None if here else call,
                                   _room(chosen, memory.scope, here=here)))  # fmt: skip
    return _control("scope", "Scope", scope, options, "Memory of the buffer", blocked)


def _room(chosen: Chosen, scope: str, *, here: bool) -> str:
    """The free capacity at the peak, and whether the buffer fits into it."""
    assert chosen.machine is not None
    memory = chosen.machine.find_memory(scope)
    if memory is None or chosen.report is None or chosen.buffer_placement is None:
        return ""
    rows = [m for m in chosen.report.memory.values() if m.scope == memory.scope]
    peak, capacity = max((m.peak_bytes for m in rows), default=0), memory.capacity_bytes // memory.blocks
    free = capacity - peak
    if here:
        return f"peak {size_text(peak)} of {size_text(capacity)}"
    fits = "fits" if chosen.buffer_placement.placement.total_bytes <= free else "too large"
    return f"{fits}: {size_text(max(free, 0))} free"


def _slots(chosen: Chosen) -> ChoiceControl:
    writes = [a for a in chosen.accesses if a.side == "write"]
    marking = (a for a in writes if chosen.buffer in marks_of(chosen.index.block(a.block)))
    writer, buffer_placement = next(marking, chosen.writer), chosen.buffer_placement
    slots = 1 if buffer_placement is None else buffer_placement.placement.slots
    if chosen.is_param or writer is None:
        return _control("slots", "Slots", "1", [_option("1", "1 slot")], "Several slots: one is used while the others are filled",
                        "fixed for a parameter" if chosen.is_param else "no block writes it")  # fmt: skip
    block = chosen.index.block(writer.block)
    marked = marks_of(block).get(chosen.buffer)
    annotated = marked is not None
    value = "1" if marked is None else " ".join([str(marked.count), ", ".join(map(str, marked.banks))]).strip()
    off = _call("unannotate", writer.row, ("ann_key", "double_buffer_scope")) if annotated else None
    on = None if annotated else _call("double_buffer", writer.row)
    more = None if annotated else _call("double_buffer", writer.row, ("slots", 3))
    options = [
        _option("1", "1 slot", off),
        _option("2", "2 slots", on, "double buffer"),
        _option("3", "3 slots", more, "load two tiles ahead"),
    ]
    memory = None if chosen.machine is None else chosen.machine.find_memory(chosen.buffer.scope)
    for one, other in pairwise(range(memory.blocks if memory is not None else 0)):
        names = [f"{chosen.buffer.scope}[{n}]" for n in (one, other)]
        call = None if annotated else _call("double_buffer", writer.row, ("banks", names))
        options.append(_option(f"2 {one}, {other}", f"2 slots in blocks {one}, {other}", call))
    if annotated and slots < 2 and buffer_placement is not None:
        place = next((n for n, option in enumerate(options) if option.value == value), 1)
        options[place] = replace(options[place], note="requested, but not pipelined")
    if value not in {option.value for option in options}:
        options.append(_option(value, value))
    return _control("slots", "Slots", value, options, "Several slots: one is used while the others are filled")


def _padding(chosen: Chosen) -> ChoiceControl | None:
    if chosen.subject is None or len(chosen.subject.names) < 2:
        return None
    padded = [c for c in candidates_of(chosen.subject) if c.method == "storage_align"]
    value, off = "none", None
    asked = _alignments(chosen)
    options: list[LayoutOption] = []
    if asked and chosen.writer is not None:
        value = ", ".join(f"axis {axis}: stride = {offset} mod {factor}" for _, axis, factor, offset in asked)
        off = _call("unannotate", chosen.writer.row, ("ann_key", "buffer_dim_align"))
        options.append(_option(value, value))
    options.insert(0, _option("none", "none", off))
    options += [_option(c.key, c.title, call_value(c), c.note) for c in padded]
    blocked = "" if padded or asked else "the layout of a parameter is fixed" if chosen.is_param else "no axis to pad"
    return _control("padding", "Padding", value, options, "Padded rows spread a column over more banks", blocked)


def _align(chosen: Chosen) -> NumbersControl | None:
    """The custom padding control: the row stride is a multiple of the factor plus the offset."""
    subject = chosen.subject
    if subject is None or subject.is_param or subject.access.side != "write" or len(subject.names) < 2:
        return None
    axis = len(subject.names) - 2
    asked = next((a for a in _alignments(chosen) if a[1] == axis), None)
    call = _call("storage_align", subject.access.row, ("buffer_index", subject.access.position), ("axis", axis))
    value = "" if asked is None else f"{asked[2]}, {asked[3]}"
    about = f"The stride of {subject.names[axis]} becomes a multiple of `factor` plus `offset` elements: 32, 1"
    return NumbersControl("align", "Row stride", value, 2, "factor, offset", ["factor", "offset"], call, about)


def _alignments(chosen: Chosen) -> list[tuple[int, ...]]:
    """The `storage_align` annotations of this buffer: (position, axis, factor, offset)."""
    writer = chosen.writer
    if writer is None:
        return []
    found: list[tuple[int, ...]] = []
    for key, value in chosen.index.block(writer.block).annotations:
        if key != "buffer_dim_align" or not isinstance(value, tuple):
            continue
        for item in value:
            numbers = tuple(n.value for n in item if isinstance(n, IntImm)) if isinstance(item, tuple) else ()
            if len(numbers) == 4 and numbers[0] == writer.position:
                found.append(numbers)
    return found


def _swizzle(chosen: Chosen) -> ChoiceControl | None:
    if chosen.subject is None:
        return None
    offered = [c for c in candidates_of(chosen.subject) if c.key == "swizzled"]
    last = _last_map(chosen)
    swizzled = last is not None and "bitwise_xor" in last
    if not offered and not swizzled:
        return None
    options = [_option("none", "none"), *(_option(c.key, "XOR", call_value(c), c.note) for c in offered)]
    value = "none"
    if swizzled:
        value = "own"
        options.append(_option("own", "set by the schedule"))
    return _control(
        "swizzle", "Swizzle", value, options, "Columns are permuted in each row: no bank conflicts, no padding"
    )


def _last_map(chosen: Chosen) -> str | None:
    """The operators in the indices of the buffer's first access, as text; a swizzle appears there as an exclusive or."""
    for access in chosen.accesses:
        for node in walk(chosen.index.block(access.block)):
            if isinstance(node, BufferLoad | BufferStore) and node.buffer is chosen.buffer:
                calls = [n.op for index in node.indices for n in walk(index) if isinstance(n, Call)]
                return " ".join(map(str, calls))
    return None


def _strides(chosen: Chosen) -> NumbersControl | None:
    subject = chosen.subject
    if subject is None or not subject.names or len(subject.buffer_placement.shape) != len(subject.names):
        return None
    value = ", ".join(map(str, subject.buffer_placement.strides))
    call = _call("set_layout", subject.access.row, ("buffer", subject.access.argument))
    about = f"Strides of {', '.join(subject.names)} in elements; or the order of the axes, outermost first"
    return NumbersControl("strides", "Strides", value, len(subject.names), "", ["order_or_strides"], call, about)
