"""Laws of schedules on programs that no front end makes: an accepted call keeps the meaning, whatever the program."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, event, given, note, settings
from hypothesis import strategies as st
from support.calls import apply, calls, describe
from support.naive import equal_arrays
from support.races import find_race
from support.wild_programs import wild_programs

from tilewright.engine.execute import ExecuteError, run
from tilewright.engine.hwsim import MachineError, load_machine, simulate
from tilewright.engine.ir import first_difference
from tilewright.engine.lower import LowerError, lower
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

FEWER = settings(max_examples=max(20, settings().max_examples // 2))
CONCURRENT = ("parallel", "vectorize")
MACHINE = load_machine("matrix-vector-npu")


def given_values(func):
    """A value for every element of every parameter, also of those that are only written: what is not written must stay."""
    generator = np.random.default_rng(1)
    return {b.name: _values(generator, b) for b in func.buffers}


def _values(generator, buffer):
    eighths = generator.integers(-16, 17, [e.value for e in buffer.shape])
    return (eighths / (8 if buffer.dtype.startswith("float") else 1)).astype(buffer.dtype)


def outputs(func, arrays):
    """What the function leaves in its parameters; None when it cannot be run, reads what nobody wrote, or leaves its buffers."""
    try:
        return run(func, arrays)
    except ExecuteError:
        return None


def assert_same_meaning(func, arrays, expected):
    """The function leaves the same values; what the executor does not know is passed over."""
    try:
        found = run(func, arrays)
    except ExecuteError as error:
        assert error.code == "unsupported", error
        return
    for name, values in expected.items():
        assert equal_arrays(found[name], values), f"{name} is {found[name].tolist()}, was {values.tolist()}"


@FEWER
@given(wild_programs(), st.data())
def test_given_a_wild_program_when_calls_are_accepted_then_the_meaning_is_kept(text, data):
    sch = Schedule(parse(text).program)
    arrays = given_values(sch.func)
    expected = outputs(sch.func, arrays)
    assume(expected is not None)
    note(text)
    for _ in range(data.draw(st.integers(1, 6))):
        before = sch.mod
        call = data.draw(calls(sch))
        try:
            apply(sch, call)
        except ScheduleError as refused:
            assert refused.code and refused.refusal.message
            assert sch.mod is before, "a refusal must leave the schedule as it was"
            continue
        event(f"accepted {call[0]}")
        note(describe(sch.trace.steps[-1]))
        note(to_script(sch.func))
        assert_same_meaning(sch.func, arrays, expected)
        assert sch.verify().status != "failed", sch.verify().detail
        if call[0] in CONCURRENT:
            assert not find_race(sch.func, arrays), find_race(sch.func, arrays)
    assert first_difference(sch.replayed().mod, sch.mod) is None


@given(wild_programs(), st.data())
def test_given_a_wild_program_when_targets_are_asked_then_the_calls_agree_and_keep_the_meaning(text, data):
    sch = Schedule(parse(text).program)
    arrays = given_values(sch.func)
    expected = outputs(sch.func, arrays)
    block = data.draw(st.sampled_from(sch.index.block_names))
    for target in sch.legal_targets(block):
        trial = sch.copy()
        try:
            getattr(trial, target.primitive)(block, target.loop)
            assert target.legal, f"{target.primitive}({block}, {target.loop.name}) works, and is said to be illegal"
        except ScheduleError as refused:
            assert not target.legal and target.refusal.code == refused.code
            continue
        event("legal")
        if expected is not None:
            assert_same_meaning(trial.func, arrays, expected)


@given(wild_programs(), st.data())
def test_given_a_wild_program_when_each_call_on_a_block_is_tried_then_the_meaning_is_kept(text, data):
    sch = Schedule(parse(text).program)
    arrays = given_values(sch.func)
    expected = outputs(sch.func, arrays)
    assume(expected is not None)
    note(text)
    block = data.draw(st.sampled_from([n for n in sch.index.block_names if n != "root"]))
    for call in data.draw(every_call(sch, block)):
        trial = sch.copy()
        try:
            apply(trial, call)
        except ScheduleError:
            assert trial.mod is sch.mod
            continue
        event(f"accepted {call[0]}")
        note(describe(trial.trace.steps[-1]))
        assert_same_meaning(trial.func, arrays, expected)
        if call[0] in CONCURRENT:
            assert not find_race(trial.func, arrays), find_race(trial.func, arrays)


@st.composite
def every_call(draw, sch, block):
    """The calls that name a block or a loop around it, with one choice of arguments each."""
    loops = [f.loop_var for f in sch.index.loops_of(block)]
    body, names = sch.index.block(block), sch.index.block_names
    users = st.sampled_from((None, *([n] for n in names)))
    found = [(name, {"block": block}) for name in ("compute_inline", "reverse_compute_inline")]
    for side, regions in (("read", body.reads), ("write", body.writes)):
        for n in range(len(regions)):
            arguments = {"block": block, f"{side}_buffer_index": n, "storage_scope": "local"}
            found.append((f"cache_{side}", {**arguments, "consumer_blocks": draw(users)}))
    if len(loops) > 1:
        found.append(("reorder", {"ordered_loops": tuple(draw(st.permutations(loops)))}))
        found.append(("fuse", {"loops": tuple(loops[-2:])}))
    for loop in loops:
        found.append(("split", {"loop": loop, "factors": [None, draw(st.integers(2, 3))]}))
        found.append(("decompose_reduction", {"block": block, "loop": loop}))
        found += [(name, {"loop": loop}) for name in CONCURRENT]
    return found


@FEWER
@given(wild_programs(), st.data())
def test_given_a_wild_program_when_printed_lowered_and_simulated_then_still_the_same(text, data):
    sch = Schedule(parse(text).program)
    for _ in range(data.draw(st.integers(0, 2))):
        try:
            apply(sch, data.draw(calls(sch)))
        except ScheduleError:
            continue
    printed = to_script(sch.func)
    assert to_script(parse(printed).program) == printed
    assert first_difference(parse(printed).program, sch.func) is None
    try:
        assert simulate(sch.func, MACHINE).cycles >= 0
    except (MachineError, LowerError) as refused:
        event(f"not simulated: {refused.code}")
    arrays = given_values(sch.func)
    expected = outputs(sch.func, arrays)
    assume(expected is not None)
    try:
        lowered = lower(sch.func)
    except LowerError as refused:
        event(f"not lowered: {refused.code}")
        return
    assert_same_meaning(lowered, arrays, expected)
