"""Loops that are bound to thread tags."""

from __future__ import annotations

from ...ir import For, LaunchThread, Stmt, build
from ..errors import refuse

BLOCK = "blockIdx"
LAUNCHED = "tl.launch_threads"
"""The annotation of a TileLang kernel's loop over blocks: its threads along each axis."""
THREAD = "threadIdx"


def threads_of(stmt: Stmt) -> dict[str, int]:
    """Returns the threads of a block that a statement binds or notes, by axis."""
    if isinstance(stmt, For | LaunchThread) and (stmt.thread_tag or "").startswith(THREAD):
        return {(stmt.thread_tag or "")[-1]: build.int_value(stmt.extent) or 1}
    notes = dict(stmt.annotations).get(LAUNCHED) if isinstance(stmt, For) else None
    counts = notes if isinstance(notes, tuple) else ()
    return {axis: build.int_value(n) or 1 for axis, n in zip("xyz", counts, strict=False)}


def launched(stmt: LaunchThread) -> For:
    """Returns the loop of a lowered thread axis."""
    return For(stmt.var, build.const(0, stmt.var.dtype), stmt.extent, "thread_binding", stmt.body, stmt.thread_tag)


def is_grid(stmt: For) -> bool:
    """Returns whether each iteration is a block, which a core runs."""
    return (stmt.thread_tag or "").startswith(BLOCK)


def grid_axis(stmt: For) -> str:
    """Returns the axis of a loop over blocks; empty for other loops."""
    return (stmt.thread_tag or "").rpartition(".")[2] if is_grid(stmt) else ""


def is_threads(stmt: For) -> bool:
    """Returns whether the iterations are threads of one block, or virtual ones, which a thread runs statement by statement."""
    return bool(stmt.thread_tag) and not is_grid(stmt)


# Nested loops of one tag are the same threads.
def require_equal_extents(stmt: For, outer: tuple[str, int], extent: int) -> None:
    """`outer` has the name and the extent of a loop with the same tag around `stmt`."""
    name, threads = outer
    if extent != threads:
        inner, tag = stmt.loop_var.name, stmt.thread_tag
        raise refuse(
            "thread-extents", f"{tag} binds {threads} iterations of {name!r}, and {extent} of {inner!r} inside of it", stmt,
            found=f"extents {threads} and {extent}", expected="equal extents, as in TVM: the loops are the same threads",
            fix=(f"split {inner!r} and bind a loop of {threads} iterations",),
        )  # fmt: skip
