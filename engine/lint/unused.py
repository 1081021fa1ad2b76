"""Lints: unused blocks and buffers."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir import BlockRealize, allocated_buffers
from .finding import LintFinding
from .subject import Subject


def find_unused_blocks(subject: Subject) -> Iterator[LintFinding]:
    """A block writes only intermediate buffers whose values never reach an output. No schedule call removes a block; remove it from the
    program."""
    needed = _needed(subject)
    for realize in subject.leaf_blocks():
        name, written = realize.block.name, [w.buffer.name for w in realize.block.writes]
        if name not in needed and written:
            runs = subject.iterations(name)
            often = "" if runs is None else f" ({runs} iterations)"
            yield LintFinding(
                "unused-block", "warning",
                f"{name} writes {' and '.join(dict.fromkeys(written))}, which is never read{often}",
                (name,), buffers=tuple(dict.fromkeys(written)),
            )  # fmt: skip


def _needed(subject: Subject) -> set[str]:
    """Blocks whose results reach a parameter."""
    blocks = {r.block.name: r.block for r in subject.leaf_blocks()}
    params = {b.name for b in subject.func.buffers}
    wanted, needed = set(params), set[str]()
    while True:
        found = {
            n
            for n, b in blocks.items()
            if n not in needed and (not b.writes or any(w.buffer.name in wanted for w in b.writes))
        }
        if not found:
            return needed
        needed |= found
        wanted |= {r.buffer.name for n in found for r in blocks[n].reads}


def find_unused_buffers(subject: Subject) -> Iterator[LintFinding]:
    """A buffer is allocated, but no block accesses it. It needs no memory in the lowered program."""
    if not isinstance(subject.func.body, BlockRealize):
        return  # statements outside of blocks declare no accesses
    used = {region.buffer for r in subject.leaf_blocks() for region in (*r.block.reads, *r.block.writes)}
    names = {b.name for b in used}
    for buffer in allocated_buffers(subject.func.body):
        if buffer.name not in names:
            yield LintFinding("unused-buffer", "info", f"no block accesses {buffer.name}", buffers=(buffer.name,))
