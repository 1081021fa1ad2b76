"""Rules: producers at the tiles of the last block, and their buffers on chip."""

from __future__ import annotations

from math import prod

from ...hwsim import Memory, padded_load
from ...ir import BufferLoad, BufferStore, Var, build, walk
from ..bounds.product import product_of, uncast
from .draft import ScheduleDraft
from .stage import spread_rows


def inline_producers(draft: ScheduleDraft) -> None:
    """Requires a block of elementwise work with one reader, which reads each element once and is no reduction; or a copy or cast that a
    product reads. Line: `compute_inline`: no element is computed twice, and a buffer and its tasks are saved."""
    for name in draft.group.every[:-1]:
        if _is_inlined(draft, name) and draft.builder.accepts("compute_inline", name):
            draft.group = draft.group.without(name)
            draft.decide(f"{name} inlined")
    draft.flow = draft.flow_of_group()


def _is_inlined(draft: ScheduleDraft, name: str) -> bool:
    index, body = draft.index, draft.block(name).body
    readers = index.consumers(name)
    if index.is_reduction(name) or not isinstance(body, BufferStore) or index.is_param(body.buffer):
        return False
    if (
        len(readers) != 1
        or readers[0] not in draft.group.every
        or readers[0] == draft.part
        or padded_load(body.value) is not None
    ):
        return False
    (reader,) = readers
    if product_of(index, reader) is not None:
        copied = uncast(body.value)
        return isinstance(copied, BufferLoad) and all(isinstance(i, Var) for i in copied.indices)
    loads = [n for n in walk(draft.block(reader).body) if isinstance(n, BufferLoad) and n.buffer is body.buffer]
    if index.is_reduction(reader) or len(loads) != 1:
        return False
    return isinstance(body.value, BufferLoad) or _count(draft, reader) <= _count(draft, name)


def _count(draft: ScheduleDraft, name: str) -> int:
    return prod(build.int_value(iv.dom.extent) or 1 for iv in draft.block(name).iter_vars)


def fuse_producers(draft: ScheduleDraft) -> None:
    """Requires blocks that compute, directly or through others, what the last block reads. Lines: `compute_at` of each, from the last to
    the first, at the innermost loop over tiles that its elements depend on; if that is refused, at the next loop around it."""
    for name in reversed(draft.group.members[:-1]):
        wanted = draft.innermost(draft.flow.of_block(name))
        at = draft.first_accepted("compute_at", name, draft.outward(wanted))
        if at is not None:
            draft.decide(f"{name} at loop {draft.name(at)}")
        elif wanted is not None:
            draft.leave_out(f"{name} under {draft.name(wanted)}", "no loop over tiles accepts it")


def fuse_followers(draft: ScheduleDraft) -> None:
    """Requires blocks that process the results of the last block element by element. Lines: `reverse_compute_at` of each at the innermost
    loop over tiles outside of reductions: a tile of sums is complete there, and still on chip."""
    at = draft.of_result()
    for name in draft.group.after:
        if at is not None and draft.first_accepted("reverse_compute_at", name, [at]) is not None:
            draft.decide(f"{name} at loop {draft.name(at)}")
        else:
            draft.leave_out(f"{name} under {draft.group.last}", "no loop over tiles accepts it")


def keep_on_chip(draft: ScheduleDraft) -> None:
    """Requires an intermediate buffer that only blocks of the group read, and a memory on chip that its writer's engine writes and its
    readers' engines read. Line: `set_scope` of the first such memory; `choose_memories` offers the others."""
    index = draft.index
    for name in draft.group.every:
        buffer = draft.block(name).writes[0].buffer
        readers = index.consumers(name)
        if index.is_param(buffer) or buffer.scope != draft.machine.far.scope or not readers:
            continue
        if not {*readers} <= {*draft.group.every}:
            draft.leave_out(f"{buffer.name} on chip", "a later group reads it")
            continue
        fit = _common(draft, name, readers)
        if not fit:
            draft.leave_out(f"{buffer.name} on chip", "no memory is common to its writer and its readers")
            continue
        scope = draft.scope_in(fit[0])
        if draft.builder.accepts("set_scope", name, 0, scope):
            if draft.binds_threads:
                spread_rows(draft, name, buffer, fit[0])
            draft.near.add(buffer.name)
            draft.memories[name] = fit
            draft.decide(f"{buffer.name} in {scope}")


def choose_memories(draft: ScheduleDraft) -> None:
    """Requires an intermediate buffer for which several memories on chip qualify. Line: `set_scope`, the memory a hole. It follows the
    calls that move blocks, so that schedules which differ in memories share them."""
    for name, fit in draft.memories.items():
        if len(fit) > 1:
            buffer = draft.block(name).writes[0].buffer
            scope = draft.builder.choice(f"{buffer.name}_scope", f"{buffer.name} scope", [m.scope for m in fit])
            draft.builder.accepts("set_scope", name, 0, scope)
            draft.decide(f"{buffer.name} in {' or '.join(m.scope for m in fit)}")


def _common(draft: ScheduleDraft, writer: str, readers: tuple[str, ...]) -> list[Memory]:
    """The memories on chip that the engines of the writer and of all readers share, in the writer's order."""
    names = [n for n in draft.engines[writer].writes if all(n in draft.engines[r].reads for r in readers)]
    return draft.on_chip(names)


__all__ = ["choose_memories", "fuse_followers", "fuse_producers", "inline_producers", "keep_on_chip"]
