"""Fixes from findings and refusals, applied as schedule calls; names in a fix's text are resolved to handles of the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....engine.adopt import call_of, make_call
from ....engine.ir import For, Refusal, ScheduleCall, TilewrightError, Var, loops_and_blocks, replay
from ....engine.lint import Fix as LintFix
from ....engine.schedule import PRIMITIVES
from ....engine.script import CallStep, Ref, read_calls
from ..evaluate import evaluate
from ..files.read_write import DocumentError
from ..notebook import Notebook, NotebookStep, State
from ..settings import is_data_line, is_sizes_line, with_data_line, with_sizes_line
from .apply import remove_call, replace_call
from .kernel_edits import with_kernel_text
from .lines import apply_call, call_line


def fix_call(state: State, text: str) -> ScheduleCall:
    """The call in `text` ("sch.set_scope('B', 0, 'local')"). A name is a loop of the program, else a variable of the notebook.

    Raises TilewrightError unless it is a single call of a primitive with known names (placeholders such as "loop" are unknown).
    """
    calls = read_calls(text, "fix")
    if len(calls) != 1 or calls[0].method not in PRIMITIVES or calls[0].index is not None:
        raise DocumentError(Refusal("bad-fix", "the text is not a single schedule call", found=text))
    (call,) = calls
    return _resolved(state, call)


def is_applicable(state: State, calls: Sequence[str]) -> bool:
    """Whether the names in all `calls` can be resolved. Legality is known only after they are applied."""
    try:
        for text in calls:
            if not (is_sizes_line(text) or is_data_line(text)):
                fix_call(state, text)
    except TilewrightError:
        return False
    return bool(calls)


def apply_fix(notebook: Notebook, calls: Sequence[str]) -> Notebook:
    """The notebook with all of `calls` appended. Raises TilewrightError if one is refused; `notebook` is unchanged."""
    for text in calls:
        if is_sizes_line(text) or is_data_line(text):
            with_line = with_sizes_line if is_sizes_line(text) else with_data_line
            notebook = evaluate(with_line(notebook.document, text), notebook)
            continue
        notebook = apply_call(notebook, fix_call(notebook.states[-1], text))
    return notebook


def apply_steps(notebook: Notebook, steps: Sequence[ScheduleCall]) -> Notebook:
    """The notebook with calls appended that were traced on a copy of its schedule; result handles of the copy are mapped to the new ones.
    Raises TilewrightError if one is refused; `notebook` is unchanged."""

    def make(call: ScheduleCall) -> tuple[Var | str, ...]:
        nonlocal notebook
        if call.changes:
            notebook = apply_call(notebook, call)
            schedule = notebook.states[-1].schedule
        else:
            schedule = notebook.states[-1].schedule.copy()
            make_call(schedule, call)
        return schedule.trace.steps[-1].results

    replay(steps, make)
    return notebook


def apply_revision(notebook: Notebook, number: int, step: ScheduleCall | None) -> Notebook:
    """The notebook with the line of trace step `number` replaced by the call `step`, or removed for None. Raises TilewrightError if a
    later line fails after that; `notebook` is unchanged."""
    index = max(s.index for s in notebook.steps if s.first_trace_step is not None and s.first_trace_step <= number)
    document = notebook.document
    if step is None:
        document = remove_call(document, index)
    else:
        state = notebook.states[index]
        line = call_line(notebook, state, step)
        document = replace_call(document, index, _assigned(line, notebook.steps[index]))
    revised = evaluate(document, notebook)
    if revised.error is not None:
        raise revised.error
    return revised


def _assigned(line: str, step: NotebookStep) -> str:
    """The text of a call, assigned to the target variables of `step`."""
    if not step.call.targets:
        return line
    *lookups, call = line.split("\n")
    return "\n".join([*lookups, f"{step.text.partition('=')[0].rstrip()} = {call}"])


def apply_lint(notebook: Notebook, fix: LintFix) -> Notebook:
    """The notebook after a lint's fix: calls appended, one of its lines revised, or its kernel edited."""
    if fix.text:
        return with_kernel_text(notebook, fix.text)
    if fix.revision is not None:
        return apply_revision(notebook, fix.revision.number, fix.revision.step)
    return apply_steps(notebook, fix.steps)


def _resolved(state: State, call: CallStep) -> ScheduleCall:
    def value(given: Any) -> Any:
        if isinstance(given, Ref):
            return _handle(state, given)
        if isinstance(given, list | tuple):
            return type(given)(value(item) for item in given)
        return given

    return call_of(call.method, tuple(map(value, call.args)), {name: value(v) for name, v in call.kwargs.items()})


def _handle(state: State, ref: Ref) -> Any:
    loops: list[Var] = [
        stmt.loop_var
        for stmt in loops_and_blocks(state.schedule.func.body)
        if isinstance(stmt, For) and stmt.loop_var.name == ref.name
    ]
    if ref.index is None and len(loops) == 1:
        return loops[0]
    if ref.index is None and ref.name in state.names:
        return state.names[ref.name]
    raise DocumentError(Refusal("unknown-name", f"there is no single loop {ref.name!r} in the program"))
