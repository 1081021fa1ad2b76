"""The rows and costs of the displayed loop tree, for the page and for exported pictures."""

from __future__ import annotations

from ....engine.hwsim import Report
from ....engine.ir import PrimFunc
from ...state.derived import Store
from ...state.entries import Derived
from ...state.model import State
from ..inspector.value import held_buffers
from ..labels.sizes import buffer_bytes
from .costs import Cost, row_costs
from .rows import Known, Row, tree_rows
from .structure import marked_rows

_PARTS = Derived[Known]("parts of rows")
_ROWS = Derived["list[Row]"]("rows")


def rows_now(state: State, store: Store) -> list[Row]:
    """`tree_rows` of the displayed program with the selected step's changes marked; the same object while nothing changes."""
    assert state.moment is not None
    shown = state.moment
    func = shown.schedule.func
    held = held_buffers(state, func, store)
    live = {buffer: size for buffer, a in held.items() if (size := buffer_bytes(a.lowered)) is not None}
    known = store.remember(_PARTS(), dict)
    rows = store.remember(_ROWS(shown, store.sized(state, func)), lambda: tree_rows(func, live, shown, known))
    return marked_rows(rows, state, store)


def costs_now(state: State, store: Store) -> dict[str, Cost]:
    """`row_costs` of the displayed program; empty without a report."""
    assert state.moment is not None
    func, report = state.moment.schedule.func, store.known_report(state)
    return costs_of(report, func, store) if isinstance(report, Report) else {}


def costs_of(report: Report, func: PrimFunc, store: Store) -> dict[str, Cost]:
    """The costs of a program by its report, made once."""
    return store.once(row_costs, func, report)
