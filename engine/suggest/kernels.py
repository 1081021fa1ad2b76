"""Rules: edits of a TileLang kernel's text. Each is tried like a call; the fix has the new text."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..adopt import KernelError, KernelText, KernelValue, read_statements, require_registers
from ..adopt.kernels.layouts import PADDED
from ..explore.space.model import require_same_parameters
from ..hwsim.tile_layouts import matrix_unit
from ..ir import Block, BufferLoad, PrimFunc, TilewrightError, build, walk
from ..ir import dtype as dt
from ..lint.subject import Subject
from ..prove import tested
from .rule import RuleProposal, is_better

WIDE = 16
"""Bytes of the widest access of a thread, which padding keeps aligned."""


def revalued(subject: Subject) -> Iterator[RuleProposal]:
    """Requires a TileLang kernel without schedule calls. Writes another value of its stages, threads, tiles or parts of a sum into its
    text: those that *Explore* searches; if its registers are too few, also with more threads. A tile that improves the program is tried on
    random inputs."""
    kernel = subject.kernel
    if kernel is None:
        return
    threads = [value for value in kernel.values if value.role == "threads"]
    for value in kernel.values:
        for text in value.texts[1:]:
            try:
                yield RuleProposal(
                    f"{value.name} = {text}, not {value.texts[0]}", _with_values(subject, kernel, {value: text})
                )
            except KernelError:
                for more, count in [(one, count) for one in threads for count in one.texts[1:]]:
                    title = f"{value.name} = {text}, not {value.texts[0]}, with {more.name} = {count}"
                    try:
                        yield RuleProposal(title, _with_values(subject, kernel, {value: text, more: count}))
                    except KernelError:
                        continue


def _with_values(subject: Subject, kernel: KernelText, chosen: dict[KernelValue, str]) -> Subject | None:
    """Return the kernel with other values; None if it cannot have them. Raises KernelError "too-many-registers"."""
    original = subject.schedule.func
    text = kernel.with_values([chosen.get(value, value.texts[0]) for value in kernel.values])
    try:
        program = read_statements(text).func
        require_same_parameters(program, original)
    except TilewrightError:
        return None
    require_registers(program)
    after = subject.with_text(text, program)
    is_tile = any(value.role in ("tile", "split") for value in chosen)
    return None if is_tile and is_better(subject.report, after.report) and _differs(program, original) else after


# A tile that does not divide a size may leave a part of the result out.
def _differs(func: PrimFunc, original: PrimFunc) -> bool:
    return tested(func, original, ()).status == "failed"


def laid_out(subject: Subject) -> Iterator[RuleProposal]:
    """Requires a TileLang kernel without schedule calls, and a shared buffer whose banks conflict. Gives it a swizzle, or padded rows, by
    `T.annotate_layout`."""
    if subject.kernel is None or subject.report is None or matrix_unit(subject.machine) is None:
        return
    statements = read_statements(subject.kernel.text)
    lost = {name for row in subject.report.conflicts if row.cycles for name in row.buffers}
    for placement in subject.placements():
        buffer = placement.buffer
        columns = build.int_value(buffer.shape[-1]) if buffer.shape else None
        if buffer.name not in lost or not buffer.scope.startswith("shared") or columns is None:
            continue
        padded = f"{PADDED}{columns + max(1, WIDE // dt.size_bytes(buffer.dtype))}"
        for layout in ("swizzled", padded):
            after = _edited(subject, lambda s=statements, b=buffer.name, w=layout: s.with_layout(b, w))
            placed = None if after is None else after.placement(buffer.name)
            is_known = placed is not None and placed.stored.kind != "unknown"
            yield RuleProposal(
                f"Store {buffer.name} {'with padded rows' if layout is padded else layout}", after if is_known else None
            )


def ahead(subject: Subject) -> Iterator[RuleProposal]:
    """Requires a TileLang kernel without schedule calls. Writes `T.Pipelined` with two stages for a serial loop whose copies can run ahead,
    so that each tile has two slots."""
    if subject.kernel is None:
        return
    statements = read_statements(subject.kernel.text)
    for realize in subject.leaf_blocks():
        name = realize.block.name
        if _loads_memory(realize.block):
            after = _edited(subject, lambda name=name: statements.with_slots(name, 2))
            if after is not None:
                yield RuleProposal(f"Run {name} ahead, with two slots", after)


def direct(subject: Subject) -> Iterator[RuleProposal]:
    """Requires a TileLang kernel without schedule calls. Removes a buffer that one copy fills only for another copy: on an AI core from
    global memory by the unified buffer to L1, or by registers to shared memory."""
    if subject.kernel is None:
        return
    statements = read_statements(subject.kernel.text)
    for realize in subject.leaf_blocks():
        name, written = realize.block.name, realize.block.writes
        if subject.is_copy(name) and written:
            after = _edited(subject, lambda name=name: statements.without_stop(name))
            if after is not None:
                yield RuleProposal(f"Copy to {written[0].buffer.name} directly", after)


def reordered(subject: Subject) -> Iterator[RuleProposal]:
    """Requires a TileLang kernel without schedule calls. Moves a copy from global memory in front of the statements above it, as far as
    none of them depends on it."""
    if subject.kernel is None:
        return
    for realize in subject.leaf_blocks():
        name = realize.block.name
        if not _loads_memory(realize.block):
            continue
        text, passed = subject.kernel.text, 0
        while True:
            after = _edited(subject, lambda text=text, name=name: read_statements(text).moved(name, "earlier"))
            if after is None:
                break
            text, passed = after.text, passed + 1
            yield RuleProposal(f"{name} {passed} statement{'s' * (passed > 1)} earlier", after)


def _loads_memory(block: Block) -> bool:
    return any(isinstance(n, BufferLoad) and n.buffer.scope == "global" for n in walk(block.body))


def _edited(subject: Subject, edit: Callable[[], str]) -> Subject | None:
    try:
        text = edit()
        return subject.with_text(text, read_statements(text).func)
    except TilewrightError:
        return None
