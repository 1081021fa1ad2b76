"""Menu items that change a step: the factors of the split that made a loop, the scope of a block's buffer, the number of its slots."""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from ....engine.ir import ScheduleCall, Var
from ...document import Notebook
from ...document import State as Moment
from ...document.editing.revisions.steps import last_step, traced_steps
from ...state.row_ids import Handle
from .copies import scope_field, slot_field
from .entry import Chip, Entry, Field, field
from .facts import Facts
from .loops import factor_chips

SCOPED = ("set_scope", "cache_read", "cache_write", "cache_inplace", "read_at", "write_at")
"""The calls that choose the scope of a buffer."""

REVISED = ("split", "double_buffer", *SCOPED)

LABELS = {"split": ("Change factors…", "S"), "double_buffer": ("Change slots…", "K")}


def revisions_of(moment: Moment | None) -> dict[Handle, dict[str, Handle]]:
    """Loop or block -> the calls in its step that its row can change, each with the loop or block that the call made or was called on. The
    block that writes a cache has the call of the cache."""
    found: dict[Handle, dict[str, Handle]] = {}
    for step in () if moment is None else moment.schedule.trace.steps:
        if step.method in REVISED:
            for row, handle in _rows_of(step).items():
                methods = found.setdefault(row, {})
                if step.method in SCOPED:
                    for other in SCOPED:
                        methods.pop(other, None)
                methods[step.method] = handle
    return found


def _rows_of(step: ScheduleCall) -> dict[Handle, Handle]:
    """The rows that show what a step chose, with the handle by which the step is found."""
    match step.method:
        case "split":
            return {loop: loop for loop in step.results}
        case "cache_write":
            return {step.argument("block"): step.results[0]}
        case "double_buffer" | "set_scope":
            return {step.argument("block"): step.argument("block")}
        case _:
            return {step.results[0]: step.results[0]}


def revision_entries(facts: Facts, notebook: Notebook, count: int, row: str) -> list[Entry]:
    """The menu entries of a row that change a step of the program after `count` lines: `target` is the row of
    the message "revise"."""
    handles = revisions_of(notebook.states[count]).get(facts.ids[row], {})
    made: list[Entry] = []
    for method, handle in handles.items():
        step = last_step(notebook, count, (method,), handle)
        if step is None or not facts.ids.has(handle):
            continue
        fields = _fields(facts, traced_steps(notebook, step)[-1])
        if not fields:
            continue
        label, key = LABELS.get(method, ("Change scope…", "G"))
        text = f"{step.text}: the later steps are applied again"
        target = facts.ids.of(handle)
        made.append(Entry(method, label, key, text, "Steps", False, "", fields, revises=True, target=target))
    return made


def _fields(facts: Facts, step: ScheduleCall) -> list[Field]:
    """The fields of the arguments that can change; none for arguments that a form cannot show."""
    arguments = dict(step.arguments)
    match step.method:
        case "split":
            factors = cast("tuple[object, ...]", tuple(arguments["factors"]))
            if not all(factor is None or isinstance(factor, int) for factor in factors):
                return []
            text = ", ".join(map(str, factors))
            return [
                field("factors", "Factors", "ints", text, help="outermost first", chips=_chips(facts, step, factors))
            ]
        case "double_buffer":
            return [slot_field(arguments.get("slots", 2))]
        case _:
            return [replace(scope_field(facts), default=arguments["storage_scope"])]


def _chips(facts: Facts, step: ScheduleCall, factors: tuple[object, ...]) -> list[Chip] | None:
    """Other divisors for a split in two: the factor that is a number changes."""
    places = [n for n, factor in enumerate(factors) if isinstance(factor, int)]
    loops = [loop for loop in step.results if isinstance(loop, Var) and facts.index.has_loop(loop)]
    if len(factors) != 2 or len(places) != 1 or len(loops) != 2:
        return None
    return factor_chips(facts.extent_product(loops), places[0])
