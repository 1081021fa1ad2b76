"""Addresses of buffers, quoted sizes and rich annotations: read as TVM prints them, printed unchanged; calls that would break them."""

from __future__ import annotations

import pytest

from tilewright.engine.ir import BufferData, Call, addressed_buffers, first_difference, walk
from tilewright.engine.lower import allocations, lower
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import ParseError, parse, to_script

TILES = """
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def tiles(A: T.Buffer((64, 64), "float16"), C: T.Buffer((64, 64), "float16")):
    B = T.sblock_alloc_buffer((64, 64), "float16")
    for i, j in T.grid(64, 64):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float16(2)
    for i, j in T.grid(4, 4):
        with T.sblock("load"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16])
            T.writes(C[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16])
            %s
"""
WHOLE = (
    'T.tvm_load_matrix_sync(C.data, 16, 16, 16, vi * 4 + vj, T.tvm_access_ptr(T.type_annotation("float16"), B.data, '
    'vi * 1024 + vj * 16, 64, 1), 64, "row_major")'
)
VIEW = """V = T.match_buffer(B[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16], (16, 16), "float16", strides=(64, 1), offset_factor=1)
            T.evaluate(T.call_extern("int32", "take", V.data, V.elem_offset, T.address_of(C[vi * 16, vj * 16])))"""


@pytest.mark.parametrize(
    "body", [WHOLE, VIEW, 'T.evaluate(T.call_extern("int32", "f", B.access_ptr("r"), C.access_ptr("w")))']
)
def test_printed_addresses_read_back_the_same(body: str):
    program = parse(TILES % body).program
    text = to_script(program)
    again = parse(text).program
    assert first_difference(again, program) is None
    assert to_script(again) == text


def test_an_access_pointer_is_read_as_tvms_call():
    program = parse(TILES % 'T.evaluate(T.call_extern("int32", "f", B.access_ptr("rw")))').program
    (call,) = (n for n in walk(program) if isinstance(n, Call) and n.op == "tvm_access_ptr")
    assert isinstance(call.args[1], BufferData)
    assert [getattr(a, "value", None) for a in call.args[2:]] == [0, 64 * 64, 3]


def test_address_without_regions_covers_the_whole_buffer():
    text = (TILES % 'T.evaluate(T.call_extern("int32", "f", B.data))').replace(
        "            T.reads(B[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16])\n", ""
    )
    text = text.replace("            T.writes(C[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16])\n", "")
    block = Schedule(parse(text).program).get("load")
    for regions in (block.reads, block.writes):
        assert [[r.extent.value for r in region.region] for region in regions] == [[64, 64]]


@pytest.mark.parametrize("body", [WHOLE, VIEW])
def test_changing_the_layout_of_an_addressed_buffer_is_refused(body: str):
    sch = Schedule(parse(TILES % body).program)
    before = to_script(sch.mod)
    for call in (
        lambda: sch.compute_inline("B"),
        lambda: sch.transform_layout("B", ("write", 0), lambda i, j: [j, i]),
    ):
        with pytest.raises(ScheduleError) as refused:
            call()
        assert refused.value.code in ("opaque-access", "view-buffer")
    assert to_script(sch.mod) == before


def test_caching_an_addressed_buffer_addresses_the_cache():
    sch = Schedule(parse(TILES % WHOLE).program)
    sch.cache_read("load", 0, "shared")
    assert {b.name for b in addressed_buffers(sch.func)} == {"B_shared", "C"}


def test_lowered_addressed_buffer_keeps_its_shape():
    sch = Schedule(parse(TILES % WHOLE).program)
    sch.compute_at("B", sch.get_loops("load")[1])
    (found,) = allocations(sch.func)
    assert list(found.tile) == [64, 64]
    assert {b.name for b in addressed_buffers(lower(sch.func))} == {"B", "C"}


def test_a_program_with_addresses_is_not_verified():
    assert Schedule(parse(TILES % WHOLE).program).verify().status == "unknown"


def test_the_type_of_a_quoted_size_is_no_size():
    text = """
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(X: T.Buffer((T.int64(8), "n * T.int64(32)"), "float32"), Y: T.Buffer((T.int64(8), n * T.int64(32)), "float32"), n: T.int64):
    for i, k in T.grid(T.int64(8), n * T.int64(32)):
        with T.sblock("Y"):
            vi, vk = T.axis.remap("SS", [i, k])
            Y[vi, vk] = X[vi, vk]
"""
    func = parse(text).program
    assert first_difference(parse(to_script(func)).program, func) is None
    assert func.buffers[0].shape[1].a is func.buffers[1].shape[1].a is func.params[2]


def test_annotations_of_all_kinds_are_printed():
    note = '{"a": [[1, 2], ["x", 3]], "c": True, "d": vi * 2, "e": {"x": 1, "y": [1, 2.5]}, "f": [], "g": {}, "h": T.float32(2.0)}'
    text = to_script(parse(TILES % f"T.sblock_attr({note})\n            C[vi, vj] = B[vi, vj]").program)
    assert f"T.sblock_attr({note})" in text


def test_a_dict_annotation_is_printed_as_one():
    sch = Schedule(parse(TILES % "C[vi, vj] = B[vi, vj]").program)
    sch.annotate("B", "note", {"sizes": [4, 8], "rate": 0.25})
    assert 'T.sblock_attr({"note": {"sizes": [4, 8], "rate": 0.25}})' in to_script(sch.mod)


STATEMENT = """
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in T.serial(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in T.serial(8):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + T.float32(1)
"""


@pytest.mark.parametrize(
    "call",
    [
        lambda sch: sch.compute_inline("B"),
        lambda sch: sch.compute_at("B", sch.get_loops("C")[0]),
        lambda sch: sch.set_scope("B", 0, "local"),
        lambda sch: sch.storage_align("B", 0, 0, 8, 1),
    ],
)
def test_changing_an_allocated_buffer_is_refused(
    call,
):
    sch = Schedule(parse(STATEMENT).program)
    with pytest.raises(ScheduleError) as error:
        call(sch)
    refusal = error.value.refusal
    assert "is allocated by a statement (T.alloc_buffer)" in refusal.message
    assert "B = T.sblock_alloc_buffer(...)" in refusal.expected
    rewritten = Schedule(parse(STATEMENT.replace("T.alloc_buffer", "T.sblock_alloc_buffer")).program)
    call(rewritten)


OLDER = """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    X = T.allocate([8], "int32", scope="local")
    for i in range(8):
        T.store(X, i, A[i])
    T.evaluate(T.ptx_mma("m8n8k4", "row", "col", "int32", "int32", "int32", X, 0, X, 0, X, 0, False, dtype="int32"))
    for i in range(8):
        B[i] = T.load("TYPE", X, i)
"""


def test_names_of_allocations_are_addresses_in_older_texts() -> None:
    text = to_script(parse(OLDER.replace("TYPE", "int32")).program)
    assert "X[i] = A[i]" in text and "B[i] = X[i]" in text
    assert '"int32", "int32", "int32", X.data, 0, X.data, 0, X.data, 0, T.bool(False))' in text
    with pytest.raises(ParseError, match="another type is read"):
        parse(OLDER.replace("TYPE", "float32"))
