"""The notebook file: reading, evaluation without running it, edits and saving, independent of any view.

`read_document`/`load_document` give a `Document` (the text, in cells), `evaluate` a `Notebook` (program, machine, schedule, names, steps),
`apply_call` and `append_call`/`replace_call`/`remove_call` return edited ones, `save_document` writes atomically.
"""

from .calls import schedule_calls
from .cells import Cell, CellKind, Document, read_document
from .editing.apply import append_call, insert_call, remove_call, replace_call, replace_cell, without_last_call
from .editing.branches import Branch, add_branch, branches, delete_branch, rename_branch, steps_shared, with_branch
from .editing.cells import cell_at, delete_cell, insert_cell, move_cell, with_prose
from .editing.conflicts import (
    Conflict,
    StepChange,
    conflict_of,
    failed_step,
    put_back,
    repaired,
    skip_conflicts,
    stop_at,
)
from .editing.fixes import apply_fix, apply_lint, is_applicable
from .editing.lines import apply_call, line_for, variable_of
from .editing.machine_parameters import with_parameter, without_parameters
from .editing.remove_step import RemovedSteps, remove_steps
from .editing.rename import editable_name, renamed
from .evaluate import evaluate
from .files.history import History
from .files.merging import merge, resolved
from .files.read_write import DocumentError, load_document, read_text, save_document, write_text
from .items import (
    Item,
    insert_item,
    item_of_step,
    move_item,
    move_item_into,
    remove_item,
    replace_item,
    schedule_items,
    switch_off,
    switch_on,
)
from .notebook import DEFAULT_MACHINE, Handle, Notebook, NotebookStep, State
from .origins import with_origins
from .pasted import Converted, converted, edited_cell
from .settings import DATA, SIZES, fields_of, is_data_line, sizes_for, with_sizes_line

__all__ = [
    "DATA",
    "DEFAULT_MACHINE",
    "SIZES",
    "Branch",
    "Cell",
    "CellKind",
    "Conflict",
    "Converted",
    "Document",
    "DocumentError",
    "Handle",
    "History",
    "Item",
    "Notebook",
    "NotebookStep",
    "RemovedSteps",
    "State",
    "StepChange",
    "add_branch",
    "append_call",
    "apply_call",
    "apply_fix",
    "apply_lint",
    "branches",
    "cell_at",
    "conflict_of",
    "converted",
    "delete_branch",
    "delete_cell",
    "editable_name",
    "edited_cell",
    "evaluate",
    "failed_step",
    "fields_of",
    "insert_call",
    "insert_cell",
    "insert_item",
    "is_applicable",
    "is_data_line",
    "item_of_step",
    "line_for",
    "load_document",
    "merge",
    "move_cell",
    "move_item",
    "move_item_into",
    "put_back",
    "read_document",
    "read_text",
    "remove_call",
    "remove_item",
    "remove_steps",
    "rename_branch",
    "renamed",
    "repaired",
    "replace_call",
    "replace_cell",
    "replace_item",
    "resolved",
    "save_document",
    "schedule_calls",
    "schedule_items",
    "sizes_for",
    "skip_conflicts",
    "steps_shared",
    "stop_at",
    "switch_off",
    "switch_on",
    "variable_of",
    "with_branch",
    "with_origins",
    "with_parameter",
    "with_prose",
    "with_sizes_line",
    "without_last_call",
    "without_parameters",
    "write_text",
]
