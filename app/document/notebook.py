"""What is known of a notebook after reading it: values only, `evaluate` makes them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from ...engine.adopt import LineState as State
from ...engine.hwsim import Machine
from ...engine.ir import IRModule, Place, PrimFunc, Refusal, TilewrightError, Var
from ...engine.schedule import Schedule
from ...engine.script import CallStep, Note
from .cells import Document

GIVEN_UP = "given-up"

Handle = Var | str
"""A loop or a block."""


class NotebookStep(msgspec.Struct, frozen=True, eq=False):
    """One schedule line after `sch = tilewright.Schedule(...)`.

    `first_trace_step` is where its trace steps begin (`schedule.trace.steps`), None when it was not applied. The first line that
    fails has `error`; the lines after it are "skipped".
    """

    index: int
    text: str
    place: Place
    call: CallStep
    status: Literal["applied", "failed", "skipped"]
    first_trace_step: int | None = None
    error: TilewrightError | None = None


class Notebook(msgspec.Struct, frozen=True, eq=False):
    """An evaluated document. What could not be had is None, and `error` says why (the first one in the file's order).

    `states[n]` is the moment before step `n`; the last one is now. `schedule_name` is the schedule's variable in the file.
    `sizes` are numbers for the program's symbolic sizes, to simulate and to test with; `notes` what is to be
    said of the reading of its program. `unread`: the schedule's text cannot be read, so that nothing is known of its steps.
    """

    document: Document
    program: IRModule | PrimFunc | None = None
    machine: Machine | None = None
    steps: tuple[NotebookStep, ...] = ()
    states: tuple[State, ...] = ()
    error: TilewrightError | None = None
    schedule_name: str = "sch"
    sizes: Mapping[str, int] = {}
    notes: tuple[Note, ...] = ()
    unread: bool = False

    def __repr__(self) -> str:
        where = self.document.path or "without a file"
        return f"<Notebook {where}: schedule lines: {len(self.steps)}, error: {self.error}>"

    @property
    def evaluated(self) -> bool:
        """Whether this is known of the document, or only the text: of a notebook from the history of its file, of one not waited for."""
        return bool(self.states) or (self.error is not None and self.error.code != GIVEN_UP)

    @property
    def is_unread(self) -> bool:
        """Whether nobody tried to read the text."""
        return not self.states and self.error is None

    @property
    def schedule(self) -> Schedule | None:
        """The schedule after the last line that applied."""
        return self.states[-1].schedule if self.states else None

    @property
    def names(self) -> Mapping[str, Any]:
        """Variable -> handle (loop `Var` or block name) or tuple of handles."""
        return self.states[-1].names if self.states else {}


def not_read(document: Document) -> Notebook:
    """The document of a person who did not want to wait until it was read."""
    refusal = Refusal(GIVEN_UP, "the text was not read: this was stopped", expected="to go on with it, or another text")
    return Notebook(document, error=TilewrightError(refusal), unread=True)


def revision_of(notebook: Notebook) -> int:
    """By this the text is known that a page shows."""
    return zlib.crc32(notebook.document.text.encode("utf-8", "surrogatepass"))
