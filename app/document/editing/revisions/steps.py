"""The steps of a notebook and the calls that they made."""

from __future__ import annotations

from collections.abc import Sequence

from .....engine.ir import ScheduleCall, Var
from ...notebook import Notebook, NotebookStep


def last_step(notebook: Notebook, count: int, methods: Sequence[str], handle: Var | str) -> NotebookStep | None:
    """The last of the first `count` steps that calls one of `methods` on a block, or whose call made the loop or block `handle`."""
    for step in reversed(notebook.steps[:count]):
        if step.call.method not in methods or step.status != "applied":
            continue
        for traced in traced_steps(notebook, step):
            arguments = dict(traced.arguments)
            if any(result is handle or (isinstance(handle, str) and result == handle) for result in traced.results):
                return step
            if isinstance(handle, str) and not traced.results and arguments.get("block") == handle:
                return step
    return None


def traced_steps(notebook: Notebook, step: NotebookStep) -> tuple[ScheduleCall, ...]:
    """The calls that an applied line made."""
    before, after = notebook.states[step.index], notebook.states[step.index + 1]
    return after.schedule.trace.steps[len(before.schedule.trace.steps) :]


__all__ = ["last_step", "traced_steps"]
