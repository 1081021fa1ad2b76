"""The tour of three calls, compute_at, set_scope and cache_read, once each: it answers the forum's question about them."""

from __future__ import annotations

from functools import partial

from .....engine.analysis import ProgramIndex
from .....engine.ir import Block, Buffer, PrimFunc
from .....engine.lower import allocations
from ...labels.numbers import size_text
from ...labels.sizes import buffer_bytes
from .step import TIMELINE, Change, Step, TourPlan, row_of

EXAMPLE = "what_moves_what"
"""The example whose schedule the tour builds step by step."""

PROSE = """\
# %% [markdown]
# # Guided tour: what moves what
#
# From the discussion *Compute_at vs set_scope*:
#
# > What is the difference between the compute_at and set_scope functions? […] There is a third operation that seems to play into this,
# > which is cache_read.
#
# B doubles A, and C adds W to the result. The tour applies each of the three calls to this nest.

"""

# Tests of the program.


def _block(func: PrimFunc, name: str) -> Block | None:
    index = ProgramIndex(func)
    return index.block(name) if index.has_block(name) else None


def _place_of(func: PrimFunc, block: str | None) -> str | None:
    """The innermost loop that a block shares with `C`; "" if they share none, None without the block."""
    index = ProgramIndex(func)
    if block is None or not index.has_block(block) or not index.has_block("C"):
        return None
    around = {loop.loop_var for loop in index.loops_of("C")}
    shared = [loop.loop_var.name for loop in index.loops_of(block) if loop.loop_var in around]
    return shared[-1] if shared else ""


def _is_at(func: PrimFunc, block: str | None, loop: str) -> bool:
    return _place_of(func, block) == loop


def _misplaced(func: PrimFunc, block: str | None, loop: str) -> str:
    """What to do with a block that was moved to another loop; "" for one that is at the loop, or was not moved."""
    place = _place_of(func, block)
    if not place or place == loop:
        return ""
    return (
        f"`{block}` is at `{place}` now, and the task asks for `{loop}`: drag it there, or undo (Ctrl+Z) and try again."
    )


def _on_chip(buffer: Buffer) -> bool:
    return buffer.scope != "global"


def _intermediate(func: PrimFunc) -> Buffer | None:
    """The buffer that B writes and C reads."""
    block = _block(func, "B")
    return block.writes[0].buffer if block is not None and block.writes else None


def _moved_memory(func: PrimFunc) -> bool:
    buffer = _intermediate(func)
    return buffer is not None and _on_chip(buffer)


def _copy_of(func: PrimFunc, name: str) -> str | None:
    """The block that copies parameter `name` onto the chip."""
    index = ProgramIndex(func)
    for buffer in func.buffers:
        if buffer.name == name:
            for reader in index.readers(buffer):
                if all(_on_chip(region.buffer) for region in index.block(reader).writes):
                    return reader
    return None


def _copied(func: PrimFunc) -> bool:
    return _copy_of(func, "W") is not None


def _copy_placed(func: PrimFunc) -> bool:
    return _is_at(func, _copy_of(func, "W"), "io")


def _all_on_chip(func: PrimFunc) -> bool:
    """Whether B and C access on-chip memory only."""
    blocks = [_block(func, name) for name in ("B", "C")]
    return all(
        block is not None and all(_on_chip(region.buffer) for region in (*block.reads, *block.writes))
        for block in blocks
    )


def _rest_placed(func: PrimFunc) -> bool:
    """Whether all operands are on the chip, and the copies of A and C are at `io`."""
    index = ProgramIndex(func)
    ends = [buffer for buffer in func.buffers if buffer.name in ("A", "C")]
    copies = {block for buffer in ends for block in (*index.readers(buffer), *index.writers(buffer))} - {"B", "C"}
    return _all_on_chip(func) and bool(copies) and all(_is_at(func, block, "io") for block in copies)


def _size_of(func: PrimFunc, name: str) -> str:
    """The allocated size of a buffer after compaction to its live part."""
    found = [a for a in allocations(func) if a.buffer.name == name]
    size = buffer_bytes(found[0].lowered) if found else None
    return "?" if size is None else size_text(size)


# Descriptions of the results.


def _result_compute_at(change: Change) -> str:
    return (
        f"The computation moved: `B` is now in `io` and computes the rows that one iteration needs. Its buffer shrank from "
        f"{_size_of(change.before, 'B')} to {_size_of(change.after, 'B')}. It is still in global memory. "
        + change.cycles("the same engine still does the same work")
    )


def _result_set_scope(change: Change) -> str:
    buffer = _intermediate(change.after)
    scope = buffer.scope if buffer is not None else ""
    return (
        f"The buffer moved, and no loop changed: the {_size_of(change.after, 'B')} between B and C are now allocated in `{scope}`. "
        f"This works for all buffers that the program itself allocates. "
        + change.cycles("both blocks still access A, W or C in global memory")
    )


def _result_cache_read(change: Change) -> str:
    block = _copy_of(change.after, "W") or ""
    return (
        f"The new block `{block}` copies all of W at once: {_size_of(change.after, block)}. W itself stays in global memory. "
        + change.cycles("the copy overlaps with the computation")
    )


def _result_placed(change: Change) -> str:
    block = _copy_of(change.after, "W") or ""
    return (
        f"A copy is a block, so compute_at can move it. Its buffer shrank from {_size_of(change.before, block)} to "
        f"{_size_of(change.after, block)}, which each iteration loads. "
        + change.cycles("the amount of work is the same")
    )


def _result_rest(change: Change) -> str:
    return (
        "All operands of B and C are on the chip. The vector unit, which cannot access global memory, now executes both blocks. "
        + change.cycles("no engine was stalled")
    )


STEPS: tuple[Step, ...] = (
    Step(
        "Two blocks with a loop nest each",
        "`B` doubles A, and `C` adds W to the result. A buffer of 64 × 64 floats connects them. This tour shows the effects of compute_at, "
        "set_scope and cache_read. You apply the three calls, and the page shows what changes. It takes two minutes.",
        (row_of("B"), row_of("C")),
    ),
    Step(
        "The timeline",
        "Each engine and each memory of the machine has a row. One engine does all the work, because no other can access global memory.",
        (TIMELINE,),
        task="Point at a bar, or focus the timeline with Tab.",
        notice="timeline",
    ),
    Step(
        "compute_at moves a computation",
        "All of `B` is computed before `C` begins. But `C` needs only a few rows of it at a time.",
        (row_of("B"), row_of("io")),
        task="Drag `B` onto `io`.",
        keys="With the keyboard: press Enter on `B`, move to `io` with the arrow keys, press Enter.",
        test=partial(_is_at, block="B", loop="io"),
        hint=partial(_misplaced, block="B", loop="io"),
        result=_result_compute_at,
        calls=("sch.compute_at('B', io)",),
    ),
    Step(
        "set_scope moves a memory",
        "The program allocates the buffer that `B` writes, so the schedule can choose its memory.",
        (row_of("B"),),
        task="Open the menu of `B` (⋮), choose Set scope…, and select `local`.",
        keys="With the keyboard: press g on `B`.",
        test=_moved_memory,
        result=_result_set_scope,
        calls=("sch.set_scope('B', 0, 'local')",),
    ),
    Step(
        "cache_read makes a copy",
        "W is a parameter of the function, so it stays in global memory. But a copy of it can be on the chip.",
        (row_of("C"),),
        task="In the menu of `C`, choose Cache read…, buffer `W`, scope `local`.",
        keys="With the keyboard: press l on `C`.",
        test=_copied,
        result=_result_cache_read,
        calls=("sch.cache_read('C', 1, 'local')",),
    ),
    Step(
        "compute_at moves the copy",
        "The copy loads all of W before `C` begins. It can load a few rows at a time instead.",
        (row_of("W_local"), row_of("io")),
        task="Drag `W_local` onto `io`.",
        keys="With the keyboard: press Enter on `W_local`, move to `io`, press Enter.",
        test=_copy_placed,
        hint=lambda func: _misplaced(func, _copy_of(func, "W"), "io"),
        result=_result_placed,
        calls=("sch.compute_at('W_local', io)",),
    ),
    Step(
        "Use the vector unit",
        "A and C are still in global memory, so the vector unit is idle. The same two calls move them to the chip: a copy of each, "
        "placed at `io`.",
        ("#area-headline .figures",),
        task="Apply cache_read to A and cache_write to C and move both copies to `io`, or let the tour do it.",
        test=_rest_placed,
        result=_result_rest,
        since=_copy_placed,
        calls=(
            "sch.cache_read('B', 0, 'local')",
            "sch.cache_write('C', 0, 'local')",
            "sch.compute_at('A_local', io)",
            "sch.reverse_compute_at('C_local', io)",
        ),
    ),
    Step(
        "Summary",
        "compute_at moves a computation to another loop. set_scope moves a buffer to another memory. cache_read and cache_write create "
        "copies of a function's parameters, and compute_at places the copies. Each call is one line in the notebook. Click a line to see "
        "the program after it. Undo removes it. Export writes the schedule as Python for TVM.",
        ("#area-notebook .steps",),
    ),
)


CALLS = TourPlan("tour", EXAMPLE, PROSE, STEPS, until="sch.compute_at(")

__all__ = ["CALLS"]
