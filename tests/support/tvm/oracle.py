"""Real TVM as the judge: the same calls on the same text, both refuse or both give structurally equal programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest
from support.tvm.recorded import agreed
from support.tvm.text import tvm_read

from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

tvm = pytest.importorskip("tvm")

REFUSALS = (tvm.s_tir.schedule.ScheduleError, tvm.error.InternalError, ValueError, TypeError, IndexError, KeyError)
"""How TVM says no, or fails."""

Calls = Callable[[Any], object]
"""Schedule calls, written once for both: `get_sblock`, TVM's method names, handles passed through."""


@lru_cache(maxsize=64)
def tvm_parse(text: str) -> Any:
    """`tvm_read`, as an IRModule. Nobody changes one: passes and schedules make new ones."""
    return _as_module(tvm_read(text))


def _as_module(found: Any) -> Any:
    return (
        found
        if isinstance(found, tvm.ir.IRModule)
        else tvm.ir.IRModule({"main": found.with_attr("global_symbol", "main")})
    )


def tvm_schedule(text: str) -> Any:
    return tvm.s_tir.Schedule(tvm_parse(text))


def assert_same_program(ours: str, theirs: Any) -> None:
    """Our text, read by TVM, is structurally equal to TVM's module after both are simplified."""
    difference = same_program(ours, theirs)
    assert not difference, difference


def same_program(ours: str, theirs: Any) -> str:
    """Empty when our text is structurally equal to TVM's module after both are simplified, else where they differ.

    Of accesses that are clamped, TVM writes regions as chains of min and max: when only regions differ, both are found anew.
    """
    found = _difference(tvm_parse(ours), theirs)
    if _IN_REGIONS.search(found.partition("\n")[0]):
        return _difference(tvm_parse(_without_regions(ours)), tvm_parse(_without_regions(theirs.script())))
    return found


_IN_REGIONS = re.compile(r"\.(reads|writes)\b")


def same_but_regions(ours: str, theirs: Any) -> str:
    """`same_program`, with all regions found anew: calls here add what a block of the program does not declare (docs/differences.md)."""
    texts = (_without_regions(text) for text in (ours, theirs.script()))
    return _difference(
        *(_as_module(tvm_read(text, well_formed=False)) for text in texts)
    )  # a region may use a let inside


def _difference(ours: Any, theirs: Any) -> str:
    simplify = tvm.tirx.transform.StmtSimplify()
    try:
        tvm.ir.assert_structural_equal(simplify(_plain(ours)), simplify(_plain(theirs)), map_free_vars=True)
    except ValueError as error:
        return str(error)
    return ""


def _without_regions(text: str) -> str:
    """TVMScript without T.reads and T.writes, which may run over several lines."""
    kept: list[str] = []
    open_parentheses = 0
    for line in text.splitlines():
        if open_parentheses or line.lstrip().startswith(("T.reads(", "T.writes(")):
            open_parentheses += line.count("(") - line.count(")")
        else:
            kept.append(line)
    return "\n".join(kept)


def _plain(mod: Any) -> Any:
    """The one function without its symbol: names do not change what is computed."""
    (function,) = mod.functions.values()
    return tvm.ir.IRModule(
        {"main": function.without_attr("global_symbol") if "global_symbol" in function.attrs else function}
    )


def outcome(schedule: Any, calls: Calls, refusals: tuple[type[BaseException], ...]) -> bool:
    """Whether the calls were all accepted."""
    try:
        calls(schedule)
    except refusals:
        return False
    return True


def assert_agrees(text: str, calls: Calls) -> None:
    """Both accept with equal programs, or both refuse."""
    ours = Schedule(parse(text).program)
    accepted = outcome(ours, calls, (ScheduleError,))
    made = to_script(ours.mod) if accepted else ""

    def ask() -> None:
        theirs = tvm_schedule(text)
        accepted_by_tvm = outcome(theirs, calls, REFUSALS)
        assert accepted == accepted_by_tvm, f"Tilewright {'accepts' if accepted else 'refuses'}, TVM does not agree"
        if accepted:
            assert_same_program(made, theirs.mod)

    agreed(f"{text}\n{made}", ask)
