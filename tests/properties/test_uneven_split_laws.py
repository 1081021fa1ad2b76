"""Laws of uneven splits: any accepted chain of fuse, split, reorder and loop kinds keeps the result, for constant and symbolic sizes."""

from __future__ import annotations

from hypothesis import event, given, note
from hypothesis import strategies as st
from support.programs.sources import UNEVEN_BODIES, uneven_program

from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

FACTORS = ([None, 2], [None, 3], [None, 8], [None, 16], [None, 2, 5], [4, None], [3, None], [2, None, 3])
SIZES = {"n": (1, 3, 7, 13), "m": (1, 5, 8, 12)}


def change(sch: Schedule, call: str, data: st.DataObject) -> None:
    loops = sch.get_loops("B")
    at = data.draw(st.integers(0, len(loops) - 1))
    match call:
        case "split":
            sch.split(loops[at], data.draw(st.sampled_from(FACTORS)))
        case "fuse":
            sch.fuse(*loops[at : at + 2])
        case "reorder":
            sch.reorder(*data.draw(st.permutations(loops)))
        case "bind":
            sch.bind(loops[at], "blockIdx.x")
        case "cache_write":
            sch.cache_write("B", 0, "local")
        case _:
            getattr(sch, call)(loops[at])


CALLS = st.sampled_from(("split", "split", "fuse", "reorder", "bind", "parallel", "vectorize", "cache_write"))


@given(
    st.sampled_from(sorted(UNEVEN_BODIES)),
    st.sampled_from(("3", "5", "n")),
    st.sampled_from(("8", "12", "m")),
    st.lists(CALLS, min_size=1, max_size=5),
    st.data(),
)
def test_law_accepted_calls_on_uneven_splits_keep_the_result(body, rows, columns, calls, data):
    sch = Schedule(parse(uneven_program(body, rows, columns)).program)
    for call in ("fuse", "split", *calls):
        before = sch.func
        try:
            change(sch, call, data)
        except ScheduleError as refused:
            assert sch.func is before
            event(f"{call}: {refused.code}")
    note(to_script(sch.func))
    sizes = {name: data.draw(st.sampled_from(SIZES[name])) for name in (rows, columns) if name in SIZES}
    verdict = sch.verify(sizes=sizes)
    assert verdict.status == "tested", f"{verdict.detail} for {sizes}"
