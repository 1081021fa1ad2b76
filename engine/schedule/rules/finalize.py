"""Postconditions of every call: vectors are whole, concurrent loops stay concurrent, and pipeline stages match the loop bodies.

A pipeline is a set of loop annotations with one entry for each part of the body. If a call changes the parts, each part keeps its
stage, a new part gets the stage of its neighbours, and a pipeline that cannot be lowered is refused. (TVM keeps the lists unchanged;
its InjectSoftwarePipeline fails on them later, or applies them to the wrong parts.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from msgspec.structs import replace as replace_fields

from ...ir import For, IntImm, PrimFunc, Var, replace_nodes, walk_stmts
from ...lower import PIPELINE_KEYS, LowerError, Plan, is_pipelined, stages_and_orders
from ..context import Context
from ..errors import ScheduleError, refuse
from .concurrent import require_still_concurrent
from .vectors import require_vectors

_INCREMENTAL = ("annotate", "unannotate")
"""Calls that write a pipeline as TVM does: one list after the other, valid only together."""

Numbers = tuple[int, ...]
Names = Sequence[frozenset[str]]


def finalize(ctx: Context, method: str, func: PrimFunc) -> PrimFunc:
    """Return `func`, the call's result for the context's function, with its pipelines updated.

    Refuses "too-large", "vector-access", "opaque-iterator", "stale-pipeline", and the refusals of `parallel`.
    """
    if func is not ctx.func:
        _require_small(ctx, func)
    if ctx.has_vectors or method == "tensorize":
        require_vectors(func, method)
    require_still_concurrent(ctx, method, func)
    if func is ctx.func or method in _INCREMENTAL or not ctx.pipelines:
        return func
    plan = ctx.after(func).plan
    for var, parts in ctx.pipelines.items():
        if (now := _find(func, var)) is not None and is_pipelined(now):
            func, plan = _with_stages(method, func, plan, ctx.index.loop(var), parts)
    return func


def _require_small(ctx: Context, func: PrimFunc) -> None:
    refusal = ctx.after(func).size.refusal
    if refusal is not None:
        raise ScheduleError(refusal)


def _with_stages(method: str, func: PrimFunc, plan: Plan, loop: For, parts: Names) -> tuple[PrimFunc, Plan]:
    """The function and its plan with updated stages: the old stages of the loop's `parts` are mapped to its current parts."""
    var = loop.loop_var
    fault = plan.fault(var)
    try:
        now = plan.names_of_parts(var)
    except LowerError as error:
        raise _stale(method, loop, fault or error) from error
    candidates = [None] if parts == now else _candidates(parts, now, *stages_and_orders(loop))
    for numbers in candidates:
        found, found_plan = (func, plan) if numbers is None else _noting(func, plan, var, *numbers)
        refused = found_plan.fault(var)
        if refused is None:
            return found, found_plan
        fault = fault or refused
    assert fault is not None
    raise _stale(method, loop, fault)


def _noting(func: PrimFunc, plan: Plan, var: Var, stages: Numbers, orders: Numbers) -> tuple[PrimFunc, Plan]:
    loop = _find(func, var)
    assert loop is not None
    notes = dict(loop.annotations)
    notes.update({k: tuple(map(IntImm, n)) for k, n in zip(PIPELINE_KEYS, (stages, orders), strict=False)})
    noted = replace_fields(loop, annotations=tuple(notes.items()))
    return replace_nodes(func, {loop: noted}), plan.with_notes(var, noted.annotations)


def _find(func: PrimFunc, var: Var) -> For | None:
    return next((s for s in walk_stmts(func.body) if isinstance(s, For) and s.loop_var is var), None)


def _candidates(parts: Names, now: Names, stages: Numbers, orders: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
    """Candidate stages and orders for the current parts. A part merged from several gets the last stage or the first. A new part gets the
    stage of the part after it, its likely consumer, or of the part before it.
    """
    came_from = [_origins(n, parts, now) for n in range(len(now))]
    if not any(came_from):
        return
    choices: tuple[Callable[..., int], ...] = (max, min)
    for choose, after in product(choices, (True, False)):
        known = {n: choose(olds, key=lambda k: stages[k]) for n, olds in enumerate(came_from) if olds}
        found: list[int] = []
        keys: list[tuple[int, int, int]] = []
        for n in range(len(now)):
            near = min(known, key=lambda k: (k < n if after else k > n, abs(k - n)))
            found.append(stages[known[near]])
            keys.append((orders[known[near]], (near < n) - (near > n), n))
        rows = sorted(range(len(now)), key=lambda n: keys[n])
        yield tuple(found), tuple(rows.index(n) for n in range(len(now)))


def _origins(n: int, parts: Names, now: Names) -> list[int]:
    """The old parts that a current part derives from: those that share blocks. An init and its update share theirs and match in order."""
    equal, peers = [k for k, p in enumerate(parts) if p == now[n]], [k for k, p in enumerate(now) if p == now[n]]
    if equal and len(equal) == len(peers):
        return [equal[peers.index(n)]]
    return [k for k, names in enumerate(parts) if names & now[n]]


def _stale(method: str, loop: For, fault: LowerError) -> Exception:
    name = loop.loop_var.name
    return refuse(
        "stale-pipeline", f"after {method} the pipeline over loop {name!r} could not be lowered: {fault.refusal.message}", loop,
        found=fault.refusal.found, expected="a loop body that matches the stages of the pipeline; annotate the pipeline last",
        fix=tuple(f"sch.unannotate({name}, {key!r})" for key, _ in loop.annotations if key in PIPELINE_KEYS),
    )  # fmt: skip
