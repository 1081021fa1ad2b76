"""The longest waits of engines, and the schedule step that introduced the cause of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....engine.export import step_of, steps_of
from ....engine.hwsim import EngineReport, Origin, Report, Wait
from ...document import NotebookStep
from ...document import State as Moment
from ...state.derived import Store
from ...state.entries import Derived
from ...state.model import State
from ..labels.numbers import grouped, percent_text
from ..labels.section import Section
from ..labels.values import Answer
from .causes import CAUSES

MOST = 6
"""The maximum number of stalls that are listed separately."""


_MADE_BY = Derived[dict[str, int]]("steps that made blocks")


def made_by(moments: Sequence[Moment], store: Store) -> dict[str, int]:
    """For each block and buffer the step (from 1 on) that made it, 0 for those of the program."""
    return store.remember(_MADE_BY(*moments), lambda: steps_of(moment.schedule.func for moment in moments))


def wait_rows(
    engines: Mapping[str, EngineReport], moments: Sequence[Moment], steps: Sequence[NotebookStep], store: Store
) -> list[tuple[str, str, str]]:
    """(engine and resource, cycles, description) of the longest waits."""
    waits = [(name, wait) for name, engine in engines.items() for wait in engine.waits]
    waits.sort(key=lambda entry: -entry[1].cycles)
    made = made_by(moments, store) if waits else {}
    rows: list[tuple[str, str, str]] = []
    for engine, wait in waits[:MOST]:
        what = wait.buffer or wait.block
        rows.append((f"{engine} ← {what}", grouped(wait.cycles), _explanation(wait, made, steps)))
    rest = sum(wait.cycles for _, wait in waits[MOST:])
    if rest:
        rows.append((f"{len(waits) - MOST} more", grouped(rest), "Shorter stalls"))
    return rows


class StepToBlame(Answer, frozen=True, tag="blamed"):
    """The step that introduced an awaited block or buffer, with its text; 0 for those of the original program."""

    step: int
    text: str


def step_to_blame(state: State, store: Store, buffer: str, block: str) -> StepToBlame:
    """The step that introduced the awaited block or buffer. Without a schedule, the step stored in the report."""
    if state.shown is None:
        return StepToBlame(0, "")
    if not state.shown.steps:
        return _known_origin(store.known_report(state), buffer, block)
    moments = state.shown.states[: state.step_count + 1]
    step = step_of(made_by(moments, store), buffer, block) or 0
    steps = state.shown.steps
    return StepToBlame(step, " ".join(steps[step - 1].text.split())) if 0 < step <= len(steps) else StepToBlame(0, "")


def _known_origin(report: object, buffer: str, block: str) -> StepToBlame:
    engines = report.engines.values() if isinstance(report, Report) else ()
    found = (w.origin for e in engines for w in e.waits if (w.buffer, w.block) == (buffer, block))
    origin = next((o for o in found if o is not None), Origin(0))
    return StepToBlame(origin.step, " ".join(origin.text.split()))


def blame_section(state: State, report: Report) -> Section | None:
    """The selected stall over the whole run, for the inspector; None once the report has no such stall."""
    blamed = state.blamed
    engine = report.engines.get(blamed.engine) if blamed is not None else None
    if blamed is None or engine is None:
        return None
    cycles = sum(
        w.cycles for w in engine.waits if (w.cause, w.buffer, w.block) == (blamed.cause, blamed.buffer, blamed.block)
    )
    if not cycles:
        return None
    rows = [
        ("cycles", grouped(cycles), "All such stalls of this engine over the run"),
        ("share", percent_text(cycles / max(1, report.cycles)), ""),
        ("cause", CAUSES[blamed.cause].title, ""),
        *((name, value, "") for name, value in (("buffer", blamed.buffer), ("held by", blamed.block)) if value),
    ]
    title = f"{blamed.engine} stalls"
    return Section(title, "timeline", None, rows, buffer=blamed.buffer)


def _explanation(wait: Wait, made: Mapping[str, int], steps: Sequence[NotebookStep]) -> str:
    block, buffer = wait.block, wait.buffer
    step = step_of(made, buffer, block) or 0
    said = CAUSES[wait.cause].reason(buffer or block, block)
    if not 0 < step <= len(steps):
        return said
    return f"{said}. Introduced by step {step}: {steps[step - 1].text}"
