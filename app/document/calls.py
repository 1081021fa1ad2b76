"""The schedule lines of a notebook, read as data; `engine.adopt` applies them."""

from __future__ import annotations

from functools import lru_cache

from ...engine.ir import Refusal
from ...engine.script import CallStep, Ref, read_calls
from ..limits import LIMITS
from .cells import Document
from .files.read_write import DocumentError
from .settings import SIZES, calls_text
from .workload import program_names

MAX_STEPS = LIMITS.steps
"""The maximum number of schedule lines; a longer schedule is refused."""


def schedule_calls(document: Document) -> tuple[CallStep, ...]:
    """Every statement of the schedule cells in order, `sch = tilewright.Schedule(...)` first. Raises ParseError with its place."""
    calls = tuple(
        call
        for cell in document.of_kind("schedule")
        for call in _read(calls_text(cell, (SIZES,)), document.path or "", cell.body_line)
    )
    if len(calls) > MAX_STEPS:
        raise DocumentError(
            Refusal(
                "too-many-steps",
                f"the schedule has {len(calls)} lines",
                expected=f"at most {MAX_STEPS}",
                place=calls[MAX_STEPS].place,
            )
        )
    return calls


_read = lru_cache(maxsize=64)(read_calls)  # an edit and its views read the calls of the same text


def schedule_variable(call: CallStep, document: Document) -> str:
    """The schedule's variable name, from the first schedule line."""
    match call.receiver, call.method, call.args:
        case ("tilewright", "Schedule", [Ref(name=program)]) if len(call.targets) == 1 and program in program_names(
            document
        ):
            return call.targets[0]
        case _:
            names = " or ".join(f"sch = tilewright.Schedule({n})" for n in program_names(document))
            raise DocumentError(
                Refusal(
                    "no-schedule-line",
                    "the schedule cell must start by creating the schedule",
                    found=call.text,
                    expected=names,
                )
            )
