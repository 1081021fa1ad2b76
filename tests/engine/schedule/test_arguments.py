"""Blocks and buffers in each of TVM's forms lead to the same program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tilewright.engine.ir import first_difference
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse

TEXT = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16, 8), "float32"), C: T.Buffer((16, 8), "float32")):
    B = T.sblock_alloc_buffer((16, 8))
    for i, j in T.grid(16, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for x, y in T.grid(16, 8):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [x, y])
            C[vi, vj] = B[vi, vj] + T.float32(1)
"""

READS: dict[str, Callable[[Schedule, Any], object]] = {
    "cache_read": lambda s, b: s.cache_read("C", b, "local"),
    "reindex_cache_read": lambda s, b: s.reindex_cache_read("C", b, "local", lambda i, j: (j, i)),
    "read_at": lambda s, b: s.read_at(s.get_loop("x"), "C", b, "local"),
}
WRITES: dict[str, Callable[[Schedule, Any], object]] = {
    "cache_write": lambda s, b: s.cache_write("B", b, "local"),
    "reindex_cache_write": lambda s, b: s.reindex_cache_write("B", b, "local", lambda i, j: (j, i)),
    "set_scope": lambda s, b: s.set_scope("B", b, "local"),
    "storage_align": lambda s, b: s.storage_align("B", b, 0, 32, 8),
    "unsafe_set_dtype": lambda s, b: s.unsafe_set_dtype("B", b, "float64"),
    "write_at": lambda s, b: s.write_at(s.get_loop("i"), "B", b, "local"),
}
EITHER: dict[str, Callable[[Schedule, Any], object]] = {
    "reindex": lambda s, b: s.reindex("B", b),
    "transform_layout": lambda s, b: s.transform_layout("B", b, lambda i, j: [j, i]),
    "set_layout": lambda s, b: s.set_layout("B", b, [1, 0]),
}


def schedule() -> Schedule:
    return Schedule(parse(TEXT).program)


def named_b(sch: Schedule) -> Any:
    return next(b for b in sch.index.buffers if b.name == "B")


@pytest.mark.parametrize("name", [*READS, *WRITES, *EITHER])
def test_buffer_is_given_by_position_name_or_object(name: str) -> None:
    call = {**READS, **WRITES, **EITHER}[name]
    ways: list[Callable[[Schedule], Any]] = [lambda s: 0, lambda s: "B", named_b]
    if name in EITHER:
        ways = [lambda s: ("write", 0), lambda s: "B", named_b]
    modules = []
    for way in ways:
        sch = schedule()
        call(sch, way(sch))
        modules.append(sch.mod)
    assert all(first_difference(modules[0], other) is None for other in modules[1:])


@pytest.mark.parametrize("name", [*READS, *WRITES, *EITHER])
@pytest.mark.parametrize("wrong", ["nobody", 7, ("sideways", 0)])
def test_missing_buffer_is_refused_with_names(name: str, wrong: Any) -> None:
    sch = schedule()
    before = sch.mod
    with pytest.raises(ScheduleError) as refused:
        {**READS, **WRITES, **EITHER}[name](sch, wrong)
    assert refused.value.code in ("unknown-buffer", "bad-buffer-index") and refused.value.refusal.expected
    assert sch.mod is before


def test_loop_names_are_handles() -> None:
    by_name, by_handle = schedule(), schedule()
    by_name.compute_at("B", "x")
    by_handle.compute_at(by_handle.get_block("B"), by_handle.get_loops("C")[0])
    assert first_difference(by_name.mod, by_handle.mod) is None
    with pytest.raises(ScheduleError) as refused:
        by_name.split("nobody", [None, 4])
    assert refused.value.code == "unknown-loop"
