"""Attribution of engine stalls to schedule steps: the step that introduced the buffer that an engine waits for.

A block or a buffer belongs to the first step whose program contains it; later moves and changes do not alter that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from ..hwsim import Origin, Report, Wait
from ..ir import Block, Node, PrimFunc, child_stmts
from ..schedule import Schedule
from .calls import step_text


def steps_of(programs: Iterable[PrimFunc]) -> dict[str, int]:
    """Map each block and buffer to the step that created it; `programs` are those after 0, 1, 2 … steps, and 0 is the initial program."""
    found: dict[str, int] = {}
    seen: set[Node] = set()
    for step, program in enumerate(programs):
        for block in _new_blocks(program, seen):
            for name in (block.name, *(buffer.name for buffer in block.alloc_buffers)):
                found.setdefault(name, step)
    return found


def _new_blocks(program: PrimFunc, seen: set[Node]) -> list[Block]:
    """Return the blocks of the statements that are not `seen`, and add these: consecutive programs share most of their statements."""
    found: list[Block] = []
    pending: list[Node] = [program.body]
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            pending += child_stmts(node)
            if isinstance(node, Block):
                found.append(node)
    return found


def step_of(made: Mapping[str, int], buffer: str, block: str) -> int | None:
    """Return the step that introduced a stall's cause: the block (or blocks, fused into one task) that holds the buffer, else the buffer.
    None if the cause is not a buffer but a queue, a port, or another engine's turn."""
    if not buffer:
        return None
    return max(made.get(name, 0) for name in block.split(" + ")) or made.get(buffer)


def attributed(report: Report, made: Mapping[str, int], text: Callable[[int], str]) -> Report:
    """Return the report with the origin of each wait, if known; `text` returns the text of a step."""

    def whence(wait: Wait) -> Wait:
        step = step_of(made, wait.buffer, wait.block)
        return wait if step is None else replace(wait, origin=Origin(step, text(step) if step else ""))

    engines = {name: replace(e, waits=tuple(map(whence, e.waits))) for name, e in report.engines.items()}
    return replace(report, engines=engines)


def attributed_to(report: Report, schedule: Schedule) -> Report:
    """Return the report with the origin of each wait among the schedule's calls, numbered as in `Schedule.at`."""
    made = steps_of(state.mod[schedule.func_name] for state in schedule.states)
    return attributed(report, made, lambda step: step_text(schedule.trace.steps[step - 1]))
