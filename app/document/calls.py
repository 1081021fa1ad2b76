"""The schedule lines of a notebook, read as data; `engine.adopt` applies them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache

from ...engine.ir import Refusal
from ...engine.script import CallStep, Ref, find_tree, read_calls
from ...engine.script.subset.bindings import EVERY_NAME, bound_names
from ..limits import LIMITS
from .cells import Cell, Document
from .files.read_write import DocumentError
from .settings import DATA, SIZES, calls_text
from .workload import program_names

MAX_STEPS = LIMITS.steps
"""The maximum number of schedule lines; a longer schedule is refused."""


def schedule_calls(document: Document) -> tuple[CallStep, ...]:
    """Every statement of the schedule cells in order, `sch = tilewright.Schedule(...)` first. Raises ParseError with its place."""
    calls: list[CallStep] = []
    assigned: set[str] = set()  # names with the value of a schedule line
    rebound: dict[str, Cell] = {}  # those that another cell gives another value since
    for cell in document.cells:
        if cell.kind == "schedule":
            for call in _read(calls_text(cell, (SIZES, DATA)), document.path or "", cell.body_line):
                _require_own(call, rebound)
                assigned |= {*call.targets}
                rebound = {name: by for name, by in rebound.items() if name not in call.targets}
                calls.append(call)
        elif cell.kind == "code" and assigned:
            tree = find_tree(cell.body)
            names = frozenset[str]() if tree is None else bound_names(tree)
            rebound |= dict.fromkeys(assigned if EVERY_NAME in names else names & assigned, cell)
    if len(calls) > MAX_STEPS:
        raise DocumentError(
            Refusal(
                "too-many-steps",
                f"the schedule has {len(calls)} lines",
                expected=f"at most {MAX_STEPS}",
                place=calls[MAX_STEPS].place,
            )
        )
    return tuple(calls)


def _require_own(call: CallStep, rebound: Mapping[str, Cell]) -> None:
    """Require that a line uses no name to which Python code of another cell gives another value. Raises DocumentError "rebound"."""
    tree = find_tree(call.text) if rebound else None
    used = (
        {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        if tree
        else set[str]()
    )
    for name in sorted(used & rebound.keys()):
        raise DocumentError(
            Refusal(
                "rebound",
                f"a cell of Python code changes {name}, and its code is never run",
                found=f"{name}, in the cell at line {rebound[name].first_line}",
                expected="names that only lines of the schedule change",
                fix=(f"rename {name} in the other cell",),
                place=call.place,
            )
        )


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
