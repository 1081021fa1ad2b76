"""Which step of a schedule brought in what an engine waits for: the line to look at.

A block or a buffer comes from the step after which it is first there; what is moved or changed later stays its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from ..hwsim import Origin, Report, Wait
from ..ir import Block, PrimFunc, walk_stmts
from ..schedule import Schedule
from .calls import step_text


def names_in(func: PrimFunc) -> list[str]:
    """The blocks of a program, and the buffers they allocate."""
    blocks = [node for node in walk_stmts(func.body) if isinstance(node, Block)]
    return [block.name for block in blocks] + [buffer.name for block in blocks for buffer in block.alloc_buffers]


def steps_of(programs: Iterable[PrimFunc], names: Callable[[PrimFunc], Iterable[str]] = names_in) -> dict[str, int]:
    """For each block and buffer the step that made it, where `programs` are those after 0, 1, 2 … steps: 0 is the program itself."""
    found: dict[str, int] = {}
    before: PrimFunc | None = None
    for step, program in enumerate(programs):
        if program is not before:  # a query leaves it as it is
            for name in names(program):
                found.setdefault(name, step)
        before = program
    return found


def step_of(made: Mapping[str, int], buffer: str, block: str) -> int | None:
    """The step that brought in what is waited for: a buffer in the hands of a block (or of several that run as one task), else the buffer.
    None where it is no buffer, but a queue, a port, or another engine's turn."""
    if not buffer:
        return None
    return max(made.get(name, 0) for name in block.split(" + ")) or made.get(buffer)


def attributed(report: Report, made: Mapping[str, int], text: Callable[[int], str]) -> Report:
    """The report with the origin of each wait, as far as it is known; `text` is what a step says."""

    def whence(wait: Wait) -> Wait:
        step = step_of(made, wait.buffer, wait.block)
        return wait if step is None else replace(wait, origin=Origin(step, text(step) if step else ""))

    engines = {name: replace(e, waits=tuple(map(whence, e.waits))) for name, e in report.engines.items()}
    return replace(report, engines=engines)


def attributed_to(report: Report, schedule: Schedule) -> Report:
    """The report with the origin of each wait among the schedule's calls, numbered as `Schedule.at` counts them."""
    made = steps_of(state.mod[schedule.func_name] for state in schedule.states)
    return attributed(report, made, lambda step: step_text(schedule.trace.steps[step - 1]))
