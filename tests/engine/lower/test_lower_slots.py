"""Double buffering and flattening within axis separators."""

from __future__ import annotations

import numpy as np
import pytest
from support.programs.sources import matmul

from tilewright.engine.execute import random_inputs, run
from tilewright.engine.ir import AXIS_SEPARATOR, Allocate, Block, For, PrimFunc, build, walk_stmts
from tilewright.engine.lower import Allocation, allocations, banks_noted, lower
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse


def banked(m, k):
    return [k // 64 % 2, AXIS_SEPARATOR, m, k // 128, k % 64]


def staged(step: int = 64, layout=banked, double: bool = True, kind: str | None = None) -> Schedule:
    """The matmul of "Non contiguous memory" in docs/seeds.md, with A staged to VTCM at ko, in steps of `step` along k."""
    sch = Schedule(parse(matmul(128, 64, 512)).program)
    compute = sch.get_block("C")
    m, n, k = sch.get_loops(compute)
    mo, mi = sch.split(m, factors=[None, 64])
    ko, ki = sch.split(k, factors=[None, step])
    sch.reorder(mo, ko, mi, n, ki)
    copy = sch.cache_read(compute, 0, "local.vtcm")
    sch.compute_at(copy, ko)
    if layout is not None:
        sch.transform_layout(copy, ("write", 0), layout)
    if double:
        sch.double_buffer(copy)
    if kind is not None:
        getattr(sch, kind)(mo)
    return sch


def only(func: PrimFunc) -> Allocation:
    (found,) = allocations(func)
    return found


def shape(buffer) -> list[int | None]:
    return [build.int_value(e) for e in buffer.shape]


def test_two_slots_in_two_banks_are_two_by_4096():
    sch = staged()
    found = only(sch.func)
    assert found.buffer.name == "A_local.vtcm" or found.buffer.name == "A_local_vtcm"
    assert found.tile == (1, 64, 1, 64)
    assert found.slots == 2
    assert found.loop is sch.get_loops(sch.get_block("C"))[1]
    assert shape(found.lowered) == [2, 4096]
    assert found.lowered.axis_separators == (1,)
    (allocate,) = [s for s in walk_stmts(lower(sch.func)) if isinstance(s, Allocate)]
    assert shape(allocate.buffers[0]) == [2, 4096]


def test_two_halves_without_slots_are_two_by_4096():
    found = only(staged(step=128, double=False).func)
    assert (found.tile, found.slots) == ((2, 64, 1, 64), 1)
    assert shape(found.lowered) == [2, 4096]


def test_one_slot_without_a_layout_is_flat():
    found = only(staged(layout=None, double=False).func)
    assert (found.tile, found.slots, shape(found.lowered)) == ((64, 64), 1, [4096])


def test_two_slots_without_separators_are_flat_and_twice_as_large():
    found = only(staged(layout=None).func)
    assert (found.tile, found.slots, shape(found.lowered)) == ((64, 64), 2, [8192])


def test_two_slots_are_allocated_outside_their_loop():
    sch = staged()
    found = only(sch.func)
    lowered = lower(sch.func)
    allocate = next(s for s in walk_stmts(lowered) if isinstance(s, Allocate))
    assert isinstance(allocate.body, For) and allocate.body.loop_var is found.loop
    assert not any(
        key == "double_buffer_scope" for b in walk_stmts(lowered) if isinstance(b, Block) for key, _ in b.annotations
    )


@pytest.mark.slow
def test_two_slots_give_the_same_result():
    for sch in (staged(), staged(layout=None), staged(step=128)):
        inputs = random_inputs(sch.func)
        lowered = run(lower(sch.func), inputs)
        for name, array in run(sch.func, inputs).items():
            assert (lowered[name] == array).all()


@pytest.mark.sample(1)
@pytest.mark.parametrize("slots", [3, 4])
def test_more_slots_are_one_axis(slots):
    sch = staged(double=False)
    original = sch.func
    sch.double_buffer("A_local.vtcm", slots=slots)
    found = only(sch.func)
    assert (found.slots, shape(found.lowered)) == (slots, [slots, 4096])
    inputs = random_inputs(original, seed=1)
    expected, got = run(original, inputs), run(lower(sch.func), inputs)
    assert all(np.array_equal(got[name], expected[name]) for name in expected)


def test_three_slots_in_banks_are_a_group_of_three():
    sch = staged(layout=None, double=False)
    sch.double_buffer("A_local.vtcm", banks=(0, 1, 1), slots=3)
    assert shape(only(sch.func).lowered) == [3, 4096]
    (allocate,) = [s for s in walk_stmts(lower(sch.func)) if isinstance(s, Allocate)]
    assert banks_noted(allocate.annotations) == {allocate.buffers[0].name: (0, 1, 1)}


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ({"slots": 0}, "bad-slots"),
        ({"slots": 65}, "bad-slots"),
        ({"slots": 2.5}, "bad-slots"),
        ({"slots": "3"}, "bad-slots"),
        ({"slots": None}, "bad-slots"),
        ({"slots": 3, "banks": (0, 1)}, "bad-bank"),
    ],
)
def test_impossible_slots_are_refused(call, code):
    sch = staged(double=False)
    before = sch.func
    with pytest.raises(ScheduleError) as caught:
        sch.double_buffer("A_local.vtcm", **call)
    assert (caught.value.code, sch.func) == (code, before)


def test_doubling_again_ignores_removed_slots():
    sch = staged(layout=None, double=False)
    sch.double_buffer("A_local.vtcm", banks=(0, 1, 0), slots=3)
    sch.unannotate("A_local.vtcm", "double_buffer_scope")
    assert only(sch.func).slots == 1
    sch.double_buffer("A_local.vtcm")
    assert [key for key, _ in sch.index.block("A_local.vtcm").annotations] == ["double_buffer_scope"]
    assert shape(only(sch.func).lowered) == [8192]


@pytest.mark.parametrize("text", ["1", "-3", "1000000000", '"three"'])
def test_an_invalid_number_of_slots_is_two(text):
    sch = staged(layout=None)
    program = sch.func.script().replace(
        '"double_buffer_scope": 0', f'"double_buffer_scope": 0, "double_buffer_slots": {text}'
    )
    assert only(parse(program).program).slots == 2


def test_a_pipeline_has_as_many_versions_as_slots():
    sch = staged(layout=None, double=False)
    sch.double_buffer("A_local.vtcm", slots=4)
    sch.pipeline(sch.get_loops("A_local.vtcm")[1], [0, 1])
    assert only(sch.func).slots == 4
