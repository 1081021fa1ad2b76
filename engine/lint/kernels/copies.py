"""Lints of a kernel's copies: tiles that take a detour through the unified buffer, and copies that few threads make."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from math import prod

from ...adopt import KernelStatements, TextEdit
from ...hwsim.tile_layouts import matrix_unit, producer_threads, unfit_copies
from ...ir import (
    BlockRealize,
    BufferLoad,
    BufferStore,
    For,
    IntImm,
    TilewrightError,
    allocated_buffers,
    build,
    free_vars,
    walk,
)
from ...ir import dtype as dt
from ...script.language import called_name
from ...script.tilelang.ascend.memories import L1, UB
from ...script.tilelang.names import THREADS
from ..finding import LintFinding
from ..subject import Subject
from .texts import edited, line_of, statements_of

_NO_BULK = re.compile(r"disable_tma\W+True|prefer_instruction")
_NO_BULK_IN_KERNEL = re.compile(r"disable_tma_lower\W+True", re.IGNORECASE)
"""Options by which a text asks for another instruction than a bulk copy."""
FEW_ELEMENTS = 4
"""A loop inside of a copy that is shorter costs little."""
VECTOR_BYTES = 16
"""The bytes that a thread copies at once at most."""


def find_detours(subject: Subject) -> Iterator[LintFinding]:
    """A kernel for an AI core copies a tile from global memory to the unified buffer and from there to L1, although MTE2 of the cube core
    copies it to L1 at once. A buffer of `T.alloc_shared` lies in the unified buffer unless its use shows that it belongs to L1."""
    statements = statements_of(subject)
    for buffer in allocated_buffers(subject.schedule.func.body) if statements is not None else ():
        if buffer.scope != UB:
            continue
        writers, readers = subject.writers(buffer.name), subject.readers(buffer.name)
        is_filled = bool(writers) and all(_moves(subject, name, "global", UB) for name in writers)
        if is_filled and readers and all(_moves(subject, name, UB, L1) for name in readers):
            lines = line_of(statements, writers[0]), line_of(statements, readers[0])
            message = (
                f"{writers[0]}{lines[0]} fills {buffer.name} only for {readers[0]}{lines[1]}, which copies it to L1"
            )
            yield LintFinding("unified-buffer-detour", "warning", message, (*writers, *readers), (), (buffer.name,))


def _moves(subject: Subject, block: str, source: str, target: str) -> bool:
    body = subject.index.block(block).body
    if not isinstance(body, BufferStore):
        return False
    loaded = {node.buffer.scope for node in walk(body.value) if isinstance(node, BufferLoad)}
    return loaded == {source} and body.buffer.scope == target


def detour_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """One copy in the place of both, if the kernel computes the same."""
    statements = statements_of(subject)
    if statements is None or len(finding.blocks) != 2:
        yield None
        return
    try:
        first, second = (statements.of_block(name) for name in finding.blocks)
    except TilewrightError:
        yield None
        return
    calls = [_copied(statements, stmt) for stmt in (first, second)]
    whole = statements.spans.lines(first.lineno, first.end_lineno or first.lineno)
    if None in calls or statements.bodies[first][1] is not statements.bodies[second][1]:
        yield None
        return
    source, target = (call.args[0] for call in calls if call is not None)
    yield edited(
        subject, [TextEdit(*whole, ""), statements.spans.replaced(target, statements.spans.of(source))], same=True
    )


def _copied(statements: KernelStatements, stmt: ast.stmt) -> ast.Call | None:
    match stmt:
        case ast.Expr(value=ast.Call(args=[_, _, *_]) as call) if called_name(call) == "copy":
            return call
        case _:
            return None


# --- bulk copies


def find_lost_bulk_copies(subject: Subject) -> Iterator[LintFinding]:
    """A copy in a pipelined loop is no bulk copy of `sm_90`: TMA needs a `T.copy` without a conversion whose rows and strides are multiples
    of 16 bytes. With one such copy beside bulk copies the compiler adds as many producer threads as the kernel has, and without any bulk
    copy none, so that all threads copy and nothing is specialised."""
    statements = statements_of(subject)
    if statements is None or matrix_unit(subject.machine) != "wgmma":
        return
    added = producer_threads(subject.schedule.func, "wgmma")
    for block, reason in unfit_copies(subject.schedule.func):
        if "im2col" in block or _is_chosen(statements, block):
            continue  # TMA has a form of its own for it, or the text asks for another instruction
        message = f"{block}{line_of(statements, block)} is no bulk copy: {reason}; the compiler adds {added or 'no'} producer threads"
        yield LintFinding(
            "lost-bulk-copy",
            "info",
            message,
            (block,),
            (),
            tuple(w.buffer.name for w in subject.index.block(block).writes),
        )


def _is_chosen(statements: KernelStatements, block: str) -> bool:
    """Whether an option of a copy, or of its kernel, forbids a bulk copy."""
    try:
        text = ast.unparse(statements.of_block(block))
    except TilewrightError:
        text = ""
    return _NO_BULK.search(text) is not None or _NO_BULK_IN_KERNEL.search(statements.text) is not None


# --- threads


def find_idle_threads(subject: Subject) -> Iterator[LintFinding]:
    """`T.Parallel` with fewer iterations than threads around a loop that copies from global memory, one element or vector after the
    other: the threads without an iteration wait. A gather of rows often has this form: one iteration for each row."""
    statements = statements_of(subject)
    threads = _threads(subject) if statements is not None else None
    for realize in subject.leaf_blocks() if threads is not None else ():
        assert threads is not None
        name, body = realize.block.name, realize.block.body
        above = [loop for loop in subject.loops_above(name) if loop.thread_tag is None]
        first = next((n for n, loop in enumerate(above) if loop.kind == "parallel"), None)
        if first is None or not isinstance(body, BufferStore) or body.buffer.scope == "global":
            continue
        inside = above[first:]
        width = prod(build.int_value(loop.extent) or 1 for loop in inside if loop.kind == "parallel")
        serial = [loop for loop in inside if loop.kind != "parallel"]
        length = prod(build.int_value(loop.extent) or 1 for loop in serial)
        is_vector = any(loop.kind == "vectorized" for loop in serial)
        if is_vector:
            length = length * dt.size_bytes(body.buffer.dtype) // VECTOR_BYTES
        reads_far = any(isinstance(node, BufferLoad) and node.buffer.scope == "global" for node in walk(body.value))
        if width < threads and length >= FEW_ELEMENTS and reads_far:
            message = (
                f"{name}{line_of(statements, name)} has work for {width} of {threads} threads: T.Parallel has {width} iterations, each "
                f"with {length} {'vectors' if is_vector else 'elements'} one after the other"
            )
            yield LintFinding(
                "idle-threads",
                "warning",
                message,
                (name,),
                tuple(loop.loop_var for loop in serial),
                (body.buffer.name,),
            )


def _threads(subject: Subject) -> int | None:
    notes = (
        value
        for node in walk(subject.schedule.func.body)
        if isinstance(node, For)
        for key, value in node.annotations
        if key == THREADS
    )
    found = next(notes, None)
    return prod(n.value for n in found if isinstance(n, IntImm)) if isinstance(found, tuple) else None


def idle_threads_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """`T.Parallel` for the loop inside, if each of its iterations writes an element of its own."""
    statements = statements_of(subject)
    if statements is None:
        return
    (name,) = finding.blocks
    realize = next(n for n in walk(statements.func.body) if isinstance(n, BlockRealize) and n.block.name == name)
    body = realize.block.body
    assert isinstance(body, BufferStore)
    bound = dict(zip((iv.var for iv in realize.block.iter_vars), realize.iter_values, strict=True))
    written = {v for index in body.indices for own in free_vars(index) for v in free_vars(bound.get(own, own))}
    edits: list[TextEdit] = []
    for loop in statements.loops:
        if loop.loop_var.name in {v.name for v in finding.loops} and loop.loop_var in written:
            try:
                node = statements.statement(loop)
            except TilewrightError:
                continue
            if isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
                edits.append(statements.spans.replaced(node.iter.func, _parallel(node)))  # pyright: ignore[reportArgumentType]
    yield edited(subject, edits, same=True) if edits else None


def _parallel(node: ast.For) -> str:
    func = node.iter.func if isinstance(node.iter, ast.Call) else None
    owner = func.value.id if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) else "T"
    return f"{owner}.Parallel"


__all__ = ["detour_fixes", "find_detours", "find_idle_threads", "find_lost_bulk_copies", "idle_threads_fixes"]
