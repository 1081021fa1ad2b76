"""Calls to schedule methods from lines and traces: allowed names, argument checks, and conversion of every error to a TilewrightError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ..export import named_arguments, signature_of
from ..ir import FAULTS, IndexMap, IntImm, Refusal, ScheduleCall, TilewrightError, Var, free_vars, internal_error
from ..schedule import PRIMITIVES, Schedule
from .arguments import find_wrong_argument
from .older_calls import current_arguments, current_name

SAMPLES = frozenset({"sample_categorical", "sample_perfect_tile", "sample_partitioned_tile", "sample_compute_location"})
"""Random decisions: a text has to give them, because it is evaluated again after each edit."""

_SINGLE = frozenset({"sample_categorical", "sample_compute_location"})

QUERIES = frozenset(
    {
        "get_block",
        "get_sblock",
        "get_loop",
        "get_loops",
        "get_child_blocks",
        "get_producers",
        "get_consumers",
        "get_output_blocks",
        "work_on",
        "enter_postproc",
        *SAMPLES,
    }
)
"""Schedule methods that lines can call besides the primitives."""


class LineError(TilewrightError):
    """An invalid line, detected before a primitive is called."""


def with_numbers(index_map: IndexMap, names: Mapping[str, Any]) -> IndexMap:
    """Return the map with names of earlier results, such as sampled factors, replaced by their numbers. Raises LineError."""
    free = {var for index in index_map.indices for var in free_vars(index)} - {*index_map.params}
    numbers: dict[Var, IntImm] = {}
    for var in (var for var in free if var.name in names):
        value = names[var.name]
        if not isinstance(value, int) or isinstance(value, bool):
            message = f"an index map cannot use {var.name!r}, which is not a number"
            raise LineError(Refusal("wrong-type", message, expected="numbers, sizes and the parameters of the map"))
        numbers[var] = IntImm(value, var.dtype)
    return index_map.replaced(numbers) if numbers else index_map


def call_of(method: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] = MappingProxyType({})) -> ScheduleCall:
    """Return the call `sch.method(*args, **kwargs)`; only primitives and queries are allowed. Raises LineError."""
    method = current_name(method)
    args, kwargs = current_arguments(method, args, kwargs)
    if method not in PRIMITIVES and method not in QUERIES:
        known = sorted({*PRIMITIVES, *QUERIES})
        raise LineError(
            Refusal("unknown-method", f"a schedule has no method {method!r}", expected="one of " + ", ".join(known))
        )
    try:
        return ScheduleCall(method, tuple(named_arguments(method, args, kwargs).items()))
    except TypeError as error:
        _, *parameters = signature_of(method).parameters
        raise LineError(
            Refusal("bad-arguments", f"{method}: {error}", expected=f"{method}({', '.join(parameters)})")
        ) from error


def make_call(schedule: Schedule, call: ScheduleCall) -> Any:
    """Make a call and return what its method returns. Every failure is a TilewrightError."""
    method, arguments = call.method, dict(call.arguments)
    if method in SAMPLES and arguments.get("decision") is None:
        example = "decision=1" if method in _SINGLE else "decision=[2, 8]"
        fix = ("the trace of a built schedule contains decisions",)
        raise LineError(Refusal("undecided-sample", f"{method} has no decision", expected=example, fix=fix))
    wrong = find_wrong_argument(method, arguments)
    if wrong is not None:
        raise LineError(wrong)
    try:
        return call.made_on(schedule)
    except FAULTS as error:
        raise LineError(internal_error(error, method)) from error
