"""A law of proofs: a proved program agrees with a run, also after a random change. The schedule machine tests that accepted calls are not
refuted.
"""

from __future__ import annotations

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from msgspec.structs import replace as replace_fields
from support.programs.random_programs import programs
from support.schedules.calls import apply, calls

from tilewright.engine.execute import verify
from tilewright.engine.ir import BufferLoad, IntImm, Node, PrimFunc, build, rewrite, walk
from tilewright.engine.prove import prove
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import to_script

pytest.importorskip("islpy")


def scheduled(data: st.DataObject, program: PrimFunc) -> Schedule:
    sch = Schedule(program)
    for _ in range(data.draw(st.integers(1, 6))):
        try:
            apply(sch, data.draw(calls(sch)))
        except ScheduleError:
            continue
    return sch


def shifted(func: PrimFunc, n: int) -> PrimFunc:
    """The function with one of its loads shifted by one element, modulo the extent."""
    loads = [node for node in walk(func) if isinstance(node, BufferLoad) and node.indices]
    if not loads:
        return func
    target = loads[n % len(loads)]

    def leave(node: Node) -> Node:
        if isinstance(node, BufferLoad) and node.buffer is target.buffer and node.indices == target.indices:
            first, extent = node.indices[0], node.buffer.shape[0]
            moved = build.floormod(build.add(first, IntImm(1, first.dtype)), extent)
            return replace_fields(node, indices=(moved, *node.indices[1:]))
        return node

    return rewrite(func, leave)


@given(programs(), st.data(), st.integers(0, 7))
def test_law_proofs_of_changed_programs_agree_with_a_run(program, data, n) -> None:
    sch = scheduled(data, program)
    other, original = shifted(sch.func, n), sch.original[sch.func_name]
    note(to_script(other))
    if prove(other, original).status == "proved":
        verdict = verify(other, original)
        assert verdict.status != "failed", verdict.detail
