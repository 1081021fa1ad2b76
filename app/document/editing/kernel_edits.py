"""Edits of a TileLang kernel in its own text: the kernel's statements are its schedule, as long as no schedule call follows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....engine.adopt import KernelError, KernelStatements, KernelText, kernel_text, read_statements
from ....engine.ir import For, Refusal, Var, walk
from ..cells import Document
from ..evaluate import evaluate
from ..notebook import Handle, Notebook
from ..workload import is_kernel, workload_cell
from .apply import replace_cell

KERNEL_EDITS = (
    "kernel_stages",
    "kernel_value",
    "kernel_panel",
    "kernel_scope",
    "kernel_slots",
    "kernel_layout",
    "kernel_direct",
    "kernel_policy",
    "kernel_order",
)
"""Methods of the entries in a row's menu and of the layout picker that edit the kernel's text."""


def is_kernel_text(notebook: Notebook) -> bool:
    """Whether moves and menus edit the kernel's text: the program is a TileLang kernel without schedule calls."""
    return is_kernel(notebook.document) and not notebook.steps and bool(notebook.states)


def kernel_of(document: Document, values: Mapping[str, tuple[str, ...]] | None = None) -> KernelText | None:
    """The TileLang kernel of the workload cell, with the values to search; None for another program. Raises KernelError."""
    cell = workload_cell(document)
    return None if cell is None else kernel_text(cell.body.replace("\r\n", "\n"), values)


def text_of_kernel(notebook: Notebook | None) -> KernelText | None:
    """The TileLang kernel whose text is the schedule, with the values to search; None for other notebooks."""
    return None if notebook is None or not is_kernel_text(notebook) else kernel_of(notebook.document)


def statements_of(notebook: Notebook) -> KernelStatements:
    """The statements of the kernel. Raises KernelError "not-a-kernel"."""
    cell = workload_cell(notebook.document)
    if cell is None or not is_kernel_text(notebook):
        raise KernelError(Refusal("not-a-kernel", "the program is no TileLang kernel without schedule calls"))
    return read_statements(cell.body.replace("\r\n", "\n"))


def loop_number(notebook: Notebook, loop: Var) -> int:
    """The number of a loop in the text of the program. Raises KernelError "no-statement"."""
    loops = [node.loop_var for node in walk(notebook.states[-1].schedule.func.body) if isinstance(node, For)]
    if loop not in loops:
        raise KernelError(Refusal("no-statement", f"{loop.name} is no loop of the kernel"))
    return loops.index(loop)


def kernel_edited(notebook: Notebook, method: str, handle: Handle, arguments: Mapping[str, Any]) -> Notebook:
    """The notebook after an edit of its kernel's text. Raises KernelError if the text has no such edit, or reads as another program."""
    statements = statements_of(notebook)
    match method, handle, dict(arguments):
        case "kernel_stages", Var(), {"stages": int(stages)}:
            text = statements.with_stages(loop_number(notebook, handle), stages)
        case "kernel_value", _, {"name": str(name), "value": value}:
            text = statements.with_value(name, str(value))
        case "kernel_panel", _, {"panel": int(panel)}:
            text = statements.with_panel(panel)
        case "kernel_scope", str(), {"scope": str(scope)}:
            text = statements.with_scope(handle, scope)
        case "kernel_slots", str(), {"slots": int(slots)}:
            text = statements.with_slots(handle, slots)
        case "kernel_layout", str(), {"buffer": str(buffer), "layout": str(layout)}:
            text = statements.with_layout(buffer, layout)
        case "kernel_direct", str(), {}:
            text = statements.without_stop(handle)
        case "kernel_policy", str(), {"policy": str(policy)}:
            text = statements.with_policy(handle, policy)
        case "kernel_order", str(), {"side": "earlier" | "later" as side}:
            text = statements.moved(handle, side)
        case _:
            raise KernelError(
                Refusal("bad-arguments", f"{method} does not take these values", expected="the fields of its form")
            )
    return with_kernel_text(notebook, text)


def kernel_moved(notebook: Notebook, block: str, loop: Var) -> Notebook:
    """The notebook with a statement of its kernel in another loop. Raises KernelError."""
    return with_kernel_text(notebook, statements_of(notebook).moved_to(block, loop_number(notebook, loop)))


def with_kernel_text(notebook: Notebook, text: str) -> Notebook:
    """The notebook with `text` as the text of its kernel."""
    cell = workload_cell(notebook.document)
    assert cell is not None
    parsed = read_statements(text).parsed
    return evaluate(replace_cell(notebook.document, cell, text), notebook, parsed=None if parsed.notes else parsed)


__all__ = [
    "KERNEL_EDITS",
    "is_kernel_text",
    "kernel_edited",
    "kernel_moved",
    "kernel_of",
    "loop_number",
    "statements_of",
    "text_of_kernel",
    "with_kernel_text",
]
