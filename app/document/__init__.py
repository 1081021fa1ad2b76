"""The notebook file (DESIGN section 5): read it, know what it means without running it, edit it, save it. No screen here.

`read_document`/`load_document` give a `Document` (the text, in cells), `evaluate` a `Notebook` (program, machine, schedule, names, steps),
`apply_call` and `append_call`/`replace_call`/`remove_call` new ones, `save_document` writes atomically.
"""

from .calls import call_method, schedule_calls
from .cells import Cell, CellKind, Document, read_document
from .edit import append_call, insert_call, remove_call, replace_call, replace_cell, without_last_call
from .evaluate import evaluate
from .files import DocumentError, load_document, save_document
from .fixes import apply_fix, apply_lint, is_applicable
from .knobs import with_turn, without_turns
from .lines import apply_call, line_for, variable_of
from .notebook import Handle, Notebook, NotebookStep, State
from .pasted import Converted, converted, edited_cell
from .rename import editable_name, renamed
from .sizes import sizes_for, with_sizes_line
from .without import Without, replay_without

__all__ = [
    "Cell",
    "CellKind",
    "Converted",
    "Document",
    "DocumentError",
    "Handle",
    "Notebook",
    "NotebookStep",
    "State",
    "Without",
    "append_call",
    "apply_call",
    "apply_fix",
    "apply_lint",
    "call_method",
    "converted",
    "editable_name",
    "edited_cell",
    "evaluate",
    "insert_call",
    "is_applicable",
    "line_for",
    "load_document",
    "read_document",
    "remove_call",
    "renamed",
    "replace_call",
    "replace_cell",
    "replay_without",
    "save_document",
    "schedule_calls",
    "sizes_for",
    "variable_of",
    "with_sizes_line",
    "with_turn",
    "without_last_call",
    "without_turns",
]
