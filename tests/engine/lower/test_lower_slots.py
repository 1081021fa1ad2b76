"""Double buffering and flattening within axis separators."""

from __future__ import annotations

from support.programs.sources import matmul

from tilewright.engine.execute import random_inputs, run
from tilewright.engine.ir import AXIS_SEPARATOR, Allocate, Block, For, PrimFunc, build, walk_stmts
from tilewright.engine.lower import Allocation, allocations, lower
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


def banked(m, k):
    return [k // 64 % 2, AXIS_SEPARATOR, m, k // 128, k % 64]


def staged(step: int = 64, layout=banked, double: bool = True, kind: str | None = None) -> Schedule:
    """The matmul of seeds/002 with A staged to VTCM at ko, in steps of `step` along k."""
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


def test_given_two_slots_in_two_banks_when_lowered_then_two_by_4096():
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


def test_given_two_halves_without_slots_when_lowered_then_two_by_4096():
    found = only(staged(step=128, double=False).func)
    assert (found.tile, found.slots) == ((2, 64, 1, 64), 1)
    assert shape(found.lowered) == [2, 4096]


def test_given_one_slot_and_no_layout_when_lowered_then_flat():
    found = only(staged(layout=None, double=False).func)
    assert (found.tile, found.slots, shape(found.lowered)) == ((64, 64), 1, [4096])


def test_given_two_slots_without_separators_when_lowered_then_flat_and_twice_as_large():
    found = only(staged(layout=None).func)
    assert (found.tile, found.slots, shape(found.lowered)) == ((64, 64), 2, [8192])


def test_given_two_slots_when_lowered_then_the_allocation_is_outside_of_the_loop_that_takes_turns():
    sch = staged()
    found = only(sch.func)
    lowered = lower(sch.func)
    allocate = next(s for s in walk_stmts(lowered) if isinstance(s, Allocate))
    assert isinstance(allocate.body, For) and allocate.body.loop_var is found.loop
    assert not any(
        key == "double_buffer_scope" for b in walk_stmts(lowered) if isinstance(b, Block) for key, _ in b.annotations
    )


def test_given_two_slots_when_run_then_the_same_result():
    for sch in (staged(), staged(layout=None), staged(step=128)):
        inputs = random_inputs(sch.func)
        lowered = run(lower(sch.func), inputs)
        for name, array in run(sch.func, inputs).items():
            assert (lowered[name] == array).all()
