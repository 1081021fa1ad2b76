"""Data classes of an evaluated notebook; `evaluate` constructs them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from ...engine.adopt import LineState as State
from ...engine.data import DataValue
from ...engine.hwsim import Machine
from ...engine.ir import IRModule, Place, PrimFunc, Refusal, TilewrightError, Var
from ...engine.schedule import PRIMITIVES, Schedule
from ...engine.script import CallStep, Note
from .cells import Document

GIVEN_UP = "given-up"

DEFAULT_MACHINE = "dual-bank-npu"
"""The machine of a notebook that names none."""

Handle = Var | str
"""A loop or a block."""


class NotebookStep(msgspec.Struct, frozen=True, eq=False):
    """One schedule line after `sch = tilewright.Schedule(...)`.

    `first_trace_step` is the index of its first trace step (`schedule.trace.steps`), None if it was not applied. The first failing
    line has `error`; the lines after it are "skipped".
    """

    index: int
    text: str
    place: Place
    call: CallStep
    status: Literal["applied", "failed", "skipped"]
    first_trace_step: int | None = None
    error: TilewrightError | None = None


class Notebook(msgspec.Struct, frozen=True, eq=False):
    """An evaluated document. Parts that failed to evaluate are None, and `error` is the first error.

    `states[n]` is the state before step `n`; the last one is the current state. `schedule_name` is the schedule's variable in the file.
    `sizes` are values for the program's symbolic sizes, for simulation and tests; `data` is what is known of its integer parameters (they
    are also in `program`), of which `given` comes from outside of the file; `notes` are the parser's notes on the program.
    `unread`: the schedule's text cannot be read, so its steps are unknown.
    """

    document: Document
    program: IRModule | PrimFunc | None = None
    machine: Machine | None = None
    steps: tuple[NotebookStep, ...] = ()
    states: tuple[State, ...] = ()
    error: TilewrightError | None = None
    schedule_name: str = "sch"
    sizes: Mapping[str, int] = {}
    data: Mapping[str, DataValue] = {}
    given: Mapping[str, DataValue] = {}
    notes: tuple[Note, ...] = ()
    unread: bool = False

    def __repr__(self) -> str:
        where = self.document.path or "without a file"
        return f"<Notebook {where}: schedule lines: {len(self.steps)}, error: {self.error}>"

    @property
    def evaluated(self) -> bool:
        """Whether the document was evaluated. Notebooks from the file's history and cancelled ones have only their text."""
        return bool(self.states) or (self.error is not None and self.error.code != GIVEN_UP)

    @property
    def is_unread(self) -> bool:
        """Whether evaluation was never attempted."""
        return not self.states and self.error is None

    @property
    def schedule(self) -> Schedule | None:
        """The schedule after the last line that applied."""
        return self.states[-1].schedule if self.states else None

    @property
    def names(self) -> Mapping[str, Any]:
        """Variable -> handle (loop `Var` or block name) or tuple of handles."""
        return self.states[-1].names if self.states else {}

    @property
    def step_numbers(self) -> dict[int, int]:
        """Index -> number of each step, counted from 1. Queries, which leave the program as it is, have no number."""
        changing = [step.index for step in self.steps if step.call.method in PRIMITIVES]
        return {index: number for number, index in enumerate(changing, 1)}


def not_read(document: Document) -> Notebook:
    """The notebook of a document whose evaluation the user cancelled."""
    refusal = Refusal(
        GIVEN_UP, "the text was not evaluated, because this was stopped", expected="Resume, or another text"
    )
    return Notebook(document, error=TilewrightError(refusal), unread=True)


def revision_of(notebook: Notebook) -> int:
    """A checksum that identifies the text that a page shows."""
    return zlib.crc32(notebook.document.text.encode("utf-8", "surrogatepass"))
