"""Revisions of a step: its line gets other arguments, and the later lines are applied again.

Only the text of the changed arguments is replaced. Later lines that no longer apply are reported, and can be switched off in the same edit.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ....engine.adopt import after_line
from ....engine.export import signature_of
from ....engine.ir import Refusal, Var
from ....engine.schedule import Step
from ....engine.schedule.value_text import BLOCK_PARAMETERS, value_text
from ....engine.script import python_tree, read_calls
from ..cells import Document
from ..evaluate import evaluate
from ..files.read_write import DocumentError
from ..items import item_of_step, switch_off
from ..notebook import Notebook, NotebookStep, State
from ..workload import program_names
from .apply import replace_call
from .conflicts import failed_step
from .lines import SEPARATOR, HandleTexts

LATER_STEPS = "later-steps"
"""The code of a revision that is refused because later lines no longer apply."""


class LostStep(msgspec.Struct, frozen=True):
    """A later line that no longer applies, and the reason."""

    text: str
    reason: str


class Revised(msgspec.Struct, frozen=True, eq=False):
    """The notebook after a revision. `lost` are the later lines that no longer apply; they are switched off in it."""

    notebook: Notebook
    lost: tuple[LostStep, ...] = ()

    def accepted(self, *, switch_off: bool = False) -> Notebook:
        """The notebook, if no line is lost or if lost lines may be switched off. Raises DocumentError "later-steps"."""
        if self.lost and not switch_off:
            count = len(self.lost)
            noun = "a later step no longer applies" if count == 1 else f"{count} later steps no longer apply"
            raise DocumentError(
                Refusal(
                    LATER_STEPS,
                    noun,
                    found="\n".join(f"{step.text}: {step.reason}" for step in self.lost),
                    expected="a revision that keeps them, or these steps switched off",
                )
            )
        return self.notebook


def revise(notebook: Notebook, index: int, arguments: Mapping[str, Any]) -> Revised:
    """The notebook with other `arguments` in its step `index`. Raises TilewrightError if that step is refused; `notebook` is unchanged."""
    text = revised_line(notebook, notebook.steps[index], notebook.states[index], arguments)
    return replayed(replace_call(notebook.document, index, text), notebook, index + len(read_calls(text)) - 1)


def replayed(document: Document, before: Notebook, revised: int) -> Revised:
    """The evaluated document; failing lines after the step `revised` are switched off. Raises the error of that step or an earlier one."""
    notebook = evaluate(document, before)
    lost: list[LostStep] = []
    while (failed := failed_step(notebook)) is not None:
        assert failed.error is not None
        if failed.index <= revised:
            raise failed.error
        lost.append(LostStep(failed.text, failed.error.refusal.message))
        off = switch_off(notebook.document, item_of_step(notebook.document, failed.index).index)
        notebook = evaluate(off, notebook)
    if notebook.error is not None:
        raise notebook.error
    return Revised(notebook, tuple(lost))


def revised_line(
    notebook: Notebook,
    step: NotebookStep,
    state: State,
    arguments: Mapping[str, Any],
    method: str | None = None,
) -> str:
    """The text of a step with other `arguments`, by parameter name, and another method; `state` is the state before the line. Loops without
    a variable get one on preceding lines. Items of a list that stay equal keep their text."""
    handles = HandleTexts(state.names, state.schedule, notebook.schedule_name, program_names(notebook.document))
    call = _call_of(step.text)
    method = method or step.call.method
    old = _traced_arguments(notebook, step)
    edits: list[tuple[int, int, str]] = []
    if method != step.call.method:
        assert isinstance(call.func, ast.Attribute)
        end = _offset(step.text, call.func.end_lineno, call.func.end_col_offset)
        edits.append((end - len(step.call.method), end, method))
    for name, value in arguments.items():
        text = _argument_text(name, value, handles)
        node = _argument_node(call, step.call.method, name)
        if node is None:
            end = _offset(step.text, call.end_lineno, call.end_col_offset) - 1
            edits.append((end, end, f", {name}={text}"))
        elif isinstance(value, list | tuple) and isinstance(node, ast.List | ast.Tuple):
            edits += _item_edits(step.text, node, value, old.get(name), lambda v, n=name: _argument_text(n, v, handles))
        else:
            edits.append((*_range(step.text, node), text))
    data = step.text.encode()
    for start, end, text in sorted(edits, reverse=True):
        data = data[:start] + text.encode() + data[end:]
    return "\n".join([*handles.lookups, data.decode()])


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


def traced_steps(notebook: Notebook, step: NotebookStep) -> tuple[Step, ...]:
    """The calls that an applied line made."""
    before, after = notebook.states[step.index], notebook.states[step.index + 1]
    return after.schedule.trace.steps[len(before.schedule.trace.steps) :]


def state_after(state: State, line: str, schedule_name: str) -> State:
    """The state after the statements of `line`. Raises TilewrightError."""
    for call in read_calls(line):
        state = after_line(state, call, schedule_name)
    return state


def _traced_arguments(notebook: Notebook, step: NotebookStep) -> dict[str, Any]:
    traced = traced_steps(notebook, step)
    return dict(traced[-1].arguments) if traced else {}


def _argument_text(name: str, value: Any, handles: HandleTexts) -> str:
    return value_text(value, handles.text_of, blocks=name in BLOCK_PARAMETERS, separator=SEPARATOR)


def _item_edits(
    text: str, node: ast.List | ast.Tuple, value: Sequence[Any], old: Any, text_of: Any
) -> list[tuple[int, int, str]]:
    """The edits of the items that differ; of the whole list if its length differs."""
    if not isinstance(old, list | tuple) or not len(old) == len(value) == len(node.elts):
        return [(*_range(text, node), text_of(value))]
    items = zip(node.elts, value, old, strict=True)
    return [(*_range(text, item), text_of(new)) for item, new, before in items if new != before]


def _call_of(text: str) -> ast.Call:
    """The call of a statement: `x = call`, `x = call[0]`, or `call`."""
    (statement,) = python_tree(text).body
    assert isinstance(statement, ast.Assign | ast.Expr)
    value = statement.value
    if isinstance(value, ast.Subscript):
        value = value.value
    assert isinstance(value, ast.Call)
    return value


def _argument_node(call: ast.Call, method: str, name: str) -> ast.expr | None:
    """The expression of a parameter in a call; None if the call leaves it out. Raises DocumentError for `*arguments`."""
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        raise DocumentError(
            Refusal("spread-arguments", f"the line passes {name} in a list of arguments", expected="separate arguments")
        )
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    position = list(signature_of(method).parameters).index(name) - 1
    return call.args[position] if position < len(call.args) else None


def _range(text: str, node: ast.expr) -> tuple[int, int]:
    return _offset(text, node.lineno, node.col_offset), _offset(text, node.end_lineno, node.end_col_offset)


def _offset(text: str, line: int | None, column: int | None) -> int:
    """The position of a line and byte column of `ast` in the UTF-8 text."""
    assert line is not None
    assert column is not None
    return sum(len(part.encode()) for part in text.splitlines(keepends=True)[: line - 1]) + column


__all__ = [
    "LATER_STEPS",
    "LostStep",
    "Revised",
    "last_step",
    "replayed",
    "revise",
    "revised_line",
    "state_after",
    "traced_steps",
]
