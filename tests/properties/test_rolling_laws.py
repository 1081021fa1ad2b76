"""A law of rolling buffers: the meaning is kept, also after lowering, where tiles of cascades overlap."""

from __future__ import annotations

from hypothesis import given, note
from hypothesis import strategies as st
from support.programs.random_programs import cascade_programs

from tilewright.engine.execute import verify
from tilewright.engine.lower import lower
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import to_script


@given(cascade_programs(), st.data())
def test_law_rolling_buffers_keep_the_meaning_also_lowered(program, data):
    sch = Schedule(program)
    *producers, last = [n for n in sch.index.block_names if n != "root"]
    tiles = [sch.split(loop, [None, data.draw(st.integers(1, 4))]) for loop in sch.get_loops(last)[:2]]
    outer = [outer for outer, _ in tiles]
    try:
        sch.reorder(*outer, *(inner for _, inner in tiles))
        for producer in reversed(producers):
            sch.compute_at(producer, data.draw(st.sampled_from(outer)))
    except ScheduleError:
        return
    for producer in data.draw(st.permutations(producers)):
        try:
            sch.rolling_buffer(producer, 0)
        except ScheduleError:
            continue
        note(to_script(sch.mod))
        for result in (sch.func, lower(sch.func)):
            verdict = verify(result, program)
            assert verdict.status == "tested", verdict.detail
