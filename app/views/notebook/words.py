"""Completions for the notebook's editor: calls with their parameters, and the values of these.

Computed on the editor's request, not with each update of the page.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Literal

from ....engine.adopt import QUERIES
from ....engine.hwsim import Machine, preset_names
from ....engine.ir import For, PrimFunc, Var, loops_and_blocks
from ....engine.schedule import PRIMITIVES, Schedule
from ...state.derived import Store
from ...state.model import State
from ...state.row_ids import row_ids
from ..labels.buffer_ids import buffer_ids
from ..labels.sizes import plain_text
from ..labels.values import Answer, Value
from ..menus import SCOPES, scopes_of
from ..menus.facts import THREADS


class CallParameter(Value, frozen=True):
    """A parameter of a call: `many`: it takes all further arguments; `named`: it is given by its name; `takes` is the kind of its value."""

    name: str
    default: str | None
    many: bool
    named: bool
    takes: str


class KnownCall(Value, frozen=True):
    """A call that a schedule cell may have."""

    name: str
    parameters: list[CallParameter]
    summary: str


class KnownHandle(Value, frozen=True):
    """A variable of the notebook."""

    name: str
    kind: Literal["loop", "block", "list"]
    detail: str


class Words(Answer, frozen=True, tag="words"):
    """The words for completion: the variable that calls are made on, the calls, the variables in the order of the
    text, and texts by kind."""

    schedule: str
    calls: list[KnownCall]
    handles: list[KnownHandle]
    strings: dict[str, list[str]]


KINDS = {
    "block": (
        "block",
        "block_or_loop",
        "reduction_block",
        "epilogue_block",
        "target",
        "consumer_blocks",
        "scope_block",
    ),
    "loop": ("loop", "loops", "ordered_loops"),
    "scope": ("storage_scope",),
    "thread": ("thread_axis",),
    "intrinsic": ("tensor_intrin",),
    "buffer": ("buffer",),
}
"""Kind of value -> the names of the parameters of this kind."""

_KIND_OF = {name: kind for kind, names in KINDS.items() for name in names}
_QUERY_TAKES = {"get_block": "block", "get_sblock": "block", "get_loop": "loop"}


def words_value(state: State, store: Store) -> Words:
    """The words for the editor of the open notebook."""
    notebook = state.good
    machine = store.machine(state)
    moment = state.moment
    func = None if moment is None else moment.schedule.func
    scopes = scopes_of(machine) if isinstance(machine, Machine) else SCOPES
    ids = row_ids(func) if func is not None else {}
    return Words(
        "sch" if notebook is None else notebook.schedule_name,
        store.once(calls_to_write),
        [] if notebook is None else list(_handles(notebook.names, func)),
        {
            "block": [handle for handle in ids.values() if isinstance(handle, str)],
            "loop": list(dict.fromkeys(handle.name for handle in ids.values() if isinstance(handle, Var))),
            "scope": list(scopes),
            "thread": list(THREADS),
            "intrinsic": [] if moment is None else sorted(moment.schedule.intrinsics),
            "buffer": [] if func is None else list(dict.fromkeys(buffer.name for buffer in buffer_ids(func).values())),
            "machine": list(preset_names()),
        },
    )


def calls_to_write() -> list[KnownCall]:
    """Every call that a schedule cell may have, primitives first, and `machine`."""
    found = [_call(name, primitive.apply, "") for name, primitive in PRIMITIVES.items()]
    found += [_call(name, getattr(Schedule, name), _QUERY_TAKES.get(name, "")) for name in sorted(QUERIES)]
    name = CallParameter("name", None, many=False, named=False, takes="machine")
    summary = "A machine preset, or a machine file in the notebook's folder."
    return [*found, KnownCall("machine", [name], summary)]


def _call(name: str, function: Callable[..., Any], takes: str) -> KnownCall:
    """The completion of a call. `takes` is the kind of its parameter "name"."""
    parameters: list[CallParameter] = []
    listed = False
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        parameters.append(
            CallParameter(
                parameter.name,
                None if parameter.default is parameter.empty else repr(parameter.default),
                parameter.kind is parameter.VAR_POSITIONAL,
                listed or parameter.kind is parameter.KEYWORD_ONLY,
                takes if parameter.name == "name" else _KIND_OF.get(parameter.name, ""),
            )
        )
        listed = listed or parameter.kind is parameter.VAR_POSITIONAL
    summary = (inspect.getdoc(function) or "").partition("\n")[0]
    return KnownCall(name, parameters, summary)


def _handles(names: Any, func: PrimFunc | None) -> Iterator[KnownHandle]:
    """The variables of the notebook: loops, blocks, lists of either. Those no longer in the program come last."""
    there = {} if func is None else {handle: row for row, handle in row_ids(func).items()}
    extents = _extents(func)
    later: list[KnownHandle] = []
    for name, handle in names.items():
        single = handle if isinstance(handle, Var | str) else None
        kind = "list" if single is None else "loop" if isinstance(single, Var) else "block"
        is_there = single is None or single in there
        detail = extents.get(single, "") if isinstance(single, Var) else single if single not in (None, name) else ""
        value = KnownHandle(name, kind, (detail or "") if is_there else "no longer in the program")
        if is_there:
            yield value
        else:
            later.append(value)
    yield from later


def _extents(func: PrimFunc | None) -> dict[Var, str]:
    if func is None:
        return {}
    return {stmt.loop_var: plain_text(stmt.extent) for stmt in loops_and_blocks(func.body) if isinstance(stmt, For)}
