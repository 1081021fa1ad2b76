"""Rules: producers at the tiles of the last block, and their buffers on chip."""

from __future__ import annotations

from ...hwsim import Memory
from .draft import Draft, word


def fuse_producers(draft: Draft) -> None:
    """Requires blocks that compute, directly or through others, what the last block reads. Lines: `compute_at` of each, from the last to
    the first, at the innermost loop over tiles that its elements depend on; if that is refused, at the next loop around it."""
    for name in reversed(draft.group.members[:-1]):
        wanted = draft.innermost(draft.flow.of_block(name))
        at = next((o for o in draft.outward(wanted) if draft.write(f'$.compute_at("{name}", {o})')), "")
        if at:
            draft.decide(f"{name} at loop {at}")
        elif wanted:
            draft.leave_out(f"{name} under {wanted}", "no loop over tiles accepts it")


def keep_on_chip(draft: Draft) -> None:
    """Requires an intermediate buffer that only blocks of the group read, and a memory on chip that its writer's engine writes and its
    readers' engines read. Line: `set_scope`; if several memories qualify, the scope is a hole."""
    index = draft.index
    for name in draft.group.members:
        buffer = draft.block(name).writes[0].buffer
        readers = index.consumers(name)
        if index.is_param(buffer) or buffer.scope != draft.machine.far.scope or not readers:
            continue
        if not {*readers} <= {*draft.group.members}:
            draft.leave_out(f"{buffer.name} on chip", "a later group reads it")
            continue
        fit = _common(draft, name, readers)
        if not fit:
            draft.leave_out(f"{buffer.name} on chip", "no memory is common to its writer and its readers")
            continue
        scope = f'"{fit[0].scope}"'
        if len(fit) > 1:
            variable = draft.builder.fresh(f"{word(buffer.name)}_scope")
            draft.builder.hole(variable, f"{buffer.name} scope", [f'"{m.scope}"' for m in fit])
            scope = variable
        if draft.write(f'$.set_scope("{name}", 0, {scope})'):
            draft.near.add(buffer.name)
            draft.decide(f"{buffer.name} in {' or '.join(m.scope for m in fit)}")


def _common(draft: Draft, writer: str, readers: tuple[str, ...]) -> list[Memory]:
    """The memories on chip that the engines of the writer and of all readers share, in the writer's order."""
    names = [n for n in draft.engines[writer].writes if all(n in draft.engines[r].reads for r in readers)]
    return [m for n in names if not draft.is_far(m := draft.machine.memory(n))]


__all__ = ["fuse_producers", "keep_on_chip"]
