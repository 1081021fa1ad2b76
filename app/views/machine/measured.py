"""The times of the program on this computer, beside the predicted ones."""

from __future__ import annotations

from collections.abc import Sequence

from ....engine.ir import TilewrightError
from ....engine.measure import TimedRow, time_text
from ...state.derived import MEASURED, Store, sizes_of
from ...state.model import State
from ..labels.values import Value


class MeasuredRow(Value, frozen=True):
    """A program: its name, the predicted and the measured time, the spread of the samples, their ratio, and what is wrong with it."""

    name: str
    predicted: str
    measured: str
    spread: str
    ratio: str
    problem: str


class MeasuredTimes(Value, frozen=True):
    """The measured times, the computer and compiler (`host`), the machine that predicts, and why there are no times (`problem`).
    `is_running`: they were asked for and are not known yet."""

    rows: Sequence[MeasuredRow] = ()
    host: str = ""
    machine: str = ""
    problem: str = ""
    is_running: bool = False


def measured_value(state: State, store: Store) -> MeasuredTimes:
    """The times of the displayed program; no rows until they are known."""
    if state.moment is None:
        return MeasuredTimes()
    func = state.moment.schedule.func
    found = store.known(MEASURED(func, sizes_of(state, func), store.machine(state)))
    if isinstance(found, TilewrightError):
        return MeasuredTimes(problem=found.refusal.message)
    if found is None:
        return MeasuredTimes(is_running=state.measured is func)
    host = found.measured.host
    return MeasuredTimes(
        [_row(row) for row in found.rows],
        f"{host.processor}, one thread; {host.compiler}, {host.flags}",
        found.machine,
        found.measured.disturbance,
    )


def _row(row: TimedRow) -> MeasuredRow:
    warm, ratio = row.times.warm, row.predicted_to_measured
    return MeasuredRow(
        row.times.name,
        "" if row.predicted_us is None else time_text(row.predicted_us),
        "" if warm is None else time_text(warm.median),
        "" if warm is None else warm.range_text,
        "" if ratio is None else f"{ratio:.2f}",
        row.times.refusal or row.times.difference or "",
    )
