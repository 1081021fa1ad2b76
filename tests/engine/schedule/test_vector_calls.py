"""Schedule calls on programs with vectors: blocks of vectors move as others do, and no call splits a vector."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from support.programs.vectors import PADDED, STAGED, SUMS
from support.schedules.calls import apply, calls
from support.schedules.meaning import Meaning
from support.schedules.targets import assert_answers_confirmed

from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.ir import first_difference
from tilewright.engine.lower import LowerError, lower
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script


def staged() -> Schedule:
    return Schedule(parse(STAGED).program)


ACCEPTED: dict[str, Callable[[Schedule], object]] = {
    "a producer of its elements": lambda s: s.compute_at("B", s.get_loops("D")[1]),
    "a consumer of its elements": lambda s: s.reverse_compute_at("C", s.get_loops("D")[1]),
    "a copy of what it reads": lambda s: s.compute_at(s.cache_read("D", 0, "local"), s.get_loops("D")[1]),
    "a copy of what it writes": lambda s: s.reverse_compute_at(s.cache_write("D", 0, "local"), s.get_loops("D")[1]),
    "its loops": lambda s: s.split(s.fuse(*s.get_loops("D")), [None, 3]),
    "a layout of rows": lambda s: s.transform_layout("D", ("read", 0), lambda i, j: (i // 4, i % 4, j)),
    "its iterators": lambda s: s.transform_block_layout("D", lambda i, j: (i * 4 + j,)),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_calls_on_a_block_of_vectors_keep_the_meaning(name: str):
    sch = staged()
    ACCEPTED[name](sch)
    assert sch.verify().status == "tested"
    assert Meaning(staged().func).fault_of(sch, lower(sch.func)) == ""


TORN: dict[str, Callable[[Schedule], object]] = {
    "a layout that mixes its lanes": lambda s: s.transform_layout("D", ("read", 0), lambda i, j: (i, j // 2, j % 2)),
    "a layout with its lanes in front": lambda s: s.transform_layout("D", ("write", 0), lambda i, j: (j, i)),
    "elements put into it": lambda s: s.compute_inline("B"),
    "itself put into elements": lambda s: s.reverse_compute_inline("C"),
    "another type": lambda s: s.unsafe_set_dtype("B", 0, "float16"),
}


@pytest.mark.parametrize("name", TORN)
def test_call_that_would_split_a_vector_is_refused(name: str):
    sch = staged()
    before = sch.func
    with pytest.raises(ScheduleError) as refused:
        TORN[name](sch)
    assert refused.value.code == "vector-access"
    assert sch.func is before


def test_a_vector_with_gaps_does_not_fill_its_box():
    gaps = STAGED.replace("vj * 4:vj * 4 + 4]", "vj * 4:vj * 4 + 4:2]").replace("vj * 4, 1, 4)", "vj * 4, 2, 2)")
    gaps = gaps.replace("float32(2), 4)", "float32(2), 2)")
    sch = Schedule(parse(gaps).program)
    with pytest.raises(ScheduleError) as refused:
        sch.reverse_compute_at("C", sch.get_loops("D")[0])
    assert refused.value.code == "region-not-covered"


def test_vectors_are_unknown_to_proofs_and_moved_by_machines():
    sch = staged()
    sch.split(sch.get_loops("C")[1], [None, 4])
    assert sch.prove().status == "unknown"
    assert sch.check().status == "tested"
    assert simulate(sch.func, load_machine("matrix-vector-npu")).cycles > 0


@given(st.sampled_from([STAGED, SUMS]), st.data())
def test_law_calls_around_vectors_keep_the_meaning(text: str, data: st.DataObject):
    sch = Schedule(parse(text).program)
    meaning = Meaning(sch.func)
    for _ in range(data.draw(st.integers(1, 4))):
        call = data.draw(calls(sch))
        try:
            apply(sch, call)
        except ScheduleError:
            continue
        note(f"{call}\n{to_script(sch.func)}")
        assert meaning.fault_of(sch) == ""
        assert first_difference(sch.func, parse(to_script(sch.func)).program) is None
    try:
        lowered = lower(sch.func)
    except LowerError:
        return
    assert meaning.fault_of(sch, lowered) == ""


@given(st.sampled_from([STAGED, SUMS, PADDED]), st.data())
def test_law_verdicts_around_vectors_agree_with_the_calls(text: str, data: st.DataObject):
    sch = Schedule(parse(text).program)
    for _ in range(data.draw(st.integers(0, 3))):
        try:
            apply(sch, data.draw(calls(sch)))
        except ScheduleError:
            continue
    note(to_script(sch.func))
    assert_answers_confirmed(sch, data.draw(st.sampled_from(sch.index.block_names[1:])))


def test_thread_indices_stay_in_their_block():
    sch = Schedule(parse(SUMS).program)
    with pytest.raises(ScheduleError) as refused:
        sch.reindex("C", ("read", 0))
    assert refused.value.code == "opaque-iterator"


def test_threads_launched_around_blocks_are_loops():
    text = STAGED.replace(
        '    for i, j in T.grid(8, 16):\n        with T.sblock("C"):',
        '    i = T.launch_thread("threadIdx.x", 8)\n    for j in range(16):\n        with T.sblock("C"):',
    )
    at, _, last = text.rpartition('vi, vj = T.axis.remap("SS", [i, j])')
    text = f"{at}vi = T.axis.spatial(8, i)\n            vj = T.axis.spatial(16, j){last}"
    sch = Schedule(parse(text).program)
    thread, _ = sch.get_loops("C")
    assert (sch.get(thread).kind, sch.get(thread).thread_tag) == ("thread_binding", "threadIdx.x")
    sch.compute_at("D", thread)
    assert sch.verify().status == "tested"
