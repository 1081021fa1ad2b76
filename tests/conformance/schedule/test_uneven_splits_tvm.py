"""Fused loops split unevenly: calls on elementwise blocks that TVM accepts are accepted, with the same program."""

from __future__ import annotations

import pytest
from support.profile import samples
from support.programs.sources import uneven_program
from support.tvm.calls import ask_both

from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

pytestmark = pytest.mark.tvm

KINDS = {
    "bind": lambda outer, inner: ("bind", {"loop": outer, "thread_axis": "blockIdx.x"}),
    "parallel": lambda outer, inner: ("parallel", {"loop": outer}),
    "vectorize": lambda outer, inner: ("vectorize", {"loop": inner}),
    "reorder": lambda outer, inner: ("reorder", {"ordered_loops": (inner, outer)}),
    "cache_write": lambda outer, inner: (
        "cache_write", {"block": "B", "write_buffer_index": 0, "storage_scope": "local"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("factors", samples([[None, 16], [None, 5], [None, 2, 5]], [None, 5]))
@pytest.mark.parametrize(
    "sizes",
    samples(
        [("3", "8"), ("5", "12"), ("n", "8"), ("3", "m"), ("n", "m"), ("n * 4", "m"), ("n", "m * 4")],
        ("3", "8"),
        ("n", "m"),
    ),
)
@pytest.mark.parametrize("kind", KINDS)
def test_calls_on_unevenly_split_fused_loops_agree(kind: str, sizes: tuple[str, str], factors: list) -> None:
    sch = Schedule(parse(uneven_program("elementwise", *sizes)).program)
    *_, outer, inner = sch.split(sch.fuse(*sch.get_loops("B")), factors)
    outcome = ask_both(sch, KINDS[kind](outer, inner))
    assert not outcome.ours
    assert not outcome.difference or kind == "cache_write", "TVM's cache has rows past the end of the buffer"
