"""tensorize: a block executed by an instruction, its meaning, and refusals."""

from __future__ import annotations

import pytest
from support.programs.intrins import HEAD, MMA_CALL, MMA_DESC, MMA_LOOPS, copy4, cut_out, mma
from support.programs.sources import MATMUL, matmul

from tilewright.engine.ir import Call, structural_equal, walk
from tilewright.engine.schedule import Intrinsics, Schedule, ScheduleError, TensorIntrin
from tilewright.engine.schedule.intrin import make_intrin
from tilewright.engine.script import parse


def tiled(text: str = "", factor: int = 16, **options: object) -> Schedule:
    sch = Schedule(parse(text or matmul(32, 32, 32)).program, **options)  # type: ignore[arg-type]
    pairs = [sch.split(loop, [None, factor]) for loop in sch.get_loops("C")]
    sch.reorder(*(outer for outer, _ in pairs), *(inner for _, inner in pairs))
    return sch


def refusal(sch: Schedule, intrin: TensorIntrin, position: int = 3) -> str:
    before = sch.func
    with pytest.raises(ScheduleError) as refused:
        sch.tensorize(sch.get_loops("C")[position], intrin)
    assert sch.func is before
    return refused.value.code


def test_tensorized_matmul_is_tested():
    sch = tiled()
    sch.decompose_reduction("C", sch.get_loops("C")[2])
    sch.tensorize(sch.get_loops("C")[3], mma())
    block = sch.get("C_o")
    assert [m.buffer.shape[0].value for m in block.match_buffers] == [16, 16, 16]
    assert any(isinstance(n, Call) and n.op == "call_extern" for n in walk(block.body))
    verdict = sch.verify()
    assert verdict.status == "tested"
    assert "mma tested through its description" in verdict.detail


def test_a_tensorized_sum_with_an_init_keeps_it():
    sch = tiled()
    sch.tensorize(sch.get_loops("C")[3], mma())
    assert sch.get("C_o").init is not None
    assert sch.verify().status == "tested"


def test_tensorized_inner_block_keeps_its_annotation():
    sch = tiled()
    sch.annotate("C", "meta_schedule.tiling_structure", "SSR")
    sch.decompose_reduction("C", sch.get_loops("C")[2])
    sch.tensorize(sch.get_loops("C")[3], mma())
    assert sch.verify().status == "tested"


def test_an_implementation_in_loops_is_run():
    intrin = make_intrin("mma_loops", MMA_DESC, MMA_LOOPS)
    assert intrin.runs
    sch = tiled()
    sch.tensorize(sch.get_loops("C")[3], intrin)
    verdict = sch.verify()
    assert verdict.status == "tested"
    assert "description" not in verdict.detail


def test_swapped_operands_are_the_same_sum():
    sch = tiled(matmul(32, 32, 32).replace("A[vi, vk] * B[vk, vj]", "B[vk, vj] * A[vi, vk]"))
    sch.tensorize(sch.get_loops("C")[3], mma())
    assert sch.verify().status == "tested"


def test_replay_and_undo_keep_the_intrinsic():
    own = Intrinsics()
    own.register("mma", MMA_DESC, MMA_CALL)
    sch = tiled(intrinsics=own)
    sch.tensorize(sch.get_loops("C")[3], "mma")
    own.register("mma", MMA_DESC, MMA_LOOPS, override=True)
    again = sch.replayed()
    assert structural_equal(again.mod, sch.mod)
    assert sch.undo()
    assert sch.tensorized == {}


@pytest.mark.parametrize(
    ("change", "position", "code"),
    [
        (("A[vi, vk] * B", "A[vi, vk] * A[vi, vk] * B"), 3, "intrin-mismatch"),
        (("B[vk, vj]", "B[vj, vk]"), 3, "intrin-mismatch"),
        (("float32", "float16"), 3, "intrin-mismatch"),
        (("", ""), 2, "intrin-mismatch"),
        (("", ""), 4, "intrin-mismatch"),
    ],
)
def test_another_computation_is_refused(change: tuple[str, str], position: int, code: str):
    assert refusal(tiled(matmul(32, 32, 32).replace(*change)), mma(), position) == code


def test_another_tile_is_refused():
    assert refusal(tiled(factor=8), mma()) == "intrin-mismatch"


def test_one_buffer_for_input_and_output_is_refused():
    text = (
        f'{HEAD}def main(A: T.Buffer((8,), "float32")):\n'
        "    for i in range(4):\n"
        '        with T.sblock("C"):\n'
        "            vi = T.axis.spatial(4, i)\n"
        "            A[vi + 4] = A[vi]\n"
    )
    assert refusal(Schedule(parse(text).program), copy4(), 0) == "intrin-overlap"


def test_tensorized_block_is_not_tensorized_again():
    sch = tiled()
    sch.tensorize(sch.get_loops("C")[3], mma())
    with pytest.raises(ScheduleError) as refused:
        sch.tensorize("C_o", mma())
    assert refused.value.code == "matched-already"


def test_functions_that_differ_are_no_intrinsic():
    with pytest.raises(ScheduleError) as refused:
        make_intrin("wrong", MMA_DESC, MMA_LOOPS.replace("+ A", "- A"))
    assert refused.value.code == "intrin-differs"


@pytest.mark.parametrize(
    "impl",
    [
        MMA_CALL.replace("A: T.Buffer((16, 16)", "A: T.Buffer((8, 16)"),
        MMA_CALL.replace("T.writes(C[0:16, 0:16])", "T.writes(C[0:16, 0:16], A[0:16, 0:16])"),
    ],
)
def test_functions_that_do_not_match_are_no_intrinsic(impl: str):
    with pytest.raises(ScheduleError) as refused:
        make_intrin("wrong", MMA_DESC, impl)
    assert refused.value.code == "bad-intrin"


def test_registered_name_accepts_only_the_same_functions():
    own = Intrinsics()
    first = own.register("mma", MMA_DESC, MMA_CALL)
    assert own.register("mma", MMA_DESC, MMA_CALL) is first
    with pytest.raises(ScheduleError) as refused:
        own.register("mma", MMA_DESC, MMA_LOOPS)
    assert refused.value.code == "intrin-exists"
    assert own.register("mma", MMA_DESC, MMA_LOOPS, override=True) is own.get("mma")


def test_an_unregistered_name_is_refused():
    assert TensorIntrin.get("nobody registered this", allow_missing=True) is None
    sch = Schedule(parse(MATMUL).program, intrinsics=Intrinsics())
    with pytest.raises(ScheduleError) as refused:
        sch.tensorize(sch.get_loops("C")[0], "mma")
    assert refused.value.code == "unknown-intrin"


def test_tensorized_region_past_the_end_of_its_buffer_is_refused():
    """A later cache_read would copy a view past the end in full."""
    program = """
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.sblock("C"):
            v = T.axis.spatial(8, i)
            C[v] = A[v]
"""
    sch = Schedule(parse(program).program)
    (loop,) = sch.get_loops("C")
    sch.annotate_buffer_access("C", 0, "read", lambda v: [(v, v + 2)])
    with pytest.raises(ScheduleError) as refused:
        sch.tensorize(loop, cut_out(sch, loop))
    assert refused.value.code == "outside-buffer"


def test_tensorized_nested_block_uses_bindings_of_outer_blocks():
    sch = tiled()
    loops = sch.get_loops("C")
    sch.blockize(loops[3])
    sch.split(loops[2], [None, 1])
    sch.blockize(sch.get_loops("C_o")[-1])
    sch.tensorize("C_o", mma())
    assert sch.verify().status == "tested"


STRIDED = HEAD + (
    'def strided(A: T.Buffer((16,), "float32", strides=("s",), offset_factor=1), '
    'B: T.Buffer((16,), "float32", scope="local", offset_factor=1)):\n'
    '    with T.sblock("root"):\n'
    "        T.reads(A[0:16])\n"
    "        T.writes(B[0:16])\n"
    '        T.evaluate(T.call_extern("copy", B.data, A.data, A.strides[0], dtype="int32"))\n'
)

COMPACT = HEAD + (
    'def compact(A: T.Buffer((16,), "float32", offset_factor=1), '
    'B: T.Buffer((16,), "float32", scope="local", offset_factor=1)):\n'
    '    with T.sblock("root"):\n'
    "        T.reads(A[0:16])\n"
    "        T.writes(B[0:16])\n"
    "        for i in range(16):\n"
    '            with T.sblock("copy"):\n'
    '                vi = T.axis.remap("S", [i])\n'
    "                B[vi] = A[vi]\n"
)


def test_implementation_alone_may_have_strides() -> None:
    sch = Schedule(parse(MATMUL).program)
    copy = sch.cache_read("C", 0, "local")
    *_, inner = sch.get_loops(copy)
    _, inner = sch.split(inner, [None, 16])
    sch.tensorize(inner, make_intrin("strided", COMPACT, STRIDED))
    assert not any(isinstance(n, Call) and n.op == "call_extern" for n in walk(sch.described))
    verdict = sch.check()
    assert verdict.status == "proved" and "strided tested through its description" in verdict.detail
