"""Revisions of a step: its line gets other arguments, and the later lines are applied again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .....engine.export import SEPARATOR
from .....engine.schedule.value_text import BLOCK_PARAMETERS, value_text
from ...notebook import Notebook, NotebookStep, State
from ...workload import program_names
from ..lines import HandleTexts
from .later_lines import LaterLines, Revised
from .statement import with_arguments
from .steps import traced_steps


def revise(notebook: Notebook, index: int, arguments: Mapping[str, Any]) -> Revised:
    """The notebook with other `arguments` in its step `index`. Raises TilewrightError if that step is refused; `notebook` is unchanged."""
    step = notebook.steps[index]
    lines = LaterLines(notebook, index)
    lines.add(revised_line(notebook, step, notebook.states[index], arguments), step)
    lines.repeat_all(notebook.steps[index + 1 :])
    return lines.finish()


def revised_line(
    notebook: Notebook,
    step: NotebookStep,
    state: State,
    arguments: Mapping[str, Any],
    method: str = "",
) -> str:
    """The text of a step with other `arguments`, by parameter name, and another method; `state` is the state before the line. Loops without
    a variable get one on preceding lines."""
    handles = HandleTexts(state.names, state.schedule, notebook.schedule_name, program_names(notebook.document))

    def text_of(name: str, value: Any) -> str:
        return value_text(value, handles.text_of, blocks=name in BLOCK_PARAMETERS, separator=SEPARATOR)

    traced = traced_steps(notebook, step)
    old = dict(traced[-1].arguments) if traced else {}
    text = with_arguments(step.text, step.call.method, arguments, old, text_of, method)
    return "\n".join([*handles.lookups, text])


__all__ = ["revise", "revised_line"]
