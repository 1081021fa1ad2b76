"""transform_layout with padding and of parameters: the writer of the padding, and the obligations of a caller."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.engine.execute import run, verify
from tilewright.engine.ir import AXIS_SEPARATOR, Call, IndexMap, Var, build, walk
from tilewright.engine.lower import lower
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

HEAD = "from tvm.script import tirx as T\n\n\n@T.prim_func(s_tir=True)\n"

COPY = (
    HEAD
    + """def main(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        with T.sblock("B"):
            vi = T.axis.spatial(14, i)
            B[vi] = A[vi] + 1
"""
)

STAGED = (
    HEAD
    + """def main(A: T.Buffer((14, 10), "float32"), D: T.Buffer((14, 10), "float32")):
    B = T.sblock_alloc_buffer((14, 10), "float32")
    for i, j in T.grid(14, 10):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(14, 10):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] + T.float32(1)
"""
)

SUM = (
    HEAD
    + """def main(A: T.Buffer((14, 6), "int32"), B: T.Buffer((14,), "int32")):
    for i, k in T.grid(14, 6):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]
"""
)

SCAN = (
    HEAD
    + """def main(A: T.Buffer((14, 6), "int32"), B: T.Buffer((14, 6), "int32")):
    for i, j in T.grid(14, 6):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.if_then_else(vi > 0, B[vi - 1, 5 - vj], 0)
"""
)


def schedule(text: str) -> Schedule:
    return Schedule(parse(text).program)


def split(i):
    return [i // 4, i % 4]


def test_padding_of_an_input_is_assumed_of_the_caller():
    sch = schedule(COPY)
    sch.transform_layout("B", "A", split, pad_value=42)
    assert "T.assume(not (v_axis0 == 3 and 2 <= v_axis1) or A[v_axis0, v_axis1] == 42)" in to_script(sch.func)
    assert sch.index.block_names[1:] == ("buffer_A_assumptions", "B")
    assert sch.verify().status == "tested"


def test_the_nest_of_an_output_writes_its_padding():
    sch = schedule(COPY)
    sch.transform_layout("B", "B", split, pad_value=lambda a, b: a + b)
    assert "T.if_then_else(v_axis0 == 3 and 2 <= v_axis1, v_axis0 + v_axis1, A[v_axis0 * 4 + v_axis1] + 1)" in (
        to_script(sch.func)
    )
    assert sch.verify().status == "tested"
    given = np.arange(14, dtype="int32")
    assert list(run(sch.func, {"A": given})["B"].reshape(-1)) == [*range(1, 15), 5, 6]


def test_init_and_update_of_a_sum_write_the_padding():
    sch = schedule(SUM)
    sch.transform_layout("B", ("write", 0), split, pad_value=7)
    choices = [n for n in walk(sch.func) if isinstance(n, Call) and n.op == "if_then_else"]
    assert len(choices) == 2
    assert sch.verify().status == "tested"


def test_block_after_split_loops_fills_the_padding():
    sch = schedule(COPY)
    sch.split(sch.get_loops("B")[0], [None, 7])
    sch.transform_layout("B", "B", split, pad_value=0)
    assert sch.index.block_names[1:] == ("B", "buffer_B_padding")
    assert sch.verify().status == "tested"


def test_other_statements_of_the_nest_stay():
    sch = schedule(STAGED)
    sch.reverse_compute_at("D", sch.get_loops("B")[0])
    sch.transform_layout("B", ("write", 0), lambda i, j: [i // 4, i % 4, j], pad_value=0.0)
    assert sch.index.block_names[1:] == ("B", "D", "buffer_B_padding")
    assert sch.verify().status == "tested"


def test_dependent_iterations_keep_their_order():
    sch = schedule(SCAN)
    sch.transform_layout("B", ("write", 0), lambda i, j: [j // 4, i, j % 4], pad_value=0)
    assert "buffer_B_padding" in sch.index.block_names
    assert sch.verify().status == "tested"


def test_dependent_iterations_write_monotone_padding():
    sch = schedule(SCAN)
    sch.transform_layout("B", ("write", 0), lambda i, j: [i, j // 4, j % 4], pad_value=0)
    assert sch.index.block_names[1:] == ("B",)
    assert sch.verify().status == "tested"


def test_padding_of_a_predicated_writer_does_not_depend_on_it():
    text = COPY.replace("B[vi] = A", "T.where(i < 12)\n            B[vi] = A")
    sch = schedule(text)
    sch.transform_layout("B", "B", split, pad_value=9)
    given = np.zeros(14, "int32")
    out = run(sch.func, {"A": given})["B"].reshape(-1)
    assert list(out[14:]) == [9, 9]
    assert sch.verify().status == "tested"


def test_padded_intermediate_lowers_the_same():
    sch = schedule(STAGED)
    sch.transform_layout("B", ("write", 0), lambda i, j: [i // 4, j // 4, AXIS_SEPARATOR, i % 4, j % 4], pad_value=0.0)
    given = np.arange(140, dtype="float32").reshape(14, 10)
    flat = run(lower(sch.func), {"A": given})["D"]
    assert np.array_equal(flat.reshape(14, 10), given * 2 + 1)


def test_verify_finds_a_wrong_value_in_the_padding_of_a_parameter():
    sch, other = schedule(COPY), schedule(COPY)
    sch.transform_layout("B", "B", split, pad_value=1)
    other.transform_layout("B", "B", split, pad_value=2)
    assert verify(sch.func, sch.original["main"], layouts=sch.layouts).status == "tested"
    verdict = verify(other.func, sch.original["main"], layouts=sch.layouts)
    assert verdict.status == "failed"
    assert "B[3, 2] is 2, not 1" in verdict.detail


def test_two_layouts_of_a_parameter_are_verified_in_sequence():
    sch = schedule(STAGED)
    sch.transform_layout("B", "A", lambda i, j: [j, i])
    sch.transform_layout("B", "A", lambda a, b: [a // 4, b, a % 4], pad_value=0.5)
    sch.transform_layout("D", "D", lambda i, j: [j * 14 + i])
    assert [layout.name for layout in sch.layouts] == ["A", "A", "D"]
    assert sch.verify().status == "tested"
    sch.undo()
    assert [layout.name for layout in sch.layouts] == ["A", "A"]
    assert sch.replayed().layouts[1].name == "A"


def test_padding_without_a_value_holds_anything():
    sch = schedule(STAGED)
    sch.transform_layout("B", ("write", 0), lambda i, j: [i // 4, i % 4, j], assume_injective_transform=True)
    sch.transform_layout("D", "D", lambda i, j: [i // 4, i % 4, j], assume_injective_transform=True)
    assert sch.verify().status == "tested"


def test_assumed_irregular_map_is_tested():
    sch = schedule(STAGED)
    sch.transform_layout("B", ("write", 0), lambda i, j: [i, (i + j) % 10], assume_injective_transform=True)
    assert sch.verify().status == "tested"
    with pytest.raises(ScheduleError) as refused:
        sch.transform_layout("B", ("write", 0), lambda i, j: [i, (i + j) % 9], assume_injective_transform=True)
    assert refused.value.code == "not-bijective"


SYMBOLIC = (
    HEAD
    + """def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.match_buffer(b, (8,), "float32")
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[0, vi]
"""
)


def test_layout_that_loses_a_size_from_the_shapes_is_refused():
    sch = schedule(SYMBOLIC)
    with pytest.raises(ScheduleError) as refused:
        sch.transform_layout("B", "A", lambda i, j: [i * 8 + j])
    assert refused.value.code == "symbol-lost"
    sch.transform_layout("B", "A", lambda i, j: [j, i])


def test_padding_condition_has_a_symbolic_divisor():
    text = COPY.replace('B: T.Buffer((14,), "int32")', 'B: T.Buffer((14,), "int32"), n: T.int32')
    sch = schedule(text)
    n = next(p for p in sch.func.params if p.name == "n")
    i = Var("i", "int32")
    sch.transform_layout("B", "B", IndexMap((i,), (build.floordiv(i, n), build.floormod(i, n))), pad_value=0)
    assert "-14 % n != 0 and " in to_script(sch.func)
    given = {"A": np.arange(14, dtype="int32"), "n": np.int32(4), "B": np.zeros((4, 4), "int32")}
    assert list(run(sch.func, given)["B"].reshape(-1)) == [*range(1, 15), 0, 0]


VIEW = (
    HEAD
    + """def main(A: T.Buffer((14,), "int32"), C: T.Buffer((14,), "int32")):
    B = T.sblock_alloc_buffer((14,), "int32")
    for i in range(14):
        with T.sblock("B"):
            vi = T.axis.spatial(14, i)
            T.reads(A[vi])
            T.writes(B[vi])
            V = T.match_buffer(B[vi:vi + 1], (1,), "int32")
            V[0] = A[vi]
    for i in range(14):
        with T.sblock("C"):
            vi = T.axis.spatial(14, i)
            C[vi] = B[vi]
"""
)


def test_a_view_of_an_element_follows_the_layout():
    sch = schedule(VIEW)
    sch.transform_layout("C", "B", lambda i: [i % 2, i // 2])
    assert sch.verify().status == "tested"


VIEW_AT_A_PLACE = (
    HEAD
    + """def main(A: T.Buffer((6, 3), "int32"), places: T.Buffer((6,), "int32"), B: T.Buffer((6, 3), "int32")):
    for i in range(6):
        with T.sblock("B"):
            vi = T.axis.spatial(6, i)
            T.reads(A[places[vi] % 6, 0:3], places[vi])
            T.writes(B[vi, 0:3])
            row = T.match_buffer(A[places[vi] % 6, 0:3], (3,), "int32", offset_factor=1)
            for j in range(3):
                B[vi, j] = row[j]
"""
)


def test_indices_read_by_a_view_follow_the_layout():
    sch = schedule(VIEW_AT_A_PLACE)
    sch.transform_layout("B", ("read", "places"), lambda i: [i // 2, i % 2])
    assert "T.match_buffer(A[places[vi // 2, vi % 2] % 6, 0:3]" in to_script(sch.func)
    assert sch.verify().status == "tested"


REFUSALS = {
    "no value": ("layout-needs-padding", COPY, lambda s: s.transform_layout("B", "B", split)),
    "a float for integers": ("bad-pad-value", COPY, lambda s: s.transform_layout("B", "B", split, pad_value=0.0)),
    "an integer for floats": (
        "bad-pad-value", STAGED, lambda s: s.transform_layout("B", "B", lambda i, j: [i // 4, i % 4, j], pad_value=0),
    ),
    "a value of other axes": ("bad-pad-value", COPY, lambda s: s.transform_layout("B", "B", split, pad_value=lambda i: i)),
    "a number beyond the type": (
        "bad-pad-value", COPY.replace("int32", "int8"), lambda s: s.transform_layout("B", "B", split, pad_value=128),
    ),
    "a number that is no truth": (
        "bad-pad-value", COPY.replace("int32", "bool").replace(" + 1", ""), lambda s: s.transform_layout("B", "B", split, pad_value=3),
    ),
    "several values": (
        "bad-pad-value", COPY, lambda s: s.transform_layout("B", "B", split, pad_value=lambda a, b: [a, b]),
    ),
    "a value from memory": (
        "bad-pad-value", COPY,
        lambda s: s.transform_layout("B", "B", split, pad_value=build.load(s.func.buffers[0], [0])),
    ),
    "padding of a map that is not understood": (
        "bad-pad-value",
        COPY,
        lambda s: s.transform_layout("B", "B", lambda i: [i * 2], 1, assume_injective_transform=True),
    ),
    "a padded view": ("view-buffer", VIEW, lambda s: s.transform_layout("C", "B", split, pad_value=0)),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_impossible_padding_is_refused(name):
    code, text, call = REFUSALS[name]
    sch = schedule(text)
    before = sch.mod
    with pytest.raises(ScheduleError) as refused:
        call(sch)
    assert refused.value.code == code
    assert sch.mod is before
