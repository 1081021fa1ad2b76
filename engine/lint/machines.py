"""Lints: programs that a machine cannot run, or runs on the wrong engine: operands out of reach, unknown scopes."""

from __future__ import annotations

from collections.abc import Iterator

from ..hwsim import MachineError
from ..ir import Block, Buffer, TilewrightError
from ..schedule import PRIMITIVES, Schedule
from ..script import read_calls
from .finding import LintFinding, lint_finding
from .kernels.sums import stage_fixes
from .subject import Subject, move

NOT_ABOUT_THE_SCHEDULE = ("missing-sizes", "too-many-tasks", "too-deep", "symbolic-shape", "unknown-trip-count")
"""Refusals of the simulator that no schedule call changes; the command line and the page report them separately."""


def find_refused(subject: Subject) -> Iterator[LintFinding]:
    """The machine cannot run the program: no engine reaches an operand of a block, a buffer is in a scope without a memory, or a call
    requests an engine or a bank that does not exist."""
    error = subject.outcome
    if not isinstance(error, MachineError) or error.code in NOT_ABOUT_THE_SCHEDULE:
        return
    refusal = error.refusal
    blocks = tuple(node.name for node in refusal.nodes if isinstance(node, Block) and node.name)
    buffers = tuple(node.name for node in refusal.nodes if isinstance(node, Buffer))
    detail = "; ".join(text for text in (refusal.found, refusal.expected) if text)
    message = f"{refusal.message}: {detail}" if detail else refusal.message
    yield LintFinding("refused", "error", f"{message} [{error.code}]", blocks, (), buffers, hints=refusal.fix)


def find_scalar_work(subject: Subject) -> Iterator[LintFinding]:
    """A block with many operations runs on the scalar engine, one operation after the other, because faster engines do not reach its
    operands. Not reported for operands that are part of a round trip, which is a finding itself."""
    trips = {name for f in subject.findings("round-trip") for name in f.buffers}
    return (lint_finding(f) for f in subject.findings("scalar-engine") if not set(f.buffers) <= trips)


def reach_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """`set_scope` for an intermediate; `cache_read` and `cache_write` for a parameter, with copies of the whole buffer or in a loop of the
    block, whichever fits on chip and needs the fewest cycles. For a pipelined loop of a TileLang kernel that reads a tile and overwrites it
    afterwards, so that no copy may run ahead: `num_stages=0` in the text."""
    if isinstance(subject.outcome, MachineError) and subject.outcome.code == "broken-dependence":
        yield from stage_fixes(subject, finding)
    for chosen in (finding.hints, *((hint,) for hint in finding.hints)) if len(finding.hints) > 1 else (finding.hints,):
        staged = subject.then(lambda sch, chosen=chosen: _made(sch, chosen))
        yield staged
        if staged is not None:
            yield from _placed(subject, staged)


def find_scalar_padding(subject: Subject) -> Iterator[LintFinding]:
    """A padded copy, which is zero where a condition on the loops fails, runs on the scalar engine. A DMA with zero padding does it in
    flight, as part of a copy that it makes anyway; a vector engine selects whole vectors."""
    return map(lint_finding, subject.findings("scalar-padding"))


def padding_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """`compute_inline` of the padding into the copies that read it; otherwise `set_scope` and `cache_read`, which bring its operands into
    the reach of a DMA or a vector engine, as a whole or in a loop."""
    yield subject.then(lambda sch: [sch.compute_inline(name) for name in finding.blocks])
    yield from reach_fixes(subject, finding)


def _made(sch: Schedule, calls: tuple[str, ...]) -> None:
    """Makes the legal ones of the calls in `calls`: an earlier call may already have done the work of a later one."""
    for call in (call for text in calls for call in read_calls(text)):
        if call.method not in PRIMITIVES:
            continue
        try:
            getattr(sch, call.method)(*call.args, **call.kwargs)
        except (TilewrightError, TypeError):
            continue


def _placed(before: Subject, staged: Subject) -> Iterator[Subject | None]:
    """Yields the subject with its new or re-scoped copies moved to each loop of the program that they can be moved to."""
    moved = [n for n in staged.index.block_names if n and _is_new(before, staged, n)]
    loops = {t.loop for block in moved for t in staged.targets(block)}
    for loop in (f.loop_var for f in before.index.loops if f.loop_var in loops):
        after = staged
        for block in moved:
            target = next((t for t in after.targets(block) if t.loop is loop), None)
            after = after if target is None else after.then(move(block, target)) or after
        if after is not staged:
            yield after


def _is_new(before: Subject, staged: Subject, block: str) -> bool:
    if not before.index.has_block(block):
        return True
    scopes = [[w.buffer.scope for w in subject.index.block(block).writes] for subject in (before, staged)]
    return scopes[0] != scopes[1]
